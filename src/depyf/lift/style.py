"""Options of lifting: what it assumes about the compiler, or the program, that wrote the code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """The defaults are what compilers write.

    ``fold`` off folds nothing: each test is a statement, each value that crosses one a temporary.  ``wide_folds`` off keeps
    tests on different source lines apart.  ``generated`` evaluates containers that never leave the function, in the part
    that the program wrote (``written``; None: all of it); ``held`` deletes what these let go of.  ``peeled`` says
    that the function begins with the rest of a loop's first turn.  ``stable`` are the beginnings of the names of globals
    that are never rebound; ``plain_keys`` says that dict keys are distinct and hashing them does nothing.
    """

    fold: bool = True
    wide_folds: bool = True
    generated: bool = False
    written: range | None = None
    held: bool = False
    peeled: bool = False
    stable: tuple[str, ...] = ()
    plain_keys: bool = False
