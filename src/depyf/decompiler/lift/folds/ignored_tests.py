"""Keeps tests in the middle of an expression whose two branches have the same target: ``f(a if x or 1 else b)``.

    push f; if x goto N else N;  N: push a; call        ->        push f; push (a if x or True else 0); call

The arm that is never reached is gone; any constant takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.ir.expr import BoolOf, Cond, Const
from depyf.decompiler.ir.markers import Marker, NullSlot
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.lifted_graph import LiftedGraph
from depyf.decompiler.lift.stack_values import Shared

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic


def ignore_test(lifted: LiftedGraph, block: Lifted) -> None:
    """Make the test that ends ``block`` a part of the next value, if its ways are one and no statement can be there."""
    cond = block.cond
    if cond is None or isinstance(cond, Marker) or block.keep is not None or lifted.style.generated:
        return
    after = block.succs[0]
    if block.succs[1] != after or lifted.preds[after] != [block.id, block.id]:
        return
    if not _is_pending(block) and (lifted.name != "<lambda>" or block.stmts):
        return
    block.cond = None
    block.tested = BoolOf("or", (cond, Const(True)))
    lifted.set_succs(block, [after])


def _is_pending(block: Lifted) -> bool:
    """Whether an expression is being evaluated: values lie on the stack, not only what statements keep there."""
    return any(not isinstance(value, Marker) or isinstance(value, NullSlot) for value in block.stack[block.low :])


def put_test(symbolic: Symbolic, block: Lifted, code: list[int], before_loop: bool) -> list[int]:
    """Execute the beginning of ``code``, up to the value that the test belongs to; returns the rest."""
    test, block.tested = block.tested, None
    assert test is not None
    height = len(block.stack)
    for count in range(1, len(code) + 1):
        symbolic.run(block, code[count - 1 : count], before_loop)
        if len(block.stack) > height and not isinstance(block.stack[-1], (Marker, Shared)):
            block.stack[-1] = Cond(test, block.stack[-1], Const(0))
            return code[count:]
    return []
