"""Finds the CPython of a given version on this machine.

Searched in order: interpreters named by the user (``register``), the running one, every folder on the ``PATH``, the
installer's on Windows, pyenv's, uv's, and ``$DEPYF_PYTHONS/bin`` (default ``~/.cache/depyf-pythons``).  Every candidate
is asked for its version before it is trusted.  pyenv's shims are passed over: each start of one runs a shell script,
and the interpreters they start are looked at anyway.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROBE = "import sys; print('%d.%d' % sys.version_info[:2] if sys.implementation.name == 'cpython' else 'other')"
MAGIC = "import _frozen_importlib_external as found; print(found.MAGIC_NUMBER.hex())"
PROBE_TIMEOUT = 20.0
WINDOWS = os.name == "nt"

_registered: list[str] = []


def register(path: str) -> tuple[int, int] | None:
    """Prefer the interpreter at ``path`` from now on; its version, or None if it does not answer."""
    path = shutil.which(path) or path  # starting it by its name would change the filters of warnings for a moment
    version = version_of(path)
    if version is not None and path not in _registered:
        _registered.insert(0, path)
        find_interpreter.cache_clear()
    return version


@functools.cache
def find_interpreter(version: tuple[int, int]) -> str | None:
    """The path of an interpreter of ``version``, or None."""
    seen: set[str] = set()
    for candidate in _candidates(version):
        if candidate not in seen and version_of(candidate) == version:
            return candidate
        seen.add(candidate)
    return None


def own_interpreter() -> str | None:
    """An interpreter that writes the bytecode of the one that runs here; None where none is found.

    That is ``sys.executable`` by its name, for a program that has Python built in is not to be started again.
    """
    for path in itertools.chain((sys.executable,), _candidates(sys.version_info[:2])):
        named = path and "python" in os.path.basename(path).lower()
        if named and _magic_of(path) == importlib.util.MAGIC_NUMBER.hex():
            return path
    return None


@functools.cache
def _magic_of(path: str) -> str:
    return _printed(path, MAGIC)


@functools.cache
def version_of(path: str) -> tuple[int, int] | None:
    """The version of the CPython at ``path``, or None if it is none or does not answer."""
    major, _, minor = _printed(path, PROBE).partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _printed(path: str, program: str) -> str:
    """What the interpreter at ``path`` prints for ``program``; nothing where it is none or does not answer."""
    try:
        result = subprocess.run(
            [path, "-I", "-S", "-c", program],
            capture_output=True,
            timeout=PROBE_TIMEOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return "" if result.returncode else result.stdout.decode("ascii", "replace").strip()


def home() -> Path:
    """The user's folder; one in which nothing is where the user has none: no ``$HOME``, and a number that no name
    belongs to."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.devnull)


def installed_by_us() -> Path:
    """The folder whose ``bin`` holds the interpreters that ``make pythons`` unpacked."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache")
    return Path(os.environ.get("DEPYF_PYTHONS") or caches / "depyf-pythons")


def _candidates(version: tuple[int, int]) -> Iterator[str]:
    name = f"python{version[0]}.{version[1]}"
    yield from _registered
    if sys.version_info[:2] == version and sys.executable:
        yield sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or home() / ".pyenv")
    # not os.get_exec_path(), which changes the filters of warnings for a moment
    for folder in filter(None, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        found = shutil.which(name, path=folder)
        if found and Path(folder) != pyenv / "shims":
            yield found
        if WINDOWS and (found := shutil.which("python", path=folder)):
            yield found  # no program there is named after its version
    if WINDOWS:
        programs = Path(os.environ.get("LOCALAPPDATA") or home() / "AppData" / "Local") / "Programs" / "Python"
        yield str(programs / f"Python{version[0]}{version[1]}" / "python.exe")
    data = Path(os.environ.get("XDG_DATA_HOME") or home() / ".local" / "share")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    for root, prefix in ((pyenv / "versions", ""), (uv, "cpython-")):
        for item in _newest_first(root, f"{prefix}{version[0]}.{version[1]}"):
            yield str(root / item / "bin" / name)
    yield str(installed_by_us() / "bin" / name)


def _newest_first(root: Path, prefix: str) -> list[str]:
    """The folders of ``root`` for one version: ``3.8.18``, ``3.15-dev``, ``cpython-3.8.20-linux-x86_64-gnu``; none
    where there is no root."""
    try:
        names = os.listdir(root)
    except OSError:
        return []
    fitting = [name for name in names if name.startswith((prefix + ".", prefix + "-"))]
    return sorted(
        fitting, key=lambda name: ([int(number) for number in re.findall(r"[0-9]+", name)], name), reverse=True
    )
