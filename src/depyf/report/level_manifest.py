"""Files that ``depyf.debug(level=...)`` adds to a finished dump, in its manifest.

Input: the manifest's text.  Output: the text with the file listed, so that the next dump into the directory removes it.
"""

from __future__ import annotations

import json

from depyf.dynamo.records import GraphRecord
from depyf.report.layout import WRAPPER_STAGE, graph_file


def with_level_graph(manifest: str, record: GraphRecord, level: str) -> str:
    """``manifest`` with the file of ``record``; unchanged where it is listed.  ValueError for text that is no manifest."""
    page = json.loads(manifest)
    name = graph_file(record)
    if any(item["file"] == name for item in page["files"]):
        return manifest
    item: dict[str, object] = {
        "file": name,
        "kind": "wrapper" if record.stage == WRAPPER_STAGE else "graph",
        "stage": record.stage,
        "index": record.index,
        "compile_id": record.key.text,
        "generation": record.key.generation,
        "from": [],
        "steppable": True,
        "level": level,
    }
    page["files"] = sorted([*page["files"], item], key=lambda entry: str(entry["file"]))
    return json.dumps(page, indent=1, sort_keys=False, ensure_ascii=False) + "\n"
