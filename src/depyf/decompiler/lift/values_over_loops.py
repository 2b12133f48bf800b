"""Values that generated code keeps on the stack below a loop.

Dynamo writes back a changed dictionary of a subclass (``Counter``, ``OrderedDict``, a class of the program) in a loop,
with the values that it passes on lying on the stack meanwhile.  What no operation of a loop can reach is the same after
the loop as before.

    push [x, y]; iter = iter(d.items()); H: for item -> B, exit J; B ... goto H; J: SUBSCR 0        ->        J: x
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import STATEMENTS

if TYPE_CHECKING:
    from depyf.decompiler.cfg.graph import Graph, Node

_STORES = frozenset({ops.STORE_FAST, ops.DELETE_FAST, ops.LOAD_FAST_CLEAR})
_REACHING = frozenset({ops.LIST_APPEND, ops.SET_ADD, ops.MAP_ADD, ops.LIST_EXTEND, ops.SET_UPDATE, ops.DICT_UPDATE,
                       ops.DICT_MERGE, ops.WITH_EXCEPT_START})  # fmt: skip


def stored_above(graph: Graph, header: Node) -> frozenset[str] | None:
    """The locals that the ``for`` loop of ``header`` binds or unbinds; None where it may be left but by its exhaustion,
    or where something in it reaches the stack below its iterator."""
    instrs, depths = graph.program.instrs, graph.program.depths
    if len(header.succs) != 2 or not header.code or instrs[header.code[0]].op != ops.FOR_ITER:
        return None
    floor = depths[header.code[0]]
    stored: set[str] = set()
    inside: set[int] = set()
    work = [header.succs[0]]
    while work:
        node = graph.nodes[work.pop()]
        if node.id in inside or node.id == header.id:
            continue
        if node.id == header.succs[1] or not node.succs or node.container != header.container:
            return None
        inside.add(node.id)
        work.extend(node.succs)
        for i in node.code:
            instr = instrs[i]
            if instr.op in STATEMENTS or instr.op in _REACHING:
                return None
            if depths[i] - ops.stack_effect(instr.op, instr.arg)[0] < floor:
                return None
            if instr.op in _STORES:
                stored.add(instr.arg)
    return frozenset(stored) if set(graph.preds[header.id]) & inside else None
