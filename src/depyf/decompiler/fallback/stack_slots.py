"""Positions of stack slots in a program that is being rewritten: depths before instructions, and moved records."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, NONE, STATEMENTS, Program
from depyf.decompiler.cfg.region_table import Regions


def stack_depths(program: Program, regions: Regions) -> dict[int, int]:
    """The depth before each instruction; none for what comes after operations that are a part of a statement."""
    entries = [(region.target, region.depth + len(region.pushes)) for region in regions.table.values()]
    return depths_from(program, [(0, 0), *entries])


def depths_from(program: Program, starts: list[tuple[int, int]]) -> dict[int, int]:
    """As ``stack_depths``, for what control comes to from these instructions, each with its depth."""
    depths: dict[int, int] = {}
    work = list(starts)
    while work:
        i, depth = work.pop()
        if i == NONE or i in depths:
            continue
        depths[i] = depth
        op, arg = program.instrs[i].op, program.instrs[i].arg
        if op in STATEMENTS and op != ASYNC_FOR_ITER:
            continue
        pops, pushes = (0, 1) if op == ASYNC_FOR_ITER else ops.stack_effect(op, arg)
        work.append((program.next[i], depth - pops + pushes))
        ended = arg + 1 if op in (ops.FOR_ITER, ASYNC_FOR_ITER) else 0
        work.append((program.jump[i], depth - pops + pushes - ended))
    return depths


def moved(instr: Instr, depth: int, slot: int, newest: bool) -> int:
    """Where the record of a handler is after an instruction that finds ``depth`` slots; ``newest``: of the innermost
    one."""
    if depth == NONE or slot == NONE:
        return slot
    if instr.op == ops.PUSH_EXC_INFO and newest:
        return depth - 1
    if instr.op == ops.SWAP:
        top, other = depth - 1, depth - int(instr.arg)
        return other if slot == top else top if slot == other else slot
    return slot
