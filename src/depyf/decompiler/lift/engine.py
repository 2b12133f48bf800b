"""The interface between the lifter and its symbolic execution, with the answers of ordinary lifting, which
``fallback.plain`` overrides; and the options of lifting: what it assumes about the compiler, or the program, that wrote
the code.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.decompiler.cfg.graph import Node
from depyf.decompiler.ir.expr import Expr
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.stack_values import HANDLER_SLOTS


class Engine:
    """How stacks pass between blocks: the stack on entry, and what is done with the stack at the end."""

    forced: set[int]
    """The instructions whose values could not be shared: each gets a temporary."""
    guesses_nothing = False
    """Whether every value between blocks has a temporary (``fallback.plain``)."""

    def guesses(self) -> int:
        """The number of guesses that have failed so far."""
        return len(self.forced)

    def entered(self, node: Node, entry: list[Expr]) -> list[Expr]:
        """The stack on entry of ``node``, whose edges leave ``entry``."""
        return entry

    def handler_entry(self, region: int, entry: list[Expr], depth: int) -> list[Expr]:
        """What lies below the exception where the handler of ``region`` begins, that of its first block being
        ``entry``."""
        return entry[:depth]

    def caught_base(self, region: int, base: list[Expr]) -> list[Expr]:
        """``base``, with what the handler of ``region`` finds there."""
        return base

    def pushed(self, region: int, name: str) -> Expr:
        """What an exception pushes for the handler of ``region``."""
        return HANDLER_SLOTS[name]

    def finish(self, block: Lifted, entries: list[list[Expr] | None]) -> bool:
        """Give what ``block`` leaves on the stack to temporaries; false if the lifter is to do it."""
        return False

    def resets(self) -> dict[int, tuple[Expr, ...]]:
        """The temporaries that the handler of each ``try`` must unbind, by its container."""
        return {}


@dataclass(frozen=True, slots=True)
class Style:
    """The defaults are what compilers write.

    ``fold`` off folds nothing: each test is a statement, each value that crosses one a temporary.  ``wide_folds`` off
    keeps tests on different source lines apart.  ``generated`` evaluates containers that never leave the function, in
    the part that the program wrote (``written``; None: all of it); ``held`` deletes what these let go of.  ``peeled``
    says that the function begins with the rest of a loop's first turn.  ``stable`` are the beginnings of the names of
    globals that are never rebound; ``plain_keys`` says that dict keys are distinct and hashing them does nothing.
    """

    fold: bool = True
    wide_folds: bool = True
    generated: bool = False
    written: range | None = None
    held: bool = False
    peeled: bool = False
    stable: tuple[str, ...] = ()
    plain_keys: bool = False
