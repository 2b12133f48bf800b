"""Files of installed packages and of the standard library, told by their path alone.

Input: the name of a file, also of another machine.  Output: whether it is of a library, and how it is shown.
"""

from __future__ import annotations

import enum
import re

PACKAGES = r"[/\\](?:site|dist)-packages[/\\]"
"""The folder of installed packages, as a regular expression."""
_PACKAGES = re.compile(PACKAGES)
_STANDARD = re.compile(r"[/\\]lib[/\\]python\d\.\d+[/\\]")


class Owner(enum.Enum):
    """Who can change a source file."""

    PROGRAM = "program"
    LIBRARY = "library"
    TORCH = "torch"


def installed(filename: str) -> bool:
    """Whether a file lies where packages are installed, be it a library or an installed program."""
    return _PACKAGES.search(filename) is not None


def of_library(filename: str) -> bool:
    """Whether a file is installed, of the standard library, or none at all (``<frozen importlib>``)."""
    return installed(filename) or filename.startswith("<") or _STANDARD.search(filename) is not None


def of_standard_library(filename: str) -> bool:
    """Whether a file is of the standard library."""
    return not installed(filename) and _STANDARD.search(filename) is not None


def library_file(filename: str) -> str:
    """A file of a library from its package on: ``torch/optim/optimizer.py``, ``logging/__init__.py``."""
    whole = _PACKAGES.split(filename)[-1]
    return whole if whole != filename else _STANDARD.split(filename)[-1]


def package_of(filename: str) -> str:
    """The package that a file of a library belongs to: ``transformers``, ``logging``."""
    return re.split(r"[/\\]", library_file(filename))[0].removesuffix(".py")
