"""What torch has now, as the run that a dump would hold: made of its caches and of what it remembers.

Input: what torch was given to compile.  Output: a ``Run`` of these functions, of the rests of them after graph breaks,
and of what was compiled inside their calls.  Nothing was listened to: the values of calls are those that guards tell,
and of the compilations that torch no longer remembers no reason, no time and no break is known.
"""

from __future__ import annotations

import contextlib
import linecache
import platform
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.causes.folding import counted
from depyf.run.causes.value_advice import without_tensors
from depyf.run.global_names import GRAPH, readable_globals
from depyf.run.nearest import nearest_first, without_lone_marks
from depyf.run.places.place import Place
from depyf.run.records import (
    CallerRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GraphRecord,
    GuardRecord,
    TransformedRecord,
)
from depyf.run.run import Run, TimesRecord
from depyf.sources.live.ahead.filtered_guards import is_captured, left_out_of
from depyf.sources.live.caches.broken_callees import with_places_in_callees
from depyf.sources.live.caches.call_at_break import call_at_break
from depyf.sources.live.caches.entries import LiveEntry, cache_entries, guard_text
from depyf.sources.live.caches.inner_functions import InnerFunctions
from depyf.sources.live.caches.kept_breaks import called_code, kept_breaks, kept_failure
from depyf.sources.live.caches.live_graphs import captured_graphs, captured_modules, compiled_functions
from depyf.sources.live.caches.loaded_entries import hidden_guards
from depyf.sources.live.caches.seen_code import codes_seen, why_never_compiled
from depyf.sources.live.caches.wrapped_objects import WrappedObjects
from depyf.sources.live.decorated import of_object, stands_for
from depyf.sources.live.events.break_errors import raised_then
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.events.compilations import (
    Compilation,
    has_forgotten,
    of_code,
    recent_compilations,
    since_reset,
)
from depyf.sources.live.events.missing_reports import gaps, tells_of_loops
from depyf.sources.live.events.torch_options import in_force
from depyf.sources.live.guards.guarded_call import LiveGuardedCall
from depyf.sources.live.guards.printed_guards import READER, parse_guards
from depyf.sources.live.notebook_cells import cell_names
from depyf.sources.live.recording.code_record import code_record
from depyf.sources.live.recording.snapshot import entry_record, torch_version
from depyf.sources.live.resume import is_rest, origin, resume_globals, resume_targets
from depyf.sources.live.target import Target
from depyf.sources.live.wrapped import module_called
from depyf.sources.reports.builders import EntryBuilder
from depyf.sources.reports.failures import told_failure
from depyf.sources.reports.guards.guard_text import CompletedNames
from depyf.sources.reports.metrics import failure
from depyf.sources.reports.program_sources import ProgramSources
from depyf.sources.reports.recompiles import fixed_sizes, parse_recompile, specialised, still_fixed

NO_REASON = (
    "there was nothing to compile in it, or Dynamo gave up on it (a graph break in a loop); this torch keeps no "
    "reason: put its first call under depyf.prepare_debug"
)
_HIDDEN = "for it, and shows their guards, not their code: depyf.why says whether one runs"
FORGOTTEN = "torch remembers its last compilations only: what was compiled inside before is missing"
_NO_LINE = Place("", 0)


def live_run(targets: Sequence[Target], paths: Sequence[str] = (), codes: Sequence[types.CodeType] = ()) -> Run:
    """The run in the live caches of ``targets``.  ``paths``: the path of each target in the object asked about, "" for
    the object itself; ``codes``: further functions."""
    found = _LiveFunctions(since_reset(recent_compilations()), targets, paths)
    for code in (*(target.code for target in targets), *codes):
        found.add(code)
    functions = with_places_in_callees(found.records(), found.called, found.direct_calls())
    return Run(
        torch_version=torch_version(),
        python_version=platform.python_version(),
        functions=functions,
        graphs=tuple(found.graphs),
        never_compiled=tuple(found.never_compiled),
        not_reported=gaps(),
        cells=cell_names(function.code.filename for function in functions),
        times=tuple(found.times),
        missing=(FORGOTTEN,) if has_forgotten() else (),
    )


@dataclass(slots=True)
class _LiveFunction:
    """A code object with its compilations."""

    code: types.CodeType
    number: tuple[int, str]
    record: CodeRecord
    entries: tuple[EntryRecord, ...]
    names: dict[str, None] = field(default_factory=dict)
    """The globals that call it, where it is the rest of a function."""
    rest_of: int = 0
    """The id of the code that calls it then."""


class _LiveFunctions:
    """The functions that were found so far."""

    def __init__(self, compilations: tuple[Compilation, ...], targets: Sequence[Target], paths: Sequence[str]) -> None:
        self._fullgraph = {id(target.code) for target in targets if target.fullgraph}
        self._compilations = compilations
        self._backend = next((target.backend for target in targets if target.backend is not None), None)
        self._asked = {id(target.code): target for target in reversed(targets)}
        self._wrapped = WrappedObjects(targets, paths)
        self._inner = InnerFunctions(compilations)
        self._in_force = in_force()
        self._sources = ProgramSources()
        self._resolve = CompletedNames([*linecache.cache], "torch")
        self._functions: dict[int, _LiveFunction] = {}
        self.never_compiled: list[tuple[CodeRecord, str]] = []
        self.times: list[TimesRecord] = []
        self.graphs: list[GraphRecord] = []
        self.called: dict[CompileKey, str] = {}
        """What the code of an entry calls where its graph ends."""
        self._direct: list[tuple[int, int]] = []
        """The ids of callers and callees with nothing of a library between them."""

    def records(self) -> tuple[FunctionRecord, ...]:
        """In the order in which they were found: what is called inside a function stands after it."""
        found = []
        for function in self._functions.values():
            whole = self._functions.get(id(origin(function.code))) or self._begun(function)
            found.append(
                FunctionRecord(
                    function.number,
                    function.record,
                    function.entries,
                    whole.number if whole is not None else None,
                    tuple(function.names),
                )
            )
        return tuple(found)

    def direct_calls(self) -> set[tuple[tuple[int, str], tuple[int, str]]]:
        """Callers and callees with nothing of a library between them."""
        found = self._functions
        return {(found[one].number, found[two].number) for one, two in self._direct if one in found and two in found}

    def _begun(self, function: _LiveFunction) -> _LiveFunction | None:
        """The function of which a rest that was loaded is one: torch's table does not know it."""
        found, seen = function, [function.rest_of]
        while (above := self._functions.get(found.rest_of)) is not None:
            found = above
            if found.rest_of in seen:
                break
            seen.append(found.rest_of)
        return found if found is not function else None

    def add(
        self,
        code: types.CodeType,
        path: tuple[CallerRecord, ...] = (),
        call_of: Mapping[str, Place] = MappingProxyType({}),
    ) -> None:
        """``path``: who called it, the outermost first; ``call_of``: by which line of the last of them, for each
        compile id."""
        if id(code) in self._functions:
            return

        def callers(entry: EntryBuilder) -> tuple[CallerRecord, ...]:
            known = call_of.get(entry.key.text)
            return path if known is None else (*path[:-1], replace(path[-1], place=known))

        asked = self._asked.get(id(code))
        live = self._wrapped.entries(code, cache_entries(code) if asked is None else asked.entries)
        resolve = CompletedNames([*linecache.cache, code.co_filename], "torch")
        texts = {entry.compile_id: guard_text(entry) for entry in live}
        guards = {key: (text, parse_guards(text, resolve)) for key, text in texts.items()}
        found = [self._entry(code, one, alive, guards, resolve, callers) for one, alive in self._pairs(code, live)]
        rest = is_rest(code)
        if found or rest or not path:
            number = found[0].key.function if found else (0, f"?{len(self._functions)}")
            record = self._code_record(code)
            called = next((entry.wrapped for entry in found if entry.wrapped), "")
            record = replace(record, wrapped=record.wrapped or called)
            record = record if rest else self._sources.with_source(record)
            entries = tuple(without_tensors(without_lone_marks(nearest_first(found)), record))
            self._functions[id(code)] = _LiveFunction(code, number, record, entries)
            hidden = len(hidden_guards(code))
            if hidden:
                self.never_compiled.append(
                    (record, f"torch has loaded {counted(hidden, 'entry', 'entries')} {_HIDDEN}")
                )
            elif not found and any(code is known for known in codes_seen()):
                self.never_compiled += [(record, reason) for reason in why_never_compiled([code]).values()]
            path = (*(callers(EntryBuilder(found[0].key)) if found else path), CallerRecord(_NO_LINE, number))
        for entry in live:
            for name, target in resume_targets(entry):
                self.add(target, path)
                self._functions[id(target)].names[name] = None
                self._functions[id(target)].rest_of = id(code)
        for inner in self._inner.of(code) if not rest and not any(entry.made.apart for entry in live) else ():
            if inner.direct:
                self._direct.append((id(code), id(inner.code)))
            self.add(inner.code, path, {key: _in_words(call, code) for key, call in inner.call_of.items()})

    def _code_record(self, code: types.CodeType) -> CodeRecord:
        record = replace(code_record(code), wrapped=self._wrapped.name(code))
        target = self._asked.get(id(code))
        if target is None:
            return record
        first = dict(zip(code.co_varnames, target.leading[: code.co_argcount]))
        if record.varargs is not None and not code.co_argcount:
            first[record.varargs] = target.leading
        if "<locals>" in record.qualname:
            record = replace(record, decorated=stands_for(code, target.function.__closure__, first))
        return of_object(record, lambda: next(iter(target.leading), None))

    def _pairs(
        self, code: types.CodeType, live: tuple[LiveEntry, ...]
    ) -> list[tuple[Compilation | str, LiveEntry | None]]:
        """The compilations of ``code``: those in the cache, in torch's order, then those of which no code came.  Of one
        that torch has forgotten, or that was no call, only the compile id is known."""
        if any(entry.made.apart for entry in live):
            return [(entry.compile_id, entry) for entry in live]
        own = of_code(self._compilations, code.co_filename, code.co_firstlineno, code.co_name)
        known = {one.compile_id: one for one in own}
        pairs: list[tuple[Compilation | str, LiveEntry | None]] = [
            (known.get(entry.compile_id, entry.compile_id), entry) for entry in live
        ]
        alive = {entry.compile_id for entry in live}
        frames = {CompileKey(0, compile_id).function for compile_id in (*alive, *known)}
        ended = [
            one
            for one in self._compilations
            if not self._wrapped.shared(code)
            if (known.get(one.compile_id) is one and one.made_nothing)
            or (one.refused and one.compile_id not in known and CompileKey(0, one.compile_id).function in frames)
        ]
        return pairs + [(one, None) for one in ended if one.compile_id not in alive]

    def _entry(
        self,
        code: types.CodeType,
        found: Compilation | str,
        live: LiveEntry | None,
        guards_of: Mapping[str, tuple[str, tuple[GuardRecord, ...]]],
        resolve: Callable[[str], str],
        callers: Callable[[EntryBuilder], tuple[CallerRecord, ...]],
    ) -> EntryRecord:
        """What a recording would have kept of a compilation, and its record."""
        known = None if isinstance(found, str) else found
        key = CompileKey(0, found if isinstance(found, str) else found.compile_id)
        text, guards = guards_of[key.text] if live is not None else ("", ())
        entry = EntryBuilder(key, closed=True, started=True, in_force=self._in_force)
        if live is not None:
            entry.guard_text = text
            entry.parsed = text, guards
            entry.left_out, entry.captured = left_out_of(live.manager), is_captured(live.manager)
        if live is not None:
            entry.transformed = _transformed(key, live)
            ends = call_at_break(live.code) if resume_targets(live) or (known is not None and known.breaks) else None
            self.called[key] = ends.source if ends is not None else ""
            entry.breaks = kept_breaks(code, live, known, ends, called_code(ends, self._values(code, live)))
            entry.operations = _operations(live) if known is None else known.operations
            self.graphs += captured_graphs(key, live, entry.operations)
            entry.made = live.made
        entry.wrapped = self._wrapped.of(code, live) or module_called(code, (*guards, *entry.left_out))
        if known is not None:
            entry.started = not known.refused
            self.times.append(TimesRecord(key, () if known.seconds is None else ((_WHOLE, known.seconds),)))
            if known.recompiled_because:
                call = LiveGuardedCall(guards, code)
                told = parse_recompile(known.recompiled_because, call, resolve, READER)
                named = {one.entry for one in told}
                others = [
                    refusal
                    for other, (_, theirs) in guards_of.items()
                    if other not in named and CompileKey(0, other).order < key.order
                    if (refusal := call.refusal(other, theirs)) is not None
                ]  # torch keeps the first reason only
                entry.recompiles = tuple(specialised(one, call.places) for one in (*told, *others))
            if live is None:
                self._add_failure(entry, code, known)
        record = entry_record(entry, live, resolve, callers, values=False)
        sizes = fixed_sizes(guards) if record.recompiles else {}
        return replace(
            record,
            recompiles=tuple(still_fixed(one, sizes) for one in record.recompiles),
            backend=backend_name(self._backend if live.backend is None else live.backend) if live is not None else "",
        )

    def _values(self, code: types.CodeType, live: LiveEntry) -> CallValues:
        """What a call of ``code`` finds: its globals, what it shares with functions around it, and what is bound to
        it."""
        target, variables = self._asked.get(id(code)), {}
        if target is not None:
            variables = dict(zip(code.co_varnames[: code.co_argcount], target.leading))
            for name, cell in zip(code.co_freevars, target.function.__closure__ or ()):
                with contextlib.suppress(ValueError):  # it is empty
                    variables[name] = cell.cell_contents
        return CallValues(variables, live.globals or {}, code=code)

    def _add_failure(self, entry: EntryBuilder, code: types.CodeType, known: Compilation) -> None:
        entry.failed = failure(known.metrics)
        if not known.refused:
            entry.error = told_failure(known.metrics)
        entry.given_up = bool(known.failure)
        entry.raised = raised_then(known.failure_kind) or (id(code) in self._fullgraph and bool(known.failure))
        if known.failure_kind == "Unsupported":
            entry.breaks = kept_failure(code, known)
        if not known.failure and not (known.compiled and tells_of_loops()):
            entry.failed = NO_REASON


def _in_words(call: Place, caller: types.CodeType) -> Place:
    """With the qualified name of the function that the line is in: torch keeps the last part of it."""
    return replace(call, function=qualified_name(caller)) if call.function == caller.co_name else call


_WHOLE = "entire_frame_compile_time"


def _transformed(key: CompileKey, live: LiveEntry) -> TransformedRecord:
    """The names of what the code of an entry calls; it is not decompiled."""
    renamed = readable_globals(key, live.code.co_names)
    graphs = len(compiled_functions(live))
    called = [new for new in renamed.values() if new.startswith(GRAPH)][:graphs]
    made = dict.fromkeys([*resume_globals(live.code.co_names), *(name for name, _ in resume_targets(live))])
    return TransformedRecord("", False, NOT_READ, (), tuple(called), tuple(made))


NOT_READ = "it was not decompiled"


def _operations(live: LiveEntry) -> int | None:
    """Of the largest graph that Dynamo captured; None where no backend kept one: AOTAutograd's have others."""
    calls = ("call_function", "call_method", "call_module")
    graphs = captured_modules(compiled_functions(live))
    return max((sum(node.op in calls for node in module.graph.nodes) for module in graphs), default=None)


def backend_name(backend: Any) -> str:
    """The name of a backend, as the program gave it to torch.compile."""
    if isinstance(backend, str):
        return backend
    name = getattr(backend, "compiler_name", None) or getattr(backend, "__name__", None)
    return str(name or type(backend).__name__) if backend is not None else ""
