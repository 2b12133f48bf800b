"""Listens to torch.compile and keeps its reports.

Input: torch's structured trace records (a ``logging.Handler`` on ``torch.__trace``) and the bytecode hook.  Output:
builders that ``dynamo.snapshot`` freezes into a ``Run``.  Invariants: nothing here raises into torch; every
event belongs to the compile id torch gave it (a backward compiled late still lands with its forward); what a
restarted attempt reported is dropped; only weak references to live objects are kept.
"""

from __future__ import annotations

import os
import re
import threading
import time
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from depyf.run.advice.number_operands import taken_as_number
from depyf.run.compile_stages import BY_EVENT, CAPTURED
from depyf.run.global_names import PACKAGE
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.graphs.node_origins import NodeOrigins
from depyf.run.made import Made
from depyf.run.phase_times import PhaseClock, PhaseTime, compile_id_of
from depyf.run.records import (
    CodeRecord,
    CompileKey,
    GivenRecord,
    GraphRecord,
    GuardRecord,
    RecompileRecord,
)
from depyf.run.trace_events import TraceEvent, cache_of
from depyf.safety.guarded import Door
from depyf.sources.live.ahead.ahead_frames import AheadWork, LoadedWork, ahead_work, loaded_work, package_work
from depyf.sources.live.ahead.ahead_functions import ahead_entry, name_ahead
from depyf.sources.live.ahead.cpp_texts import as_python
from depyf.sources.live.ahead.filtered_guards import left_out_guards
from depyf.sources.live.ahead.work_names import WorkNames
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.caches.loaded_entries import name_loaded
from depyf.sources.live.calls.call_facts import call_facts
from depyf.sources.live.calls.pinning import pinned_size
from depyf.sources.live.decorated import by_object, decorated
from depyf.sources.live.events.break_stack import NOTHING_KNOWN, BrokenAt, traced_stack
from depyf.sources.live.events.call_values import call_values, refused_call
from depyf.sources.live.events.callers import running_frames
from depyf.sources.live.events.failures import told_failure
from depyf.sources.live.events.graph_breaks import raises
from depyf.sources.live.events.graph_reading import facts_of, reported_graph
from depyf.sources.live.events.listening import Listener, ignore, listen
from depyf.sources.live.events.metrics import cache_record, failure, first_line, last_line, phases
from depyf.sources.live.events.module_path import traced_module
from depyf.sources.live.events.recompiles import parse_recompile, refused_recompile, specialised
from depyf.sources.live.events.symbols import SymbolTable
from depyf.sources.live.events.torch_options import in_force
from depyf.sources.live.guards.all_refusals import all_refusals
from depyf.sources.live.guards.asked_instead import asked_instead
from depyf.sources.live.guards.printed_guards import parse_guards
from depyf.sources.live.origins.node_reading import origins_of
from depyf.sources.live.recording.builders import EntryBuilder, FunctionBuilder, GraphBuilder, find_code, loops_in
from depyf.sources.live.recording.code_record import code_record, record_of_start
from depyf.sources.live.resume import origin, resume_targets
from depyf.sources.live.wrapped import call_of, is_module_call, wrapped_call

_GRAPH_ID = re.compile(r"^[ \t]*# graph id: \d+[ \t]*(?:\n|\Z)", re.M)
"""An address, which torch prints into the graphs around the pre-grad passes."""

_EXPLAINING = (
    "dynamo_graph_break_reason", "recompile_reasons", "dynamo_error", "compilation_metrics", "bwd_compilation_metrics"
)  # fmt: skip
"""Events of which a killed process leaves what they said."""


class Capture:
    """Everything heard since ``start``; thread-safe; deaf in forked children, but for ``in_child``."""

    def __init__(
        self,
        on_graph: Callable[[GraphRecord], None],
        on_dropped: Callable[[GraphRecord], None],
        on_closed: Callable[[CompileKey], None] = lambda key: None,
        on_refused: Callable[[CompileKey], None] = lambda key: None,
        on_told: Callable[[CompileKey], None] = lambda key: None,
    ) -> None:
        """``on_told``: called when a compilation has begun, and whenever something was heard that explains it."""
        self.lock = threading.RLock()
        self.functions: dict[tuple[int, str], FunctionBuilder] = {}
        self.entries: dict[CompileKey, EntryBuilder] = {}
        self.graphs: list[GraphBuilder] = []
        self.graphs_of: dict[CompileKey, list[GraphBuilder]] = {}
        self.notes: list[str] = []
        self._generation = 0
        self.current: dict[str, CompileKey] = {}
        self._places: set[tuple[str, str, int]] = set()
        self._on_graph = on_graph
        self._on_dropped = on_dropped
        self._on_closed = on_closed
        self._on_refused = on_refused
        self._on_told = on_told
        self.timings: dict[CompileKey, dict[str, float]] = {}
        """Compile times per phase, in seconds: another in every run, so no part of the records."""
        self.phases: dict[CompileKey, list[PhaseTime]] = {}
        """When each phase began, and its seconds: no part of the records either."""
        self.clock = PhaseClock(time.time())
        self._pid = os.getpid()
        self.in_child: Callable[[], Capture | None] | None = None
        """Called in a forked child by the first event there: the capture of a dump of the child's own."""
        self.ahead: dict[tuple[int, str], weakref.ref[Any]] = {}
        """What is compiled ahead of time, or loaded: the object that the program calls."""
        self._work = WorkNames()
        self.on_ahead: Callable[[CompileKey, AheadWork], None] | None = None
        """Called with what is compiled ahead of time or loaded."""
        self.on_inputs: Callable[[GraphRecord, Any], None] | None = None
        """Called with each captured graph and the live one, while Dynamo holds the inputs."""
        self.deaf = 0  # a thread that compiles for an answer of ours
        self._handler: Listener | None = None

    def start(self) -> None:
        self._handler = Listener(self._take, self.note, self._timed)
        listen(self._handler)

    def stop(self) -> None:
        """The handler goes: ``logging`` lists each one that lives."""
        handler, self._handler = self._handler, None
        if handler is not None:
            ignore(handler)

    @property
    def here(self) -> bool:
        """False in a forked child, which inherits the listeners but not the dump."""
        return os.getpid() == self._pid

    @property
    def hears(self) -> bool:
        """Not a thread that is deaf."""
        return self.here and threading.get_ident() != self.deaf

    def note(self, text: str) -> None:
        """Remember a problem of depyf for the manifest, once however often it happens."""
        with self.lock:
            if text not in self.notes:
                self.notes.append(text)

    def key(self, compile_id: str) -> CompileKey:
        """The key of an id that is being talked about now."""
        with self.lock:
            known = self.current.get(compile_id)
            if known is None:
                known = CompileKey(self._generation, compile_id)
                self.current[compile_id] = known
            return known

    def entry(self, key: CompileKey) -> EntryBuilder:
        with self.lock:
            return self.entries.setdefault(key, EntryBuilder(key))

    def _take(self, event: TraceEvent) -> None:
        if self.hears:
            self.handle(event)
        elif not self.here and self.in_child is not None and (own := self.in_child()) is not None:
            own.handle(event)  # the first one; the others come to it

    def _timed(self, event: Mapping[str, Any]) -> None:
        """A phase of a compilation begins or ends."""
        if self.hears:
            with self.lock:
                begun = compile_id_of(event)
                if begun and self.key(begun).function not in self.functions:
                    self._about(TraceEvent("", begun, 0, {}, ""))  # of a capture that fails nothing else says its id
                ended = self.clock.take(event, threading.get_ident())
                if ended is not None:
                    work = ahead_work() if not ended[0] else None
                    key = self.key(ended[0]) if work is None else self._key_of_work(work, "")
                    self.phases.setdefault(key, []).append(ended[1])

    def handle(self, event: TraceEvent) -> None:
        """Take one event in."""
        with self.lock:
            if event.name == "dynamo_start":
                self._on_told(self._begin(event.compile_id, event))
                return
            key, work = self._about(event)
            entry = self.entry(key)
            if event.attempt > entry.attempt:
                self._restart(entry, event.attempt)
            if event.name in BY_EVENT:
                path = str(event.data.get("file_path") or event.data.get("filename") or "")
                text = as_python(event.name, event.payload)
                added = self.add_graph(
                    key, BY_EVENT[event.name], text, path, event.attempt, self._facts(event),
                    origins=self._origins(event),
                )  # fmt: skip
                if added is not None and added.stage == CAPTURED and self.on_inputs is not None:
                    with Door("the inputs of a graph could not be kept", self.note):
                        self.on_inputs(added, reported_graph(CAPTURED))
            elif event.name == "dynamo_graph_break_reason":
                entry.in_force = in_force()
                if event.payload and event.payload not in entry.breaks:
                    entry.breaks[event.payload] = self._at_break()
            elif event.name == "recompile_reasons":
                self._on_refused(key)
                self._find_callers(entry)  # where torch refuses, no start follows
                entry.in_force = in_force()
                found = list(map(self._asked, parse_recompile(event.payload, call_values())))
                entry.call = refused_call()
                with Door("who made the values of a call could not be told", self.note):
                    entry.facts = call_facts(found, entry.call[1] if entry.call is not None else {})
                entry.recompiles = tuple(map(self._explained, map(entry.facts.of_record, found)))
            elif event.name == "dynamo_cpp_guards_str":
                entry.guard_text = event.payload
                entry.left_out = left_out_guards(self.note)
                entry.symbols.finish()
                self._find_refusals(entry)
                if work is not None:
                    self._made(entry, work)
                entry.closed = entry.closed or entry.made is Made.CALL_LOADED  # nothing more is said of it
            elif event.name == "dynamo_error":
                entry.failed = entry.failed or last_line(event.payload)
                with Door("where torch was tracing when it failed could not be told", self.note):
                    entry.traced = entry.traced or traced_stack()
            elif event.name in ("compilation_metrics", "bwd_compilation_metrics"):
                if work is not None:
                    event = replace(event, data={**event.data, **work.failure()})
                    self._made(entry, work)
                self._close(entry, event)
                entry.raised = entry.raised or (work is not None and bool(entry.failed))
            elif (cache := cache_of(event.name)) is not None:
                entry.caches.append(cache_record(*cache, event.payload))
            else:
                entry.symbols.take(event.name, event.data)
            if event.name in _EXPLAINING:
                self._on_told(key)

    def _about(self, event: TraceEvent) -> tuple[CompileKey, AheadWork | None]:
        """The compilation that ``event`` is of; what is compiled ahead of time is told by torch's frames."""
        key = self.key(event.compile_id)
        known = self.entries.get(key) if key.function in self.functions else None
        if known is not None and not known.closed and known.made is Made.CALL:
            return key, None
        with Door("what is compiled ahead of time could not be told", self.note):
            loaded = loaded_work(event.name) if known is not None and known.made is Made.CALL_LOADED else None
            if loaded is not None:
                frame = event.compile_id.rpartition("/")[0]
                return self._begin_loaded(self.key(f"{frame}/{loaded.number}"), loaded), None
            work = ahead_work()
            if work is not None:
                return self._begin_ahead(self._key_of_work(work, event.compile_id), work), work
            package = 0 if event.compile_id else package_work()
            if package:
                key = self.key(self._work.name(package, PACKAGE))
                if event.name == "compilation_metrics":
                    self._work.let_go(package)
        return key, None

    def _begin_loaded(self, key: CompileKey, loaded: LoadedWork) -> CompileKey:
        """torch gives the entries of a function, which it loads one after the other, the id of the first."""
        entry = self.entry(key)
        entry.made, entry.started = Made.CALL_LOADED, True
        known = self.functions.get(key.function)
        if known is None or known.live is None or known.live() is not loaded.code:
            self._add_function(key, loaded.code)
            name_loaded(loaded.code, key.text)
        return key

    def _key_of_work(self, work: AheadWork, compile_id: str) -> CompileKey:
        if work.made is Made.AHEAD:
            begun = (key.text for key, entry in self.entries.items() if entry.work == work.frame and not entry.closed)
            key = self.key(compile_id or work.compile_id or next(begun, ""))
            return self._renew(key.text) if key in self.entries and self.entries[key].is_other(work.frame) else key
        return self.key(self._work.name(work.frame, "loaded"))

    def _begin_ahead(self, key: CompileKey, work: AheadWork) -> CompileKey:
        entry = self.entry(key)
        entry.made, entry.started, entry.work = work.made, True, work.frame
        entry.backend = entry.backend or work.backend
        if key.function not in self.functions and work.original is not None:
            self._add_function(key, work.original)
            if is_module_call(work.original) and work.called is not None:
                entry.wrapped = call_of(work.called)
            self._find_callers(entry)
            self._on_told(key)
        return key

    def _made(self, entry: EntryBuilder, work: AheadWork) -> None:
        """Guards, and code, are there."""
        if work.function is not None:
            self.ahead[entry.key.function] = name_ahead(work.function, entry.key.text, work.made)
        if self.on_ahead is not None:
            self.on_ahead(entry.key, work)
        if work.made is Made.AHEAD_LOADED:  # nothing more is said of it
            entry.closed = True
            self._work.let_go(work.frame)
            self._on_closed(entry.key)

    def live_entries(self, function: tuple[int, str]) -> tuple[LiveEntry, ...]:
        """What torch may still run of a function, in the order it tries it."""
        builder = self.functions[function]
        if function in self.ahead:
            own = self.ahead[function]()
            return () if own is None else (ahead_entry(own),)
        code = builder.live() if builder.live is not None else None
        return cache_entries(code) if code is not None else ()

    def _find_refusals(self, entry: EntryBuilder) -> None:
        """While torch compiles: then the values are still those of the call."""
        call, entry.call = entry.call, None
        if call is not None:
            with Door("which guards failed could not be told", self.note):
                told = {record.entry: record for record in entry.recompiles}
                found = all_refusals(*call, self._guards(entry), self._guards_of, told)
                entry.refusals = tuple(map(entry.facts.of_refusal, found))

    def _guards_of(self, compile_id: str) -> tuple[GuardRecord, ...]:
        earlier = self.entries.get(self.key(compile_id))
        return self._guards(earlier) if earlier is not None else ()

    def _guards(self, entry: EntryBuilder) -> tuple[GuardRecord, ...]:
        """The guards of an entry, read once; the names of files are completed later."""
        if entry.parsed is None or entry.parsed[0] != entry.guard_text:
            entry.parsed = entry.guard_text, parse_guards(entry.guard_text)
        return entry.parsed[1]

    def _at_break(self) -> BrokenAt:
        with Door("where the graph broke could not be told", self.note):
            return BrokenAt(traced_module(), traced_stack())
        return NOTHING_KNOWN

    def _asked(self, record: RecompileRecord) -> RecompileRecord:
        """With the guard that failed, where torch does not say which."""
        with Door("the guards of a call could not be asked", self.note):
            return asked_instead(record)
        return record

    def _explained(self, record: RecompileRecord) -> RecompileRecord:
        """With what the symbols of the earlier entry tell."""
        earlier = self.entries.get(self.key(record.entry)) if record.entry else None
        if earlier is None:
            return record
        places = earlier.symbols.places
        return taken_as_number(specialised(record, places), places=places)

    def _close(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """torch is done with the frame, or with its backward."""
        self.timings.setdefault(entry.key, {}).update(phases(event.name, event.data))
        refused = event.data.get("fail_reason") and event.data.get("is_forward", False) is None
        if event.name != "compilation_metrics" and not refused:  # 2.6: what failed before torch knew which it is
            return
        entry.closed = True
        entry.call = None
        entry.symbols.finish()
        function = self.functions.get(entry.key.function)
        if function is not None and function.live is None:
            find_code(function)
        reason = event.data.get("fail_reason")
        if reason:
            entry.failed = failure(event.data)
            entry.error = told_failure(event.data, entry.traced)
            with Door("which tensors fix a size could not be told", self.note):
                entry.pinned = pinned_size(str(reason), entry.error[1])
            entry.given_up = True
            entry.raised = raises(str(event.data.get("fail_type")))
            if not entry.recompiles:
                entry.recompiles = tuple(map(self._explained, refused_recompile(str(reason))))
            if (
                event.data.get("fail_type") == "Unsupported" and not entry.breaks
            ):  # fullgraph=True: torch does not report it
                place = f"{event.data.get('fail_user_frame_filename')}:{event.data.get('fail_user_frame_lineno')}"
                entry.breaks[f"Graph break in user code at {place}\nGraph Break Reason: {reason}"] = NOTHING_KNOWN
        operations = event.data.get("graph_op_count")
        entry.operations = operations if isinstance(operations, int) else None
        restarts = event.data.get("restart_reasons")
        entry.restarts = tuple(sorted(first_line(str(r)) for r in restarts)) if isinstance(restarts, list) else ()
        self._on_closed(entry.key)

    def begin(self, code: types.CodeType, compile_id: str) -> CompileKey:
        """The bytecode hook saw ``code`` under ``compile_id``: register the function."""
        with self.lock:
            key = self.key(compile_id)
            known = self.functions.get(key.function)
            other = known.live() if known is not None and known.live is not None else None
            if other is not None and other is not code:  # compared as objects: their constants are the program's
                key = self._renew(compile_id)
                known = None
            if known is None or not known.hooked:
                self._add_function(key, code)
            else:
                known.code = by_object(known.code, code, again=True)
            self.entry(key).started = True
            return key

    def _add_function(self, key: CompileKey, code: types.CodeType) -> None:
        parent = origin(code)
        record = self._named(code_record(code), code)
        builder = FunctionBuilder(record, weakref.ref(code), hooked=True, family=id(parent or code))
        builder.resume_names.update(dict.fromkeys(self._names_of(code, parent)))
        self.functions[key.function] = builder

    def _named(self, record: CodeRecord, code: types.CodeType) -> CodeRecord:
        with Door(f"what {code.co_name} decorates could not be found out", self.note):
            return by_object(replace(record, decorated=decorated(code)), code)
        return record

    def _names_of(self, code: types.CodeType, parent: types.CodeType | None) -> list[str]:
        """The globals under which the transformed code of functions seen so far calls ``code``, which continues
        ``parent``."""
        for builder in reversed(self.functions.values()) if parent is not None else ():  # mostly the last one calls it
            live = builder.live() if builder.live is not None and builder.family in (0, id(parent)) else None
            if live is not None and (live is parent or origin(live) is parent):
                names = [name for entry in cache_entries(live) for name, made in resume_targets(entry) if made is code]
                if names:
                    return names
        return []

    def _begin(self, compile_id: str, event: TraceEvent) -> CompileKey:
        key = self.key(compile_id)
        entry = self.entries.get(key)
        if entry is not None and entry.closed:  # torch._dynamo.reset() restarted the counters
            key = self._renew(compile_id)
        entry = self.entry(key)
        entry.started = True
        loaded = loaded_work(event.name)
        if loaded is not None:
            self._begin_loaded(key, loaded)
        if key.function not in self.functions:
            self.functions[key.function] = FunctionBuilder(record_of_start(event))
        self._find_callers(entry)
        with Door("what a wrapper of torch calls could not be told", self.note):
            entry.wrapped = wrapped_call()
        code = self.functions[key.function].code
        self._places.add((code.filename, code.name, code.line))
        return key

    def _find_callers(self, entry: EntryBuilder) -> None:
        if entry.callers:
            return
        with Door("the callers of a compiled function could not be told", self.note):
            entry.callers = running_frames(lambda frame: frame.code in self._places)

    def _renew(self, compile_id: str) -> CompileKey:
        self._generation += 1
        self.current.clear()
        return self.key(compile_id)

    def _restart(self, entry: EntryBuilder, attempt: int) -> None:
        entry.attempt = attempt
        entry.symbols = SymbolTable()
        stale = [graph for graph in self.graphs_of.get(entry.key, ()) if graph.attempt < attempt]
        for graph in stale:
            self.graphs.remove(graph)
            self.graphs_of[entry.key].remove(graph)
            self._on_dropped(graph.record)

    def _facts(self, event: TraceEvent) -> GraphFacts | None:
        """Asked while torch reports the graph: later nothing holds it."""
        with Door("the inputs of a graph could not be recorded", self.note):
            return facts_of(BY_EVENT[event.name])
        return None

    def _origins(self, event: TraceEvent) -> NodeOrigins | None:
        with Door("where the operations of a graph come from could not be recorded", self.note):
            return origins_of(BY_EVENT[event.name], event.payload)
        return None

    def add_graph(
        self,
        key: CompileKey,
        stage: str,
        text: str,
        path: str = "",
        attempt: int = 0,
        facts: GraphFacts | None = None,
        given: GivenRecord | None = None,
        origins: NodeOrigins | None = None,
    ) -> GraphRecord | None:
        """Record one graph or wrapper; None where this very text was reported for this stage, and in this context,
        before."""
        with self.lock:
            own = self.graphs_of.setdefault(key, [])
            if given is not None:
                given = replace(given, order=sum(graph.record.given is not None for graph in own))
            same = [graph.record for graph in own if graph.record.stage == stage]
            text = _GRAPH_ID.sub("", text)
            if not text or any(record.text == text and _as_given(record.given) == _as_given(given) for record in same):
                return None
            loops = loops_in(origins, text) if stage == CAPTURED and origins is not None else ()
            record = GraphRecord(key, stage, len(same), text, path, facts, given, origins, loops=loops)
            self.graphs.append(GraphBuilder(record, attempt))
            own.append(self.graphs[-1])
            self._on_graph(record)
            return record


def _as_given(given: GivenRecord | None) -> GivenRecord | None:
    return None if given is None else replace(given, order=0)
