"""What the dump of one run must satisfy, as numbers and as reasons for what it does not."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.gallery import Gallery, render_dump
from tools.bench.dynamo_readability import leftovers

PROVEN = ("IDENTICAL", "EQUIVALENT")


@dataclass(frozen=True, slots=True)
class Dumped:
    """The figures of one dump, and what is wrong with it."""

    frames: int
    breaks: int
    recompiles: int
    verdicts: dict[str, int]
    temporaries: int
    graphs: int
    graphs_run: int
    left_out: tuple[str, ...]
    """Graphs that have no script, with the reason."""
    faults: tuple[str, ...]


def look(folder: Path, frames: int) -> Dumped:
    """Read the dump in ``folder`` of a run in which torch compiled ``frames`` frames."""
    manifest = json.loads((folder / "manifest.json").read_text())
    faults = [f"note: {note}" for note in manifest["notes"]]
    faults += [
        f"{path.name} does not parse: {reason}" for path in sorted(folder.glob("*.py")) if (reason := _broken(path))
    ]
    verdicts: dict[str, int] = {}
    temporaries = dumped = 0
    for item in manifest["files"]:
        if item["kind"] != "transformed_code":
            continue
        dumped += 1
        if not item["substituted"]:
            faults.append(f"{item['file']} not substituted: {item['reason']}")
        for verdict in item["verdicts"]:
            verdicts[verdict["status"]] = verdicts.get(verdict["status"], 0) + 1
            if verdict["status"] not in PROVEN:
                faults.append(f"{item['file']}: {verdict['function']} {verdict['status']}: {verdict.get('reason', '')}")
        text = (folder / item["file"]).read_text()
        left = leftovers(text)
        temporaries += left.temporaries
    if dumped != frames:
        faults.append(f"{dumped} frames in the dump, {frames} compiled")
    entries = [entry for function in manifest["functions"] for entry in function["entries"]]
    breaks = {(found["at"], found["reason"]) for entry in entries for found in entry["graph_breaks"]}
    recompiles = sum(bool(entry["recompiled_because"]) for entry in entries)
    gallery = render_dump(folder) if captured_any(manifest) else Gallery((), ())
    outcomes = [(script.file, run_script(script.text, folder / "script.py")) for script in gallery.scripts]
    faults += [f"{name} does not run: {outcome}" for name, outcome in outcomes if outcome]
    ran = sum(not outcome for _, outcome in outcomes)
    left_out = tuple(f"{item.compile_id}: {item.reason}" for item in gallery.left_out)
    graphs = len(outcomes) + len(left_out)
    return Dumped(dumped, len(breaks), recompiles, verdicts, temporaries, graphs, ran, left_out, tuple(faults))


def captured_any(manifest: dict[str, Any]) -> bool:
    return any(item.get("stage") == "Captured_Graph" for item in manifest["files"])


def run_script(text: str, path: Path) -> str:
    """Run a graph of the gallery on its own, in eager mode: "" if it did, else why not."""
    path.write_text(text)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            status = runpy.run_path(str(path), run_name="script")["main"](["--backend", "none"])
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return f"its own comparison failed ({status})" if status else ""


def _broken(path: Path) -> str:
    try:
        ast.parse(path.read_text())
    except (SyntaxError, ValueError) as error:
        return str(error)
    return ""


def same(first: Any, second: Any) -> str:
    """Where two lists of named tensors differ, bit for bit; "" where they do not."""
    import torch

    if [name for name, _ in first] != [name for name, _ in second]:
        return "other outputs"
    for (name, a), (_, b) in zip(first, second):
        if (a is None) != (b is None):
            return f"{name}: one of them is None"
        if a is None:
            continue
        if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
            return (
                f"{name}: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}, strides {a.stride()} and {b.stride()}"
            )
        if not torch.equal(_bits(a), _bits(b)):
            return f"{name}: values differ"
    return ""


def _bits(tensor: Any) -> Any:
    import torch

    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
