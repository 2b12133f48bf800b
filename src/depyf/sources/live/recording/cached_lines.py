"""Graphs that torch took from a compile cache name the lines of the program that filled it.

Input: what was captured.  Output: for a compilation with a cache hit, the graphs that name a line which no captured
graph has: their page says so.
"""

from __future__ import annotations

from depyf.run.compile_stages import CAPTURED
from depyf.run.files.layout import graph_file
from depyf.run.graphs.program_comments import places_in
from depyf.run.records import CompileKey
from depyf.sources.live.recording.capture import Capture


def with_lines_of_another_run(capture: Capture) -> frozenset[str]:
    """The files of the graphs from a compile cache that name lines of another program."""
    with capture.lock:
        records = [graph.record for graph in capture.graphs]
        hits = {key for key, entry in capture.entries.items() if any(cache.status == "hit" for cache in entry.caches)}
    own: dict[CompileKey, set[tuple[str, int]]] = {}
    for record in records:
        if record.stage == CAPTURED and record.key in hits:
            own.setdefault(record.key, set()).update(_lines(record.text))
    return frozenset(
        graph_file(record)
        for record in records
        if record.key in own and not own[record.key].issuperset(_lines(record.text))
    )


def _lines(text: str) -> set[tuple[str, int]]:
    return {(place.filename, place.line) for place in places_in(text)}
