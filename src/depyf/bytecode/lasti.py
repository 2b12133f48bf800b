"""Where an exception that goes on came from: the slot that ``RERAISE`` reads it from (3.11+).

An entry of the exception table with *lasti* pushes the place of the instruction that raised below the exception;
``RERAISE n`` takes the place from the slot ``n`` below the top.  Where there is none, it takes what is there, and the
process may end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.bytecode import ops
from depyf.errors import BytecodeError

if TYPE_CHECKING:
    from depyf.bytecode.lower import Lowered


def check(lowered: Lowered, opnames: tuple[str | None, ...]) -> None:
    """Raise ``BytecodeError`` where a RERAISE finds no such place in the slot that it reads."""
    code = lowered.unit.code
    wanted = {
        at: code[instr.offset + 1]
        for at, instr in enumerate(lowered.instrs)
        if instr.op == ops.RERAISE and opnames[code[instr.offset]] == "RERAISE" and code[instr.offset + 1]
    }
    if not wanted:
        return
    fine: set[int] = set()
    for handler in lowered.handlers:
        if "lasti" in handler.pushes:
            fine |= _reached(lowered, handler.target, handler.depth + handler.pushes.index("lasti"), wanted)
    lost = [at for at in wanted if at not in fine]
    if lost:
        at = lowered.instrs[lost[0]].offset
        raise BytecodeError(f"{lowered.unit.qualname}: RERAISE at offset {at} finds no place to go on from")


def _reached(lowered: Lowered, start: int, slot: int, wanted: dict[int, int]) -> set[int]:
    """The RERAISEs among ``wanted`` that read ``slot``, on ways from ``start`` on which it keeps what it holds."""
    instrs, handlers, depths = lowered.instrs, lowered.handlers, lowered.depths
    found: set[int] = set()
    seen: set[tuple[int, int]] = set()
    work = [(start, slot)]
    while work:
        at, place = work.pop()
        if (at, place) in seen or depths[at] <= place:
            continue
        seen.add((at, place))
        op, arg, target, _line, _offset, handler = instrs[at]
        if depths[at] - 1 - wanted.get(at, -1) == place:
            found.add(at)
        if handler >= 0 and op not in ops.SILENT and handlers[handler].depth > place:
            work.append((handlers[handler].target, place))
        place = _moved(op, arg, depths[at], place)
        if target >= 0:
            work.append((target, place))
        if op not in ops.TERMINATORS and at + 1 < len(instrs):
            work.append((at + 1, place))
    return found


def _moved(op: str, arg: int, depth: int, place: int) -> int:
    """Where the slot is behind an instruction; out of reach where it was taken."""
    if op == ops.SWAP:
        return {depth - 1: depth - arg, depth - arg: depth - 1}.get(place, place)
    if op == ops.COPY:
        return place
    pops, _ = ops.stack_effect(op, arg)
    return place if place < depth - pops else 1 << 30
