"""One log of torch -> the ``Run`` that ``depyf.prepare_debug`` makes in the process itself.

Input: a file.  Output: a run of what the log tells, with the files of the program as far as they are at hand.  What no
log tells is empty, and ``LACKS`` names it; what is damaged here is in the notes.  DepyfError where the file holds no
record.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from depyf.run.causes.value_advice import without_tensors
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.global_names import GRAPH, RESUME_FN, readable_globals
from depyf.run.nearest import nearest_first, without_lone_marks
from depyf.run.places.place import Place
from depyf.run.records import (
    LOGGED,
    CallerRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GraphRecord,
    TransformedRecord,
)
from depyf.run.run import RawRecord, Run
from depyf.sources.reports.builders import EntryBuilder
from depyf.sources.reports.entry_facts import (
    as_seen_from_outside,
    callers_of,
    entry_facts,
    function_order,
    whole_steps,
)
from depyf.sources.reports.guards.guard_text import PLAIN_READER, CompletedNames
from depyf.sources.reports.library_files import in_torch
from depyf.sources.trace_log.disassembled import globals_in
from depyf.sources.trace_log.heard_log import HeardLog
from depyf.sources.trace_log.logged_inputs import DescribedTensors, graph_facts

NO_BYTECODE = "a log of torch has the disassembly of this code, and not the code"
NO_CODE = "a log of torch does not have this code"
LACKS = (
    "the values of a call that no entry fits, and all guards that fail, beyond what the entry made for it tells",
    "transformed code, but for the disassembly of what follows a graph break",
    "the order in which torch tries the entries of a function, and the values of guards when the program ends",
    "which of two symbols for sizes that are equal stays, and the operator that asks for a guard on a size",
    "constants and modules of graphs, the range of their inputs, and from which operations those of a stage come",
    "the calls of torch.compile, and the functions that Dynamo leaves alone",
)
"""What no log tells."""


def logged_run(heard: HeardLog, notes: Iterable[str] = (), log: str = "") -> Run:
    """The run; ``notes``: what is wrong with the log; ``log``: its name."""
    reader = EntryReader(heard)
    entries: dict[tuple[int, str], list[EntryRecord]] = {}
    for key, builder in sorted(heard.entries.items(), key=lambda item: item[0].order):
        record = reader.entry(builder)
        if record is not None:
            entries.setdefault(key.function, []).append(record)
    functions = tuple(
        FunctionRecord(
            number,
            replace(heard.code_of(number), disassembly=heard.original.get(number, "")),
            tuple(without_tensors(without_lone_marks(nearest_first(entries.get(number, []))), heard.code_of(number))),
            heard.begun_by(number),
        )
        for number in sorted(heard.functions, key=function_order)
    )
    graphs = sorted(
        (_with_facts(heard, graph.record) for graph in heard.graphs), key=lambda g: (g.key.order, g.stage, g.index)
    )
    return Run(
        torch_version=heard.torch_version,
        python_version=heard.python_version,
        functions=as_seen_from_outside(whole_steps(functions)),
        graphs=tuple(graphs),
        notes=(*notes, *heard.notes),
        not_reported=LACKS,
        finished=True,
        of_log=True,
        log=log,
        raw=tuple(_raw(heard, entries)),
        cache_keys=tuple(heard.cache_keys),
        times=heard.times(),
        began=heard.clock.began,
    )


def _raw(heard: HeardLog, entries: Mapping[tuple[int, str], Iterable[EntryRecord]]) -> Iterator[RawRecord]:
    """The records that explain compilations, in the order of the log."""
    known = {entry.key: entry for of_function in entries.values() for entry in of_function}
    for (key, name, report), line in sorted(heard.raw.items(), key=lambda item: item[1]):
        entry, place = known.get(key), None
        if report and entry is not None:
            reports = dict(zip(heard.entries[key].breaks, entry.breaks))
            place = (reports[report].caller or reports[report].place) if report in reports else None
        if entry is not None:
            yield RawRecord(key, name, line, place)


class EntryReader:
    """Makes the records of the compilations in a log.  Read a function before its resume functions."""

    def __init__(self, heard: HeardLog) -> None:
        names = [builder.code.filename for builder in heard.functions.values()]
        self._heard = heard
        self._shortened = CompletedNames([*names, *heard.strings.all], "torch")
        self._known = callers_of(heard.functions)
        self._callers: dict[tuple[int, str], tuple[CallerRecord, ...]] = {}
        """Of functions, as far as they were told first."""

    def entry(self, builder: EntryBuilder) -> EntryRecord | None:
        """The record of a compilation; None where the log has too little of it."""
        heard, key = self._heard, builder.key
        if key.function not in heard.functions:  # the log has its begin no more
            return None
        if not (builder.started or builder.recompiles or builder.guard_text or builder.failed):
            return None
        done = builder.closed or bool(builder.guard_text)  # else the log ends while torch compiles it
        record = entry_facts(builder, self._resolve, self._known, PLAIN_READER, done, limit=heard.limit)
        state = record.guard_state if record.failed else LOGGED
        if not record.callers and (begun := heard.begun_by(key.function)) is not None:
            told = heard.above.get(key, ())
            above = self._known(replace(builder, callers=told)) if told else self._callers.get(begun, ())
            record = replace(record, callers=_callers(heard, begun, key.function, above))
        if record.callers:
            self._callers.setdefault(key.function, record.callers)
        return replace(record, transformed=_transformed(heard, key), guard_state=state)

    def _resolve(self, name: str) -> str:
        return in_torch(self._shortened(name))


def _callers(
    heard: HeardLog, begun: tuple[int, str], rest: tuple[int, str], above: tuple[CallerRecord, ...]
) -> tuple[CallerRecord, ...]:
    """Who called the rest of a function: the function, in the line after which it goes on."""
    code, line = heard.code_of(begun), heard.code_of(rest).line
    if any(heard.begun_by(one) == begun and heard.code_of(one).line < line for one in heard.functions if one != rest):
        line = 0  # it may have been called by an earlier rest, and the function still stand where that began
    text = linecache.getline(code.filename, line).strip() if line else ""
    place = Place(code.filename, line, code.qualname, text)
    return (*above, CallerRecord(place, begun))


_NOTHING_DESCRIBED = DescribedTensors()


def _with_facts(heard: HeardLog, graph: GraphRecord) -> GraphRecord:
    """A graph that is called, with its inputs."""
    entry = heard.entry(graph.key)
    symbols = entry.symbols.records()
    if graph.stage == CAPTURED:
        described = heard.described.get(graph.key, _NOTHING_DESCRIBED)
        return replace(graph, facts=graph_facts(graph.text, described, symbols, heard.guards_of(entry)))
    if graph.stage not in (FORWARD, BACKWARD):
        return graph
    moved = any(
        one.get("storage_offset") for one in heard.described.get(graph.key, _NOTHING_DESCRIBED).sources.values()
    )
    facts = (
        graph_facts(graph.text, _NOTHING_DESCRIBED, symbols) if not moved else None
    )  # by whom it is taken is not told
    aot = graph.facts.aot if graph.facts is not None else None
    return replace(graph, facts=replace(facts, aot=aot) if facts is not None else graph.facts)


def _transformed(heard: HeardLog, key: CompileKey) -> TransformedRecord | None:
    """What transformed code calls: by its disassembly; where there is none, the graph that was captured for it."""
    text = heard.transformed.get(key)
    if text is None:
        captured = any(graph.record.stage == CAPTURED for graph in heard.graphs_of.get(key, ()))
        called = (f"{GRAPH}{key.slug}",) if captured and heard.entry(key).has_code else ()
        return TransformedRecord("", False, NO_CODE, (), called, ()) if called else None
    names = globals_in(text)
    renamed = readable_globals(key, names)
    graphs = tuple(new for new in renamed.values() if new.startswith(GRAPH))
    resumes = tuple(renamed.get(name, name) for name in names if RESUME_FN.match(name))
    return TransformedRecord("", False, NO_BYTECODE, (), graphs, resumes)
