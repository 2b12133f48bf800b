"""``Lib/test`` of an interpreter's standard library, and its headers, which Debian packages apart.

A sweep of the standard library without it is a part of the whole, and has to say so.  Where the interpreter was unpacked
with its own root file system (``shared/pythons`` does that for the newest versions), the package is fetched into it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def present(library: Path) -> bool:
    """Whether the tests of the standard library in this folder are there."""
    return (library / "test" / "test_grammar.py").exists()


def ensure(version: str, library: Path) -> bool:
    """Fetch the tests if they are missing and can be had; says so where they cannot."""
    if present(library):
        return True
    package = f"libpython{version}-testsuite"
    if reason := _fetched(package, library):
        print(f"{version}: {reason}", file=sys.stderr)
    if present(library):
        return True
    print(f"{version}: Lib/test ({package}) is not here: this is a PART of the standard library", file=sys.stderr)
    return False


def ensure_headers(version: str, include: Path) -> bool:
    """Fetch ``Python.h`` if it is missing and can be had: without it nothing that a compiler makes can be imported."""
    if not (include / "Python.h").exists():
        _fetched(f"libpython{version}-dev", include)
    return (include / "Python.h").exists()


def _fetched(package: str, folder: Path) -> str:
    """Unpack a package into the root file system that holds ``folder``; "" if it did, or if that is the machine's own."""
    root = _own_root(folder)
    if root is None:
        return ""
    script = f"cd /tmp && apt-get download {package} && dpkg -x {package}_*.deb / && rm -f {package}_*.deb"
    done = subprocess.run(["chroot", str(root), "sh", "-c", script], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


def _own_root(folder: Path) -> Path | None:
    """The root file system that holds this ``/usr/lib/...`` or ``/usr/include/...``, if it is not the machine's own."""
    if folder.parts[-3:-1] not in (("usr", "lib"), ("usr", "include")):
        return None
    root = folder.parents[2]
    return root if root != Path("/") and (root / "usr" / "bin" / "apt-get").exists() else None
