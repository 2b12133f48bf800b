# The skeleton of ``hooks.py`` of a package: see ``fill.py``.
"""What could not leave the process that compiled ``FUNCTION``.

ABOUT
"""

from typing import TYPE_CHECKING

from .runtime import MissingHook

if TYPE_CHECKING:
    FUNCTION = ABOUT = WANTED_NAMES = KNOWN = ""

if WANTED_NAMES:
    WANTED = {
        **WANTED_NAMES,
    }
if not WANTED_NAMES:
    WANTED = {}
"""Name -> what it stands for."""

KNOWN


def __getattr__(name):
    if name in WANTED:
        raise MissingHook(f"{__name__}.{name} is not filled in: {WANTED[name]}")
    raise AttributeError(f"{__name__}.{name} is not filled in")
