"""``make demo``: compile a tiny GPT-2 under ``depyf.prepare_debug``, check that nothing changed, and say where to look.

python -m tools.docs.demo [FOLDER]        the folder is made anew; default demo_dump
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

# the demo downloads nothing: weights are random
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def run(folder: Path) -> bool:
    """Compile and run the model inside and outside the context; whether both outputs are the same, bit for bit."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, logging

    import depyf

    logging.set_verbosity_error()
    torch.manual_seed(0)
    ids = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(n_layer=1, n_head=2, n_embd=32, n_positions=32, vocab_size=128, **ids)
    model = GPT2LMHeadModel(config)
    tokens = torch.randint(0, 128, (1, 8))

    def step() -> list[torch.Tensor]:
        torch.manual_seed(0)
        model.zero_grad()
        loss = torch.compile(model)(tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        return [loss.detach(), *(parameter.grad for parameter in model.parameters())]

    # first under depyf: what torch has in its caches then, it does not report again
    with depyf.prepare_debug(str(folder), report=True):
        found = step()
    torch._dynamo.reset()
    return all(map(torch.equal, step(), found))


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_dump")
    if folder.exists():
        shutil.rmtree(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
            same = run(folder)
    compared = "equal to" if same else "DIFFERENT from"
    print("A tiny GPT-2 was compiled and trained for one step under depyf.prepare_debug.")
    print(f"Its loss and gradients are {compared} those of a run without it.")
    print("\nRead, in this order:")
    for name, what in looked_at(folder):
        print(f"  {folder / name}\n      {what}")
    return 0 if same else 1


def looked_at(folder: Path) -> list[tuple[str, str]]:
    """The files to read first, and what they say."""
    files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]

    def first(kind: str, stage: str = "") -> str:
        """The file of the first compilation that has one."""
        fitting = [item for item in files if item["kind"] == kind and item.get("stage", "") == stage]
        return min(fitting, key=lambda item: item.get("compile_ids", [item.get("compile_id", "")]))["file"]

    return [
        (
            "report.html",
            "all of it on one page: open it in a browser, click a line of the source, follow it to its kernel",
        ),
        ("index.md", "the same in short: what to fix first, what was compiled, what ran as ordinary Python"),
        (first("full_code"), "the whole decision as Python: guards, and the code that each of them leads to"),
        (first("transformed_code"), "the bytecode that Dynamo made of the function, as proven Python"),
        (first("graph", "Captured_Graph"), "the graph that Dynamo captured"),
        (first("graph", "Backward_graph"), "the backward that AOTAutograd derived"),
        ("manifest.json", f"the other {len(files)} files, and what came from what"),
    ]


if __name__ == "__main__":
    sys.exit(main())
