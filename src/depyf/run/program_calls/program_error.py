"""The exception that ended the program, or the block that was recorded; ``SystemExit`` with a status is one.

Input: nothing.  Output invariant: plain data; no exception, no frame and no object of the program.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from depyf.run.places.place import Place


class RaisedIn(enum.Enum):
    """What was running when the error was raised."""

    PROGRAM = "the program"
    """Nothing that torch compiled was on the stack."""
    COMPILED = "compiled code"
    """Something that torch compiled was on the stack, or its backward."""
    COMPILING = "compiling"
    """torch was compiling something."""


@dataclass(frozen=True, slots=True)
class ProgramError:
    """An uncaught exception."""

    text: str
    """Its type and message, in one line."""
    place: Place | None = None
    """The innermost line of the program that led to it."""
    raised_in: RaisedIn = RaisedIn.PROGRAM
    double_backward: bool = False
    """A backward of the backward of compiled code was asked for, which torch does not make."""
    status: int = 0
    """The exit status with which the program ended itself (``sys.exit``); 0 for another exception."""
