"""Bytes to raw instructions of one CPython version.

Input: a ``CodeUnit`` and the ``VersionSpec`` of its writer.  Output: ``Raw``, parallel lists with one entry per real
instruction: ``EXTENDED_ARG`` is folded in, inline caches are skipped, jump targets are instruction indices.  A jump
that does not land on an instruction is a ``BytecodeError``.
"""

from __future__ import annotations

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.tables.linetables import NO_LOCATIONS, locations, runs_of
from depyf.bytecode.versions.spec import VersionSpec
from depyf.errors import BytecodeError


class Raw:
    """Decoded instructions as parallel columns; ``targets[i]`` is an instruction index or -1.

    ``index_at`` maps the byte offset where an instruction starts (its EXTENDED_ARG prefixes included) to its index.
    """

    __slots__ = (
        "args",
        "index_at",
        "jumped_to",
        "lines",
        "locations",
        "names",
        "offsets",
        "opcodes",
        "send_ends",
        "targets",
        "unit",
    )

    def __init__(self, unit: CodeUnit) -> None:
        self.unit = unit
        self.opcodes: list[int] = []
        self.names: list[str] = []
        self.args: list[int] = []
        self.offsets: list[int] = []
        self.lines: list[int | None] = []
        self.locations = NO_LOCATIONS
        self.targets: list[int] = []
        self.index_at: dict[int, int] = {}
        self.jumped_to: set[int] = set()
        self.send_ends: set[int] = set()


def decode(unit: CodeUnit, spec: VersionSpec) -> Raw:
    """Raw instructions of ``unit``."""
    raw = Raw(unit)
    code = unit.code
    size = len(code)
    if size % 2:
        raise BytecodeError(f"{unit.qualname}: odd bytecode length {size}")
    opcodes, names, args, offsets, index_at = raw.opcodes, raw.names, raw.args, raw.offsets, raw.index_at
    opnames, caches = spec.opnames, spec.caches
    extended_arg = spec.extended_arg
    offset = start = extended = 0
    while offset < size:
        opcode = code[offset]
        arg = code[offset + 1] | extended
        if opcode == extended_arg:
            extended = (arg << 8) & 0xFFFFFFFF
            offset += 2
            continue
        name = opnames[opcode]
        if name is None:
            raise BytecodeError(f"{unit.qualname}: unknown opcode {opcode} of {spec} at offset {offset}")
        index_at[start] = len(opcodes)
        opcodes.append(opcode)
        names.append(name)
        args.append(arg)
        offsets.append(offset)
        offset += 2 + caches[opcode]
        start = offset
        extended = 0
    if extended or start != offset:
        raise BytecodeError(f"{unit.qualname}: bytecode ends inside an instruction at offset {start}")
    _resolve_targets(raw, spec)
    _attach_lines(raw)
    return raw


def _resolve_targets(raw: Raw, spec: VersionSpec) -> None:
    targets = raw.targets
    scale, jumps, caches = spec.jump_scale, spec.jumps, spec.caches
    for index, opcode in enumerate(raw.opcodes):
        direction = jumps[opcode]
        if direction is None:
            targets.append(-1)
            continue
        offset = raw.args[index] * scale
        if direction:
            offset = raw.offsets[index] + 2 + caches[opcode] + offset * direction
        target = raw.index_at.get(offset, -1)
        if target < 0:
            where = f"{raw.names[index]} at offset {raw.offsets[index]}"
            raise BytecodeError(f"{raw.unit.qualname}: {where} jumps to {offset}, which is no instruction")
        targets.append(target)
        raw.jumped_to.add(target)
        if raw.names[index] == "SEND":
            raw.send_ends.add(target)


def _attach_lines(raw: Raw) -> None:
    if raw.unit.version >= (3, 11):
        of, by_entry, _ = raw.locations = locations(raw.unit)
        covered = 2 * len(of)
        raw.lines = [by_entry[of[offset // 2]] if offset < covered else None for offset in raw.offsets]
        return
    runs = runs_of(raw.unit)
    if not runs:
        raw.lines = [None] * len(raw.opcodes)
        return
    lines = raw.lines
    position = 0
    last = len(runs) - 1
    end, line = runs[0]
    for offset in raw.offsets:
        while offset >= end and position < last:
            position += 1
            end, line = runs[position]
        lines.append(line if offset < end else None)
