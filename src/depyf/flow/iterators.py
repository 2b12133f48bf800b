"""Where the iterator of a loop is dropped by hand: ``break`` and ``return`` do, the end of the iteration does not.

Input: instructions with explicit edges, in their containers.  Each is visited once, with the iterators that lie on the
stack then.
"""

from __future__ import annotations

from typing import NamedTuple

from depyf.bytecode import ops
from depyf.flow.program import ASYNC_FOR_ITER, NONE, Program
from depyf.structure.containers import Containers


class _Held(NamedTuple):
    """The iterator of one loop, in the stack slots from ``first`` to ``last``, and those below it."""

    loop: int
    first: int
    last: int
    outer: _Held | None


def iterator_drops(program: Program, containers: Containers) -> dict[int, int]:
    """For each ``POP`` that drops an iterator inside its loop, the ``FOR_ITER`` of that loop."""
    drops: dict[int, int] = {}
    seen: set[int] = set()
    work: list[tuple[int, _Held | None]] = [(0, None)]
    while work:
        i, held = work.pop()
        if i in seen or i not in containers.of:
            continue
        seen.add(i)
        region = program.handler[i]
        if region != NONE and region in containers.handler_entries:
            work.append((containers.handler_entries[region], _below(held, containers.regions.table[region].depth)))
        after = held
        instr = program.instrs[i]
        depth = program.depths[i] if i < len(program.depths) else 0
        if instr.op in (ops.FOR_ITER, ASYNC_FOR_ITER):
            outside = _below(held, depth - instr.arg)
            inside = _Held(i, depth - instr.arg, depth - 1, outside)
            work += [(program.jump[i], outside), (program.next[i], inside)]
            continue
        if instr.op == ops.POP and held is not None and held.first < depth <= held.last + 1:
            drops[i] = held.loop
            after = held.outer if depth - 1 == held.first else held
        work.extend((following, after) for following in program.successors(i))
    return drops


def _below(held: _Held | None, depth: int) -> _Held | None:
    while held is not None and held.first >= depth:
        held = held.outer
    return held
