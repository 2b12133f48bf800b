"""Finds where the iterator of a loop is popped explicitly: by ``break`` and ``return``, not by exhaustion.

Input: instructions with explicit edges, in their containers.  Each is visited once, with the iterators that lie on the
stack then.
"""

from __future__ import annotations

from typing import NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, NONE, WITH_EXIT, Program


class _Held(NamedTuple):
    """The iterator of one loop, in the stack slots from ``first`` to ``last``, and those below it."""

    loop: int
    first: int
    last: int
    outer: _Held | None


class Drop(NamedTuple):
    """``loop`` is the ``FOR_ITER`` of the loop that is left; ``inner``: one inside it was left just before."""

    loop: int
    inner: bool


_LOOPS = frozenset({ops.FOR_ITER, ASYNC_FOR_ITER})
_CLEANUP = frozenset({ops.POP, ops.SWAP, ops.ROT, ops.POP_EXCEPT, ops.JUMP, WITH_EXIT})


def iterator_drops(program: Program, containers: Containers) -> dict[int, Drop]:
    """The ``POP`` instructions that drop an iterator inside its loop."""
    drops: dict[int, Drop] = {}
    if _LOOPS.isdisjoint([instr.op for instr in program.instrs]):
        return drops
    seen: set[int] = set()
    work: list[tuple[int, _Held | None, int]] = [(0, None, NONE)]
    while work:
        i, held, left = work.pop()
        if i in seen or i not in containers.of:
            continue
        seen.add(i)
        region = program.handler[i]
        if region != NONE and region in containers.handler_entries:
            outside = _below(held, containers.regions.table[region].depth)
            work.append((containers.handler_entries[region], outside, NONE))
        after = held
        instr = program.instrs[i]
        depth = program.depths[i] if i < len(program.depths) else 0
        if instr.op in _LOOPS:
            outside = _below(held, depth - instr.arg)
            inside = _Held(i, depth - instr.arg, depth - 1, outside)
            work += [(program.jump[i], outside, NONE), (program.next[i], inside, NONE)]
            continue
        if instr.op not in _CLEANUP:
            left = NONE
        elif instr.op == ops.POP and held is not None and held.first < depth <= held.last + 1:
            drops[i] = Drop(held.loop, left not in (NONE, held.loop))
            left = held.loop if left == NONE else left
            after = held.outer if depth - 1 == held.first else held
        work.extend((following, after, left) for following in program.successors(i))
    return drops


def _below(held: _Held | None, depth: int) -> _Held | None:
    while held is not None and held.first >= depth:
        held = held.outer
    return held
