"""Does ``depyf check`` say the same in every run?  Programs with a budget, each as it is and with a planted regression.

    python -m tools.torch.budget_flakes --runs 100
    python -m tools.torch.budget_flakes --runs 5 --backend inductor
    python -m tools.torch.budget_flakes --runs 200 --forked        a twentieth of the work

Each program is run once with ``--update``, then as often as asked in turns: as it is, where any excess is a flake, and
with its regression, where none is.  The numbers that a run has are compared with those of the first run.  Runs are
forked from a process that has torch, as tests are.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
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


def in_fork(work: Callable[[], int], out: Path, planted: bool) -> int:
    """The exit status of what it returns in a process of its own, which writes to that file."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        status = 70
        with contextlib.suppress(BaseException):
            file = os.open(out, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            os.dup2(file, 1)
            os.dup2(file, 2)
            os.environ["PLANTED"] = "1" if planted else ""
            try:
                status = work()
            except SystemExit as end:
                status = int(end.code or 0)
            sys.stdout.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def forked_check(folder: Path, *arguments: str, planted: bool = False) -> subprocess.CompletedProcess[str]:
    from depyf.actions.doctor.trial_files import TrialSpec, write_trial
    from depyf.cli.programs import doctor_child

    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)  # a module makes the folder of its cache when it is imported
    work.mkdir()
    os.chdir(folder)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(work / "cache")
    spec = TrialSpec(str(work / "dump"), str(work / "result.json"), False, measures_guards=False)
    write_trial(work / "spec.json", spec)
    try:
        said = work / "said"
        status = in_fork(lambda: doctor_child.main([str(work / "spec.json"), "p.py"]), said, planted)
        if status == 0:
            words = ["depyf", "check", "--format", "json", *arguments, str(work / "dump")]

            def judge() -> int:
                sys.argv = words
                runpy.run_module("depyf", run_name="__main__")
                return 0

            status = in_fork(judge, said, planted)
        text = said.read_text()
    finally:
        shutil.rmtree(work)
    return subprocess.CompletedProcess([], status, text, "")


def import_what_a_run_imports(folder: Path) -> None:
    """Nothing is compiled in this process: the names come from one that compiles."""
    import torch  # noqa: F401

    names = folder / "names.json"
    program = folder / "p.py"
    text = program.read_text()
    tell = f"\nimport atexit, json, sys\njson.dump(sorted(sys.modules), open({str(names)!r}, 'w'))\n"
    program.write_text(text + tell)
    forked_check(folder, "--update")
    program.write_text(text)
    for name in json.loads(names.read_text()):
        if name not in sys.modules and name.partition(".")[0] != "__main__":
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="of each program, both ways together")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    parser.add_argument("--forked", action="store_true", help="begin with all modules imported")
    options = parser.parse_args()
    checked = forked_check if options.forked else check
    os.environ.setdefault("PYTHONHASHSEED", "0")
    met: Counter[str] = Counter()
    began = time.monotonic()
    for name in options.only or PROGRAMS:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            (folder / "p.py").write_text(HEAD.format(backend=options.backend) + PROGRAMS[name])
            if options.forked:
                import_what_a_run_imports(folder)
            written = checked(folder, "--update")
            if written.returncode:
                print(f"{name}: no budget was written: {written.stdout}{written.stderr}")
                return 1
            first: dict[bool, dict[str, int]] = {}
            for number in range(options.runs):
                planted = bool(number % 2)
                run = checked(folder, planted=planted)
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
