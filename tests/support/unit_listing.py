"""Code units as text that a person can read: what a test of a pass starts from, on every interpreter.

A listing has one line for each attribute that is not empty, one for each constant, and one for each instruction: the number and the
name of its opcode, and its argument.  Inline caches follow from the version.  Nested code is indented below its constant.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit

_NUMBERS = (
    "firstlineno",
    "argcount",
    "posonlyargcount",
    "kwonlyargcount",
    "nlocals",
    "stacksize",
    "flags",
    "optimized",
)
_TUPLES = ("names", "varnames", "cellvars", "freevars")
_BYTES = ("linetable", "exctable")
_TEXTS = ("name", "qualname")
_INNER = "    "
"""In front of each line of nested code: no line of the code around it begins with as many blanks."""
_INSTRUCTION = re.compile(r" {0,3}(\d+) +(\d+) (\w+) (\d+)")


def _tables(version: tuple[int, int]) -> tuple[dict[int, str], dict[str, int]]:
    """The names of the opcodes, and how many inline caches follow an instruction of a name."""
    found = importlib.import_module("depyf.decompiler.bytecode.versions.data.op{}{}".format(*version))
    return found.OPCODES, getattr(found, "CACHES", {})


def listing(unit: CodeUnit) -> str:
    """The text of ``unit``; ValueError where a constant has no literal, or ``unit_of_listing`` would not give ``unit`` back."""
    text = "\n".join(_lines(unit))
    if not same(unit_of_listing(text, unit.version), unit):
        raise ValueError(f"{unit.name} has no listing")
    return text


def _lines(unit: CodeUnit) -> Iterator[str]:
    for name in _TEXTS:
        yield f"{name} {getattr(unit, name)!r}"
    yield " ".join(f"{name} {value}" for name in _NUMBERS if (value := getattr(unit, name)))
    for name in _TUPLES:
        if getattr(unit, name):
            yield f"{name} {getattr(unit, name)!r}"
    for name in _BYTES:
        if getattr(unit, name):
            yield f"{name} {getattr(unit, name).hex()}"
    for number, const in enumerate(unit.consts):
        if type(const) is CodeUnit:
            yield f"const {number} code"
            yield from (_INNER + line for line in _lines(const))
        else:
            yield f"const {number} {const!r}"
    names, caches = _tables(unit.version)
    at = 0
    while at < len(unit.code):
        name = names[unit.code[at]]
        yield f"{at // 2:4} {unit.code[at]:3} {name} {unit.code[at + 1]}"
        at += 2 + 2 * caches.get(name, 0)


def unit_of_listing(text: str, version: tuple[int, int]) -> CodeUnit:
    """The unit of a listing; ValueError where a line of it says what cannot be."""
    return _read(text.splitlines(), version)


def _read(lines: list[str], version: tuple[int, int]) -> CodeUnit:
    names, caches = _tables(version)
    found: dict[str, Any] = dict.fromkeys(_NUMBERS, 0) | dict.fromkeys(_TUPLES, ()) | dict.fromkeys(_BYTES, b"")
    consts: list[object] = []
    code = bytearray()
    waiting = list(reversed(lines))
    while waiting:
        line = waiting.pop()
        word, _, rest = line.partition(" ")
        if match := _INSTRUCTION.fullmatch(line):
            place, opcode, argument = int(match[1]), int(match[2]), int(match[4])
            if names.get(opcode) != match[3] or place * 2 != len(code):
                raise ValueError(f"instruction {place}: opcode {opcode} is {names.get(opcode)}, at {len(code) // 2}")
            code += bytes((opcode, argument)) + bytes(2 * caches.get(match[3], 0))
        elif word == "const" and rest.endswith(" code"):
            inner = []
            while waiting and waiting[-1].startswith(_INNER):
                inner.append(waiting.pop().removeprefix(_INNER))
            consts.append(_read(inner, version))
        elif word == "const":
            value = rest.partition(" ")[2]
            consts.append(... if value == "Ellipsis" else ast.literal_eval(value))
        elif word in (*_TEXTS, *_TUPLES):
            found[word] = ast.literal_eval(rest)
        elif word in _BYTES:
            found[word] = bytes.fromhex(rest)
        else:
            words = line.split()
            found |= {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
    return CodeUnit(version=version, filename="listing.py", code=bytes(code), consts=tuple(consts), **found)


def same(one: object, other: object) -> bool:
    """Whether two constants, or all that two units hold, are the same; file names are no part of it."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, CodeUnit) or not isinstance(other, CodeUnit):
        return repr(one) == repr(other)
    fields = ("version", "code", *_TEXTS, *_NUMBERS, *_TUPLES, *_BYTES)
    return all(getattr(one, name) == getattr(other, name) for name in fields) and all(
        map(same, one.consts, other.consts)
    )  # fmt: skip
