"""Finds the instruction that pushed each stack slot, where that was the load of a local variable or an empty slot, or
what a caller looks for.

Input: lowered code.  Output: for each instruction the origins of the slots before it, bottom to top.
"""

from __future__ import annotations

from collections.abc import Collection

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered

_ELSEWHERE = frozenset({-1})

Origins = tuple[frozenset[int], ...]
"""For each slot of the stack the instructions that may have put it there; -1 means any other."""


def origins(lowered: Lowered, also: Collection[str] = ()) -> dict[int, Origins]:
    """What is on the stack before each instruction, on all ways there; ``also`` are other operations to look for."""
    instrs, handlers, depths = lowered.instrs, lowered.handlers, lowered.depths
    found: dict[int, Origins] = {}
    work: list[tuple[int, Origins]] = [(0, ())]
    while work:
        at, stack = work.pop()
        known = found.get(at)
        if known is not None:
            stack = tuple(old | new for old, new in zip(known, stack))
            if stack == known:
                continue
        found[at] = stack
        instr = instrs[at]
        if instr.handler >= 0:
            work.append(_entered(handlers[instr.handler].target, stack[: handlers[instr.handler].depth], depths))
        after = _after(instr, at, stack)
        if instr.op in also:
            after = (*after[:-1], frozenset({at}))
        if instr.target >= 0:
            work.append(_entered(instr.target, after, depths))
        if instr.op not in ops.TERMINATORS:
            work.append(_entered(at + 1, after, depths))
    return found


def _entered(at: int, stack: Origins, depths: tuple[int, ...]) -> tuple[int, Origins]:
    """A path to ``at``, with the stack cut or filled to the depth that it has there."""
    kept = stack[: depths[at]]
    return at, (*kept, *[_ELSEWHERE] * (depths[at] - len(kept)))


def _after(instr: ops.Instr, at: int, stack: Origins) -> Origins:
    """The stack after ``instr``; only values that are moved on the stack keep their origins."""
    n = instr.arg
    if instr.op in (ops.LOAD_FAST, ops.NULL):
        return (*stack, frozenset({at}))
    if instr.op == ops.COPY:
        return (*stack, stack[-n])
    if instr.op == ops.SWAP and n > 1:
        return (*stack[:-n], stack[-1], *stack[1 - n : -1], stack[-n])
    if instr.op == ops.ROT:
        return (*stack[: len(stack) - n], stack[-1], *stack[len(stack) - n : -1])
    takes, gives = ops.stack_effect(instr.op, n)
    return (*stack[: len(stack) - takes], *[_ELSEWHERE] * gives)


def read_once(lowered: Lowered) -> frozenset[int]:
    """The loads of parameters, and of variables that are set once before, that nothing else reads or changes."""
    params = frozenset(lowered.unit.params)
    uses: dict[str, list[int]] = {}
    for at, instr in enumerate(lowered.instrs):
        if instr.op in ops.LOCALS:
            uses.setdefault(instr.arg, []).append(at)
    found: set[int] = set()
    for name, (at, *more) in uses.items():
        if name not in params and len(more) == 1 and lowered.instrs[at].op == ops.STORE_FAST:
            at, *more = more
        if not more and lowered.instrs[at].op == ops.LOAD_FAST:
            found.add(at)
    return frozenset(found)
