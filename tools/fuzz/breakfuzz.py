"""Random programs with graph breaks, compiled plainly and under ``prepare_debug`` (``make breakfuzz``).

    python -m tools.fuzz.breakfuzz --count 500 [--seed 0] [--nested] [--show SEED] [--keep DIR]

A program passes when it does the same both ways (results, what it changed, what it logged), the code in its dump is
proven and runs in place of Dynamo's, and nothing of Dynamo's ways is left in it (``dynamo_readability``).  Programs that
torch alone gets wrong, or does not compile, are counted apart; Python refuses a few.  Needs torch; any version will do.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import re
import shutil
import sys
import tempfile
import types
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch

import depyf
from tools.bench.dynamo_readability import leftovers
from tools.fuzz import randombreaks

PROVEN = ("IDENTICAL", "EQUIVALENT")
CLOSE = 1e-5
UNWRITTEN = re.compile(r"cannot decompile|\b__temp_\d")
"""What stands on the page of a resume function that has no source, or one that is not plain Python."""


def module_of(text: str, path: Path) -> types.ModuleType:
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("random_breaks", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["random_breaks"] = module
    spec.loader.exec_module(module)
    return module


def observed(function: Any, module: types.ModuleType) -> list[object]:
    """What three calls give, change and log."""
    found: list[object] = []
    for count in range(3):
        generator = torch.Generator().manual_seed(count)
        a, b = (torch.randn(2, 2, generator=generator) for _ in "ab")
        a.requires_grad_(count == 1)
        module.LOG.clear()
        try:
            result = function(a, b, 0.5 + (count > 0), count, [b * 2], {"one": a}, module.Box(1.0))
        except Exception as error:  # the program's own, or torch's: both must be the same
            result = type(error).__name__
        found += [plain(result), list(module.LOG)]
    return found


def plain(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return [value.requires_grad, value.detach().tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return [[key, plain(item)] for key, item in value.items()]
    return value if isinstance(value, (int, float, str, type(None))) else type(value).__name__


def same(one: object, other: object) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (one != one and other != other) or abs(one - other) <= CLOSE * max(1.0, abs(one))
    return one == other


def problems(dump: Path, text: str) -> list[str]:
    """What is wrong with a dump."""
    manifest = json.loads((dump / "manifest.json").read_text(encoding="utf-8"))
    found = [f"note: {note}" for note in manifest["notes"]]
    for entry in manifest["files"]:
        if entry["kind"] != "transformed_code":
            continue
        if not entry["substituted"]:
            found.append(f"{entry['file']}: not substituted: {entry.get('reason')}")
        found += [f"{entry['file']}: {v['reason']}" for v in entry["verdicts"] if v["status"] not in PROVEN]
        left = leftovers((dump / entry["file"]).read_text(encoding="utf-8"))
        if left.temporaries or left.idle or (left.shuffles and not leftovers(text).shuffles):
            found.append(f"{entry['file']}: {left}")
    for page in sorted(dump.glob("full_code_for_*.py")):
        unwritten = [line for line in page.read_text(encoding="utf-8").splitlines() if UNWRITTEN.search(line)]
        found += [f"{page.name}: {line.strip()}" for line in unwritten]
    return found


def outcome(seed: int, folder: Path) -> tuple[str, list[str]]:
    """How one program ended, and what was wrong."""
    text = randombreaks.source(seed)
    if text is None:
        return "no program", []
    path, dump = folder / f"seed_{seed}.py", folder / f"dump_{seed}"
    torch._dynamo.reset()
    module = module_of(text, path)
    wanted = observed(module.fn, module)
    expected = observed(torch.compile(module.fn, backend="eager"), module)
    torch._dynamo.reset()
    module = module_of(text, path)
    with depyf.prepare_debug(str(dump)):
        found = observed(torch.compile(module.fn, backend="eager"), module)
    wrong = problems(dump, "def fn(" + text.partition("def fn(")[2])
    if not same(found, expected) and not same(found, wanted):
        wrong.insert(0, f"does something else:\n      {found}\n      {expected}")
    if wrong:
        return "failed", wrong
    shutil.rmtree(dump)
    path.unlink()
    return ("passed" if same(wanted, expected) else "torch does something else"), []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nested", action="store_true", help="with torch's nested_graph_breaks")
    parser.add_argument("--show", type=int, metavar="SEED", help="print one program")
    parser.add_argument("--keep", type=Path, help="where failing programs and their dumps go (a new folder)")
    args = parser.parse_args()
    if args.show is not None:
        text = randombreaks.source(args.show)
        print(text or "Python refuses this one")
        return 0 if text else 1
    if args.nested:
        torch._dynamo.config.nested_graph_breaks = True
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    folder = args.keep or Path(tempfile.mkdtemp(prefix="depyf-breaks-"))
    folder.mkdir(parents=True, exist_ok=True)
    ends: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.count):
        end, wrong = outcome(seed, folder)
        ends[end] += 1
        if wrong:
            print(f"seed {seed} ({folder / f'seed_{seed}.py'})", *wrong, sep="\n    ", flush=True)
    print(f"torch {torch.__version__}, seeds {args.seed} to {args.seed + args.count - 1}")
    for end, count in ends.most_common():
        print(f"{count:7}  {end}")
    return 1 if ends["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
