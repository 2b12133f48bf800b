"""What runs in the place of Dynamo's bytecode of a function compiled ahead of time while it is stepped through.

torch keeps, and stores, the bytecode; the proven text is beside it in the dump.  Input: bytecode and the code of that
text, which does the same.  Output: the second for the first, as long as the first lives.
"""

from __future__ import annotations

import types
import weakref

_DUMPED: dict[int, tuple[weakref.ref[types.CodeType], types.CodeType]] = {}
"""The address of the bytecode -> it, and the code with the lines of the dump; code objects are equal by value."""


def remember_dumped(made: types.CodeType, dumped: types.CodeType) -> None:
    """Remember that ``dumped`` was recompiled from the proven text of ``made``."""
    place, known = id(made), _DUMPED

    def gone(reference: weakref.ref[types.CodeType]) -> None:
        if place in known and known[place][0] is reference:
            del known[place]

    _DUMPED[place] = weakref.ref(made, gone), dumped


def dumped_code(made: types.CodeType) -> types.CodeType | None:
    """The recompiled code of ``made``, with the lines of the dump; None for none."""
    found = _DUMPED.get(id(made))
    return found[1] if found is not None and found[0]() is made else None
