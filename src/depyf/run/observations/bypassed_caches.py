"""A cache of torch that was bypassed, with torch's reason: each process compiles that again.

Input: a run.  Output: an observation for each reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.causes.folding import counted, listed
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.records import CompileKey
from depyf.run.run import Run

_WAYS = (
    ("autograd_function_apply", "torch._functorch.config.autograd_cache_allow_custom_autograd_functions = True"),
    ("custom pass", "derive the pass from CustomGraphPass, and have its uuid() tell one version from another"),
)
"""What torch says -> what has it use the cache."""


def bypassed_caches(run: Run) -> Iterator[Observation]:
    """One observation for each reason for which torch bypassed its caches, in the order of the compilations."""
    found: dict[str, tuple[dict[str, None], dict[CompileKey, None]]] = {}
    for _, entry in run.entries:
        for record in entry.caches:
            if record.status == "bypass" and record.reason:
                caches, keys = found.setdefault(record.reason.removesuffix("."), ({}, {}))
                caches[record.cache] = keys[entry.key] = None
    for reason, (caches, keys) in found.items():
        which = f"torch's {'cache' if len(caches) == 1 else 'caches'} of compiled code ({listed(list(caches))})"
        again = counted(len(keys), "compilation")
        yield Observation(
            ObservationKind.CACHE,
            None,
            f"{which} cannot be used: {reason}",
            tuple(way for part, way in _WAYS if part in reason),
            tuple(keys),
            f"{again} that each new process makes again",
        )
