"""A code object from what ``dis`` prints of it.

Input: the text of ``dis.Bytecode(code).dis()`` of any version, as logs have it.  Output: a ``CodeUnit`` that does the
same.  ``BytecodeError`` says what is not in the text: a constant whose ``repr`` is no literal, a cell before 3.11, a
line that was cut off.  The text does not tell which variables are parameters: those are, and all before them, that are
read where nothing was stored in them, unless only an exception leads there.  Nothing is executed.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.edits.control_flow import next_ones, successors
from depyf.decompiler.bytecode.exception_table import table_of
from depyf.decompiler.bytecode.files.bounds import check
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.bytecode.tables.written_lines import line_table
from depyf.decompiler.bytecode.variables.slots import CELL, FREE, LOCAL, ONE_ARRAY, slots_of
from depyf.decompiler.bytecode.variables.told_apart import told_apart
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.bytecode.versions.spec import VersionSpec
from depyf.errors import BytecodeError
from depyf.safety.unheard import parse

_INSTRUCTION = r"(?P<name>[A-Z][A-Z0-9_]*)(?:\s+(?P<argument>\d+)(?:\s+\((?P<shown>.*)\))?)?\s*"
_WITH_OFFSET = re.compile(rf"\s*(?:(?P<line>\d+)\s+)?(?:-->\s+)?(?:>>\s+)?(?P<offset>\d+)\s+{_INSTRUCTION}")
_WITH_LABEL = re.compile(rf"\s*(?:(?P<line>\d+|--)\s+)?(?:-->\s+)?(?:(?P<label>L\d+):\s+)?{_INSTRUCTION}")
_LABELS = (3, 13)
"""Since this version places are called ``L1`` instead of the offset."""
_RANGE = re.compile(
    r"\s*(?P<start>L?\d+) to (?P<end>L?\d+) -> (?P<target>L?\d+) \[(?P<depth>\d+)\](?P<lasti> lasti)?\s*"
)
_RANGES = "ExceptionTable:"
_NEWLOCALS = 2
_MOST_UNNAMED = 1000
"""Variables, names or constants of code that none of its instructions names."""
_LINE_TABLES = (3, 10)
_MOST_LINES = 1 << 22
"""Lines that code goes forward and back in all."""
_DIGITS = 10
"""An argument has at most 32 bits."""
_NAMES = frozenset((
    "LOAD_NAME", "STORE_NAME", "DELETE_NAME", "LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_ATTR", "STORE_ATTR",
    "DELETE_ATTR", "LOAD_METHOD", "IMPORT_NAME", "IMPORT_FROM", "LOAD_SUPER_ATTR", "LOAD_FROM_DICT_OR_GLOBALS",
))  # fmt: skip
_CONSTANTS = frozenset(("LOAD_CONST", "RETURN_CONST", "KW_NAMES"))
_CELLS = frozenset((
    "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLOSURE", "MAKE_CELL", "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_DEREF",
))  # fmt: skip
_SHIFTED = {
    "LOAD_GLOBAL": ((3, 11), 1),
    "LOAD_ATTR": ((3, 12), 1),
    "LOAD_SUPER_ATTR": ((3, 12), 2),
    "IMPORT_NAME": ((3, 15), 2),
}
"""Since which version the argument has flags below the index, and how many bits."""
_FLAGS = frozenset(("NULL", "NULL|self", "eager", "lazy"))
"""What is printed of them, before or after the name."""
_GENERATORS = frozenset(("RETURN_GENERATOR", "GEN_START", "YIELD_VALUE"))


@dataclass(frozen=True, slots=True)
class _Row:
    """One instruction; ``offset`` is where it is, whether it is printed or not."""

    offset: int
    name: str
    argument: int
    shown: str | None
    line: int | None
    label: str


def read_printed(text: str, version: tuple[int, int], name: str, filename: str, known: Iterable[str] = ()) -> CodeUnit:
    """The code object of the function ``name`` of ``filename``; ``known``: texts of code with the same variables, which
    may tell more of their names."""
    spec = spec_for(version)
    others = []
    for other in known:
        with contextlib.suppress(BytecodeError):
            others.append(_Listing(other, spec))
    unit = _Listing(text, spec).unit(version, name, filename, others)
    check(unit, len(text))
    for one in others:
        with contextlib.suppress(BytecodeError):
            unit = replace(unit, argcount=max(unit.argcount, one.unit(version, name, filename, []).argcount))
    return unit


class _Listing:
    """The rows of one text, and what their arguments mean."""

    def __init__(self, text: str, spec: VersionSpec) -> None:
        self.spec = spec
        self.rows: list[_Row] = []
        self.ranges: list[re.Match[str]] = []
        self.size = 0
        numbers = ((opname, number) for number, opname in enumerate(spec.opnames) if opname is not None)
        self.numbers = dict(numbers)  # specialised ones have the name of the plain one, and are read as it is
        body, _, table = text.partition(_RANGES)
        self._read(body)
        for printed in filter(str.strip, table.splitlines()):
            found = _RANGE.fullmatch(printed)
            if found is None:
                raise BytecodeError(f"no line of an exception table: {printed.strip()[:60]!r}")
            self.ranges.append(found)
        self.labels = {row.label: row.offset for row in self.rows if row.label}

    def _read(self, body: str) -> None:
        line: int | None = None
        labelled = self.spec.version >= _LABELS
        for printed in filter(str.strip, body.splitlines()):
            found = (_WITH_LABEL if labelled else _WITH_OFFSET).fullmatch(printed)
            if found is None or found["name"] not in self.numbers:
                raise BytecodeError(f"no line of a disassembly: {printed.strip()[:60]!r}")
            if found["line"]:
                line = int(found["line"][:_DIGITS]) if found["line"].isdigit() else None
            if not labelled and found["offset"] != str(self.size):
                raise BytecodeError(f"the instruction at offset {self.size} is not in the text")
            argument = int((found["argument"] or "0")[:_DIGITS])
            label = found["label"] or "" if labelled else ""
            self.rows.append(_Row(self.size, found["name"], argument, found["shown"], line, label))
            self.size += 2 + self.spec.caches[self.numbers[found["name"]]]

    def unit(self, version: tuple[int, int], name: str, filename: str, others: list[_Listing]) -> CodeUnit:
        used = {row.name for row in self.rows}
        if not self.rows or used & _GENERATORS:
            raise BytecodeError("its kind (generator, coroutine) is not in the text" if self.rows else "it is empty")
        if version < ONE_ARRAY and used & _CELLS:
            raise BytecodeError("which of its variables are cells is not in the text")
        slots = self._slots(others)
        varnames = tuple(one for one, kind in slots if kind & LOCAL)
        code = bytearray()
        for row in self.rows:
            number = self.numbers[row.name]
            code += bytes((number, row.argument & 255)) + bytes(self.spec.caches[number])
        first = min((row.line for row in self.rows if row.line is not None), default=1)
        unit = CodeUnit(
            version=version, name=name, qualname=name, filename=filename, firstlineno=first, argcount=0,
            posonlyargcount=0, kwonlyargcount=0, nlocals=len(varnames), stacksize=len(self.rows) + 16,
            flags=CO_OPTIMIZED | _NEWLOCALS, code=bytes(code), consts=self._constants(), names=self._names(),
            varnames=varnames, cellvars=tuple(one for one, kind in slots if kind & CELL),
            freevars=tuple(one for one, kind in slots if kind & FREE), linetable=self._lines(first),
            exctable=self._table(),
        )  # fmt: skip
        if slots_of(unit) != slots:
            unit = replace(unit, slots=slots)
        return replace(unit, argcount=_parameters(told_apart(unit, {})))

    def _lines(self, first: int) -> bytes:
        """The table of lines; empty before 3.10, which has another form."""
        if self.spec.version < _LINE_TABLES:
            return b""
        known = [first, *(row.line for row in self.rows if row.line is not None)]
        if sum(abs(one - other) for one, other in pairwise(known)) > _MOST_LINES:  # the table grows with them
            raise BytecodeError("its lines are too far apart")
        after = [*(row.offset for row in self.rows[1:]), self.size]
        extents = ((end - row.offset, (row.line, None, None, None)) for row, end in zip(self.rows, after))
        return line_table(self.spec.version, first, extents)

    def _shift(self, row: _Row) -> int:
        since, bits = _SHIFTED.get(row.name, ((0, 0), 0))
        return bits if self.spec.version >= since else 0

    def _names(self) -> tuple[str, ...]:
        """``co_names``, with what no instruction names left empty."""
        found: dict[int, str] = {}
        for row in self.rows:
            if row.name in _NAMES:
                told = [part for part in (row.shown or "").split(" + ") if part and part not in _FLAGS]
                if len(told) != 1:
                    raise BytecodeError(f"{row.name} at offset {row.offset} has no name")
                found[row.argument >> self._shift(row)] = told[0]
        return _filled(found, "")

    def _constants(self) -> tuple[Any, ...]:
        found: dict[int, Any] = {}
        for row in self.rows:
            if row.name in _CONSTANTS:
                if row.shown is None:
                    raise BytecodeError(f"what {row.name} at offset {row.offset} takes is not in the text")
                found[row.argument] = _literal(row.shown)
        return _filled(found, None)

    def _slots(self, others: list[_Listing]) -> tuple[tuple[str, int], ...]:
        names: dict[int, str] = {}
        kinds: dict[int, int] = {}
        cells: set[int] = set()
        for row in [*(row for other in others for row in other.rows if row.name not in _CELLS), *self.rows]:
            shown = row.shown or ""
            if row.name in _CELLS:
                names[row.argument] = shown
                kinds[row.argument] = kinds.get(row.argument, 0)
                if row.name == "MAKE_CELL":
                    cells.add(row.argument)
            elif "_FAST" in row.name and row.name.count("FAST") == 2 and "," in shown:
                for number, one in zip((row.argument >> 4, row.argument & 15), shown.split(", ")):
                    names[number], kinds[number] = one, LOCAL
            elif "_FAST" in row.name:
                names[row.argument], kinds[row.argument] = shown, LOCAL
        last = max((number for number, kind in kinds.items() if kind or number in cells), default=-1)
        free = next((row.argument for row in self.rows if row.name == "COPY_FREE_VARS"), 0)
        count = _checked(max(max(names, default=-1) + 1, last + 1 + free), names)
        slots = [(names.get(number) or f"_unused_{number}", 0) for number in range(count)]
        for number, (one, _) in enumerate(slots):
            local = LOCAL if number <= last and (number not in cells or kinds.get(number)) else 0
            slots[number] = one, local | (CELL if number in cells else 0) or (FREE if number >= count - free else LOCAL)
        for other in others:
            theirs = [one for one, kind in other._slots([]) if kind & FREE]
            ours = [number for number, (_, kind) in enumerate(slots) if kind & FREE]
            if len(theirs) == len(ours):  # in the same order, behind other variables
                for number, one in zip(ours, theirs):
                    slots[number] = names.get(number) or one, FREE
        if len({one for one, _ in slots}) != len(slots) or not all(one.isidentifier() for one, _ in slots):
            raise BytecodeError("its variables are not told apart by their names")
        return tuple(slots)

    def _at(self, printed: str) -> int:
        place = int(printed[:_DIGITS]) if printed.isdigit() else self.labels.get(printed)
        if place is None or not 0 <= place <= self.size:
            raise BytecodeError(f"{printed[:_DIGITS]} is no place in the text")
        return place

    def _table(self) -> bytes:
        entries = []
        for found in self.ranges:
            start, end, target = (self._at(found[which]) for which in ("start", "end", "target"))
            if found["end"].isdigit():  # where its last instruction begins
                end += 2
            if not start < end <= self.size:
                raise BytecodeError(f"no range of instructions: {start} to {end}")
            entries.append((start, end, target, int(found["depth"][:_DIGITS]), bool(found["lasti"])))
        return table_of(entries)


def _filled(found: dict[int, Any], empty: Any) -> tuple[Any, ...]:
    """As a table, with ``empty`` where nothing is known."""
    return tuple(found.get(number, empty) for number in range(_checked(max(found, default=-1) + 1, found)))


def _checked(size: int, known: Collection[int]) -> int:
    """The size of a table of which so much is named."""
    if size > len(known) + _MOST_UNNAMED:
        raise BytecodeError(f"a table of {size} has {len(known)} that are named")
    return size


def _literal(shown: str) -> Any:
    """The value of the ``repr`` of a constant."""
    try:
        return _value(parse(shown, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise BytecodeError(f"a constant is no literal: {shown[:60]}") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Name("inf" | "nan" as name):
            return float(name)
        case ast.Name("Ellipsis"):
            return ...
        case ast.UnaryOp(ast.USub(), ast.Name("inf")):
            return float("-inf")
        case ast.Tuple(elts):
            return tuple(map(_value, elts))
        case ast.Call(ast.Name("frozenset"), args, []) if len(args) <= 1:
            return frozenset(map(_value, args[0].elts)) if args and isinstance(args[0], ast.Set) else frozenset()
        case ast.Call(ast.Name("slice"), [start, stop, step], []):
            return slice(_value(start), _value(stop), _value(step))
    return ast.literal_eval(node)


def _parameters(unit: CodeUnit) -> int:
    """How many of the variables are parameters: up to the last that may be read before something is stored in it."""
    lowered = lower(unit)
    place = {name: number for number, name in enumerate(unit.varnames)}
    found = -1
    for name, number in place.items():
        if number > found and _is_read_first(lowered, name):
            found = number
    return found + 1


def _is_read_first(lowered: Lowered, name: str) -> bool:
    """Whether a path leads from the beginning to an instruction that needs the value, and none before it gives one.  An
    exception is on the path only where no instruction gives one."""
    stored = any(instr.arg == name and instr.op in _WRITES for instr in lowered.instrs)
    after = next_ones if stored else successors
    queue, met = [0], set[int]()
    while queue:
        index = queue.pop()
        if index in met:
            continue
        met.add(index)
        instr = lowered.instrs[index]
        if instr.arg == name and instr.op in _READS:
            return True
        if instr.arg != name or instr.op not in _WRITES:
            queue += after(lowered, index)
    return False


_READS = frozenset((ops.LOAD_FAST, ops.DELETE_FAST, ops.LOAD_DEREF))
_WRITES = frozenset((ops.STORE_FAST, ops.STORE_DEREF, ops.LOAD_FAST_CLEAR))
