"""A readable listing of the instructions of a live code object, or of some of them.

Input: a code object of the running interpreter.  Output: a line for each instruction in the columns of ``dis`` (line,
``>>`` where something jumps to, offset, name, argument, what the argument means), then the exception table.  The form
is the same on every version (``dis`` writes offsets up to 3.12 and labels since), in a third of the time that ``dis``
takes.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from depyf.decompiler.bytecode.exception_table import entry_at, table_entries
from depyf.decompiler.bytecode.host.assemble import SPEC, VERSION

Meaning = Callable[[int], str]
"""What an argument means; "" where the number says it all."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Which instructions are listed: those that begin at ``offsets``, with their prefixes; ``notes`` take the place of
    others.

    Time grows with what is listed, not with the code.
    """

    offsets: Collection[int]
    notes: Mapping[int, str]
    line: Callable[[int], int | None]
    """The line of the program of the instruction at an offset."""


def listing(code: CodeType, shown: Callable[[Any], str] = repr, part: Listed | None = None) -> str:
    """The text; ``shown`` writes a constant."""
    raw = code.co_code
    meanings = _meanings(code, shown)
    rows, targets = _rows(raw, meanings, _everything(raw) if part is None else _chosen(raw, part.offsets))
    table = _table_of(code, rows, part)
    targets |= {target for _, _, target, _, _ in table}
    if part is None:
        line_at = {offset: line for offset, line in dis.findlinestarts(code) if line is not None}
    else:
        line_at = dict(_line_starts(rows, part.line))
        rows = sorted([*rows, *((offset, -1, 0, note) for offset, note in part.notes.items())])
    width = max(3, len(str(max(line_at.values(), default=0))))
    no_line, opname, takes_argument = " " * width, dis.opname, _TAKES_ARGUMENT
    lines: list[str] = []
    for at, number, argument, note in rows:
        start = no_line
        if at in line_at:
            start = f"{line_at[at]:{width}}"
            if lines:
                lines.append("")
        if number < 0:
            words = note
        else:
            words = (
                f"{opname[number]:20} {argument:5}{note and f' ({note})'}" if takes_argument[number] else opname[number]
            )
        lines.append(f"{start}     {'>>' if at in targets else '  '} {at:4} {words}")
    if table:
        lines.append("ExceptionTable:")
        for begin, end, target, depth, lasti in table:
            lines.append(f"  {begin} to {end - 2} -> {target} [{depth}]{' lasti' if lasti else ''}")
    return "\n".join(lines) + "\n"


Row = tuple[int, int, int, str]
"""Offset, opcode, argument and what that means."""


def _everything(raw: bytes) -> Iterator[int]:
    offset = 0
    while offset < len(raw):
        yield offset
        offset += 2 + SPEC.caches[raw[offset]]


def _chosen(raw: bytes, offsets: Iterable[int]) -> Iterator[int]:
    """The instructions at ``offsets``, and those that they are prefixes of."""
    for offset in sorted(offsets):
        yield offset
        while raw[offset] == SPEC.extended_arg:
            offset += 2
            yield offset


def _rows(raw: bytes, meanings: dict[int, Meaning], offsets: Iterable[int]) -> tuple[list[Row], set[int]]:
    """The instructions at ``offsets``, and where they jump to."""
    rows: list[Row] = []
    targets: set[int] = set()
    extended = 0
    for at in offsets:
        number, argument = raw[at], raw[at + 1] | extended
        end = at + 2 + SPEC.caches[number]
        direction, meaning, note = SPEC.jumps[number], meanings.get(number), ""
        if direction is not None:
            target = end * abs(direction) + argument * SPEC.jump_scale * (direction or 1)
            targets.add(target)
            note = f"to {target}"
        elif meaning is not None:
            note = meaning(argument)
        extended = argument << 8 if number == SPEC.extended_arg else 0
        rows.append((at, number, argument, note))
    return rows, targets


def _table_of(code: CodeType, rows: Iterable[Row], part: Listed | None) -> list[tuple[int, int, int, int, bool]]:
    """The entries of the exception table that protect what is listed."""
    table = getattr(code, "co_exceptiontable", b"")
    if part is None or not table:
        return table_entries(table)
    return sorted({entry for at, *_ in rows if (entry := entry_at(table, at)) is not None})


def _line_starts(rows: Iterable[Row], line: Callable[[int], int | None]) -> Iterator[tuple[int, int]]:
    """Offset and line of each instruction whose line is another than that of the one before it."""
    last: int | None = None
    for at, *_ in rows:
        found = line(at)
        if found is not None and found != last:
            yield at, found
        last = found


_WITH_ARGUMENT = frozenset(getattr(dis, "hasarg", ())) or range(dis.HAVE_ARGUMENT, 256)
_TAKES_ARGUMENT = tuple(number in _WITH_ARGUMENT for number in range(256))
_FLAG_FIRST = VERSION < (3, 13)
_SHIFTED = {
    "LOAD_GLOBAL": (1 if VERSION >= (3, 11) else 0, {1: "NULL"}),
    "LOAD_ATTR": (1 if VERSION >= (3, 12) else 0, {1: "NULL|self"}),
    "LOAD_SUPER_ATTR": (2, {1: "NULL|self"}),
    "IMPORT_NAME": (2 if VERSION >= (3, 15) else 0, {1: "lazy", 2: "eager"}),
}
"""Instructions whose argument has flags below the index: the number of bits, and the meaning of each; the first one set
is shown."""
_COMPARISON_SHIFT = 5 if VERSION >= (3, 13) else 4 if VERSION >= (3, 12) else 0
_COMPARISON_BOOL = 16 if VERSION >= (3, 13) else 0
_CONVERSIONS = ("", "str", "repr", "ascii")
_FUNCTION_PARTS = ("defaults", "kwdefaults", "annotations", "closure", "annotate")


def _table(name: str) -> tuple[Any, ...]:
    """A table that ``dis`` has on some versions."""
    return tuple(getattr(dis, name, ()))


_WORDS: dict[str, tuple[str, ...]] = {
    "CONVERT_VALUE": _CONVERSIONS,
    "BINARY_OP": tuple(symbol for _, symbol in _table("_nb_ops")),
    "CALL_INTRINSIC_1": _table("_intrinsic_1_descs"),
    "CALL_INTRINSIC_2": _table("_intrinsic_2_descs"),
    "LOAD_SPECIAL": _table("_special_method_names"),
    "LOAD_COMMON_CONSTANT": tuple(
        item.__name__ if isinstance(item, type) else repr(item) for item in _table("_common_constants")
    ),
    "IS_OP": ("is", "is not"),
    "CONTAINS_OP": ("in", "not in"),
}
_NUMBERS = {name: number for number, name in enumerate(dis.opname) if not name.startswith("<")}


def _named(of: tuple[str, ...]) -> Meaning:
    return lambda argument: of[argument] if argument < len(of) else ""


def _shifted(of: tuple[str, ...], bits: int, flags: dict[int, str]) -> Meaning:
    def meaning(argument: int) -> str:
        index, flag = argument >> bits, next((word for bit, word in flags.items() if bits and argument & bit), "")
        if not flag or index >= len(of):
            return of[index] if index < len(of) else ""
        return f"{flag} + {of[index]}" if _FLAG_FIRST else f"{of[index]} + {flag}"

    return meaning


def _pair(of: tuple[str, ...]) -> Meaning:
    def meaning(argument: int) -> str:
        pair = argument >> 4, argument & 15
        return ", ".join(of[index] for index in pair) if max(pair) < len(of) else ""

    return meaning


def _parts(argument: int) -> str:
    return ", ".join(part for bit, part in enumerate(_FUNCTION_PARTS) if argument & 1 << bit)


def _comparison(argument: int) -> str:
    operator = dis.cmp_op[argument >> _COMPARISON_SHIFT]
    return f"bool({operator})" if argument & _COMPARISON_BOOL else operator


def _formatting(argument: int) -> str:
    return ", ".join(filter(None, (_CONVERSIONS[argument & 3], "with format" if argument & 4 else "")))


_PAIRS = tuple(number for number in dis.haslocal if dis.opname[number].count("FAST") == 2)
_SAME_EVERYWHERE: dict[int, Meaning] = dict.fromkeys(dis.hascompare, _comparison) | {
    _NUMBERS[name]: meaning
    for name, meaning in (
        *((name, _named(words)) for name, words in _WORDS.items()),
        ("MAKE_FUNCTION", _parts),
        ("SET_FUNCTION_ATTRIBUTE", _parts),
        ("FORMAT_VALUE", _formatting),
    )
    if name in _NUMBERS
}
"""The arguments that mean the same in all code."""


def _meanings(code: CodeType, shown: Callable[[Any], str]) -> dict[int, Meaning]:
    """Opcode -> how its argument is read in ``code``; the index of what ``code`` lacks means nothing."""
    variables, cells = code.co_varnames, code.co_cellvars + code.co_freevars
    if VERSION >= (3, 11):  # one array; a parameter that is a cell has no second slot
        variables = cells = (*variables, *(name for name in cells if name not in variables))
    consts = code.co_consts
    found = dict.fromkeys(dis.hasconst, lambda argument: shown(consts[argument]) if argument < len(consts) else "")
    found |= dict.fromkeys(dis.hasname, _named(code.co_names))
    found |= dict.fromkeys(dis.haslocal, _named(variables))
    found |= dict.fromkeys(_PAIRS, _pair(variables))
    found |= dict.fromkeys(dis.hasfree, _named(cells))
    found |= {_NUMBERS[name]: _shifted(code.co_names, *how) for name, how in _SHIFTED.items() if name in _NUMBERS}
    return found | _SAME_EVERYWHERE
