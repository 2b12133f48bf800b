"""``Lib/test`` of an interpreter's standard library, and its headers, which Debian packages apart.

A sweep of the standard library without it is a part of the whole, and has to say so.  Where ``make pythons`` unpacked
the interpreter, the package is fetched, too.
"""

from __future__ import annotations

import sys
from pathlib import Path

from depyf.decompiler.verify.recompiling.interpreters import installed_by_us
from tools.env.pythons import CannotError, unpack


def present(library: Path) -> bool:
    """Whether the tests of the standard library in this folder are there."""
    return (library / "test" / "test_grammar.py").exists()


def ensure(version: str, library: Path) -> bool:
    """Fetch the tests if they are missing and can be had; says so where they cannot."""
    if present(library):
        return True
    package = f"libpython{version}-testsuite"
    if reason := _fetched(package, version, library):
        print(f"{version}: {reason}", file=sys.stderr)
    if present(library):
        return True
    print(f"{version}: Lib/test ({package}) is not here: this is a PART of the standard library", file=sys.stderr)
    return False


def ensure_headers(version: str, include: Path) -> bool:
    """Fetch ``Python.h`` if it is missing and can be had: without it nothing that a compiler makes can be imported."""
    if not (include / "Python.h").exists():
        _fetched(f"libpython{version}-dev", version, include)
    return (include / "Python.h").exists()


def _fetched(package: str, version: str, folder: Path) -> str:
    """Unpack a package beside the interpreter that has this ``/usr/lib/...`` or ``/usr/include/...``, if ``make pythons`` unpacked
    it; why that did not work, "" where it did or where the folder is the machine's own."""
    if folder.parts[-3:-1] not in (("usr", "lib"), ("usr", "include")) or installed_by_us() not in folder.parents:
        return ""
    try:
        unpack(version, [package], folder.parents[2], alone=True)
    except CannotError as error:
        return str(error)
    return ""
