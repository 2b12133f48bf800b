"""A dump of a real run, in one file: the program of ``tests/torch/capture/test_chain.py`` on torch 2.13, the CPU and Inductor."""

from __future__ import annotations

import json
from pathlib import Path

TEXT = (Path(__file__).parent / "two_layers.txt").read_text("utf-8")
NODES = "__compiled_fn_0_0.nodes.json"


def unpack(folder: Path, known: str = "all") -> Path:
    """``known`` of where operations come from: "all"; "stacks", as where a compile cache answered; "nothing", as in an older dump."""
    folder.mkdir()
    for part in TEXT.split("===== ")[1:]:
        name, _, text = part.partition("\n")
        if name == NODES and known == "stacks":
            page = json.loads(text)
            page["graphs"] = {file: notes for file, notes in page["graphs"].items() if "stacks" in notes}
            text = json.dumps(page)
        if name != NODES or known != "nothing":
            (folder / name).write_text(text)
    if known == "nothing":
        page = json.loads((folder / "manifest.json").read_text())
        page["files"] = [item for item in page["files"] if item["kind"] != "node_origins"]
        (folder / "manifest.json").write_text(json.dumps(page))
    return folder
