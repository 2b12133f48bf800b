"""Find the CPython of a given version on this machine.

Looked at in order: interpreters named by the user (``register``), the running one, ``PATH``, pyenv, and
``~/.cache/depyf-pythons/bin``.  Every candidate is asked for its version before it is trusted.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROBE = "import sys; print('%d.%d' % sys.version_info[:2] if sys.implementation.name == 'cpython' else 'other')"
PROBE_TIMEOUT = 20.0

_registered: list[str] = []


def register(path: str) -> tuple[int, int] | None:
    """Prefer the interpreter at ``path`` from now on; its version, or None if it does not answer."""
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


@functools.cache
def version_of(path: str) -> tuple[int, int] | None:
    """The version of the CPython at ``path``, or None if it is none or does not answer."""
    try:
        result = subprocess.run(
            [path, "-I", "-S", "-c", PROBE],
            capture_output=True,
            timeout=PROBE_TIMEOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    major, _, minor = result.stdout.decode("ascii", "replace").strip().partition(".")
    return (int(major), int(minor)) if result.returncode == 0 and major.isdigit() and minor.isdigit() else None


def _candidates(version: tuple[int, int]) -> Iterator[str]:
    name = f"python{version[0]}.{version[1]}"
    yield from _registered
    if sys.version_info[:2] == version and sys.executable:
        yield sys.executable
    on_path = shutil.which(name)
    if on_path:
        yield on_path
    home = Path.home()
    versions = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    prefix = f"{version[0]}.{version[1]}."
    try:
        installed = sorted(item for item in os.listdir(versions) if item.startswith(prefix))
    except OSError:
        installed = []
    for item in installed:
        yield str(versions / item / "bin" / name)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    yield str(Path(os.environ.get("DEPYF_PYTHONS") or cache / "depyf-pythons") / "bin" / name)
