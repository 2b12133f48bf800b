"""Functions under other names: each decompiled, proven, and run against the original (part of ``make fuzz``).

    python -m tools.fuzz.mutantnames --count 200 [--seed 0] [--version 3.13]
    python -m tools.fuzz.mutantnames --show SEED --version 3.13

Variables, cells, free variables, code and what it looks up get random names (``namesubjects``): one for all, as obfuscators give
them, names of globals and builtins, empty ones, keywords, what no source can say.  Slots stay what they are.  A code object that is
proven must do what the original does, whatever is passed by position; one that is not proven takes what needs it along.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from tools.env import interpreters

SUBJECTS = Path(__file__).resolve().parent / "namesubjects.py"
NEEDS = {"drive": ("generator", "delegate"), "run": ("coroutine", "agen", "pause", "Awaited")}
"""What functions call besides themselves."""


class Interpreter:
    """One that makes the functions of a version, and runs them."""

    def __init__(self, version: str) -> None:
        self.version = interpreters.number(version)
        python = interpreters.find(version)
        assert python is not None
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([str(python), "-I", "-W", "ignore", str(SUBJECTS)], **pipes)  # type: ignore[call-overload]

    def ask(self, **request: Any) -> Any:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


@dataclass(frozen=True)
class Outcome:
    """``wrong``: calls of proven functions that do something else; ``statuses``: how many code objects have which verdict."""

    found: Decompiled
    wrong: dict[str, list[str]]
    statuses: Counter[str]
    reasons: tuple[str, ...]


def examine(python: Interpreter, seed: int) -> Outcome:
    """Decompile the functions of one seed, and run what is proven."""
    code = python.ask(seed=seed)
    unit = loads(bytes.fromhex(code), python.version)
    found = decompile_unit(unit)
    unproven = {re.split(r"\W", v.qualname)[0] for v in found.verdicts if not v.proven}
    statuses = Counter(v.status.value for v in found.verdicts)
    reasons = tuple(f"{v.qualname}: {v.reason}" for v in found.verdicts if not v.proven)
    differences = python.ask(code=code, text=found.source)
    if unproven and "" in differences:  # what raises in the place of code without a text ends the module
        differences = {}
    wrong = {}
    for call, ends in differences.items():
        name = call.split("(")[0]
        if unproven.isdisjoint((name, *NEEDS.get(name, ()))):
            wrong[call] = ends
    return Outcome(found, wrong, statuses, reasons)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--version", help="one interpreter; else all that are found")
    parser.add_argument("--show", type=int, metavar="SEED")
    arguments = parser.parse_args()
    bad = 0
    for version in [arguments.version] if arguments.version else interpreters.found():
        python = Interpreter(version)
        statuses: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        seeds = (
            [arguments.show] if arguments.show is not None else range(arguments.seed, arguments.seed + arguments.count)
        )
        for seed in seeds:
            outcome = examine(python, seed)
            statuses += outcome.statuses
            reasons.update(re.sub(r"^[^:]*: |\(.*?\)|'.*?'", "", reason) for reason in outcome.reasons)
            bad += bool(outcome.wrong)
            for call, ends in outcome.wrong.items():
                print(f"{version}: seed {seed}: {call} gives {ends[0]}, the text {ends[1]}")
            if arguments.show is not None:
                print(outcome.found.source, *outcome.reasons, sep="\n")
        python.close()
        print(
            f"{version}: {len(seeds)} modules, {', '.join(f'{n} {status}' for status, n in sorted(statuses.items()))}"
        )
        for reason, count in reasons.most_common(8):
            print(f"    {count:5} {reason[:150]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
