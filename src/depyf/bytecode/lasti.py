"""Where an exception that goes on came from: the slot that ``RERAISE`` reads it from (3.11+).

An entry of the exception table with *lasti* pushes the place of the instruction that raised below the exception;
``RERAISE n`` takes the place from the slot ``n`` below the top.  Where there is none, it takes what is there, and the
process may end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from depyf.bytecode import ops
from depyf.bytecode.ops import Handler
from depyf.errors import BytecodeError

if TYPE_CHECKING:
    from depyf.bytecode.lower import Lowered


Places = tuple[int, ...]


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
    lost: set[int] = set()
    for handler in lowered.handlers:
        for at, found in _reached(lowered, handler, wanted):
            (fine if found else lost).add(at)
    lost.update(wanted.keys() - fine)
    if lost:
        offset = lowered.instrs[min(lost)].offset
        raise BytecodeError(f"{lowered.unit.qualname}: RERAISE at offset {offset} finds no place to go on from")


def _reached(lowered: Lowered, first: Handler, wanted: dict[int, int]) -> Iterator[tuple[int, bool]]:
    """The RERAISEs among ``wanted`` that read a slot above those below the handler ``first``, and whether a place is there."""
    instrs, handlers, depths = lowered.instrs, lowered.handlers, lowered.depths
    seen: set[tuple[int, Places]] = set()
    work = [(first.target, _pushed(first, ()))]
    while work:
        at, places = work.pop()
        if (at, places) in seen or depths[at] <= first.depth:
            continue
        seen.add((at, places))
        op, arg, target, _line, _offset, handler = instrs[at]
        if at in wanted and (slot := depths[at] - 1 - wanted[at]) >= first.depth:
            yield at, slot in places
        if handler >= 0 and op not in ops.SILENT and handlers[handler].depth > first.depth:
            work.append((handlers[handler].target, _pushed(handlers[handler], places)))
        places = _moved(op, arg, depths[at], places)
        if target >= 0:
            work.append((target, places))
        if op not in ops.TERMINATORS and at + 1 < len(instrs):
            work.append((at + 1, places))


def _pushed(handler: Handler, places: Places) -> Places:
    """The slots that hold a place at the entry of a handler."""
    own = (handler.depth + handler.pushes.index("lasti"),) if "lasti" in handler.pushes else ()
    return (*(place for place in places if place < handler.depth), *own)


def _moved(op: str, arg: int, depth: int, places: Places) -> Places:
    """Where those slots are behind an instruction."""
    if not places or op == ops.COPY:
        return places
    if op == ops.SWAP:
        moved = {depth - 1: depth - arg, depth - arg: depth - 1}
        return tuple(sorted(moved.get(place, place) for place in places))
    left = depth - ops.stack_effect(op, arg)[0]
    return tuple(place for place in places if place < left)
