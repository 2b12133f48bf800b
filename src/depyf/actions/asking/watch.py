"""Records what torch.compile does while a block runs: graph breaks, recompilations, graphs.  For ``depyf.testing`` and
``depyf.watch``.

Input: torch's structured trace, received through a separate ``Capture``.  Output: plain records.  Nothing is
decompiled, nothing is written, and the compiled code is torch's own.
"""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from depyf.actions.asking.differences import Refusal
from depyf.actions.asking.why import refusals_of
from depyf.run.compile_stages import CAPTURED
from depyf.run.records import BreakRecord, CallerRecord, CompileKey, RecompileRecord
from depyf.safety.guarded import Door
from depyf.sources.live.events.call_values import refused_call
from depyf.sources.live.recording.capture import Capture
from depyf.sources.reports.builders import EntryBuilder
from depyf.sources.reports.callers import RunningFrame
from depyf.sources.reports.entry_facts import callers_of
from depyf.sources.reports.graph_breaks import parse_break
from depyf.sources.reports.guards.guard_text import CompletedNames
from depyf.sources.reports.recompiles import resolved


@dataclass(frozen=True, slots=True)
class Seen:
    """One compilation during a block."""

    compile_id: str
    function: str
    place: str
    breaks: tuple[BreakRecord, ...]
    recompiles: tuple[RecompileRecord, ...]
    graphs: int
    failed: str
    refusals: tuple[Refusal, ...] = ()
    """The entries that did not fit, with every guard that failed, where that was asked for."""
    callers: tuple[CallerRecord, ...] = ()
    frames: tuple[RunningFrame, ...] = ()
    """What ran while torch compiled, the outermost first."""
    started: bool = True
    """Dynamo looked at the function: not so where it has as many entries as it may have."""


class Watch:
    """Listens between ``start`` and ``stop``."""

    def __init__(self, every_guard: bool = False) -> None:
        """``every_guard``: ask the entries that do not fit for all that differs, at the moment of the call."""
        ask = self._ask if every_guard else lambda key: None
        self._capture = Capture(lambda record: None, lambda record: None, on_refused=ask)
        self._refusals: dict[CompileKey, tuple[Refusal, ...]] = {}

    def _ask(self, key: CompileKey) -> None:
        with Door("the guards of a call could not be asked", self._capture.note):
            call = refused_call()
            if call is not None:
                self._refusals[key] = refusals_of(*call)

    def start(self) -> None:
        self._capture.start()

    def stop(self) -> None:
        self._capture.stop()

    def compilations(self) -> tuple[Seen, ...]:
        """What was compiled so far, in order."""
        with self._capture.lock:
            entries = sorted(self._capture.entries.values(), key=lambda entry: entry.key.order)
            files = [builder.code.filename for builder in self._capture.functions.values()]
            resolve = CompletedNames([*linecache.cache, *files], "torch")
            graphs = Counter(graph.record.key for graph in self._capture.graphs if graph.record.stage == CAPTURED)
            callers = callers_of(self._capture.functions)
            return tuple(self._seen(entry, resolve, graphs[entry.key], callers) for entry in entries)

    def _seen(
        self,
        entry: EntryBuilder,
        resolve: Callable[[str], str],
        graphs: int,
        callers: Callable[[EntryBuilder], tuple[CallerRecord, ...]],
    ) -> Seen:
        function = self._capture.functions.get(entry.key.function)
        return Seen(
            entry.key.text,
            function.code.qualname if function is not None else "?",
            f"{function.code.filename}:{function.code.line}" if function is not None else "?",
            tuple(parse_break(text) for text in entry.breaks),
            tuple(resolved(record, resolve) for record in entry.recompiles),
            graphs,
            entry.failed,
            self._refusals.get(entry.key, ()),
            callers(entry),
            entry.callers,
            entry.started,
        )
