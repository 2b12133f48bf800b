"""Listens to torch.compile and keeps its reports, with what the process knows besides.

Input: torch's structured trace records (a ``logging.Handler`` on ``torch.__trace``) and the bytecode hook.  Output:
builders that ``snapshot`` freezes into a ``Run``.  Invariants: nothing here raises into torch; only weak references to
live objects are kept.
"""

from __future__ import annotations

import os
import threading
import time
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from depyf.run.bill.guard_bill import WARM
from depyf.run.bill.lowering import LoweredGraph
from depyf.run.bill.traced_calls import TracedCall
from depyf.run.compile_stages import BY_EVENT, CAPTURED
from depyf.run.global_names import PACKAGE, PRECOMPILED
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.graphs.node_origins import NodeOrigins
from depyf.run.made import Made
from depyf.run.phase_times import compile_id_of
from depyf.run.records import CodeRecord, CompileKey, GraphRecord, GuardRecord, RecompileRecord
from depyf.run.run import TimesRecord
from depyf.run.trace_events import TraceEvent
from depyf.safety.guarded import Door
from depyf.sources.live.ahead.ahead_frames import AheadWork, LoadedWork, ahead_work, loaded_work, package_work
from depyf.sources.live.ahead.ahead_functions import apart_entries, name_ahead
from depyf.sources.live.ahead.filtered_guards import left_out_guards
from depyf.sources.live.ahead.precompile_frames import PrecompileWork, precompile_work
from depyf.sources.live.ahead.work_names import WorkNames
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.caches.loaded_entries import name_loaded
from depyf.sources.live.calls.call_facts import CallFacts, RefusedCall, call_facts
from depyf.sources.live.calls.pinning import pinned_size
from depyf.sources.live.decorated import by_object, decorated
from depyf.sources.live.events.break_errors import raises
from depyf.sources.live.events.call_values import call_values, refused_call
from depyf.sources.live.events.graph_reading import facts_of, reported_graph
from depyf.sources.live.events.instruction_counter import InstructionCounter
from depyf.sources.live.events.interned_names import interned
from depyf.sources.live.events.interruption import with_interruption
from depyf.sources.live.events.listening import Listener, ignore, listen
from depyf.sources.live.events.module_path import traced_module
from depyf.sources.live.events.running_frames import running_frames
from depyf.sources.live.events.shape_env import final_symbols, shape_question
from depyf.sources.live.events.torch_options import in_force
from depyf.sources.live.events.traced_stack import traced_stack
from depyf.sources.live.guards.all_refusals import all_refusals
from depyf.sources.live.guards.asked_instead import asked_instead
from depyf.sources.live.guards.guard_latency import measured_guards
from depyf.sources.live.guards.printed_guards import READER
from depyf.sources.live.inductor.asking_lines import AskingLines
from depyf.sources.live.inductor.fusion_listener import FusionListener
from depyf.sources.live.inductor.lowered_graph import lowering_of
from depyf.sources.live.origins.node_reading import lowered_graph, origins_of
from depyf.sources.live.recording.code_record import code_record, find_code
from depyf.sources.live.resume import origin, resume_targets
from depyf.sources.live.tracing.inlined_calls import InlinedCalls
from depyf.sources.live.unguarded.live_unguarded import reported_reads
from depyf.sources.live.unguarded.unguarded_reads import SourceTrees
from depyf.sources.live.wrapped import call_of, is_module_call, wrapped_call
from depyf.sources.reports.break_stack import NOTHING_KNOWN, BrokenAt
from depyf.sources.reports.builders import EntryBuilder, FunctionBuilder
from depyf.sources.reports.cpp_texts import as_python
from depyf.sources.reports.heard import Heard, path_in
from depyf.sources.reports.program_sources import ProgramSources
from depyf.sources.reports.recompiles import parse_recompile
from depyf.sources.reports.symbols import with_names


class Capture(Heard):
    """Everything that torch has reported since ``start``.  A forked child records nothing; it calls ``in_child``."""

    def __init__(
        self,
        on_graph: Callable[[GraphRecord], None],
        on_dropped: Callable[[GraphRecord], None],
        on_closed: Callable[[CompileKey], None] = lambda key: None,
        on_refused: Callable[[CompileKey], None] = lambda key: None,
        on_told: Callable[[CompileKey], None] = lambda key: None,
    ) -> None:
        super().__init__(READER, time.time())
        self.on_graph, self.on_dropped, self.on_closed, self.on_told = on_graph, on_dropped, on_closed, on_told
        self._on_refused = on_refused
        self._places: set[tuple[str, str, int]] = set()
        self._calls: dict[CompileKey, RefusedCall] = {}
        """The calls for which entries are being made, where earlier ones were asked."""
        self._envs: dict[CompileKey, weakref.ref[Any]] = {}
        """torch's shape environments, which are gone soon after the compilation."""
        self._begun: set[str] = set()
        """The compile ids whose functions are known, since torch counts so."""
        self._now: AheadWork | None = None
        """The work ahead of time to which the current event belongs; None for an event of a call."""
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
        self._fusions: FusionListener | None = None
        self.measures_guards = False
        """The process is one that depyf started: guards may be run for their time alone."""
        self.instruction_counter: InstructionCounter | None = None
        """It may print to standard error where it cannot count: for a process that depyf started."""
        self._inlined: InlinedCalls | None = None
        self.sources = ProgramSources()
        self._trees = SourceTrees(self.sources)
        self.traced: dict[CompileKey, tuple[TracedCall, ...]] = {}
        """What tracing each compilation took."""

    def start(self) -> None:
        self._fusions, self._inlined = FusionListener(self.note), InlinedCalls(self._key_now, self.note)
        self._inlined.start()
        self._handler = Listener(self._take, self.note, self._timed)
        listen(self._handler)

    def stop(self) -> None:
        """The handler goes: ``logging`` lists each one that lives."""
        fusions, self._fusions = self._fusions, None
        if fusions is not None:
            fusions.stop()
        inlined, self._inlined = self._inlined, None
        if inlined is not None:
            inlined.stop()
            self.traced.update(inlined.found())
        handler, self._handler = self._handler, None
        if handler is not None:
            ignore(handler)

    @property
    def here(self) -> bool:
        """Whether this process started the capture: a forked child inherits its listeners."""
        return os.getpid() == self._pid

    @property
    def hears(self) -> bool:
        """Whether this thread is recorded."""
        return self.here and threading.get_ident() != self.deaf

    def _take(self, event: TraceEvent) -> None:
        if self.hears:
            if self._fusions is not None:
                self._fusions.start()  # torch's scheduler is loaded with the first graph that is compiled
            self.handle(event)
        elif not self.here and self.in_child is not None and (own := self.in_child()) is not None:
            own.handle(event)  # the first one; the others come to it

    def _timed(self, event: Mapping[str, Any]) -> None:
        """A phase of a compilation begins or ends."""
        if self.hears:
            with self.lock:
                begun = compile_id_of(event)
                if begun and begun not in self._begun:
                    if self.key(begun).function in self.functions:
                        self._begun.add(begun)
                    else:  # of a capture that fails nothing else says its id
                        self.about(TraceEvent("", begun, 0, {}, ""))
                thread = threading.get_ident()
                ended = self.clock.take(event, thread)
                if ended is not None:
                    self.phases.setdefault(self._key_of_phase(ended[0]), []).append(ended[1])
                if self.instruction_counter is not None:
                    counted = self.instruction_counter.take(thread, self.clock.open_in(thread))
                    if counted is not None:
                        self.instructions[self._key_of_phase(begun)] += counted

    def _key_of_phase(self, compile_id: str) -> CompileKey:
        work = ahead_work() if not compile_id else None
        return self.key(compile_id) if work is None else self._key_of_work(work, "")

    def renew(self, compile_id: str) -> CompileKey:
        """Start a new generation: torch has restarted its counters."""
        self._begun.clear()
        return super().renew(compile_id)

    def handle(self, event: TraceEvent) -> None:
        """Take one event in."""
        with self.lock:
            try:
                super().handle(event)
            finally:
                self._now = None

    def about(self, event: TraceEvent) -> CompileKey:
        """The compilation of ``event``; for one ahead of time it is found in torch's frames."""
        self._now = None
        key = self.key(event.compile_id)
        known = self.entries.get(key) if key.function in self.functions else None
        if known is not None and not known.closed and known.made is Made.CALL:
            return key
        with Door("what is compiled ahead of time could not be told", self.note):
            loaded = loaded_work(event.name) if known is not None and known.made is Made.CALL_LOADED else None
            if loaded is not None:
                frame = event.compile_id.rpartition("/")[0]
                return self._begin_loaded(self.key(f"{frame}/{loaded.number}"), loaded)
            work = ahead_work()
            if work is not None:
                self._now = work
                return self._begin_ahead(self._key_of_work(work, event.compile_id), work)
            precompile = precompile_work() if not event.compile_id else None
            if precompile is not None:
                return self._of_precompile(precompile)
            package = 0 if event.compile_id else package_work()
            if package:
                key = self.key(self._work.name(package, PACKAGE))
                if event.name == "compilation_metrics":
                    self._work.let_go(package)
        return key

    def name_work(self, work: int, prefix: str) -> str:
        """The compile id for ``work``, for which torch has none."""
        return self._work.name(work, prefix)

    def end_work(self, work: int) -> None:
        """Forget ``work``, which has ended: its ``id()`` may be used again."""
        self._work.let_go(work)

    def _of_precompile(self, work: PrecompileWork) -> CompileKey:
        """A capture of one graph, or a variant of an artefact that is loaded."""
        if work.code is None:
            return self.key(self.name_work(work.work, PRECOMPILED))
        frame = self.name_work(work.work, "loaded").rpartition("/")[0]
        key = self.key(f"{frame}/{work.number}")
        entry = self.entry(key)
        entry.made, entry.started = Made.PRECOMPILED, True
        if key.function not in self.functions:
            self._add_function(key, work.code)
        return key

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
            return self.renew(key.text) if key in self.entries and self.entries[key].is_other(work.frame) else key
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
            self.on_told(key)
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
            self.on_closed(entry.key)

    def live_entries(self, function: tuple[int, str]) -> tuple[LiveEntry, ...]:
        """The entries of a function that torch may still run, in the order it tries them."""
        builder = self.functions[function]
        if function in self.ahead:
            own = self.ahead[function]()
            return () if own is None else apart_entries(own)
        code = builder.live() if builder.live is not None else None
        return cache_entries(code) if code is not None else ()

    def _guards_of_id(self, compile_id: str) -> tuple[GuardRecord, ...]:
        earlier = self.entries.get(self.key(compile_id))
        return self.guards_of(earlier) if earlier is not None else ()

    def _at_break(self) -> BrokenAt:
        with Door("where the graph broke could not be told", self.note):
            return BrokenAt(traced_module(), traced_stack())
        return NOTHING_KNOWN

    def _asked(self, record: RecompileRecord) -> RecompileRecord:
        """The record with the guard that failed, where torch names none."""
        with Door("the guards of a call could not be asked", self.note):
            return asked_instead(record)
        return record

    def take_graph(self, key: CompileKey, event: TraceEvent) -> None:
        """Add a graph, with its inputs, shapes and node origins from torch's frames."""
        added = self.add_graph(
            key, BY_EVENT[event.name], as_python(event.name, event.payload), path_in(event), event.attempt,
            self._facts(event), origins=self._origins(event), lowering=self._lowering(key, event),
        )  # fmt: skip
        if added is not None and added.stage == CAPTURED and self.on_inputs is not None:
            with Door("the inputs of a graph could not be kept", self.note):
                self.on_inputs(added, reported_graph(CAPTURED))

    def take_break(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add a graph break, with the current options and the traced lines from torch's frames."""
        entry.in_force = in_force()
        if event.payload and event.payload not in entry.breaks:
            entry.breaks[event.payload] = self._at_break()

    def take_recompile(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add the reasons of a recompilation, with the values of the call."""
        self._on_refused(entry.key)
        self._find_callers(entry)  # where torch refuses, no start follows
        self._find_wrapped(entry)
        entry.in_force = in_force()
        found = list(map(self._asked, parse_recompile(event.payload, call_values(), reader=self.reader)))
        call, facts = refused_call(), CallFacts()
        with Door("who made the values of a call could not be told", self.note):
            facts = call_facts(found, call[1] if call is not None else {})
        if call is not None:
            self._calls[entry.key] = RefusedCall(*call, facts)
        entry.recompiles = tuple(map(self.explained, map(facts.of_record, found)))

    def take_guards(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add the guards.  All failed guards of earlier entries are evaluated now, while torch compiles and the values
        of the call are unchanged."""
        entry.guard_text = event.payload
        entry.left_out, entry.captured = left_out_guards(self.note)
        function = self.functions.get(entry.key.function)
        if function is not None and function.reads is None:
            with Door("what a function reads could not be told", self.note):
                function.reads = reported_reads(self._trees)
        if self.measures_guards:
            with Door("what guards take could not be measured", self.note):
                if (measured := measured_guards(self.guards_of(entry))) is not None:
                    self.timings.setdefault(entry.key, {})[WARM], self.guard_costs[entry.key] = measured
        self._finish_symbols(entry)
        call = self._calls.pop(entry.key, None)
        if call is not None:
            with Door("which guards failed could not be told", self.note):
                told = {record.entry: record for record in entry.recompiles}
                found = all_refusals(call.code, call.variables, self.guards_of(entry), self._guards_of_id, told)
                entry.refusals = tuple(map(call.facts.of_refusal, found))
        if self._now is not None:
            self._made(entry, self._now)
        entry.closed = entry.closed or entry.made.loaded  # nothing more is said of it

    def take_error(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add an error, with the lines that Dynamo was tracing."""
        super().take_error(entry, event)
        with Door("where torch was tracing when it failed could not be told", self.note):
            entry.traced = entry.traced or traced_stack()

    def take_metrics(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add metrics; for a compilation ahead of time with the fields that torch leaves out."""
        work, event = self._now, with_interruption(event)
        if work is not None:
            event = replace(event, data={**event.data, **work.failure()})
            self._made(entry, work)
        super().take_metrics(entry, event)
        entry.raised = entry.raised or (work is not None and bool(entry.failed))

    def close(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """End a compilation, with what can only be read from the live process."""
        self._calls.pop(entry.key, None)
        self._finish_symbols(entry)
        self._envs.pop(entry.key, None)
        function = self.functions.get(entry.key.function)
        if function is not None and function.live is None:
            find_code(function)
        if event.data.get("fail_reason"):
            entry.in_force = entry.in_force or in_force()
        super().close(entry, event)
        if reason := event.data.get("fail_reason"):
            with Door("which tensors fix a size could not be told", self.note):
                entry.pinned = pinned_size(str(reason), entry.error.place)
            entry.raised = raises(str(event.data.get("fail_type")))

    def take_symbol(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add an event about a symbol, with the question that torch's shape environment was answering."""
        asked = shape_question()
        if asked.env is not None and not asked.suppressed:
            known = self._envs.get(entry.key)
            if known is None or known() is not asked.env:
                self._envs[entry.key] = weakref.ref(asked.env)
        entry.symbols.take(event.name, with_names(event, interned).data, asked)

    def _finish_symbols(self, entry: EntryBuilder) -> None:
        known = self._envs.get(entry.key)
        env = known() if known is not None else None
        entry.symbols.finish(final_symbols(env) if env is not None else {})

    def begin(self, code: types.CodeType, compile_id: str) -> CompileKey:
        """The bytecode hook saw ``code`` under ``compile_id``: register the function."""
        with self.lock:
            key = self.key(compile_id)
            known = self.functions.get(key.function)
            other = known.live() if known is not None and known.live is not None else None
            if other is not None and other is not code:  # compared as objects: their constants are the program's
                key = self.renew(compile_id)
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

    def begin_frame(self, compile_id: str, event: TraceEvent) -> CompileKey:
        """Begin a compilation, with its callers and the object that a wrapper of torch calls."""
        key = super().begin_frame(compile_id, with_names(event, interned))
        entry = self.entry(key)
        loaded = loaded_work(event.name)
        if loaded is not None:
            self._begin_loaded(key, loaded)
        self._find_callers(entry)
        self._find_wrapped(entry)
        code = self.functions[key.function].code
        self._places.add((code.filename, code.name, code.line))
        return key

    def _find_wrapped(self, entry: EntryBuilder) -> None:
        if entry.wrapped is None:
            with Door("what a wrapper of torch calls could not be told", self.note):
                entry.wrapped = wrapped_call()

    def _find_callers(self, entry: EntryBuilder) -> None:
        if entry.callers:
            return
        with Door("the callers of a compiled function could not be told", self.note):
            entry.callers = running_frames(lambda frame: frame.code in self._places)

    def _facts(self, event: TraceEvent) -> GraphFacts | None:
        """Asked while torch reports the graph: later nothing holds it."""
        with Door("the inputs of a graph could not be recorded", self.note):
            return facts_of(BY_EVENT[event.name])
        return None

    def _origins(self, event: TraceEvent) -> NodeOrigins | None:
        with Door("where the operations of a graph come from could not be recorded", self.note):
            return origins_of(BY_EVENT[event.name], event.payload)
        return None

    def times_of(self, key: CompileKey) -> TimesRecord:
        """The times of a compilation, with those of traced calls."""
        traced = self.traced.get(key) or (self._inlined.of(key) if self._inlined is not None else ())
        return replace(super().times_of(key), traced=traced)

    def _key_now(self) -> CompileKey | None:
        from torch._guards import CompileContext

        found = CompileContext.current_compile_id() if self.hears else None
        return None if found is None else self.key(str(found))

    def _lowering(self, key: CompileKey, event: TraceEvent) -> LoweredGraph | None:
        """Asked while Inductor reports the wrapper: then it still has what it made the kernels of."""
        graph = lowered_graph(BY_EVENT[event.name])
        if graph is None:
            return None
        with Door("what the kernels of a graph cost could not be told", self.note):
            lines = AskingLines(graph.record for graph in self.graphs_of.get(key, ()))
            refused = self._fusions.take(graph) if self._fusions is not None else ()
            return lowering_of(graph, refused, lines.of)
        return None
