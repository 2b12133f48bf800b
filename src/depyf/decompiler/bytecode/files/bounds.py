"""Bounds the text and the work that a small file can expand to, before either is produced.

Input: the module read from a ``.pyc``, and the size of that.  A code object may stand in the constants of many others,
a name or constant may be used by many instructions; in source text each is written out.  What would come to more than a
file of this size can have from a compiler is a ``BytecodeError``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_units
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.versions import spec_for
from depyf.errors import BytecodeError
from depyf.safety.depth import any_depth

TEXT_ROOM, TEXT_FACTOR = 1 << 19, 20
"""Maximum characters of names and constants in the text: a constant, plus a number per byte of the file."""
CODE_ROOM, CODE_FACTOR = 1 << 16, 4
"""Bytes of code, functions that are written twice counted twice; each function counts ``FUNCTION`` more.  No file of
the standard library, of any version, comes to more than 1.1 for each byte, nor to more than 1.6 letters."""
FUNCTION = 100


class Size(NamedTuple):
    """What a code object expands to, with the code nested in it."""

    code: int
    text: int
    lines: int
    """Line breaks in constants: text that is indented grows with each of them."""


def check(unit: CodeUnit, size: int) -> None:
    """BytecodeError where ``unit`` from a file of ``size`` bytes expands too far."""
    found = _Sizes().of(unit)
    if found.code > CODE_ROOM + CODE_FACTOR * size:
        raise BytecodeError(
            f"{unit.qualname}: its nested functions, written out, expand too far: {found.code} bytes of code, from a"
            f" file of {size}"
        )
    if found.text > TEXT_ROOM + TEXT_FACTOR * size:
        raise BytecodeError(
            f"{unit.qualname}: names and constants, written where they are used, expand too far: {found.text} letters,"
            f" from a file of {size} bytes"
        )


class _Sizes:
    """Measures each code object and constant once, however often it is used."""

    def __init__(self) -> None:
        self.units: dict[int, Size] = {}
        self.values: dict[int, int] = {}

    def of(self, outermost: CodeUnit) -> Size:
        todo = [outermost]
        while todo:
            unit = todo[-1]
            inner = [nested for nested in nested_units(unit) if id(nested) not in self.units]
            if inner:
                todo += inner
            else:
                todo.pop()
                if id(unit) not in self.units:
                    self.units[id(unit)] = self.size(unit)
        return self.units[id(outermost)]

    def size(self, unit: CodeUnit) -> Size:
        code, lines = FUNCTION + len(unit.code), 0
        text = len(unit.name) + len(unit.qualname) + sum(map(len, unit.params))
        uses = _uses(unit)
        for index, const in enumerate(unit.consts):
            count = uses.get(("const", index), 1)
            if isinstance(const, CodeUnit):
                inner = self.units[id(const)]
                code += count * inner.code
                lines += count * inner.lines
                text += count * (inner.text + 4 * inner.lines)
            else:
                text += count * self.letters(const)
                lines += count * const.count("\n") if type(const) is str else 0
        for (kind, index), count in uses.items():
            names = unit.names if kind == "name" else unit.varnames + unit.cellvars + unit.freevars
            if kind != "const" and index < len(names):
                text += count * len(names[index])
        return Size(code, text, lines)

    @any_depth
    def letters(self, value: Any) -> int:
        """The approximate length of the literal."""
        if isinstance(value, (str, bytes)):
            return len(value) + 2
        if isinstance(value, (tuple, frozenset)):
            known = self.values.get(id(value))
            if known is None:
                known = self.values[id(value)] = 2 + sum(2 + self.letters(item) for item in value)
            return known
        return 2 + value.bit_length() // 3 if type(value) is int else 8


def _uses(unit: CodeUnit) -> dict[tuple[str, int], int]:
    """How often each constant and name is the argument of an instruction; empty for bytes that cannot be decoded."""
    found: dict[tuple[str, int], int] = {}
    try:
        raw = decode(unit, spec_for(unit.version))
    except BytecodeError:
        return found
    for name, arg in zip(raw.names, raw.args):
        for key in _arguments(name, arg, unit.version):
            found[key] = found.get(key, 0) + 1
    return found


def _arguments(name: str, arg: int, version: tuple[int, int]) -> tuple[tuple[str, int], ...]:
    """What an argument means; for an instruction with several meanings, all of them."""
    if "CONST" in name and "KEY_MAP" not in name and "COMMON" not in name or name == "KW_NAMES":
        return (("const", arg), ("local", arg >> 4)) if "FAST" in name else (("const", arg),)
    if "FAST" in name or "DEREF" in name or "CLOSURE" in name:
        return (("local", arg >> 4), ("local", arg & 15)) if name.count("FAST") > 1 else (("local", arg),)
    if name in ("LOAD_GLOBAL", "LOAD_ATTR"):
        return (("name", arg >> (version >= ((3, 12) if name == "LOAD_ATTR" else (3, 11)))),)
    if "SUPER" in name:
        return (("name", arg >> 2),)
    if any(part in name for part in ("NAME", "GLOBAL", "ATTR", "METHOD", "IMPORT")):
        return (("name", arg),)
    return ()
