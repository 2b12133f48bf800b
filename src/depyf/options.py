"""What a caller may ask of a decompilation."""

from __future__ import annotations

from dataclasses import dataclass

from depyf.generated.contract import NO_CONTRACT, GeneratorContract


@dataclass(frozen=True, slots=True)
class Options:
    """``indent`` and ``temp_prefix`` shape the text.

    ``idioms`` off gives the plain translation of the control-flow graph ("ugly" mode: nothing folded, no copy
    undone).  ``verify`` off skips the proof, every verdict is then UNVERIFIED.  ``python`` is an interpreter to
    recompile with, for code of another version than the running one.  ``generated`` says that a program wrote the code:
    containers that never leave the function are folded away; ``promises`` is what that
    program says about its code, and each promise a proof needed is in the verdict.
    """

    indent: int = 4
    temp_prefix: str = "__temp_"
    idioms: bool = True
    verify: bool = True
    python: str | None = None
    generated: bool = False
    promises: GeneratorContract = NO_CONTRACT
    shown: tuple[tuple[str, str], ...] = ()
    """Names that the caller shows as others: where lines are broken, those count."""
