"""``make browser``: find Chromium and Node on this machine, and install what is missing (Debian's packages, as root).

python -m tools.env.browser [NAME...]

Chromium shows the report in ``tests/browser/``, Node runs ``tests/js/`` and lints the JavaScript.  ``$DEPYF_BROWSER`` and
``$DEPYF_NODE`` name a program to use instead.  One line each says where it is and its version, or what was tried in vain.

Runs with any Python from 3.10.  Exit status 1: something could not be had.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.env.pythons import CannotError, ran


@dataclass(frozen=True)
class Program:
    """A program that the tests of the report need: how it is called, how it is named, who brings it."""

    title: str
    names: tuple[str, ...]
    variable: str
    packages: tuple[str, ...]
    companions: tuple[str, ...] = ()
    """Programs that must lie on the PATH beside it."""
    oldest: tuple[int, ...] = (0,)

    def find(self) -> Path | None:
        """Where it is; None where it is not on this machine, too old, or without its companions."""
        named = os.environ.get(self.variable)
        for name in (named,) if named else self.names:
            found = shutil.which(name)
            if found and all(map(shutil.which, self.companions)) and numbers(version(Path(found))) >= self.oldest:
                return Path(found)
        return None


PROGRAMS: Mapping[str, Program] = {
    "chromium": Program(
        "Chromium",
        ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"),
        "DEPYF_BROWSER",
        ("chromium",),
    ),
    "node": Program("Node", ("node", "nodejs"), "DEPYF_NODE", ("nodejs", "npm"), ("npm",), (18, 18)),
}


def version(program: Path) -> str:
    """``151.0.7204.49`` of what ``program --version`` says; empty where it does not start."""
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(r"\d+(\.\d+)+", done.stdout) if done.returncode == 0 else None
    return found[0] if found else ""


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("."))) if text else ()


def by_debian(program: Program) -> None:
    """Install Debian's packages of a program."""
    if not shutil.which("apt-get"):
        raise CannotError("apt-get is not on the PATH")
    if os.geteuid() != 0:
        raise CannotError(f"not root: apt-get install {' '.join(program.packages)}")
    apt = ["apt-get", "-q", "-y"]
    ran([*apt, "update"])
    ran([*apt, "install", "--no-install-recommends", *program.packages])


WAYS: Mapping[str, Callable[[Program], None]] = {"Debian": by_debian}


def provide(program: Program) -> tuple[bool, str]:
    """Whether the program is there now, and the line that says how; every way that was tried in vain is named."""
    if found := program.find():
        return True, f"{found} {version(found)} (was here)"
    if named := os.environ.get(program.variable):
        return False, f"{program.variable}={named} is not a program that starts"
    reasons = []
    for name, way in WAYS.items():
        try:
            way(program)
        except CannotError as error:
            reasons.append(f"{name}: {error}")
            continue
        if found := program.find():
            return True, f"{found} {version(found)} (installed by {name})"
        reasons.append(f"{name}: did not fail, but none of {' '.join(program.names)} answers")
    return False, "; ".join(reasons)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="chromium, node; without any: both")
    names = parser.parse_args(argv).names or list(PROGRAMS)
    if unknown := [name for name in names if name not in PROGRAMS]:
        parser.error(f"neither chromium nor node: {' '.join(unknown)}")
    lacking = []
    for name in names:
        program = PROGRAMS[name]
        there, line = provide(program)
        print(f"{program.title:9} {line if there else 'NOT FOUND, and not installed: ' + line}", flush=True)
        if not there:
            lacking.append(program)
    for program in lacking:
        print(
            f"browser: no {program.title}. Install it, or name one with {program.variable}. Tests that need it are skipped.",
            file=sys.stderr,
        )
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
