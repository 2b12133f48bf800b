"""Cuts a live code object down to what comes before certain instructions.

Input: a code object of the running interpreter.  ``walk`` reads the instructions that its start leads to, and stops
where it is told to; ``shortened`` makes code of them, in which a ``raise`` of a mark takes the place of the rest.
Output invariant: up to the marks the result does what the code does.  Time and size grow with what is kept, not with
what is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType

from depyf.decompiler.bytecode.exception_table import entry_at
from depyf.decompiler.bytecode.host.assemble import (
    NOWHERE,
    OPCODE,
    SPEC,
    Op,
    Protected,
    assemble,
    jump_direction,
)
from depyf.decompiler.bytecode.tables.written_lines import Position

_ENDS = frozenset(
    ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
     "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")
)  # fmt: skip
"""Instructions after which control never falls through."""
_TAKES_CONSTANT = frozenset(("LOAD_CONST", "RETURN_CONST", "KW_NAMES"))
_CONSTANTS = frozenset(number for number, name in enumerate(SPEC.opnames) if name in _TAKES_CONSTANT)


@dataclass(slots=True)
class Walk:
    """The instructions of ``code`` that its start leads to, by offset, and the offsets where it was told to stop."""

    code: CodeType
    ops: dict[int, Op] = field(default_factory=dict)
    cuts: set[int] = field(default_factory=set)
    targets: dict[int, int] = field(default_factory=dict)
    """Offset of a jump -> where it leads."""
    unraised: frozenset[int] = frozenset()
    """The offsets of what is reached without an exception."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Replaces the rest: ``text``, raised together with the values on top of the stack."""

    text: str
    stack: tuple[bool, ...] = ()
    """Of the topmost slots, from below: whether it holds a value, and no NULL."""


def steps(raw: bytes, offset: int) -> Iterator[tuple[Op, int]]:
    """The instructions from ``offset`` on, each with the offset after it."""
    start, extended = offset, 0
    while offset < len(raw):
        number, arg = raw[offset], raw[offset + 1] | extended
        offset += 2
        if number == SPEC.extended_arg:
            extended = arg << 8
            continue
        op = Op(number, arg, NOWHERE, None, start)
        offset += op.caches
        yield op, offset
        start, extended = offset, 0


def jump_target(op: Op, end: int) -> int | None:
    """Where ``op``, which ends at ``end``, jumps to; None where it is no jump."""
    direction = jump_direction(op)
    return None if direction is None else end * abs(direction) + op.arg * SPEC.jump_scale * (direction or 1)


def ends(op: Op) -> bool:
    """Whether control never goes on with the instruction after it."""
    return op.name in _ENDS


def walk(code: CodeType, is_cut: Callable[[int], bool]) -> Walk:
    """What the start of ``code`` leads to; it stops before the offsets for which ``is_cut`` is true."""
    found, raw = Walk(code), code.co_code
    table = getattr(code, "co_exceptiontable", b"")
    handlers: list[int] = []
    work = [0]
    while work:
        for op, end in steps(raw, work.pop()):
            if op.start in found.ops or op.start in found.cuts:
                break
            if is_cut(op.start):
                found.cuts.add(op.start)
                break
            found.ops[op.start] = op
            target = jump_target(op, end)
            if target is not None:
                found.targets[op.start] = target
                (handlers if op.name.startswith("SETUP_") else work).append(target)
            protected = entry_at(table, op.start) if table else None
            if protected is not None:
                handlers.append(protected[2])
            if ends(op):
                break
        if not work:
            found.unraised = found.unraised or frozenset(found.ops)
            work, handlers = handlers, []
    return found


def shortened(
    found: Walk, marks: Mapping[int, Mark], position: Callable[[int], Position] = lambda offset: NOWHERE
) -> CodeType:
    """Code of what ``walk`` found; ``marks`` has one for each cut, ``position`` the place in the source of each
    instruction.

    BytecodeError where that cannot be assembled, as where a jump back would have to go forward.
    """
    code = found.code
    consts = list(code.co_consts[:1])  # the first one may be a docstring
    moved: dict[int, int] = {0: 0}
    ops: list[Op] = []
    places: list[int] = []
    """The offset that each of them is for."""
    first: dict[int, Op] = {}
    for offset in sorted({*found.ops, *found.cuts}):
        start = len(ops)
        if (op := found.ops.get(offset)) is not None:
            op.position = position(offset)
            if op.number in _CONSTANTS:
                if op.arg not in moved:
                    moved[op.arg] = len(consts)
                    consts.append(code.co_consts[op.arg])
                op.arg = moved[op.arg]
            ops.append(op)
        else:
            ops += _stop(marks[offset], len(consts))
            consts.append(marks[offset].text)
        first[offset] = ops[start]
        places += [offset] * (len(ops) - start)
    for offset, target in found.targets.items():
        found.ops[offset].target = first[target]
    handlers = None if SPEC.block_stack else [_handler(code, offset, first) for offset in places]
    return assemble(code, ops, handlers, co_consts=tuple(consts))


def _stop(mark: Mark, const: int) -> Iterator[Op]:
    """``raise mark``, or ``raise (value, ..., mark)``; NULLs among the values go below them first."""
    yield from (Op(OPCODE["SWAP"], depth, NOWHERE) for depth in _sorting(mark.stack))
    yield Op(OPCODE["LOAD_CONST"], const, NOWHERE)
    if any(mark.stack):
        yield Op(OPCODE["BUILD_TUPLE"], sum(mark.stack) + 1, NOWHERE)
    yield Op(OPCODE["RAISE_VARARGS"], 1, NOWHERE)


def _sorting(stack: tuple[bool, ...]) -> Iterator[int]:
    """The swaps (depths to exchange with the top) that bring NULLs below the values, and the values in order."""
    wanted = sorted(range(len(stack)), key=lambda slot: stack[slot])
    now = list(range(len(stack)))
    for place, slot in enumerate(wanted[:-1]):
        if now[place] == slot:
            continue
        for other in (now.index(slot), place):
            if other != len(now) - 1:
                now[-1], now[other] = now[other], now[-1]
                yield len(now) - other


def _handler(code: CodeType, offset: int, first: Mapping[int, Op]) -> Protected | None:
    """The handler of the instruction at ``offset``, if it is kept."""
    entry = entry_at(getattr(code, "co_exceptiontable", b""), offset)
    return None if entry is None or entry[2] not in first else (first[entry[2]], entry[3], entry[4])
