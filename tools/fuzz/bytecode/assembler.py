"""A tiny assembler for the running interpreter's own bytecode (3.11 to 3.14), for tests and the fuzzer.

In: a list of ``Op`` and ``Label``; jumps name a label, and every instruction names the handler that protects it.
Out: a code object with inline caches, EXTENDED_ARG prefixes and an exception table.  Line numbers are left out.
"""

from __future__ import annotations

import opcode
import sys
import types
from dataclasses import dataclass

VERSION = sys.version_info[:2]
SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14))
_INVERSE = {"TRUE": "FALSE", "FALSE": "TRUE", "NONE": "NOT_NONE", "NOT_NONE": "NONE"}


@dataclass(eq=False)
class Label:
    """A place in the code."""

    name: str = ""


@dataclass(frozen=True, eq=False)
class Protection:
    """One exception table entry: where to go, at which stack depth, and whether to push the offset first."""

    target: Label
    depth: int
    lasti: bool


@dataclass(frozen=True, eq=False)
class Op:
    """An instruction; ``JUMP`` and ``JUMP_IF_TRUE``, ``_FALSE``, ``_NONE``, ``_NOT_NONE`` take the form their target needs."""

    name: str
    arg: int | Label = 0
    handler: Protection | None = None


Item = Op | Label


def caches(name: str) -> int:
    """How many inline cache units follow an instruction."""
    table = getattr(opcode, "_inline_cache_entries", {})
    if isinstance(table, dict):
        return int(table.get(name, 0))
    return int(table[opcode.opmap[name]])


_COMPARE_MASKS = (2, 10, 8, 7, 4, 12)
"""Which outcomes make ``<  <=  ==  !=  >  >=`` true, as the operand says since 3.12."""


def _compare(kind: int) -> int:
    if VERSION < (3, 12):
        return kind
    return kind << (4 if VERSION == (3, 12) else 5) | _COMPARE_MASKS[kind]


def generator_start() -> list[Item]:
    """What the code of a generator begins with."""
    return [Op("RETURN_GENERATOR"), Op("POP_TOP")]


def spelled(name: str, arg: int) -> list[tuple[str, int]]:
    """Operations that versions spell differently; any other is itself.

    ``PUSH_CALLABLE`` takes a local and ``INVOKE`` the number of arguments; ``GIVE`` calls the local 0 with what is on top.
    """
    late = VERSION >= (3, 13)
    match name:
        case "PUSH_CALLABLE":
            load = ("LOAD_FAST", arg)
            return [load, ("PUSH_NULL", 0)] if late else [("PUSH_NULL", 0), load]
        case "INVOKE":
            return [("PRECALL", arg)] * (VERSION == (3, 11)) + [("CALL", arg)]
        case "GIVE":
            return [*spelled("PUSH_CALLABLE", 0), ("SWAP", 2), ("SWAP", 3), *spelled("INVOKE", 1)]
        case "SUBSCRIPT":
            return [("BINARY_OP", 26)] if VERSION >= (3, 14) else [("BINARY_SUBSCR", 0)]
        case "SPREAD_CALL":
            return [("PUSH_NULL", 0)] * (VERSION >= (3, 14)) + [("CALL_FUNCTION_EX", 0)]
        case "NEGATE":
            return [("TO_BOOL", 0)] * late + [("UNARY_NOT", 0)]
        case "COMPARE":
            return [("COMPARE_OP", _compare(arg))]
        case "LOOP_END":
            pop = "POP_ITER" if VERSION >= (3, 14) else "POP_TOP"
            return [("END_FOR", 0)] * (VERSION >= (3, 12)) + [(pop, 0)] * late
        case "YIELD":
            # 3.12 has the depth of the exception stack there (1 would say that closing runs nothing)
            return [("YIELD_VALUE", 2 if VERSION == (3, 12) else 0), ("RESUME", 1)]
    return [(name, arg)]


def _spell(items: list[Item]) -> list[Item]:
    out: list[Item] = []
    for item in items:
        if isinstance(item, Label) or isinstance(item.arg, Label):
            out.append(item)
        else:
            out += [Op(name, arg, item.handler) for name, arg in spelled(item.name, item.arg)]
    return out


def _lower_conditions(items: list[Item]) -> list[Item]:
    """From 3.12 conditional jumps only go forward: a backward one jumps over an unconditional one."""
    out: list[Item] = []
    seen: set[Label] = set()
    for item in items:
        if isinstance(item, Label):
            seen.add(item)
        elif item.name.startswith("JUMP_IF_") and not item.name.endswith("_OR_POP"):
            kind = item.name.removeprefix("JUMP_IF_")
            assert isinstance(item.arg, Label)
            backward = item.arg in seen
            if VERSION == (3, 11):
                direction = "BACKWARD" if backward else "FORWARD"
                out.append(Op(f"POP_JUMP_{direction}_IF_{kind}", item.arg, item.handler))
                continue
            if VERSION >= (3, 13) and kind in ("TRUE", "FALSE"):
                out.append(Op("TO_BOOL", 0, item.handler))
            if backward:
                skip = Label()
                out.append(Op(f"POP_JUMP_IF_{_INVERSE[kind]}", skip, item.handler))
                out += [Op("JUMP_BACKWARD", item.arg, item.handler), skip]
            else:
                out.append(Op(f"POP_JUMP_IF_{kind}", item.arg, item.handler))
            continue
        elif item.name == "JUMP":
            item = Op("JUMP_BACKWARD" if item.arg in seen else "JUMP_FORWARD", item.arg, item.handler)
        out.append(item)
    return out


_ENTERS_FRAMES = (
    "CALL",
    "CALL_KW",
    "CALL_FUNCTION_EX",
    "FOR_ITER",
    "SEND",
    "LOAD_ATTR",
    "BINARY_SUBSCR",
    "BINARY_OP",
    "COMPARE_OP",
)


def _protect_calls(items: list[Item]) -> list[Item]:
    """From 3.13 what a Python function raises goes where the instruction before its call sends it: that is a ``NOP`` then."""
    if VERSION < (3, 13):
        return items
    out: list[Item] = []
    before: Protection | None = None
    for item in items:
        if isinstance(item, Op):
            if item.handler is not before and item.name in _ENTERS_FRAMES:
                out.append(Op("NOP", 0, item.handler))
            before = item.handler
        out.append(item)
    return out


def _layout(items: list[Item]) -> tuple[dict[Label, int], list[tuple[Op, int, int, int]]]:
    """Offsets in code units; each instruction with its start, its argument and its number of EXTENDED_ARG."""
    prefixes: dict[int, int] = {}
    while True:
        labels: dict[Label, int] = {}
        starts: list[int] = []
        offset = 0
        for index, item in enumerate(items):
            starts.append(offset)
            if isinstance(item, Label):
                labels[item] = offset
            else:
                offset += prefixes.get(index, 0) + 1 + caches(item.name)
        changed = False
        placed: list[tuple[Op, int, int, int]] = []
        for index, item in enumerate(items):
            if isinstance(item, Label):
                continue
            argument = item.arg
            if isinstance(argument, Label):
                end = starts[index] + prefixes.get(index, 0) + 1 + caches(item.name)
                argument = abs(labels[argument] - end)
            needed = 0 if argument < 256 else 1 if argument < 65536 else 2
            if needed > prefixes.get(index, 0):
                prefixes[index] = needed
                changed = True
            placed.append((item, starts[index], argument, prefixes.get(index, 0)))
        if not changed:
            return labels, placed


def _varint(value: int, first: int = 0) -> bytes:
    """The exception table's numbers: six bits a byte, most significant first, bit 6 = more; bit 7 starts an entry."""
    digits = [value & 63]
    while value >= 64:
        value >>= 6
        digits.append(value & 63)
    digits.reverse()
    out = [digit | (0x40 if i < len(digits) - 1 else 0) for i, digit in enumerate(digits)]
    out[0] |= first
    return bytes(out)


def exception_table(ranges: list[tuple[int, int, Protection]], labels: dict[Label, int]) -> bytes:
    out = b""
    for start, end, protection in ranges:
        out += _varint(start, 0x80) + _varint(end - start) + _varint(labels[protection.target])
        out += _varint(protection.depth << 1 | protection.lasti)
    return out


def assemble(items: list[Item], template: types.CodeType, consts: tuple[object, ...], stacksize: int) -> types.CodeType:
    """A code object with the names, variables and flags of ``template``."""
    labels, placed = _layout(_protect_calls(_lower_conditions(_spell(items))))
    code = bytearray()
    ranges: list[tuple[int, int, Protection]] = []
    for op, start, argument, prefixes in placed:
        assert len(code) == 2 * start
        for shift in range(prefixes, 0, -1):
            code += bytes([opcode.EXTENDED_ARG, argument >> 8 * shift & 255])
        code += bytes([opcode.opmap[op.name], argument & 255])
        code += bytes(2 * caches(op.name))
        end = len(code) // 2
        if op.handler is not None:
            if ranges and ranges[-1][2] is op.handler and ranges[-1][1] == start:
                ranges[-1] = (ranges[-1][0], end, op.handler)
            else:
                ranges.append((start, end, op.handler))
    units = len(code) // 2
    no_lines = b"".join(bytes([0x80 | 15 << 3 | min(8, units - at) - 1]) for at in range(0, units, 8))
    return template.replace(
        co_code=bytes(code),
        co_consts=consts,
        co_stacksize=stacksize,
        co_exceptiontable=exception_table(ranges, labels),
        co_linetable=no_lines,
    )
