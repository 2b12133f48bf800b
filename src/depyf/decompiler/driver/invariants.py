"""Invariants of the artifacts between passes; a violation is a bug in depyf.

``trace_passes`` and the tests run these after every pass; ``InvariantError`` says which invariant was violated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from depyf.decompiler.cfg.graph import Graph
from depyf.decompiler.ir.stmt import Block, Body, Break, Continue, Exit, For, Loop, Stmt, While
from depyf.decompiler.ir.walk_stmt import walk_within
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.errors import DepyfError


class InvariantError(DepyfError):
    """A pass left an artifact that the next pass does not expect."""


def check_graph(graph: Graph) -> None:
    """Every edge leads to a block, and every instruction of a block lies in the block's container or was absorbed."""
    for node in graph.nodes.values():
        for after in node.succs:
            if after not in graph.nodes:
                raise InvariantError(f"block {node.id} leads to {after}, which is no block")
        if len(node.succs) > 2:
            raise InvariantError(f"block {node.id} has {len(node.succs)} successors")


def check_lifted(blocks: dict[int, Lifted]) -> None:
    """A test has two successors, anything else at most one; all of them exist."""
    for block in blocks.values():
        if block.cond is not None and len(block.succs) < 2:
            raise InvariantError(f"block {block.id} tests but has {len(block.succs)} successors")
        for after in block.succs:
            if after not in blocks:
                raise InvariantError(f"block {block.id} leads to {after}, which is no block")


def check_labelled(body: Sequence[Stmt]) -> None:
    """Every exit names a label of a statement around it."""
    nothing: frozenset[int] = frozenset()

    def inside(stmt: Stmt, around: frozenset[int], at: int) -> frozenset[int]:
        return around | {stmt.label} if isinstance(stmt, (Block, Loop)) else around

    for stmt, around in walk_within(tuple(body), nothing, inside):
        if isinstance(stmt, Exit) and stmt.label not in around:
            raise InvariantError(f"exit to {stmt.label}, which is not around it")


def check_python(body: Body) -> None:
    """No label is left, and ``break`` and ``continue`` stand in loops.  A marker of lifting without a text is refused
    by the printer: that is how code is found for which a rung has no statements."""

    def in_loop(stmt: Stmt, around: bool, at: int) -> bool:
        return around or isinstance(stmt, (While, For)) and at == 0  # not the else of the loop

    for stmt, is_in_loop in walk_within(body, False, in_loop):
        if isinstance(stmt, (Block, Loop, Exit)):
            raise InvariantError(f"a {type(stmt).__name__} is left in the Python dialect")
        if isinstance(stmt, (Break, Continue)) and not is_in_loop:
            raise InvariantError(f"a {type(stmt).__name__.lower()} outside of a loop")


INVARIANTS: dict[str, Callable[[Any], None]] = {
    "graph": check_graph,
    "blocks": check_lifted,
    "labelled": check_labelled,
    "body": check_python,
    "printable": check_python,
}
"""By what a pass shows: the fields of ``driver.state.State``."""
