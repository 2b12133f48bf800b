"""``make demo``: compile a tiny GPT-2 under ``depyf.prepare_debug`` and show what came out.

python tools/demo.py [FOLDER]        the folder is made anew; default demo_dump
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

# the demo downloads nothing: weights are random
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

EXCERPT = 48
MEANING = {
    "full_code": "guards, the code each of them leads to, resume functions",
    "transformed_code": "the bytecode that Dynamo made of the function, as proven Python",
    "Captured_Graph": "the graph that Dynamo captured",
    "BEFORE_PRE_GRAD": "the captured graph before Inductor's passes on it",
    "AFTER_PRE_GRAD": "the captured graph after Inductor's passes on it",
    "BEFORE_JOINT_GRAPH": "AOTAutograd's graph before Inductor's joint passes",
    "AFTER_JOINT_GRAPH": "AOTAutograd's graph after Inductor's joint passes",
    "BEFORE_POST_GRAD": "Inductor's graph before its own passes",
    "Joint_graph": "AOTAutograd: forward and backward in one",
    "Forward_graph": "AOTAutograd: forward",
    "Backward_graph": "AOTAutograd: backward",
    "AFTER_POST_GRAD": "Inductor's graph after its own passes",
    "kernel": "Inductor's generated wrapper",
    "graph_inputs": "what the graph was called with: names, shapes, where each came from",
    "kernel_source": "the source of one kernel that the wrapper calls",
    "original_code": "your function before: source and bytecode",
    "index": "START HERE: what happened, and why",
    "timings": "compile times (differ in every run)",
}


def run(folder: Path) -> bool:
    """Compile and run the model inside and outside the context; whether both outputs are the same, bit for bit."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    import depyf

    torch.manual_seed(0)
    ids = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(n_layer=1, n_head=2, n_embd=32, n_positions=32, vocab_size=128, **ids)
    model = GPT2LMHeadModel(config).eval()
    tokens = torch.randint(0, 128, (1, 8))
    with torch.no_grad():  # first under depyf: what torch has in its caches then, it does not report again
        with depyf.prepare_debug(str(folder)):
            found = torch.compile(model)(tokens, use_cache=False).logits
        torch._dynamo.reset()
        expected = torch.compile(model)(tokens, use_cache=False).logits
    return torch.equal(expected, found)


def describe(record: dict[str, Any]) -> str:
    """One line of the listing; says so where a function was not replaced by its decompiled text."""
    meaning = MEANING.get(record.get("stage", ""), MEANING.get(record["kind"], record["kind"]))
    if record["kind"] == "transformed_code" and not record.get("substituted"):
        meaning += f" (not substituted: {record.get('reason') or 'unknown reason'})"
    return meaning


def excerpt(path: Path) -> list[str]:
    """The start of a file, indented."""
    lines = path.read_text(encoding="utf-8").splitlines()
    out = ["    " + line[:140] for line in lines[:EXCERPT]]
    if len(lines) > EXCERPT:
        out.append(f"    ... {len(lines) - EXCERPT} more lines")
    return out


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_dump")
    if folder.exists():
        shutil.rmtree(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
            same = run(folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    print(f"A tiny GPT-2 was compiled under depyf.prepare_debug; the logits are {'equal' if same else 'DIFFERENT'}.")
    print(f"\nIn {folder.resolve()} (manifest.json lists it all, and what came from what):")
    records = sorted(
        manifest["files"], key=lambda record: (record["kind"] != "index", record["kind"] != "full_code", record["file"])
    )
    for record in records:
        print(f"  {record['file']}\n      {describe(record)}")
    for kind in ("full_code", "transformed_code"):
        chosen = [folder / record["file"] for record in records if record["kind"] == kind]
        if not chosen:
            print(f"no {kind} file was written", file=sys.stderr)
            return 1
        largest = max(chosen, key=lambda path: path.stat().st_size)
        print(f"\n{largest.name}:\n" + "\n".join(excerpt(largest)))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
