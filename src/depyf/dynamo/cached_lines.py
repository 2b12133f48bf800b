"""Graphs that torch took from a compile cache name the lines of the program that filled it.

Input: what was captured.  Output: the graphs whose text names a line that no captured graph of the same compilation names,
where a cache answered "hit": their page says so.
"""

from __future__ import annotations

import re

from depyf.dynamo.capture import Capture
from depyf.dynamo.records import GraphRecord

_PLACE = re.compile(r"^ *# (?:[^/\n]*? )?File: (.+?:\d+) in ", re.M)
_CAPTURED = "Captured_Graph"


def with_lines_of_another_run(capture: Capture) -> frozenset[tuple[str, str, int]]:
    """(file name's key, stage, index) of each such graph."""
    with capture.lock:
        records = [graph.record for graph in capture.graphs]
        hits = {key for key, entry in capture.entries.items() if any(cache.status == "hit" for cache in entry.caches)}
    own: dict[str, set[str]] = {}
    for record in records:
        if record.stage == _CAPTURED and record.key in hits:
            own.setdefault(record.key.slug, set()).update(_PLACE.findall(record.text))
    return frozenset(
        identity(record)
        for record in records
        if record.key.slug in own and not own[record.key.slug].issuperset(_PLACE.findall(record.text))
    )


def identity(record: GraphRecord) -> tuple[str, str, int]:
    return record.key.slug, record.stage, record.index
