"""Inserts instructions into lowered code, and removes them from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import accumulate

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered

Steps = tuple[tuple[str, object], ...]
"""Operations and their arguments, none of which jumps."""


def inserted(lowered: Lowered, around: Mapping[int, tuple[Steps, Steps]]) -> Lowered:
    """``lowered`` with these steps before and after the instructions of these numbers, on their lines.

    What leads to such an instruction leads to the steps before it.  Together with it they must leave the stack as deep
    as it does alone.
    """
    instrs: list[ops.Instr] = []
    depths: list[int] = []
    place: list[int] = []
    for at, instr in enumerate(lowered.instrs):
        place.append(len(instrs))
        before, later = around.get(at, ((), ()))
        depth = lowered.depths[at]
        own = replace(instr, target=-1)
        steps = (*(replace(own, op=op, arg=arg) for op, arg in before), instr)
        for step in (*steps, *(replace(own, op=op, arg=arg) for op, arg in later)):
            instrs.append(step)
            depths.append(depth)
            takes, gives = ops.stack_effect(step.op, step.arg)
            depth += gives - takes
    return lowered._replace(
        instrs=tuple(i if i.target < 0 else replace(i, target=place[i.target]) for i in instrs),
        handlers=tuple(handler._replace(target=place[handler.target]) for handler in lowered.handlers),
        depths=tuple(depths),
    )


def without(lowered: Lowered, gone: Collection[int]) -> Lowered:
    """``lowered`` without these instructions; what leads to one of them leads to what stood after it.

    Together those that stand in a row must leave the stack as they found it.
    """
    kept = [index for index in range(len(lowered.instrs)) if index not in gone]
    place = list(accumulate((index not in gone for index in range(len(lowered.instrs))), initial=0))
    instrs = (lowered.instrs[index] for index in kept)
    return lowered._replace(
        instrs=tuple(i if i.target < 0 else replace(i, target=place[i.target]) for i in instrs),
        handlers=tuple(handler._replace(target=place[handler.target]) for handler in lowered.handlers),
        depths=tuple(lowered.depths[index] for index in kept),
    )
