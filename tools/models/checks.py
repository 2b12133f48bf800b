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

from dynamo_readability import leftovers

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
    captured = [item["file"] for item in manifest["files"] if item.get("stage") == "Captured_Graph"]
    outcomes = [run_graph(folder / name) for name in captured]
    faults += [f"{name} does not run: {outcome}" for name, outcome in zip(captured, outcomes) if outcome]
    ran = sum(outcome == "" for outcome in outcomes)
    return Dumped(dumped, len(breaks), recompiles, verdicts, temporaries, len(captured), ran, tuple(faults))


def run_graph(path: Path) -> str | None:
    """Run a captured graph as a script: "" if it ran, None if it has nothing to run, else why it failed."""
    if '__name__ == "__main__"' not in path.read_text():
        return None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(path), run_name="__main__")
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


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
