"""Dumps made by hand, for what reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def made_dump(folder: Path, manifest: dict[str, Any], **files: Any) -> Path:
    """Write a dump with this manifest and these files: ``name__json=value`` is JSON, ``name__py="..."`` a text."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(manifest.get("files", ()))
    known = {item["file"] for item in listed}
    for spelled, content in files.items():
        name = spelled if "." in spelled else ".".join(spelled.rsplit("__", 1))
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        if name not in known:
            listed.append({"file": name, "kind": "timings" if name == "timings.json" else "made"})
    page = {"format": 1, "torch": "2.13.0", "python": "3.11", "functions": [], **manifest, "files": listed}
    (folder / "manifest.json").write_text(json.dumps(page), encoding="utf-8")
    return folder


def entry(compile_id: str, **told: Any) -> dict[str, Any]:
    """A compilation of a manifest that went well, but for what is ``told``."""
    return {"compile_id": compile_id, "compiled": True, "failed": "", "graph_breaks": [], **told}


def refused(entry: str, guard: str, at: str = "", expected: str = "", actual: str = "") -> dict[str, Any]:
    """Why an entry did not fit."""
    return {"entry": entry, "guard": guard, "at": at, "expected": expected, "actual": actual, "advice": []}
