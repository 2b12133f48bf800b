"""All observations of a run, and the sentence where there is none.

Input: a ``Run``.  Output: observations, the most important first.  The same run gives the same ones, wherever they are
told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from depyf.run.causes.folding import counted
from depyf.run.observations.bypassed_caches import bypassed_caches
from depyf.run.observations.compiled_differs import compiled_differs
from depyf.run.observations.ended_by_error import ended_by_error
from depyf.run.observations.failed_exports import failed_exports
from depyf.run.observations.idle_modes import idle_modes
from depyf.run.observations.in_place_modules import passed_over
from depyf.run.observations.memory_traffic import memory_traffic
from depyf.run.observations.never_called import compiled_ahead, never_called
from depyf.run.observations.nothing_compiled import nothing_compiled
from depyf.run.observations.observation import Observation
from depyf.run.observations.skipped_cuda_graphs import skipped_cuda_graphs
from depyf.run.observations.unrolled import unrolled
from depyf.run.run import Run, totals_of

_KINDS: tuple[Callable[[Run], Iterable[Observation]], ...] = (
    ended_by_error, compiled_differs, unrolled, nothing_compiled, passed_over, never_called, failed_exports,
    idle_modes, skipped_cuda_graphs, bypassed_caches, memory_traffic,
)  # fmt: skip


def observations_of(run: Run) -> tuple[Observation, ...]:
    """All observations of a run, kind by kind."""
    return tuple(observation for kind in _KINDS for observation in kind(run))


def made_ahead_by(runs: Sequence[Run]) -> str:
    """The API of torch that made the graphs of runs in which ``torch.compile`` compiled nothing."""
    return "torch.compiler.precompile" if any(run.precompiled for run in runs) else "torch.export, AOTInductor"


def nothing_to_fix(runs: Sequence[Run]) -> str:
    """The sentence that there is nothing to fix, with the numbers of ``runs``."""
    totals = totals_of(runs)
    if not totals.compilations:
        loaded = f", and loaded {counted(totals.loaded, 'function')}" if totals.loaded else ""
        ahead = sum(run.graph_count for run in runs)
        if ahead and not loaded:
            graphs = "There is 1 graph that was" if ahead == 1 else f"There are {ahead} graphs that were"
            return f"torch.compile compiled nothing. {graphs} made ahead of time ({made_ahead_by(runs)})."
        return f"torch compiled nothing while the program ran{loaded}."
    calls = [call for run in runs for call in run.compile_calls if not compiled_ahead(run, call)]
    results, called = sum(call.made for call in calls), sum(call.called for call in calls)
    largest = max((e.operations or 0 for run in runs for _, e in run.entries), default=0)
    told = [counted(totals.compilations, "compilation")]
    told += [f"the largest of {counted(largest, 'operation')}"] if largest else []
    told += [f"{called} of {results} results of torch.compile called"] if results else []
    return (
        "Nothing to fix: no recompilation, no graph break, nothing that ran as ordinary Python, no loop unrolled into "
        f"a long graph ({', '.join(told)})."
    )
