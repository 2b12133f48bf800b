"""Find the CPython interpreters 3.8 to 3.15 of this machine.

Looked for: ``python3.X`` on the PATH, below pyenv, and in ``$DEPYF_PYTHONS`` (default ``~/.cache/depyf-pythons``).
A candidate counts only when it runs and says that it is that version: pyenv's shims exist for versions that are not there.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")


def _candidates(version: str) -> Iterator[Path]:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    cache = Path(os.environ.get("DEPYF_PYTHONS", Path.home() / ".cache" / "depyf-pythons"))
    yield cache / "bin" / f"python{version}"
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield Path(on_path)


@functools.cache
def find(version: str) -> Path | None:
    """The interpreter of ``version`` ("3.11"), or None."""
    for candidate in _candidates(version):
        if not candidate.exists():
            continue
        try:
            answer = ask(candidate, "import sys; print('%d.%d' % sys.version_info[:2])")
        except (OSError, subprocess.SubprocessError):
            continue
        if answer.strip() == version:
            return candidate
    return None


def found() -> dict[str, Path]:
    """Every version this machine has."""
    return {version: path for version in VERSIONS if (path := find(version))}


def ask(python: Path, program: str) -> str:
    """The standard output of ``python -I -c program``."""
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def stdlib_of(python: Path) -> Path:
    """The standard library folder of an interpreter."""
    return Path(ask(python, "import sysconfig; print(sysconfig.get_paths()['stdlib'])").strip())


if __name__ == "__main__":
    for name, where in found().items():
        print(name, where)
