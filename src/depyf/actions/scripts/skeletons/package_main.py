# The skeleton of ``__main__.py`` of a package: see ``fill.py``.
"""python -m NAME: the recorded calls, compared with eager mode."""

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

from . import calls, functions, guards, hooks, original, runtime
from .check import check

if TYPE_CHECKING:
    NAME = ROOT = TOLERANCE = ""

PACKAGE = SimpleNamespace(
    name="NAME",
    function=functions.ROOT,
    calls=calls,
    guards=guards,
    hooks=hooks,
    original=original,
    runtime=runtime,
    tolerance=TOLERANCE,
)
if __name__ == "__main__":
    sys.exit(check(PACKAGE))
