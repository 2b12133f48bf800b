"""Which names a source can have.

A keyword is written with a bold letter, which the compiler reads as the plain one (PEP 3131: identifiers are
normalised, keywords are looked for before).  Inside a class the compiler puts the name of the class before private
names.
"""

from __future__ import annotations

import keyword
import re
import unicodedata

_CONSTANTS = frozenset({"None", "True", "False", "__debug__"})
READABLE = "__debug__"
"""The name that can be read as an attribute and cannot be a variable."""
_RESERVED = frozenset(keyword.kwlist) | _CONSTANTS
_BOLD_A = 0x1D41A


def is_legal(name: str) -> bool:
    """Whether ``name`` reads back as this very name."""
    if not name.isidentifier() or name in _RESERVED:
        return False
    return name.isascii() or read_back(name) == name


def exact(name: str) -> str | None:
    """The identifier that reads back as ``name``, if there is one."""
    if name in _RESERVED and name not in _CONSTANTS:
        return chr(_BOLD_A + ord(name[0]) - ord("a")) + name[1:]
    return name if is_legal(name) else None


def read_back(identifier: str) -> str:
    """The name that the compiler makes of an identifier."""
    return unicodedata.normalize("NFKC", identifier)


def legalised(name: str) -> str:
    """A legal identifier as close to ``name`` as it gets."""
    text = re.sub(r"\W+", "_", name, flags=re.ASCII)
    if name.startswith("<"):
        text = text.strip("_")
    if not text or not (text[0].isalpha() or text[0] == "_"):
        text = "_" + text
    return text + "_" if text in _RESERVED else text


def mangling_prefix(class_name: str) -> str:
    """The prefix that a class of this name puts before private names; "" if it does not mangle them."""
    stripped = class_name.lstrip("_")
    return "_" + stripped if stripped else ""


def is_private(name: str) -> bool:
    """Whether a class puts its own name before ``name``."""
    return name.startswith("__") and not name.endswith("__") and "." not in name
