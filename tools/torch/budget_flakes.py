"""Does ``depyf check`` say the same in every run?  Programs with a budget, each as it is and with a planted regression.

    python -m tools.torch.budget_flakes --runs 100
    python -m tools.torch.budget_flakes --runs 5 --backend inductor

Each program is run once with ``--update``, then as often as asked in turns: as it is, where any excess is a flake, and
with its regression, where none is.  The numbers that a run has are compared with those of the first run.  Runs are
forked from a process that has torch, as tests are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

import with_torch

HEAD = "import os\nimport torch\nfrom torch import nn\nBACKEND = {backend!r}\nBAD = bool(os.environ.get('PLANTED'))\ntorch.manual_seed(0)\n"
PROGRAMS = {
    "break": "@torch.compile(backend=BACKEND)\ndef f(x):\n    y = x.sin()\n    if BAD:\n        print('x')\n    return y + 1\nf(torch.ones(4))\n",
    "value": "@torch.compile(backend=BACKEND)\ndef f(x):\n    if BAD and x.sum() > 0:\n        return x\n    return x + 1\nf(torch.ones(4))\n",
    "sizes": "@torch.compile(backend=BACKEND, dynamic=False)\ndef f(x):\n    return x * 2\nfor n in (4, 5 if BAD else 4):\n    f(torch.ones(n))\n",
    "module": "net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))\nif BAD:\n    net.append(nn.Linear(2, 2))\nloss = torch.compile(net, backend=BACKEND)(torch.ones(3, 4)).sum()\nloss.backward()\n",
    "counter": "class M(nn.Module):\n    n = 0\n    def forward(self, x):\n        if BAD:\n            self.n += 1\n        return x + self.n\nm = torch.compile(M(), backend=BACKEND)\nfor _ in range(3):\n    m(torch.ones(2))\n",
}


def check(folder: Path, *arguments: str, planted: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    environment.pop("PLANTED", None)
    if planted:
        environment["PLANTED"] = "1"
    return subprocess.run(
        [with_torch.command(environment), "-m", "depyf", "check", "--format", "json", *arguments, "p.py"],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="of each program, both ways together")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    options = parser.parse_args()
    met: Counter[str] = Counter()
    began = time.monotonic()
    for name in options.only or PROGRAMS:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            (folder / "p.py").write_text(HEAD.format(backend=options.backend) + PROGRAMS[name])
            written = check(folder, "--update")
            if written.returncode:
                print(f"{name}: no budget was written: {written.stderr}")
                return 1
            first: dict[bool, dict[str, int]] = {}
            for number in range(options.runs):
                planted = bool(number % 2)
                run = check(folder, planted=planted)
                met["runs"] += 1
                if run.returncode != planted:
                    met["flakes"] += 1
                    print(f"{name}, run {number}: exit status {run.returncode}: {run.stdout}{run.stderr}")
                    continue
                found = json.loads(run.stdout)["found"]
                other = {k: (v, found[k]) for k, v in first.setdefault(planted, found).items() if v != found[k]}
                if other:
                    met["flakes"] += 1
                    print(f"{name}, run {number}: other numbers: {other}")
        print(f"{name}: {options.runs} runs", flush=True)
    print(f"{met['runs']} runs, {met['flakes']} flakes ({options.backend}, {time.monotonic() - began:.0f} s)")
    return 1 if met["flakes"] else 0


if __name__ == "__main__":
    sys.exit(main())
