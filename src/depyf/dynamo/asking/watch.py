"""Records what torch.compile does while a block runs: graph breaks, recompilations, graphs.  For ``depyf.testing``.

Input: torch's structured trace, heard through a ``Capture`` of its own.  Output: plain records.  Nothing is decompiled,
nothing is written, and the compiled code is torch's own.
"""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from depyf.dump.compile_stages import CAPTURED
from depyf.dump.records import BreakRecord, RecompileRecord
from depyf.dynamo.events.graph_breaks import parse_break
from depyf.dynamo.events.recompiles import resolved
from depyf.dynamo.guards.printed_guards import file_resolver
from depyf.dynamo.recording.capture import Capture, EntryBuilder


@dataclass(frozen=True, slots=True)
class Seen:
    """One compilation that a block made torch do."""

    compile_id: str
    function: str
    place: str
    breaks: tuple[BreakRecord, ...]
    recompiles: tuple[RecompileRecord, ...]
    graphs: int
    failed: str


class Watch:
    """Listens between ``start`` and ``stop``."""

    def __init__(self) -> None:
        self._capture = Capture(lambda record: None, lambda record: None)

    def start(self) -> None:
        self._capture.start()

    def stop(self) -> None:
        self._capture.stop()

    def compilations(self) -> tuple[Seen, ...]:
        """What was compiled so far, in order."""
        with self._capture.lock:
            entries = sorted(self._capture.entries.values(), key=lambda entry: entry.key.order)
            files = [builder.code.filename for builder in self._capture.functions.values()]
            resolve = file_resolver([*linecache.cache, *files], "torch")
            graphs = Counter(graph.record.key for graph in self._capture.graphs if graph.record.stage == CAPTURED)
            return tuple(self._seen(entry, resolve, graphs[entry.key]) for entry in entries)

    def _seen(self, entry: EntryBuilder, resolve: Callable[[str], str], graphs: int) -> Seen:
        function = self._capture.functions.get(entry.key.function)
        return Seen(
            entry.key.text,
            function.code.qualname if function is not None else "?",
            f"{function.code.filename}:{function.code.line}" if function is not None else "?",
            tuple(parse_break(text) for text in entry.breaks),
            tuple(resolved(record, resolve) for record in entry.recompiles),
            graphs,
            entry.failed,
        )
