"""Checks the stack slots that handlers read unchecked: instruction offsets and exception records (3.11+).

An entry of the exception table with *lasti* pushes the place of the instruction that raised below the exception;
``RERAISE n`` takes the place from the slot ``n`` below the top.  ``PUSH_EXC_INFO`` pushes the exception handled before
below the exception, and ``POP_EXCEPT`` makes what is on top the handled one.  If the slot holds anything else, the
process may crash.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.ops import Handler
from depyf.errors import BytecodeError

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.lower import Lowered


PLACE, RECORD, UNKNOWN, OTHER = 0, 1, 2, 3
"""What a slot holds; ``UNKNOWN`` is what comes from below the handler that is looked at."""
Slots = tuple[tuple[int, int], ...]
"""Slots with what they hold; not there are slots of the handler with ``OTHER``, and those below it with ``UNKNOWN``.

Values of the handler may be moved to slots below it.
"""


def check(lowered: Lowered, opnames: tuple[str | None, ...]) -> None:
    """Raise ``BytecodeError`` where a RERAISE or a POP_EXCEPT finds no such thing in the slot that it reads."""
    code = lowered.unit.code
    reads = [at for at, instr in enumerate(lowered.instrs) if instr.op in (ops.RERAISE, ops.POP_EXCEPT)]
    if not reads:
        return
    live, entered = live_code(lowered)
    wanted = {
        at: code[instr.offset + 1]
        for at, instr in ((at, lowered.instrs[at]) for at in reads if at in live)
        if instr.op == ops.RERAISE and opnames[code[instr.offset]] == "RERAISE" and code[instr.offset + 1]
    }
    places = set(wanted)
    wanted.update({at: 0 for at in reads if at in live and lowered.instrs[at].op == ops.POP_EXCEPT})
    if not wanted:
        return
    fine: set[int] = set()
    lost: set[int] = set()
    for handler in (lowered.handlers[number] for number in sorted(entered)):
        for at, found in _reached(lowered, handler, wanted):
            (fine if found else lost).add(at)
    lost.update(places - fine)
    if lost:
        instr = lowered.instrs[min(lost)]
        missing = "place to go on from" if instr.op == ops.RERAISE else "exception that was handled before"
        raise BytecodeError(f"{lowered.unit.qualname}: {instr.op} at offset {instr.offset} finds no {missing}")


def live_code(lowered: Lowered) -> tuple[set[int], set[int]]:
    """The instructions that control may reach, and the numbers of the handlers to which something raises."""
    instrs = lowered.instrs
    live: set[int] = set()
    entered: set[int] = set()
    work = [0]
    while work:
        at = work.pop()
        if at in live or at >= len(instrs):
            continue
        live.add(at)
        instr = instrs[at]
        if instr.target >= 0:
            work.append(instr.target)
        if instr.op not in ops.TERMINATORS:
            work.append(at + 1)
        if instr.handler >= 0 and instr.op not in ops.SILENT and instr.handler not in entered:
            entered.add(instr.handler)
            work.append(lowered.handlers[instr.handler].target)
    return live, entered


def _reached(lowered: Lowered, first: Handler, wanted: dict[int, int]) -> Iterator[tuple[int, bool]]:
    """The instructions of ``wanted`` that read a slot of the handler ``first``, each with whether the slot holds the
    right kind of value.

    What comes from below the handler may be a record if the handler's slots hold none.
    """
    instrs, handlers, depths = lowered.instrs, lowered.handlers, lowered.depths
    seen: set[tuple[int, Slots]] = set()
    work = [(first.target, _pushed(first, ()))]
    while work:
        at, slots = work.pop()
        if (at, slots) in seen or depths[at] <= first.depth:
            continue
        seen.add((at, slots))
        instr = instrs[at]
        op, target, handler = instr.op, instr.target, instr.handler
        slot = depths[at] - 1 - wanted.get(at, 0)
        if at in wanted and (slot >= first.depth or any(slot == moved for moved, _ in slots)):
            if op == ops.RERAISE:
                if (slot, UNKNOWN) not in slots:  # else a handler around this one knows
                    yield at, (slot, PLACE) in slots
            elif (slot, UNKNOWN) not in slots or any(k == RECORD and other >= first.depth for other, k in slots):
                yield at, (slot, RECORD) in slots
        if handler >= 0 and op not in ops.SILENT and handlers[handler].depth > first.depth:
            work.append((handlers[handler].target, _pushed(handlers[handler], slots)))
        slots = _moved(op, instr.arg, depths[at], slots, first.depth)
        if target >= 0:
            work.append((target, slots))
        if op not in ops.TERMINATORS and at + 1 < len(instrs):
            work.append((at + 1, slots))


def _pushed(handler: Handler, slots: Slots) -> Slots:
    """The slots at the entry of a handler."""
    own = ((handler.depth + handler.pushes.index("lasti"), PLACE),) if "lasti" in handler.pushes else ()
    return (*[(slot, kind) for slot, kind in slots if slot < handler.depth], *own)


def _moved(op: str, arg: Any, depth: int, slots: Slots, lowest: int) -> Slots:
    """The slots after an instruction; nothing is known of those below ``lowest``."""
    if op == ops.PUSH_EXC_INFO:
        return (*slots, (depth - 1, RECORD))
    if op == ops.COPY or op == ops.SWAP:
        other, held = depth - arg, dict(slots)
        below = held.pop(other, UNKNOWN if other < lowest else OTHER)
        if op == ops.COPY:
            return (*slots, (depth, below)) if below != OTHER else slots
        top = held.pop(depth - 1, OTHER)
        if below != OTHER:
            held[depth - 1] = below
        if top != (UNKNOWN if other < lowest else OTHER):
            held[other] = top
        return tuple(sorted(held.items()))
    if not slots:
        return slots
    left = depth - ops.stack_effect(op, arg)[0]
    return tuple([(slot, kind) for slot, kind in slots if slot < left])
