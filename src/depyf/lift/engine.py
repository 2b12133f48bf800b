"""The interface between the lifter and its symbolic execution, with the answers of ordinary lifting; ``fallback.plain`` overrides them."""

from __future__ import annotations

from depyf.cfg.graph import Node
from depyf.ir.expr import Expr
from depyf.lift.lifted_block import Lifted
from depyf.lift.stack_values import HANDLER_SLOTS


class Engine:
    """What passes between blocks: the stack on entry, and what becomes of the stack at the end."""

    forced: set[int]
    """The instructions whose values could not be shared: each gets a temporary."""
    guesses_nothing = False
    """Whether every value between blocks has a temporary (``fallback.plain``)."""

    def guesses(self) -> int:
        """How many guesses have failed so far."""
        return len(self.forced)

    def entered(self, node: Node, entry: list[Expr]) -> list[Expr]:
        """The stack on entry of ``node``, whose edges leave ``entry``."""
        return entry

    def handler_entry(self, region: int, entry: list[Expr], depth: int) -> list[Expr]:
        """What lies below the exception where the handler of ``region`` begins, that of its first block being ``entry``."""
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
        """What the handler of each ``try`` must forget, by its container."""
        return {}
