"""Gives what a block leaves on the stack to the temporaries of the positions, where the next block reads it there."""

from __future__ import annotations

from itertools import takewhile

from depyf.decompiler.ir.expr import Bin, Display, Expr, Temp
from depyf.decompiler.ir.markers import IteratorStart, Marker
from depyf.decompiler.ir.stmt import Assign, ExprStmt, Stmt
from depyf.decompiler.lift import fresh_containers
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.lifted_graph import LiftedGraph
from depyf.decompiler.lift.stack_values import Chain, Shared, is_slot
from depyf.decompiler.lift.symbolic import Symbolic


def store_left_values(lifted: LiftedGraph, engine: Symbolic, block: Lifted) -> None:
    """Store what is left at the end of ``block``; a value that cannot be shared there is noted with ``engine``."""
    entries = [lifted.blocks[s].entry if s in lifted.blocks else None for s in block.succs]
    if engine.finish(block, entries):
        lifted.named_slots = True
        return
    _force_open(engine, block)
    if not block.succs:
        return
    targets: list[Expr] = []
    values: list[Expr] = []
    for i, value in enumerate(block.stack):
        if isinstance(value, Marker) or (is_slot(value) and isinstance(value, Temp) and value.number == i):
            continue
        if all(entry is None or i >= len(entry) or not is_slot(entry[i]) for entry in entries):
            continue
        targets.append(Temp(i))
        if value is block.keep and isinstance(value, Shared) and i == len(block.stack) - 1:
            values.append(value.expr)
            block.cond = Temp(i)
        else:
            values.append(_alone(engine, block, i, value))
    if targets:
        lifted.named_slots = True
        _assign(engine, block, targets, values)


def _force_open(engine: Symbolic, block: Lifted) -> None:
    """What is still shared at the end of the block has to be lifted with a temporary."""
    if block.unpack is not None and block.unpack.outermost().origin not in engine.forced:
        engine.force(block.unpack.outermost().origin)
    for shared in block.open.values():
        if shared.origin not in engine.forced:
            engine.force(shared.origin)


def _alone(engine: Symbolic, block: Lifted, position: int, value: Expr) -> Expr:
    """A value on the stack as one that nothing else has a part in."""
    if isinstance(value, Shared):
        if value.origin not in engine.forced:
            engine.force(value.origin)
        value = value.expr
    if isinstance(value, Chain) and value.origin not in engine.forced:
        engine.force(value.origin)
    if isinstance(value, Bin) and id(value) in engine.origins:
        engine.force(engine.origins.pop(id(value)))
    if isinstance(value, fresh_containers.Fresh):
        engine.stack, engine.stmts = block.stack, block.stmts
        block.stack[position] = Temp(position)
        value = fresh_containers.escape(engine, value)
    return value


def _assign(engine: Symbolic, block: Lifted, targets: list[Expr], values: list[Expr]) -> None:
    if block.used and block.cond is not None and not isinstance(block.cond, (Marker, Temp)):
        for i, value in enumerate(values):
            if not engine.atomic(value):  # it was evaluated before the test
                values[i] = engine.new_temp()
                block.stmts.append(Assign((values[i],), value, block.line))
        saved = engine.new_temp()
        block.stmts.append(Assign((saved,), block.cond, block.line))
        block.cond = saved
    if len(targets) > 1 and any(is_slot(value) for value in values):
        targets, values = [Display("tuple", tuple(targets))], [Display("tuple", tuple(values))]
    stores = [Assign((target,), value, block.line) for target, value in zip(targets, values, strict=True)]
    # what lies below an iterator is stored first: the loop takes its iterable from the statement before it
    at = len(block.stmts) - sum(1 for _ in takewhile(_starts_loop, reversed(block.stmts)))
    block.stmts[at:at] = stores


def _starts_loop(stmt: Stmt) -> bool:
    return isinstance(stmt, ExprStmt) and isinstance(stmt.value, IteratorStart)
