"""CUDA graphs that torch was to make, and did not, with its reason and the line that it names.

Input: a run.  Output: an observation for each reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from depyf.run.causes.folding import counted
from depyf.run.installed_files import package_of
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.places.place import Place
from depyf.run.places.stack_text import frames_in
from depyf.run.records import CompileKey
from depyf.run.run import Run

_OPENING = re.compile(r"^(?:skipping|disabling) cudagraphs due to ", re.I)


def skipped_cuda_graphs(run: Run) -> Iterator[Observation]:
    """One observation for each reason for which no CUDA graph was made, in the order of the compilations."""
    found: dict[str, dict[CompileKey, None]] = {}
    for _, entry in run.entries:
        if entry.cuda_graphs_skipped:
            found.setdefault(entry.cuda_graphs_skipped, {})[entry.key] = None
    for reason, keys in found.items():
        said = _OPENING.sub("", reason.partition("\n")[0]).partition(". Found from")[0].rstrip(". :")
        yield Observation(
            ObservationKind.CUDA_GRAPHS,
            _place(reason),
            f"no CUDA graph is made, though the program asks for them: {said}",
            entries=tuple(keys),
            cost=f"{counted(len(keys), 'compilation')} of which each call starts its kernels one by one",
        )


def _place(reason: str) -> Place | None:
    """The innermost line outside of torch in the stack that torch prints with its reason."""
    own = [frame for frame in frames_in(reason) if package_of(frame.filename) != "torch"]
    return own[-1] if own else None
