"""The CPython interpreters 3.8 to 3.15 of this machine, for tools and tests; where they are looked for: ``depyf.decompiler.verify.recompiling.interpreters``.

Run as a program, it lists them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from depyf.decompiler.bytecode.versions import SUPPORTED
from depyf.decompiler.verify.recompiling.interpreters import find_interpreter

VERSIONS = tuple(f"{major}.{minor}" for major, minor in SUPPORTED)


def number(version: str) -> tuple[int, int]:
    """``"3.11"`` as ``(3, 11)``."""
    major, minor = version.split(".")
    return int(major), int(minor)


def find(version: str) -> Path | None:
    """The interpreter of ``version`` ("3.11"), or None."""
    path = find_interpreter(number(version))
    return None if path is None else Path(path)


def found() -> dict[str, Path]:
    """Every version this machine has."""
    return {version: path for version in VERSIONS if (path := find(version))}


def ask(python: Path, program: str) -> str:
    """The standard output of ``python -I -c program``."""
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, timeout=600, check=True)
    return done.stdout


def stdlib_of(python: Path) -> Path:
    """The standard library folder of an interpreter."""
    return Path(ask(python, "import sysconfig; print(sysconfig.get_paths()['stdlib'])").strip())


if __name__ == "__main__":
    for name, where in found().items():
        print(name, where)
