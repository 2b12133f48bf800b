"""Finds where unwinding drops the record of the previously handled exception.

Until 3.10 the interpreter itself saves the handled exception at a handler's entry, and unwinding puts it back.  Since
3.11 ``PUSH_EXC_INFO`` saves the handled exception in a stack slot and ``POP_EXCEPT`` puts it back; unwinding the stack
only drops the slot.  Compilers give every handler a clean-up that puts it back before the exception goes on.  Without
one, an exception stays handled for ever: ``sys.exc_info()`` shows it, even to callers, and later exceptions get it as
their ``__context__``.  No source does that.  The proof therefore lets unwinding put back what was saved, in both codes,
and says so in the verdict where that makes a difference.
"""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered

SAVED = "old_value"
"""What the entry of a handler pushes where the interpreter keeps the records (until 3.10)."""


def dropped_records(lowered: Lowered) -> dict[int, int]:
    """For each instruction whose exception drops such slots: the position of the lowest of them."""
    instrs, handlers = lowered.instrs, lowered.handlers
    by_interpreter = any(SAVED in handler.pushes for handler in handlers)
    if not by_interpreter and not any(instr.op == ops.PUSH_EXC_INFO for instr in instrs):
        return {}
    found: dict[int, int] = {}
    seen: dict[int, tuple[int, ...]] = {}
    work: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, ())]
    while work:
        pc, depth, saved = work.pop()
        while True:
            if pc in seen:
                if seen[pc] != saved:
                    return {}  # the same slot is such a record on one path only: nothing is assumed
                break
            seen[pc] = saved
            instr = instrs[pc]
            op, arg, target, handler = instr.op, instr.arg, instr.target, instr.handler
            raises = op not in ops.SILENT
            if saved and raises:
                kept = handlers[handler].depth if handler >= 0 else 0
                if saved[-1] >= kept:
                    found[pc] = next(at for at in saved if at >= kept)
            if handler >= 0 and raises:
                entry = handlers[handler]
                below = tuple(at for at in saved if at < entry.depth)
                if SAVED in entry.pushes:
                    below = (*below, entry.depth + entry.pushes.index(SAVED))
                work.append((entry.target, entry.depth + len(entry.pushes), below))
            depth, saved = _after(op, arg, depth, saved)
            if target >= 0 and op != ops.JUMP:
                taken = depth - arg - 1 if op == ops.FOR_ITER else depth
                work.append((target, taken, tuple(at for at in saved if at < taken)))
            if op == ops.JUMP:
                pc = target
            elif op in ops.TERMINATORS:
                break
            else:
                pc += 1
    return found


def _after(op: str, arg: Any, depth: int, saved: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """The depth, and the positions of the slots, after an instruction."""
    if op == ops.PUSH_EXC_INFO:
        return depth + 1, (*saved, depth - 1)
    if op == ops.SWAP and saved:
        places = {depth - 1: depth - arg, depth - arg: depth - 1}
        return depth, tuple(sorted(places.get(at, at) for at in saved))
    pops, pushes = ops.stack_effect(op, arg)
    if saved and op != ops.COPY:
        saved = tuple(at for at in saved if at < depth - pops)
    return depth - pops + pushes, saved
