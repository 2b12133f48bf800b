"""Bytes to raw instructions of one CPython version.

Input: a ``CodeUnit`` and the ``VersionSpec`` of its writer.  Output: ``Raw``, parallel lists with one entry per real
instruction: ``EXTENDED_ARG`` is folded in, inline caches are skipped, jump targets are instruction indices.

``decode`` reads one instruction behind the other, as compilers write them; that tells what they left of dead code, too.
Where this meets what is no instruction, ``reached`` reads what control can reach, and nothing else: other bytes may lie
between, and a jump may lead past the prefixes of an instruction.  A jump to what is no instruction is a
``BytecodeError``.
"""

from __future__ import annotations

from bisect import bisect_right

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.exception_table import table_entries
from depyf.decompiler.bytecode.tables.linetables import NO_LOCATIONS, locations, runs_of
from depyf.decompiler.bytecode.versions.spec import VersionSpec
from depyf.errors import BytecodeError


class Raw:
    """Decoded instructions as parallel columns; ``targets[i]`` is an instruction index or -1.

    ``index_at`` maps the byte offset where an instruction starts (its EXTENDED_ARG prefixes included) to its index.
    ``inside`` is None where the instructions lie one behind the other; else there are only those that can be reached,
    and it has the offsets in the midst of them.
    """

    __slots__ = (
        "args",
        "index_at",
        "inside",
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
        self.inside: set[int] | None = None
        self.jumped_to: set[int] = set()
        self.send_ends: set[int] = set()

    def has_prefix(self, index: int) -> bool:
        """Whether an EXTENDED_ARG belongs to an instruction."""
        return self.index_at.get(self.offsets[index]) != index

    def cuts(self, offset: int) -> bool:
        """Whether ``offset`` lies in the midst of an instruction."""
        if self.inside is not None:
            return offset in self.inside
        return offset not in self.index_at and offset < len(self.unit.code)


def decode(unit: CodeUnit, spec: VersionSpec) -> Raw:
    """Raw instructions of ``unit``."""
    try:
        return _one_by_one(unit, spec)
    except BytecodeError:
        return reached(unit, spec)


def _one_by_one(unit: CodeUnit, spec: VersionSpec) -> Raw:
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
            raise _unknown(unit, spec, offset)
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


def reached(unit: CodeUnit, spec: VersionSpec) -> Raw:
    """The raw instructions of ``unit`` that control can reach, with a jump where one does not lead to the next."""
    found = _Reached(unit, spec)
    found.follow()
    found.check_caches()
    raw = found.raw()
    _resolve_targets(raw, spec)
    _attach_lines(raw)
    return raw


class _Reached:
    """What control reaches.  ``ops``: the offset of the instruction without its prefixes, by where it starts."""

    def __init__(self, unit: CodeUnit, spec: VersionSpec) -> None:
        self.unit, self.spec, self.code = unit, spec, unit.code
        size = len(self.code)
        if size % 2:
            raise BytecodeError(f"{unit.qualname}: odd bytecode length {size}")
        self.behind = list(range(0, size, 2))
        """Where the instruction proper is, for each pair of bytes."""
        for at in range(size // 2 - 1, -1, -1):
            if self.code[2 * at] == spec.extended_arg:
                self.behind[at] = self.behind[at + 1] if 2 * at + 2 < size else -1
        self.ops: dict[int, int] = {}
        self.table = table_entries(unit.exctable)
        self.starts = [start for start, *_ in self.table]

    def argument(self, start: int, op: int) -> int:
        arg = 0
        for offset in range(max(start, op - 6), op + 2, 2):  # what is further away is shifted out
            arg = arg << 8 | self.code[offset + 1]
        return arg

    def after(self, op: int) -> int:
        """Where control goes on behind an instruction; -1 where it does not."""
        opcode = self.code[op]
        return -1 if self.spec.opnames[opcode] in _ENDS else op + 2 + self.spec.caches[opcode]

    def handler(self, op: int) -> int:
        """Where an exception leads that is raised there (3.11+); -1 for out of the function."""
        place = bisect_right(self.starts, op) - 1
        if place < 0 or op >= self.table[place][1] or self.spec.opnames[self.code[op]] in _IDLE:
            return -1
        return self.table[place][2]

    def follow(self) -> None:
        """Fill ``ops``."""
        code, spec, name = self.code, self.spec, self.unit.qualname
        size = len(code)
        if not size:
            raise BytecodeError(f"{name}: no instructions")
        work = [0]
        while work:
            start = work.pop()
            if start in self.ops:
                continue
            op = self.ops[start] = self.behind[start // 2]
            if op < 0:
                raise BytecodeError(f"{name}: bytecode ends inside an instruction at offset {start}")
            opcode = code[op]
            if spec.opnames[opcode] is None:
                raise _unknown(self.unit, spec, op)
            after, handler = self.after(op), self.handler(op)
            if 0 <= after < size:
                work.append(after)
            if spec.jumps[opcode] is not None:
                target = _target(spec, opcode, op, self.argument(start, op))
                if not 0 <= target < size:
                    raise _no_instruction(self.unit, spec.opnames[opcode], op, target)
                work.append(target)
            if handler >= size:
                raise BytecodeError(f"{name}: exception handler at offset {handler} is no instruction")
            if handler >= 0:
                work.append(handler)

    def check_caches(self) -> None:
        """Raise where an instruction lies in what the interpreter fills while it runs, or has one cache for two
        arguments."""
        code, spec, unit = self.code, self.spec, self.unit
        written = {offset for op in self.ops.values() for offset in range(op + 2, op + 2 + spec.caches[code[op]], 2)}
        if unit.version >= (3, 12):
            written |= self.counters()
        args: dict[int, int] = {}
        covered = 0
        for start, op in sorted(self.ops.items()):
            if not written.isdisjoint(range(max(start, covered), op + 2, 2)):
                raise BytecodeError(f"{unit.qualname}: the instruction at offset {op} lies in the cache of another one")
            covered = max(covered, op + 2)
            arg = self.argument(start, op)
            if args.setdefault(op, arg) != arg and self.remembers(code[op]):
                reason = "what the interpreter remembers of it is the same for both"
                raise BytecodeError(
                    f"{unit.qualname}: {spec.opnames[code[op]]} at offset {op} has two arguments: {reason}"
                )

    def counters(self) -> set[int]:
        """Where the interpreter writes counters before it runs anything (3.12+), be it code or not."""
        spec, opnames = self.spec, self.spec.opnames
        general = set(range(256)) if self.unit.version == (3, 12) else {opnames.index(name) for name in opnames}
        found, at, size = set(), 0, len(self.code)
        while at < size:
            opcode = self.code[at]
            caches = spec.caches[opcode]
            if caches and opcode in general:
                found.add(at + 2)
                at += caches
            at += 2
        return found

    def remembers(self, opcode: int) -> bool:
        """Whether the interpreter may keep the result that one argument gave."""
        name = self.spec.opnames[opcode] or ""
        if self.unit.version < (3, 11):
            return name in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD")
        return bool(self.spec.caches[opcode]) and not name.startswith(("JUMP_", "POP_JUMP_"))

    def raw(self) -> Raw:
        """The columns, in the order of the bytes."""
        raw = Raw(self.unit)
        raw.inside = set()
        code, spec = self.code, self.spec
        forward = spec.opnames.index("JUMP_FORWARD")
        order = sorted(self.ops)
        joins = []
        covered = 0
        for start, following in zip(order, [*order[1:], len(code)]):
            op = self.ops[start]
            raw.index_at[start] = len(raw.opcodes)
            _append(raw, spec, code[op], self.argument(start, op), op)
            after = self.after(op)
            end = op + 2 + spec.caches[code[op]]
            raw.inside.update(range(max(start + 2, covered), end, 2))
            covered = max(covered, end)
            if after >= 0 and after != following:
                if after >= len(code):
                    raise BytecodeError(f"{self.unit.qualname}: control falls off the end of the code")
                joins.append((len(raw.opcodes), after))
                _append(raw, spec, forward, 0, op)
        raw.targets = [-1] * len(raw.opcodes)
        for index, after in joins:
            raw.targets[index] = raw.index_at[after]
        return raw


def _append(raw: Raw, spec: VersionSpec, opcode: int, arg: int, offset: int) -> None:
    raw.opcodes.append(opcode)
    raw.names.append(spec.opnames[opcode] or "")
    raw.args.append(arg)
    raw.offsets.append(offset)


def _unknown(unit: CodeUnit, spec: VersionSpec, offset: int) -> BytecodeError:
    return BytecodeError(f"{unit.qualname}: unknown opcode {unit.code[offset]} of {spec} at offset {offset}")


def _no_instruction(unit: CodeUnit, name: str | None, offset: int, target: int) -> BytecodeError:
    return BytecodeError(f"{unit.qualname}: {name} at offset {offset} jumps to {target}, which is no instruction")


def _target(spec: VersionSpec, opcode: int, op: int, arg: int) -> int:
    """The offset that a jump at ``op`` leads to; up to 3.9 the interpreter rounds it down to a whole instruction."""
    direction = spec.jumps[opcode] or 0
    offset = arg * spec.jump_scale
    if direction:
        offset = op + 2 + spec.caches[opcode] + offset * direction
    return offset & ~1


def _resolve_targets(raw: Raw, spec: VersionSpec) -> None:
    """Fill ``targets`` but where a jump of ours has one."""
    ours = raw.targets or [-1] * len(raw.opcodes)
    targets = raw.targets = []
    jumps = spec.jumps
    for index, opcode in enumerate(raw.opcodes):
        target = ours[index]
        if target < 0:
            if jumps[opcode] is None:
                targets.append(-1)
                continue
            offset = _target(spec, opcode, raw.offsets[index], raw.args[index])
            target = raw.index_at.get(offset, -1)
            if target < 0:
                raise _no_instruction(raw.unit, raw.names[index], raw.offsets[index], offset)
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


_ENDS = frozenset({
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT", "JUMP_FORWARD", "JUMP_ABSOLUTE",
    "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT",
})  # fmt: skip
"""Behind these control does not go on."""
_IDLE = frozenset({"NOP", "NOT_TAKEN", "JUMP_FORWARD", "LOAD_CONST"})
"""These never raise."""
