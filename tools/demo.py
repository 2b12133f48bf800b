"""``make demo``: compile a tiny GPT-2 under ``depyf.prepare_debug`` and show what came out.

python tools/demo.py [FOLDER]        the folder is made anew; default demo_dump
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path

# the demo downloads nothing: weights are random
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

EXCERPT = 60


def run(folder: Path) -> bool:
    """Compile and run the model inside and outside the context; whether both outputs are the same, bit for bit."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    import depyf

    torch.manual_seed(0)
    config = GPT2Config(n_layer=1, n_head=2, n_embd=32, n_positions=32, vocab_size=128)
    model = GPT2LMHeadModel(config).eval()
    tokens = torch.randint(0, 128, (1, 8))
    with torch.no_grad():
        expected = torch.compile(model)(tokens, use_cache=False).logits
        torch._dynamo.reset()
        with depyf.prepare_debug(str(folder)):
            found = torch.compile(model)(tokens, use_cache=False).logits
    return torch.equal(expected, found)


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_dump")
    if folder.exists():
        shutil.rmtree(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = run(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    print(f"A tiny GPT-2 was compiled under depyf.prepare_debug; the logits are {'equal' if same else 'DIFFERENT'}.\n")
    print(f"{len(files)} files in {folder.resolve()}:")
    for path in files:
        print(f"  {path.stat().st_size:8,}  {path.relative_to(folder)}")
    starts = [path for path in files if path.name.startswith("full_code_for_")]
    if not starts:
        print("no full_code_for_* file was written", file=sys.stderr)
        return 1
    first = max(starts, key=lambda path: path.stat().st_size)
    lines = first.read_text(encoding="utf-8").splitlines()
    print(f"\nStart with {first.name}:\n")
    print("\n".join("    " + line for line in lines[:EXCERPT]).rstrip())
    if len(lines) > EXCERPT:
        print(f"    ... {len(lines) - EXCERPT} more lines")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
