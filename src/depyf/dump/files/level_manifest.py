"""Files that ``depyf.debug(level=...)`` adds to a finished dump, in its manifest.

Input: what the manifest says.  Output: the text with the file listed, so that the next dump into the directory removes it.
"""

from __future__ import annotations

from typing import Any

from depyf.dump.compile_stages import WRAPPER
from depyf.dump.files.layout import graph_file
from depyf.dump.files.manifest import indented
from depyf.dump.records import GraphRecord


def with_level_graph(manifest: dict[str, Any], record: GraphRecord, level: str) -> str:
    """The text of ``manifest`` with the file of ``record``."""
    return _with(manifest, {
        "file": graph_file(record),
        "kind": "wrapper" if record.stage == WRAPPER else "graph",
        "stage": record.stage,
        "index": record.index,
        "compile_id": record.key.text,
        "generation": record.key.generation,
        "from": [],
        "steppable": True,
        "level": level,
    })  # fmt: skip


def with_level_kernel(manifest: dict[str, Any], name: str, wrapper: GraphRecord, level: str) -> str:
    """The same for a kernel in a separate file, ``name``."""
    return _with(manifest, {
        "file": name, "kind": "kernel_source", "compile_id": wrapper.key.text, "generation": wrapper.key.generation,
        "from": [graph_file(wrapper)], "level": level,
    })  # fmt: skip


def _with(manifest: dict[str, Any], item: dict[str, object]) -> str:
    files = manifest["files"]
    if all(known["file"] != item["file"] for known in files):
        files = sorted([*files, item], key=lambda entry: str(entry["file"]))
    return indented({**manifest, "files": files}) + "\n"
