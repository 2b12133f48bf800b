"""What a log tells, record by record, as a process that compiles hears it.

Input: records in order, of whatever form.  Output: builders, as ``Heard`` keeps them.
"""

from __future__ import annotations

import json
import linecache
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from depyf.decompiler.bytecode.host.written_names import written_name
from depyf.run.addresses import without_addresses
from depyf.run.advice.source_names import named, without_mapping
from depyf.run.causes.evidence import BREAK, EXPLAINING
from depyf.run.compile_stages import BY_EVENT, CAPTURED, FORWARD
from depyf.run.global_names import RESUME_PREFIX
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.guards.kinds.opaque_guard import UNTOLD
from depyf.run.guards.known_kinds import UNKNOWN_KIND, plain, recompile_record
from depyf.run.phase_times import compile_id_of
from depyf.run.records import (
    CodeRecord,
    CompileKey,
    FailedGuardRecord,
    GuardRecord,
    RecompileRecord,
    RefusalRecord,
)
from depyf.run.trace_events import TraceEvent, compile_id_in
from depyf.safety.escape import cut
from depyf.sources.reports.builders import EntryBuilder, FunctionBuilder
from depyf.sources.reports.callers import RunningFrame
from depyf.sources.reports.cpp_texts import as_python
from depyf.sources.reports.entry_facts import RestParents, name_of_rest
from depyf.sources.reports.guards.guard_text import PLAIN_READER
from depyf.sources.reports.guards.told_call import GuardedCall
from depyf.sources.reports.heard import Heard, path_in
from depyf.sources.reports.library_files import of_libraries, torch_lies_at
from depyf.sources.reports.program_sources import ProgramSources, with_parameters
from depyf.sources.reports.recompiles import parse_recompile
from depyf.sources.reports.shape_questions import ShapeQuestion
from depyf.sources.reports.symbols import NOT_ASKED
from depyf.sources.trace_log.log_events import (
    ORIGINAL,
    TRANSFORMED,
    VERSION,
    LogStrings,
    artifact_name,
    event_of,
    phase_of,
)
from depyf.sources.trace_log.log_lines import LogRecord
from depyf.sources.trace_log.logged_call import ModuleClasses, logged_call
from depyf.sources.trace_log.logged_inputs import AOT_METADATA, DESCRIBED, DescribedTensors, aot_facts
from depyf.sources.trace_log.logged_options import logged_in_force, logged_limit, options_in
from depyf.sources.trace_log.logged_symbols import changed_size, logged_symbols

_GIVES_UP = ("Unsupported", "UserError", "SkipFrame")
"""Errors of torch after which a frame runs as ordinary Python, unless ``fullgraph=True`` was asked for."""
_SUPPRESSING = frozenset({
    "_get_output_tensor_from_cache_entry", "view_from_base", "compute_overlapping_inputs", "ir_node_to_tensor",
    "_aot_stage2b_bw_compile",
})  # fmt: skip
"""Functions of torch in which it suppresses guards."""
_ASIDE = ShapeQuestion(suppressed=True)
_MOST_TEXT = 1 << 30
"""Characters of graphs and generated code that are kept of one log."""
_LONGEST = 200


class HeardLog(Heard):
    """The records of one log, as they are read."""

    def __init__(self) -> None:
        super().__init__(PLAIN_READER, 0.0)
        self.strings = LogStrings()
        self.torch_version = self.python_version = ""
        self.rank: int | None = None
        self.options: Mapping[str, object] = {}
        self.original: dict[tuple[int, str], str] = {}
        self.transformed: dict[CompileKey, str] = {}
        """torch's disassembly of the rests of functions after a graph break, and of what it made of them."""
        self._reasons: dict[CompileKey, str] = {}
        """Why earlier entries did not fit, until what the call had is known."""
        self._sources = ProgramSources()
        self._parents = RestParents(self.functions)
        self._modules = ModuleClasses()
        self._codes: dict[tuple[int, str], CodeRecord] = {}
        self.described: dict[CompileKey, DescribedTensors] = {}
        self._changed: dict[tuple[int, str], set[str]] = {}
        """Function -> the sizes that torch makes symbols because they have changed."""
        self.above: dict[CompileKey, tuple[RunningFrame, ...]] = {}
        """Rest of a function -> the frames above the function, as far as the stack at its begin tells all of them."""
        self._metadata: dict[CompileKey, str] = {}
        """What AOTAutograd tells of the forward graph that comes next."""
        self._text = 0
        self.raw: dict[tuple[CompileKey, str, str], int] = {}
        """Compilation, name of a record and report of a break -> the line of the log."""

    def take(self, record: LogRecord) -> None:
        """Read one record.  A record of another form than torch's becomes a note."""
        try:
            self._take(record)
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError, OverflowError) as error:
            said = cut(f"{type(error).__name__}: {error}", _LONGEST)
            self.note(f"line {record.line} of the log is of no form that torch writes, and left out ({said})")

    def _take(self, record: LogRecord) -> None:
        if type(rank := record.metadata.get("rank")) is int and 0 <= rank < 1 << 20:
            self.rank = rank
        if named := self.strings.take(record):
            torch_lies_at(named)
        elif not self._told(record) and (phase := phase_of(record)) is not None:
            self._timed(phase, record.metadata)
        elif (event := event_of(record, self.strings)) is not None:
            self.handle(event)
            if event.name in EXPLAINING:
                self._note_line(event, record.line)

    def _note_line(self, event: TraceEvent, line: int) -> None:
        """Where a record stands: of a break that several attempts report the first one, of what comes anew the last."""
        key = self.key(event.compile_id)
        if event.name == BREAK:
            self.raw.setdefault((key, event.name, event.payload), line)
        else:
            self.raw[key, event.name, ""] = line

    def _told(self, record: LogRecord) -> bool:
        """Whether it is a record that a process which compiles does not need: it looks at the things themselves."""
        name = artifact_name(record.metadata)
        key = self.key(compile_id_in(record.metadata))
        if name == VERSION:
            self.torch_version = str(json.loads(record.payload)["pytorch_version"])
        elif name == AOT_METADATA:
            self._metadata[key] = record.payload
        elif name.endswith(ORIGINAL):
            self.original[key.function] = without_addresses(record.payload)
        elif name.endswith(TRANSFORMED):
            self.transformed[key] = without_addresses(record.payload)
        elif any(kind in record.metadata for kind in DESCRIBED):
            self.described.setdefault(key, DescribedTensors()).take(record.metadata)
        else:
            return False
        return True

    def _timed(self, phase: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        moment = phase.get("ts")
        if not self.clock.began and type(moment) in (int, float):
            self.clock.began = float(moment or 0) / 1e6
        if size := changed_size(phase):
            self._changed.setdefault(self.key(compile_id_in(dict(metadata))).function, set()).add(size)
        compiling = compile_id_of(phase)
        # torch gives every thread the number 0: what helpers do has no compile id
        ended = self.clock.take(phase, 0 if compiling or "frame_id" in metadata else 1)
        if ended is not None and ended[0]:
            self.phases.setdefault(self.key(ended[0]), []).append(ended[1])

    def code_of(self, function: tuple[int, str]) -> CodeRecord:
        """The code record of a function, with its source where the program's file can be read."""
        known = self._codes.get(function)
        if known is None:
            code = self.functions[function].code
            if (begun := self.begun_by(function)) is not None:
                known = replace(code, qualname=name_of_rest(self.code_of(begun), code.name))
            elif not is_rest(code):
                read = linecache.getline(code.filename, code.line)
                known = with_parameters(self._sources.with_source(code) if read else code)
                known = replace(known, qualname=written_name(code.filename, code.line, code.name))
            self._codes[function] = known = known or code
        return known

    def begun_by(self, function: tuple[int, str]) -> tuple[int, str] | None:
        """The function that the resume function ``function`` continues; None for a whole function."""
        code = self.functions[function].code
        return self._parents.parent(function) if is_rest(code) else None

    def limit(self) -> int | None:
        """The ``recompile_limit`` of the process that wrote the log."""
        return logged_limit(self.options)

    def begin_frame(self, compile_id: str, event: TraceEvent) -> CompileKey:
        """Begin a compilation.  The stack in ``dynamo_start`` lacks the last two frames above the function: of the rest
        of a function they are that function, and torch's wrapper of a compiled call, where that is in no frame before.
        """
        key = super().begin_frame(compile_id, event)
        stack = event.data.get("stack")
        frames = stack[:-1] if isinstance(stack, list) else []
        if is_rest(self.functions[key.function].code) and not any(map(self._is_wrapper, frames)):
            self.above[key] = tuple(self._running(frames))
        return key

    def _is_wrapper(self, frame: Mapping[str, Any]) -> bool:
        return self._file(frame).replace("\\", "/").endswith("/torch/_dynamo/eval_frame.py")

    def take_graph(self, key: CompileKey, event: TraceEvent) -> None:
        """Add a graph or generated code, up to a total size of all texts."""
        self._text += len(event.payload)
        if self._text > _MOST_TEXT:
            self.note("the log holds more graphs and generated code than is kept: the last ones are left out")
            return
        metadata = self._metadata.pop(key, "") if BY_EVENT[event.name] == FORWARD else ""
        aot = aot_facts(metadata) if metadata else None
        text, path = as_python(event.name, event.payload), path_in(event)
        facts = GraphFacts(aot=aot) if aot is not None else None
        self.add_graph(key, BY_EVENT[event.name], text, path, event.attempt, facts)

    def take_recompile(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add torch's reasons of a recompilation.  The guards of the new entry later tell the values of the call."""
        super().take_recompile(entry, event)
        self._reasons[entry.key] = event.payload

    def take_symbol(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add an event about a symbol, with the callers: the stack in ``dynamo_start`` lacks the last two."""
        aside = event.name.startswith("guard_added") and self._suppressed(event.data.get("stack"))
        entry.symbols.take(event.name, event.data, _ASIDE if aside else NOT_ASKED)
        if not entry.callers:
            entry.callers = tuple(self._running(event.data.get("stack")))

    def _running(self, stack: object) -> Iterator[RunningFrame]:
        """The frames of the program before those of Dynamo, the outermost first."""
        for frame in stack if isinstance(stack, list) else ():
            filename, line = self._file(frame), frame.get("line")
            if filename.replace("\\", "/").endswith("/torch/_dynamo/convert_frame.py"):
                return
            name, line = str(frame.get("name")), line if type(line) is int else 0
            first = self._first_line(filename, name, line)
            if first or not of_libraries(filename):
                yield RunningFrame(name, "" if first else name, filename, first, line)

    def _file(self, frame: Mapping[str, Any]) -> str:
        number = frame.get("filename")
        return self.strings.named(number) if type(number) is int else str(number)

    def _first_line(self, filename: str, name: str, line: int) -> int:
        """Where the function begins that stands in a line; 0 where Dynamo saw no such function."""
        seen = (b.code for b in self.functions.values())
        return max((c.line for c in seen if (c.filename, c.name) == (filename, name) and c.line <= line), default=0)

    def _suppressed(self, stack: object) -> bool:
        """Whether torch makes no guard of what it asks: it looks at a tensor for itself."""
        names = (
            {str(frame.get("name")) for frame in stack if isinstance(frame, dict)} if isinstance(stack, list) else ()
        )
        return not _SUPPRESSING.isdisjoint(names)

    def _explain(self, entry: EntryBuilder) -> None:
        """The guards of an entry hold for the call that needed it: they tell the values that failed those of others."""
        reasons, function = self._reasons.pop(entry.key, ""), entry.key.function
        if not reasons or function not in self.functions:
            return
        begun = self.begun_by(function)
        own = (one for one in reversed(self.entries.values()) if one.key.function == function and one.guard_text)
        guards = self.guards_of(entry) or next(map(self.guards_of, own), ())
        modules = self._modules.variables(guards, self.functions[function].code.filename)
        call = logged_call(
            self.code_of(function), None if begun is None else self.code_of(begun), modules, entry.symbols.records()
        )
        guarded = GuardedCall(self.guards_of(entry) or self._passed(entry), call)
        records = parse_recompile(reasons, guarded, reader=self.reader)
        asked = ((one.entry, self.entries.get(self.key(one.entry))) for one in records if one.entry)
        earlier = {name: self.guards_of(one) for name, one in asked if one is not None}
        told = ((name, guarded.failed(guards)) for name, guards in earlier.items())
        entry.refusals = tuple(RefusalRecord(name, failed) for name, failed in told if failed)
        known = {name: tuple(guarded.known_failed(guards)) for name, guards in earlier.items()}
        entry.recompiles = tuple(self.explained(told_instead(one, known.get(one.entry, ()))) for one in records)

    def _passed(self, entry: EntryBuilder) -> list[GuardRecord]:
        """What held in a call that torch compiled nothing for: before an attribute of a value torch asks for its class,
        so of an entry that failed at the attribute the guards on the value itself held."""
        found = []
        for record in entry.recompiles:
            earlier = self.entries.get(self.key(record.entry)) if record.entry else None
            failed = named(record.differences[0].source) if record.differences else ""
            found += [
                guard
                for guard in (self.guards_of(earlier) if earlier is not None and failed else ())
                if guard.source and failed.startswith((f"{named(guard.source)}.", f"{named(guard.source)}["))
            ]
        return found

    def close(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """End a compilation, with the options of the process that the metrics contain."""
        self.options = options_in(event.data) or self.options
        entry.in_force = logged_in_force(self.options)
        broke = bool(entry.breaks)
        super().close(entry, event)
        if entry.symbols.symbols and entry.guard_text:
            known, changed = entry.symbols.records(), self._changed.get(entry.key.function, ())
            entry.symbols.finish(logged_symbols(known, self.guards_of(entry), changed))
        self._explain(entry)
        kind = str(event.data.get("fail_type") or "")
        captured = any(graph.record.stage == CAPTURED for graph in self.graphs_of.get(entry.key, ()))
        entry.has_code = bool(entry.guard_text) or (captured and not kind)
        if kind:
            given_up = kind in _GIVES_UP and (broke or not entry.started or kind == "SkipFrame")
            entry.raised = not given_up and self.options.get("suppress_errors") is not True
        self.torch_version = str(event.data.get("pytorch_version") or self.torch_version)
        python = str(event.data.get("python_version") or "").split()
        self.python_version = python[0] if python else self.python_version
        if entry.key.function not in self.functions and event.data.get("co_name"):
            self.functions[entry.key.function] = FunctionBuilder(_code_in(event.data))


def _code_in(data: Mapping[str, Any]) -> CodeRecord:
    """The function, of which the log has no beginning."""
    line = data.get("co_firstlineno")
    name, filename = str(data.get("co_name")), str(data.get("co_filename") or "")
    return CodeRecord(name, name, filename, line if type(line) is int else 0, (), (), (), None, None, ())


def told_instead(record: RecompileRecord, failed: Iterable[FailedGuardRecord]) -> RecompileRecord:
    """``record``, or one with the first guard that failed where torch names none."""
    if not any(difference.what in UNTOLD for difference in record.differences):
        return record
    for one in failed:
        if one.differences and one.differences[0].kind != UNKNOWN_KIND:
            return recompile_record(record.entry, without_mapping(plain(one.guard)), one.place, one.differences)
    return record


def is_rest(code: CodeRecord) -> bool:
    """Whether it is a resume function, which is in no source file."""
    return code.name.startswith(RESUME_PREFIX)
