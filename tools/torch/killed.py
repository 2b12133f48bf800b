"""Kill a recorded program at random moments; look at what its dump still says.

    python -m tools.torch.killed [--moments 20] [--seed 0]

A program with a graph break and four recompilations runs under ``prepare_debug`` and is killed (SIGKILL) after a random share
of the time that it takes alone.  For each moment a row: what had been compiled by then, by the program's own count, and what the
dump tells after ``depyf index``.  The exit status is 1 where a dump tells less than had been compiled.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools import ROOT

PROGRAM = """
import sys, time
import torch
import depyf

compiled = []


def backend(graph, inputs):
    return graph.forward


def step(x, factor):
    y = x * factor
    print("step", end=" ")
    return (y + factor).sum()


step = torch.compile(step, backend=backend, dynamic=False)
with depyf.prepare_debug(sys.argv[1]):
    print("begun", flush=True)
    for factor in (2, 3, 4, 5, 6):
        step(torch.ones(4), factor)
        print("compiled", flush=True)
        time.sleep(0.05)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random.seed(options.seed)
    whole = run(None)
    print(f"alone: {whole.seconds:.2f} s after the block was entered")
    print(f"{'killed after':>12} {'compiled':>9} {'in the dump':>12} {'recompilations':>15}  fix first")
    worse = 0
    for _ in range(options.moments):
        found = run(random.uniform(0, whole.seconds))
        worse += not found.whole
        print(f"{found.seconds:10.2f} s {found.compiled:9} {found.told:12} {found.again:15}  {found.first}")
    print(f"{options.moments} moments, {worse} dumps tell less than was compiled")
    return 1 if worse else 0


class Found:
    """What became of one run."""

    def __init__(self, folder: Path, output: str, seconds: float) -> None:
        self.seconds = seconds
        self.compiled = output.count("compiled")
        done = subprocess.run(
            [sys.executable, "-m", "depyf", "index", str(folder)], capture_output=True, text=True, cwd=ROOT, check=False
        )
        self.told = self.again = 0
        self.first = (done.stderr or "?").strip()
        self.whole = False
        if done.returncode:
            return
        page = json.loads((folder / "manifest.json").read_text())
        steps = [function for function in page["functions"] if function["resume_of"] is None]
        entries = [entry for function in steps for entry in function["entries"]]
        self.told = sum(entry["compiled"] for entry in entries)
        self.again = sum(bool(entry["recompiled_because"]) and entry["compiled"] for entry in entries)
        self.first = "; ".join(cause["text"] for cause in page["causes"]) or "-"
        values = all(why["expected"] and why["actual"] for entry in entries for why in entry["recompiled_because"])
        self.whole = self.told >= self.compiled and values and (self.compiled == 0 or "print()" in self.first)


def run(after: float | None) -> Found:
    """Run the program, and kill it ``after`` seconds in the block; None: let it end."""
    with tempfile.TemporaryDirectory() as place:
        script, folder = Path(place, "program.py"), Path(place, "dump")
        script.write_text(PROGRAM)
        process = subprocess.Popen(
            [sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        begun = process.stdout.readline()
        start = time.perf_counter()
        if after is not None:
            time.sleep(after)
            process.kill()
        rest = process.stdout.read()
        process.wait()
        return Found(folder, begun + rest, time.perf_counter() - start)


if __name__ == "__main__":
    sys.exit(main())
