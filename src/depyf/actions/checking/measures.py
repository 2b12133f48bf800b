"""What a budget can limit: numbers that are the same in every run of a program that does the same.

Input: the dump of a run, of all its ranks.  Output: numbers.  What happened is counted in ``Run``; what stands in the
files of a dump alone, memory and generated code, is read from these.  No number is a time: times differ in every run.
What the processor runs while torch compiles differs a little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from depyf.run.causes.cause import CauseKind
from depyf.run.compile_stages import WRAPPER
from depyf.run.files.layout import MEMORY_DATA
from depyf.run.memory.memory_file import MemoryFile, StoredPlan
from depyf.run.records import CompileKey, EntryRecord
from depyf.run.run import RunTotals, totals_of
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.wrapper_text import wrapper_text

INSTRUCTIONS = "instructions"
_SPREAD = 0.1
"""The margin of torch's own benchmarks of compile time (``benchmarks/dynamo/pr_time_benchmarks``)."""
Views = Sequence[DumpView]
_MORE_COMPILED = frozenset({CauseKind.RECOMPILES, CauseKind.BREAKS})


@dataclass(frozen=True, slots=True)
class Measure:
    """One number; ``name`` is its key in a budget."""

    name: str
    words: str
    """What is counted, in the plural."""
    count: Callable[[Views], int | None]
    """None where the dump does not tell it."""
    causes: frozenset[CauseKind] = frozenset()
    """The causes that make more of it."""
    of_entry: Callable[[DumpView, EntryRecord], int] | None = None
    """How much of it one compilation has."""
    spread: float = 0.0
    """How much it differs between runs that do the same, as a share of it."""
    where: str = ""
    """Where alone it can be known, in words; "" for what any dump may tell."""

    def limit(self, number: int) -> int:
        """The least limit for a program that has ``number`` of it."""
        return number + math.ceil(number * self.spread)

    def allows_more(self, number: int, limit: int) -> bool:
        """Whether ``limit`` could be lowered for what has ``number`` in this run, and hardly more in another one."""
        return number + math.ceil(2 * number * self.spread) < limit if self.spread else number < limit


def _total(read: Callable[[RunTotals], int]) -> Callable[[Views], int | None]:
    return lambda views: read(totals_of(view.run for view in views))


def _sum(read: Callable[[DumpView], int | None]) -> Callable[[Views], int | None]:
    def count(views: Views) -> int | None:
        numbers = [read(view) for view in views]
        return None if None in numbers else sum(number or 0 for number in numbers)

    return count


def _wrappers(view: DumpView) -> list[tuple[CompileKey, str]] | None:
    """The code that Inductor generated; None where the dump does not list its files."""
    if not view.listed:
        return None
    files = [file for file in view.files if file.stage == WRAPPER and file.key is not None and file.kind == "wrapper"]
    return [(file.key, view.text(file.name) or "") for file in files if file.key is not None]


def _kernels_of(view: DumpView, key: CompileKey) -> int:
    return sum(len(wrapper_text(text, frozenset()).kernels) for own, text in _wrappers(view) or () if own == key)


def _kernels(view: DumpView) -> int | None:
    wrappers = _wrappers(view)
    return None if wrappers is None else sum(len(wrapper_text(text, frozenset()).kernels) for _, text in wrappers)


def _calls_outside(text: str) -> int:
    """The calls of a wrapper that are of no kernel which it defines: extern kernels, and operators that torch runs."""
    names = frozenset(wrapper_text(text, frozenset()).kernels)
    return sum(not call.kernel for call in wrapper_text(text, names).calls)


def _fallbacks_of(view: DumpView, key: CompileKey) -> int:
    return sum(_calls_outside(text) for own, text in _wrappers(view) or () if own == key)


def _fallbacks(view: DumpView) -> int | None:
    wrappers = _wrappers(view)
    return None if wrappers is None else sum(_calls_outside(text) for _, text in wrappers)


def _memory(view: DumpView) -> MemoryFile | None:
    """None where the dump does not tell it; without a graph where there is none that torch planned memory for."""
    if not view.listed:
        return None
    return view.record(MemoryFile, MEMORY_DATA) if MEMORY_DATA in view.by_name else MemoryFile(())


def _saved(view: DumpView) -> int | None:
    memory = _memory(view)
    return None if memory is None else sum(graph.kept.bytes for graph in memory.graphs if graph.kept is not None)


def _saved_of(view: DumpView, key: CompileKey) -> int:
    memory = _memory(view) or MemoryFile(())
    return sum(graph.kept.bytes for graph in memory.graphs if graph.kept is not None and graph.key == key)


def _plans(view: DumpView, key: CompileKey | None = None) -> Iterator[StoredPlan]:
    for graph in (_memory(view) or MemoryFile(())).graphs:
        if key in (None, graph.key):
            yield from (plan for plan in (graph.forward, graph.backward) if plan is not None)


def _instructions_of(view: DumpView, entry: EntryRecord) -> int:
    return sum(record.instructions or 0 for record in view.run.times if record.key == entry.key)


def _peak(views: Views) -> int | None:
    if any(_memory(view) is None for view in views):
        return None
    return max((plan.peak for view in views for plan in _plans(view)), default=0)


MEASURES: tuple[Measure, ...] = (
    Measure("compilations", "compilations", _total(lambda totals: totals.compilations), frozenset(CauseKind)),
    Measure(
        "recompilations", "recompilations", _total(lambda totals: totals.recompilations),
        frozenset({CauseKind.RECOMPILES}),
    ),
    Measure(
        "graph_breaks", "distinct graph breaks", _total(lambda totals: totals.breaks),
        frozenset({CauseKind.BREAKS, CauseKind.RAN_AS_PYTHON}),
    ),
    Measure(
        "ran_as_python", "functions that ran as ordinary Python", _total(lambda totals: totals.ran_as_python),
        frozenset({CauseKind.RAN_AS_PYTHON, CauseKind.RECOMPILES, CauseKind.BREAKS}),
    ),
    Measure(
        "errors", "errors that torch raised", _total(lambda totals: totals.errors), frozenset({CauseKind.FAILED})
    ),
    Measure("graphs", "graphs", _sum(lambda view: view.run.graph_count), _MORE_COMPILED),
    Measure(
        "guards", "guards", _sum(lambda view: view.run.guard_count), _MORE_COMPILED,
        lambda _, entry: len(entry.guards),
    ),
    Measure(
        "operators", "operations in graphs", _sum(lambda view: view.run.operations), _MORE_COMPILED,
        lambda _, entry: entry.operations or 0,
    ),
    Measure(
        "kernels", "generated kernels", _sum(_kernels), _MORE_COMPILED,
        lambda view, entry: _kernels_of(view, entry.key),
    ),
    Measure(
        "fallbacks", "operators without a generated kernel", _sum(_fallbacks), frozenset(),
        lambda view, entry: _fallbacks_of(view, entry.key),
    ),
    Measure(
        "saved_bytes", "bytes kept for the backward", _sum(_saved), frozenset(),
        lambda view, entry: _saved_of(view, entry.key),
    ),
    Measure(
        "planned_peak_bytes", "bytes at the planned peak of one graph", _peak, frozenset(),
        lambda view, entry: max((plan.peak for plan in _plans(view, entry.key)), default=0),
    ),
    Measure(
        INSTRUCTIONS, "instructions while torch compiled", _sum(lambda view: view.run.instructions),
        frozenset(CauseKind), _instructions_of, _SPREAD,
        "by the check of a program, and where the counter of the processor can be opened: in few virtual machines, "
        "and nowhere with a kernel.perf_event_paranoid above 2",
    ),
)  # fmt: skip
BY_NAME = {measure.name: measure for measure in MEASURES}


def measured_numbers(views: Views) -> dict[str, int | None]:
    """All measures by name; None for what the dump does not tell."""
    return {measure.name: measure.count(views) for measure in MEASURES}
