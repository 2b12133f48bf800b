"""What a caller may ask of a decompilation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """``indent`` and ``temp_prefix`` shape the text.

    ``idioms`` off gives the plain translation of the control-flow graph ("ugly" mode: nothing folded, no copy
    undone).  ``verify`` off skips the proof, every verdict is then UNVERIFIED.  ``python`` is an interpreter to
    recompile with, for code of another version than the running one.  ``generated`` says that a program wrote the code:
    containers that never leave the function are folded away, and global names that begin with one of
    ``stable_globals`` are taken to be installed by that program and never rebound.
    """

    indent: int = 4
    temp_prefix: str = "__temp_"
    idioms: bool = True
    verify: bool = True
    python: str | None = None
    generated: bool = False
    stable_globals: tuple[str, ...] = ()
