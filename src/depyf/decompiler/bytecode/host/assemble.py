"""Disassembles a live code object to an editable list of instructions, and assembles it again.

Input: a code object of the running interpreter.  ``disassemble`` gives its ``Op``s; the caller may change them and
insert new ones after them; ``assemble`` writes code, line table and exception table anew.  Output invariant: jumps,
exception ranges and lines refer to the same ``Op`` objects as before, whatever the lengths became (a constant beyond
index 255 takes an EXTENDED_ARG, a LOAD_CONST has no inline caches where LOAD_GLOBAL had some).

To put something *before* an instruction that may be jumped to, turn the instruction itself into the new one and insert
the old one after it: who jumped to it, and the ranges that started with it, then reach both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from depyf.decompiler.bytecode.exception_table import table_entries, table_of
from depyf.decompiler.bytecode.tables.written_lines import Position, line_table
from depyf.decompiler.bytecode.versions import spec_for
from depyf.errors import BytecodeError

VERSION = sys.version_info[:2]
SPEC = spec_for(VERSION)

NOWHERE: Position = (None, None, None, None)


NEW = (
    "LOAD_CONST", "LOAD_CLOSURE", "LOAD_FAST", "LOAD_FAST_BORROW", "STORE_FAST", "PUSH_NULL", "POP_TOP", "SWAP",
    "BUILD_TUPLE", "RAISE_VARARGS",
)  # fmt: skip
"""The instructions that may be put into code."""


def _numbers() -> dict[str, int]:
    """Opcodes of ``NEW``.

    The tables list specialised instructions, too, under the name of the plain one; they must never be written.  Of
    those in ``NEW`` the plain one has the smallest number, but for 3.11 and 3.12, where specialised ones fill the gaps
    below 90: there, it is the smallest from 90 on if it takes an argument.
    """
    found: dict[str, int] = {}
    for number in range(256) if VERSION >= (3, 13) else (*range(90, 256), *range(90)):
        name = SPEC.opnames[number]
        if name in NEW:
            found.setdefault(name, number)
    return found


OPCODE = _numbers()


@dataclass(slots=True, eq=False)
class Op:
    """One instruction, EXTENDED_ARG folded in.  A jump has a ``target`` and its ``arg`` is computed."""

    number: int
    arg: int
    position: Position
    target: Op | None = None
    start: int = -1
    """Offset in the code it was read from, prefixes included; -1 for a new one."""

    @property
    def name(self) -> str:
        return SPEC.opnames[self.number] or ""

    @property
    def caches(self) -> int:
        """Bytes of inline cache after it."""
        return SPEC.caches[self.number]

    def become(self, name: str, arg: int) -> None:
        """Turn into an instruction of ``NEW``."""
        self.number = OPCODE[name]
        self.arg = arg

    def twin(self, name: str, arg: int) -> Op:
        """An instruction of ``NEW`` at the same place of the source."""
        return Op(OPCODE[name], arg, self.position)


Protected = tuple[Op, int, bool]
"""The first instruction of a handler, how many values it finds on the stack, whether it is also given the offset."""


def disassemble(code: CodeType) -> list[Op]:
    """The instructions of ``code``."""
    raw = code.co_code
    positions = positions_of(code)
    ops: list[Op] = []
    jumps: list[tuple[Op, int]] = []
    by_start: dict[int, Op] = {}
    start = offset = extended = 0
    while offset < len(raw):
        number, arg = raw[offset], raw[offset + 1] | extended
        offset += 2
        if number == SPEC.extended_arg:
            extended = arg << 8
            continue
        if SPEC.opnames[number] is None:
            raise BytecodeError(f"{code.co_name}: unknown opcode {number} of {SPEC} at offset {offset - 2}")
        op = Op(number, arg, positions[offset // 2 - 1], None, start)
        ops.append(op)
        by_start[start] = op
        offset += op.caches
        direction = jump_direction(op)
        if direction is not None:
            jumps.append((op, offset * abs(direction) + arg * SPEC.jump_scale * (direction or 1)))
        start, extended = offset, 0
    for op, target in jumps:
        op.target = by_start.get(target)
        if op.target is None and op.name != "END_ASYNC_FOR":
            raise BytecodeError(f"{code.co_name}: {op.name} at offset {op.start} jumps to {target}, no instruction")
    return ops


def assemble(
    code: CodeType, ops: Sequence[Op], handlers: Sequence[Protected | None] | None = None, **changes: Any
) -> CodeType:
    """``code`` with the instructions ``ops``, which come from ``disassemble(code)``, and the other ``changes``.

    ``handlers`` has the handler of each of them (3.11+); without, they are those of ``code``.
    """
    offsets = _lay_out(ops)
    out = bytearray()
    for op in ops:
        for shift in range(8 * (_prefixes(offsets, op)), 0, -8):
            out += bytes((SPEC.extended_arg, op.arg >> shift & 255))
        out += bytes((op.number, op.arg & 255))
        out += bytes(op.caches)
    changes["co_code"] = bytes(out)
    changes["co_linetable"] = line_table(VERSION, code.co_firstlineno, _extents(ops, offsets))
    if not SPEC.block_stack:
        changes["co_exceptiontable"] = (
            _exception_table(code, ops, offsets) if handlers is None else _table_of_handlers(ops, handlers, offsets)
        )
    return code.replace(**changes)


def jump_direction(op: Op) -> int | None:
    """Of a jump: 0 absolute, 1 forward, -1 backward; the argument of END_ASYNC_FOR (3.14+) reads as a jump back."""
    if op.name == "END_ASYNC_FOR" and VERSION >= (3, 14):
        return -1
    return SPEC.jumps[op.number]


# Offsets.

Offsets = dict[int, tuple[int, int]]
"""By id of an Op: where it starts and where it ends, caches excluded; -1 is the end of the code."""


def _prefixes(offsets: Offsets, op: Op) -> int:
    start, end = offsets[id(op)]
    return (end - start) // 2 - 1


def _lay_out(ops: Sequence[Op]) -> Offsets:
    """Fix lengths and jump arguments.  Lengths only grow from one round to the next, so this ends."""
    lengths = {id(op): 0 for op in ops}
    while True:
        offsets: Offsets = {}
        offset = 0
        for op in ops:
            length = max(lengths[id(op)], 2 * max(1, (op.arg.bit_length() + 7) // 8))
            lengths[id(op)] = length
            offsets[id(op)] = (offset, offset + length)
            offset += length + op.caches
        offsets[-1] = (offset, offset)
        if not _set_jumps(ops, offsets):
            return offsets


def _set_jumps(ops: Sequence[Op], offsets: Offsets) -> bool:
    """Compute the arguments of jumps; whether one of them no longer fits its length."""
    outgrown = False
    for op in ops:
        if op.target is None:
            continue
        direction = jump_direction(op)
        assert direction is not None
        distance = offsets[id(op.target)][0]
        start, end = offsets[id(op)]
        if direction:
            distance = (distance - end - op.caches) * direction
        op.arg = distance // SPEC.jump_scale
        if op.arg < 0:
            raise BytecodeError(f"{op.name} cannot jump that way")
        outgrown |= op.arg >> 8 * ((end - start) // 2) > 0
    return outgrown


def _extents(ops: Sequence[Op], offsets: Offsets) -> Iterator[tuple[int, Position]]:
    """Length in bytes, caches included, and position of each instruction."""
    for op in ops:
        start, end = offsets[id(op)]
        yield end - start + op.caches, op.position


# Lines.


def positions_of(code: CodeType) -> list[Position]:
    """The position of each two bytes of ``code``."""
    if VERSION >= (3, 11):
        return list(getattr(code, "co_positions")())  # noqa: B009 (unknown to the typing of 3.10)
    found: list[Position] = [NOWHERE] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        found[start // 2 : end // 2] = [(line, None, None, None)] * ((end - start) // 2)
    return found


# Exceptions.


def _exception_table(code: CodeType, ops: Sequence[Op], offsets: Offsets) -> bytes:
    """3.11+ (Objects/exception_handling_notes.txt): the ranges of ``code``, moved with their instructions."""
    moved = {op.start: offsets[id(op)][0] for op in ops if op.start >= 0}
    moved[len(code.co_code)] = offsets[-1][0]
    entries = []
    for start, end, target, depth, lasti in table_entries(getattr(code, "co_exceptiontable")):  # noqa: B009
        try:
            entries.append((moved[start], moved[end], moved[target], depth, lasti))
        except KeyError as missing:
            raise BytecodeError(f"{code.co_name}: no instruction at {missing}, where an exception range ends") from None
    return table_of(entries)


def _table_of_handlers(ops: Sequence[Op], handlers: Sequence[Protected | None], offsets: Offsets) -> bytes:
    """3.11+: a range for each run of instructions with one handler."""
    entries: list[tuple[int, int, int, int, bool]] = []
    for op, handler in zip(ops, handlers, strict=True):
        if handler is not None:
            target, depth, lasti = handler
            start, goal = offsets[id(op)][0], offsets[id(target)][0]
            end = offsets[id(op)][1] + op.caches
            if entries and entries[-1][1:] == (start, goal, depth, lasti):
                start = entries.pop()[0]
            entries.append((start, end, goal, depth, lasti))
    return table_of(entries)
