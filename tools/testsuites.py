"""``Lib/test`` of an interpreter's standard library, which Debian packages apart.

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
    root = _own_root(library)
    if root is not None:
        script = f"cd /tmp && apt-get download {package} && dpkg -x {package}_*.deb / && rm -f {package}_*.deb"
        done = subprocess.run(["chroot", str(root), "sh", "-c", script], capture_output=True, text=True, check=False)
        if present(library):
            return True
        print(f"{version}: {(done.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
    print(f"{version}: Lib/test ({package}) is not here: this is a PART of the standard library", file=sys.stderr)
    return False


def _own_root(library: Path) -> Path | None:
    """The root file system that holds this standard library, if it is not the machine's own."""
    if library.parts[-3:-1] != ("usr", "lib"):
        return None
    root = library.parents[2]
    return root if root != Path("/") and (root / "usr" / "bin" / "apt-get").exists() else None
