"""The options of a decompilation."""

from __future__ import annotations

from dataclasses import dataclass

from depyf.decompiler.generated.contract import NO_CONTRACT, GeneratorContract


@dataclass(frozen=True, slots=True)
class Options:
    """How to decompile one code object.

    ``indent``: spaces per level.  ``temp_prefix``: what the names of temporaries begin with.  Without ``idioms`` the
    text is the plain translation of the control-flow graph ("ugly" mode: nothing folded, no copy undone).  Without
    ``verify`` there is no proof, and every verdict is UNVERIFIED.  ``python``: path of the interpreter to recompile
    with, for code of another version than the running one.  ``generated``: a program wrote the code; containers that
    never leave the function are folded away.  ``promises``: the contract of that program; each term that a proof needed
    is in the verdict.
    """

    indent: int = 4
    temp_prefix: str = "__temp_"
    idioms: bool = True
    verify: bool = True
    python: str | None = None
    generated: bool = False
    promises: GeneratorContract = NO_CONTRACT
    shown: tuple[tuple[str, str], ...] = ()
    """Pairs (name, name shown): the caller replaces the first by the second, whose width counts for line breaks."""
