"""Folds comprehensions that the compiler inlined (3.12+), in plain lifting.

Statements cannot say them: the loop borrows a variable, which may be unbound, and gives it back.  As nested code is an
expression or nothing before 3.12, so is the inlined loop: the folds of ordinary lifting find the expression, plain
lifting puts it where the loop was.

    push saved, acc, iter; H: for item -> B, exit J; B ... goto H        ->        push saved, [e for x in ... if c]; J
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.cfg.graph import Node
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER
from depyf.decompiler.ir.expr import Comp, Generator
from depyf.decompiler.ir.markers import SavedLocal
from depyf.decompiler.ir.stmt import Body
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.lifted_graph import LiftedGraph

LOOPS = frozenset({ops.FOR_ITER, ASYNC_FOR_ITER})
_MADE = frozenset({ops.BUILD_LIST, ops.BUILD_SET, ops.BUILD_MAP})
_PROLOGUE = _MADE | {ops.LOAD_FAST_CLEAR, ops.MAKE_CELL, ops.SWAP, ops.GET_ITER, ops.GET_AITER}
"""What follows the first iterable, in one order up to 3.13 and in another from 3.14 on."""


class Once:
    """Decompiles each nested code object once, for the two liftings that ask for it."""

    def __init__(self, nested: Callable[[CodeUnit, bool], Body]) -> None:
        self.nested = nested
        self.known: dict[int, Body] = {}

    def __call__(self, unit: CodeUnit, expression: bool) -> Body:
        if id(unit) not in self.known:
            self.known[id(unit)] = self.nested(unit, expression)
        return self.known[id(unit)]


def before_loop(lifted: LiftedGraph, node: Node) -> list[int]:
    """The part of a block that goes on to the loop of a comprehension which comes before the loop's own code."""
    instrs = lifted.graph.program.instrs
    count, made = len(node.code), 0
    while count and instrs[node.code[count - 1]].op in _PROLOGUE:
        count -= 1
        made += instrs[node.code[count]].op in _MADE
    return node.code[:count] if made == 1 and count else node.code


def skip_loop(lifted: LiftedGraph, block: Lifted, node: Node) -> None:
    """Let ``block`` go on after the loop it goes on to, and forget the loop."""
    header = lifted.graph.nodes[node.succs[0]]
    inside, work = {header.id}, [header.succs[0]]
    while work:
        name = work.pop()
        if name not in inside:
            inside.add(name)
            work.extend(lifted.graph.nodes[name].succs)
    after = header.succs[1]
    for name in inside:
        lifted.preds[name].clear()
    lifted.dead |= inside
    lifted.preds[after] = [p for p in lifted.preds[after] if p not in inside] + [block.id]
    block.succs = [after]


def put_comprehension(lifted: LiftedGraph, block: Lifted, node: Node, start: list[int]) -> None:
    """The iterable on the stack becomes the comprehension over it, above what the loop saved."""
    instrs = lifted.graph.program.instrs
    comp = lifted.ready[node.succs[0]]
    source = block.stack.pop()
    for index in node.code[len(start) :]:
        if instrs[index].op == ops.LOAD_FAST_CLEAR:
            block.stack.append(SavedLocal(instrs[index].arg))
    first, *rest = comp.generators
    first = Generator(first.target, source, first.ifs, first.is_async)
    block.stack.append(Comp(comp.kind, comp.elt, comp.key, (first, *rest), comp.unit, comp.cleared))
    block.code.extend(node.code[len(start) :])
