"""Keeps what torch reports of its compilations, in the order in which it reports it.

Input: torch's structured trace records, as they happen or from a log.  Output: builders that ``entry_facts`` freezes.
Invariants: every event belongs to the compile id that torch gave it (a backward compiled late still lands with its
forward); what a restarted attempt reported is dropped.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from depyf.run.addresses import without_addresses
from depyf.run.advice.number_operands import taken_as_number
from depyf.run.advice.registry import DECLARED
from depyf.run.bill.guard_bill import COLD
from depyf.run.bill.guard_time import GuardTime
from depyf.run.bill.lowering import LoweredGraph
from depyf.run.cache_keys import CacheKey, key_in
from depyf.run.compile_stages import BY_EVENT, CAPTURED
from depyf.run.graphs.given_graph import GivenRecord
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.graphs.graph_source import one_way_operator
from depyf.run.graphs.node_origins import NodeOrigins
from depyf.run.phase_times import PhaseClock, PhaseTime
from depyf.run.records import CompileKey, GraphRecord, GuardRecord, RecompileRecord
from depyf.run.run import TimesRecord
from depyf.run.trace_events import TraceEvent, cache_of
from depyf.sources.reports.break_stack import NOTHING_KNOWN
from depyf.sources.reports.builders import EntryBuilder, FunctionBuilder, GraphBuilder, loops_in
from depyf.sources.reports.cpp_texts import as_python
from depyf.sources.reports.failures import outside_declared, told_failure
from depyf.sources.reports.guards.guard_text import GuardReader
from depyf.sources.reports.metrics import cache_record, failure, first_line, last_line, phases
from depyf.sources.reports.program_sources import record_of_start
from depyf.sources.reports.recompiles import parse_recompile, refused_recompile, specialised
from depyf.sources.reports.symbols import SymbolTable

_GRAPH_ID = re.compile(r"^[ \t]*# graph id: \d+[ \t]*(?:\n|\Z)", re.M)
"""An address, which torch prints into the graphs around the pre-grad passes."""

_EXPLAINING = (
    "dynamo_graph_break_reason", "recompile_reasons", "dynamo_error", "compilation_metrics", "bwd_compilation_metrics"
)  # fmt: skip
"""Events of which a killed process leaves what they said."""


class Heard:
    """Everything heard so far; thread-safe.  A source overrides the method for one kind of event to add its facts."""

    def __init__(self, reader: GuardReader, began: float) -> None:
        """``began``: in seconds since the epoch."""
        self.reader = reader
        self.lock = threading.RLock()
        self.functions: dict[tuple[int, str], FunctionBuilder] = {}
        self.entries: dict[CompileKey, EntryBuilder] = {}
        self.graphs: list[GraphBuilder] = []
        self.graphs_of: dict[CompileKey, list[GraphBuilder]] = {}
        self.notes: list[str] = []
        self._generation = 0
        self.current: dict[str, CompileKey] = {}
        self.timings: dict[CompileKey, dict[str, float]] = {}
        self.instructions: Counter[CompileKey] = Counter()
        self.cache_keys: list[CacheKey] = []
        self.guard_costs: dict[CompileKey, tuple[GuardTime, ...]] = {}
        """What the processor ran, where that is counted."""
        """Compile times per phase, in seconds: another in every run, so no part of the records."""
        self.phases: dict[CompileKey, list[PhaseTime]] = {}
        """When each phase began, and its seconds: no part of the records either."""
        self.clock = PhaseClock(began)
        self.on_graph: Callable[[GraphRecord], None] = lambda graph: None
        self.on_dropped: Callable[[GraphRecord], None] = lambda graph: None
        self.on_closed: Callable[[CompileKey], None] = lambda key: None
        self.on_told: Callable[[CompileKey], None] = lambda key: None
        """Called when a compilation has begun, and whenever something was heard that explains it."""

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

    def handle(self, event: TraceEvent) -> None:
        """Take one event in."""
        with self.lock:
            if event.name == "dynamo_start":
                self.on_told(self.begin_frame(event.compile_id, event))
                return
            key = self.about(event)
            entry = self.entry(key)
            if event.attempt > entry.attempt:
                self._restart(entry, event.attempt)
            if event.name in BY_EVENT:
                self.take_graph(key, event)
            elif event.name == "dynamo_graph_break_reason":
                self.take_break(entry, event)
            elif event.name == "recompile_reasons":
                self.take_recompile(entry, event)
            elif event.name == "dynamo_cpp_guards_str":
                self.take_guards(entry, event)
            elif event.name == "dynamo_error":
                self.take_error(entry, event)
            elif event.name in ("compilation_metrics", "bwd_compilation_metrics"):
                self.take_metrics(entry, event)
            elif (cache := cache_of(event.name)) is not None:
                entry.caches.append(cache_record(*cache, event.payload))
                if (asked := key_in(key, *cache, event.payload)) is not None:
                    self.cache_keys.append(asked)
            else:
                self.take_symbol(entry, event)
            if event.name in _EXPLAINING:
                self.on_told(key)

    def about(self, event: TraceEvent) -> CompileKey:
        """The compilation that ``event`` belongs to."""
        return self.key(event.compile_id)

    def begin_frame(self, compile_id: str, event: TraceEvent) -> CompileKey:
        """Begin a compilation; after ``torch._dynamo.reset()`` in a new generation."""
        key = self.key(compile_id)
        entry = self.entries.get(key)
        if entry is not None and entry.closed:  # torch._dynamo.reset() restarted the counters
            key = self.renew(compile_id)
        self.entry(key).started = True
        if key.function not in self.functions:
            self.functions[key.function] = FunctionBuilder(record_of_start(event))
        return key

    def take_graph(self, key: CompileKey, event: TraceEvent) -> None:
        """Add a graph or generated code."""
        self.add_graph(key, BY_EVENT[event.name], as_python(event.name, event.payload), path_in(event), event.attempt)

    def take_break(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add a graph break."""
        if event.payload:
            entry.breaks.setdefault(event.payload, NOTHING_KNOWN)

    def take_recompile(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add the reasons of a recompilation."""
        entry.recompiles = tuple(map(self.explained, parse_recompile(event.payload, reader=self.reader)))

    def take_guards(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add the guards of a compilation."""
        entry.guard_text = event.payload
        entry.symbols.finish({})

    def take_error(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add the error with which torch gave up a frame."""
        entry.failed = entry.failed or last_line(event.payload)

    def take_metrics(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add the metrics of a frame or of its backward."""
        self.timings.setdefault(entry.key, {}).update(phases(event.name, event.data))
        skipped = event.data.get("cudagraph_skip_reason")
        if isinstance(skipped, str):
            entry.cuda_graphs_skipped = without_addresses(skipped)
        latency = event.data.get("guard_latency_us")
        if isinstance(latency, (int, float)):
            self.timings[entry.key][COLD] = round(latency * 1e-6, 9)
        refused = event.data.get("fail_reason") and event.data.get("is_forward", False) is None
        if event.name == "compilation_metrics" or refused:  # 2.6: what failed before torch knew which it is
            self.close(entry, event)
            self.on_closed(entry.key)

    def close(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """End a compilation."""
        entry.closed = True
        reason = event.data.get("fail_reason")
        if reason:
            entry.failed = failure(event.data)
            if DECLARED in entry.in_force:
                entry.outside = outside_declared(event.data, entry.recompiles)
            entry.error = told_failure(event.data, entry.traced, entry.outside)
            entry.given_up = True
            if not entry.recompiles:
                entry.recompiles = tuple(map(self.explained, refused_recompile(str(reason), self.reader)))
            if (
                event.data.get("fail_type") == "Unsupported" and not entry.breaks
            ):  # fullgraph=True: torch does not report it
                place = f"{event.data.get('fail_user_frame_filename')}:{event.data.get('fail_user_frame_lineno')}"
                entry.breaks[f"Graph break in user code at {place}\nGraph Break Reason: {reason}"] = NOTHING_KNOWN
        operations = event.data.get("graph_op_count")
        entry.operations = operations if isinstance(operations, int) else None
        restarts = event.data.get("restart_reasons")
        entry.restarts = tuple(sorted(first_line(str(r)) for r in restarts)) if isinstance(restarts, list) else ()

    def take_symbol(self, entry: EntryBuilder, event: TraceEvent) -> None:
        """Add an event about a symbol."""
        entry.symbols.take(event.name, event.data)

    def guards_of(self, entry: EntryBuilder) -> tuple[GuardRecord, ...]:
        """The guards of an entry, read once; the names of files are completed later."""
        if entry.parsed is None or entry.parsed[0] != entry.guard_text:
            entry.parsed = entry.guard_text, self.reader.guards(entry.guard_text)
        return entry.parsed[1]

    def explained(self, record: RecompileRecord) -> RecompileRecord:
        """``record`` with better advice, where a symbol of the earlier entry explains it."""
        earlier = self.entries.get(self.key(record.entry)) if record.entry else None
        if earlier is None:
            return record
        places = earlier.symbols.places
        return taken_as_number(specialised(record, places), places=places)

    def times(self) -> tuple[TimesRecord, ...]:
        """How long each compilation took so far."""
        keys = sorted({*self.timings, *self.phases, *self.instructions}, key=lambda key: (key.order, key.text))
        return tuple(map(self.times_of, keys))

    def times_of(self, key: CompileKey) -> TimesRecord:
        """The times of one compilation so far."""
        seconds = sorted(self.timings.get(key, {}).items())
        phases = tuple(sorted(self.phases.get(key, ())))
        guards = self.guard_costs.get(key, ())
        return TimesRecord(key, tuple(seconds), phases, instructions=self.instructions.get(key), guards=guards)

    def renew(self, compile_id: str) -> CompileKey:
        """Start a new generation: torch has restarted its counters."""
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
            self.on_dropped(graph.record)

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
        lowering: LoweredGraph | None = None,
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
            record = GraphRecord(
                key, stage, len(same), text, path, facts, given, origins, loops=loops, lowering=lowering
            )
            if stage == CAPTURED and key in self.entries:
                self.entries[key].one_way = one_way_operator(text)
            self.graphs.append(GraphBuilder(record, attempt))
            own.append(self.graphs[-1])
            self.on_graph(record)
            return record


def path_in(event: TraceEvent) -> str:
    """The path of the generated file that ``event`` reports; "" for none."""
    return str(event.data.get("file_path") or event.data.get("filename") or "")


def _as_given(given: GivenRecord | None) -> GivenRecord | None:
    return None if given is None else replace(given, order=0)
