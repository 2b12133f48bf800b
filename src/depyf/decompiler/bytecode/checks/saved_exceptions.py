"""Checks what a handler of CPython 3.8-3.10 does with the exception that was handled before.

The entry of a handler pushes six values: those of the exception handled before, then those of the exception that is
caught.  Some of the former may be NULL.  ``POP_EXCEPT``, ``END_ASYNC_FOR`` and an exception that leaves the handler put
them back without looking; ``RERAISE`` and ``WITH_EXCEPT_START`` read the latter the same way.  If something else lies
there, or another instruction takes a value of the former, the process may crash.
"""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.draft import Draft
from depyf.decompiler.bytecode.ops import stack_effect
from depyf.decompiler.bytecode.versions.spec import PSEUDO

Blocks = tuple[int, ...]
"""Open blocks, innermost last: ``n`` for what handler ``n`` protects, ``~n`` for the body of handler ``n``."""

SAVED, CAUGHT = 3, 6
"""How many of the values at a handler's entry are those of the exception handled before, and how many there are."""
_READ = {ops.POP_EXCEPT: SAVED, ops.END_ASYNC_FOR: CAUGHT}
"""How many of the values at the entry must be on top, in their order; the others read the exception that is caught."""
_READ_CAUGHT = (ops.RERAISE, ops.WITH_EXCEPT_START)

Slots = frozenset[tuple[int, int]]
"""Slots of the stack, each with which of the values at the handler's entry it holds."""


def check(draft: Draft, depths: list[int], open_at: list[Blocks]) -> None:
    """Raise ``BytecodeError`` where an instruction does not find what it reads."""
    for number in range(len(draft.handlers)):
        _Body(draft, depths, open_at, number).check()


class _Body:
    """The body of one handler: what its slots hold at each instruction, on every path."""

    def __init__(self, draft: Draft, depths: list[int], open_at: list[Blocks], number: int) -> None:
        self.draft, self.depths, self.open_at = draft, depths, open_at
        self.block = ~number
        self.lowest = draft.handlers[number].depth
        self.saved = {(self.lowest + part, part) for part in range(SAVED)}
        self.known: dict[int, Slots] = {}
        self.work: list[int] = []
        self.reach(draft.handlers[number].target, frozenset((self.lowest + part, part) for part in range(CAUGHT)))

    def reach(self, at: int, slots: Slots) -> None:
        """Note that control reaches ``at``; what holds on all paths to it is known there."""
        if at in self.known:
            slots &= self.known[at]
            if slots == self.known[at]:
                return
        self.known[at] = slots
        self.work.append(at)

    def check(self) -> None:
        while self.work:
            at = self.work.pop()
            if self.block in self.open_at[at]:
                self.step(at, self.known[at])

    def step(self, at: int, slots: Slots) -> None:
        draft, depth = self.draft, self.depths[at]
        op, arg, target = draft.ops[at], draft.args[at], draft.targets[at]
        if op in PSEUDO:
            self.reach(at + 1, slots)
            return
        innermost = next(block for block in reversed(self.open_at[at]) if block < 0) == self.block
        if innermost and not self.finds_what_it_reads(op, depth, slots):
            raise draft.error(at, "it does not find the exception where it reads it")
        if op not in ops.SILENT:
            if not self.saved <= slots:
                raise draft.error(at, "an exception here would not find the one handled before")
            if (inner := draft.handler[at]) >= 0 and self.within(at, inner):
                kept = draft.handlers[inner].depth
                self.reach(draft.handlers[inner].target, frozenset(held for held in slots if held[0] < kept))
        if innermost and op in _READ:
            return  # the body ends
        slots = self.moved(at, op, arg, depth, slots)
        if target >= 0:
            self.reach(target, slots)
        if op not in ops.TERMINATORS:
            self.reach(at + 1, slots)
        elif op == ops.RETURN:
            raise draft.error(at, "it leaves the exception handled")

    def within(self, at: int, handler: int) -> bool:
        """Whether ``handler`` protects a part of this body."""
        blocks = self.open_at[at]
        return handler in blocks[blocks.index(self.block) :]

    def finds_what_it_reads(self, op: str, depth: int, slots: Slots) -> bool:
        if op in _READ:
            count = _READ[op]
            return all((depth - count + part, part) in slots for part in range(count))
        if op in _READ_CAUGHT:
            return all((depth - CAUGHT + part, part) in slots for part in range(SAVED, CAUGHT))
        return True

    def moved(self, at: int, op: str, arg: Any, depth: int, slots: Slots) -> Slots:
        """The slots after the instruction at ``at``; copies of what was caught are not followed."""
        if op == ops.SWAP or op == ops.ROT:
            top, other = depth - 1, depth - arg
            if op == ops.SWAP:
                places = {top: other, other: top}
            else:
                places = {slot: slot + 1 for slot in range(other, top)} | {top: other}
            return frozenset((places.get(slot, slot), part) for slot, part in slots)
        pops = stack_effect(op, arg)[0]
        read = range(depth - arg, depth - arg + 1) if op == ops.COPY else range(depth - pops, depth)
        if any(part < SAVED and slot in read for slot, part in slots):
            raise self.draft.error(at, "it takes the exception handled before")
        return slots if op == ops.COPY else frozenset(held for held in slots if held[0] < depth - pops)
