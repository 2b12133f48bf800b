"""The test files that may do something else on another machine: those that ask what programs are there.

Input: nothing but the texts of the tests.  Such a file imports ``needs``, or what finds the programs itself (``interpreters``,
``browser``), directly or through helpers of its own folder, of ``tests/support`` and of ``tools``; so does one whose folder has
a ``conftest.py`` that does.  What else differs between machines (settings, the home folder, Ctrl-C) is the same in every run
of ``.ci/run``.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
ASKED = {TESTS / "support" / "needs.py", ROOT / "tools/env/interpreters.py", ROOT / "tools/env/browser.py"}
"""What finds programs, and what asks it."""


def asks(file: Path) -> bool:
    """Whether this file of tests asks what is on the machine."""
    above = [folder / "conftest.py" for folder in file.parents if TESTS in folder.parents]
    return any(not ASKED.isdisjoint(reached(start)) for start in (file, *above) if start.is_file())


@functools.cache
def reached(file: Path) -> frozenset[Path]:
    """The files of this project that ``file`` imports, and those that these import."""
    found, queue = {file}, [file]
    while queue:
        new = set(imported(queue.pop())) - found
        found |= new
        queue += new
    return frozenset(found)


@functools.cache
def imported(file: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(_imported(file)))


def _imported(file: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            for folder in (file.parent, file.parent.parent, TESTS / "support", ROOT):
                place = folder / name.replace(".", "/")
                yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())
