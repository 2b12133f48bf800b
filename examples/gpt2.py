"""A tiny GPT-2 (random weights, nothing is downloaded) trained for one step under ``depyf.prepare_debug``.

python examples/gpt2.py [DIRECTORY] [BACKEND]        default: gpt2_dump inductor
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import depyf

EXCERPT = 40


def main() -> None:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "gpt2_dump")
    backend = sys.argv[2] if len(sys.argv) > 2 else "inductor"
    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_head=2, n_embd=32, n_positions=32, vocab_size=128, use_cache=False,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    model = torch.compile(GPT2LMHeadModel(config), backend=backend)
    tokens = torch.randint(0, 128, (1, 8))
    with depyf.prepare_debug(directory):
        model(input_ids=tokens, labels=tokens).loss.backward()
    show(directory)


def show(directory: Path) -> None:
    """Where to look, and the beginning of the most interesting file: what runs when the model is called."""
    manifest = json.loads((directory / "manifest.json").read_text())
    print(f"{len(manifest['files'])} files in {directory}:")
    for item in manifest["files"]:
        came = f"   from {item['from'][0]}" if item["from"] else ""
        proven = "   proven, and running" if item.get("substituted") else ""
        print(f"  {item['file']}{came}{proven}")
    name = max(
        (item["file"] for item in manifest["files"] if item["kind"] == "full_code"),
        key=lambda name: (directory / name).stat().st_size,
    )
    lines = (directory / name).read_text().splitlines()
    print(f"\n{directory / name}:\n")
    print("\n".join(lines[:EXCERPT]))
    print(f"... {len(lines) - EXCERPT} more lines" if len(lines) > EXCERPT else "")


if __name__ == "__main__":
    main()
