"""The file and lines of a code object, apart from its instructions: they can be exchanged, the instructions stay.

Input: code objects of the running interpreter.  Output: their ``CodeLines``, or the same code with others.
``borrowed_lines`` are those that code has as the counterpart of another one, from the instructions of which it is known
which they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import Any

from depyf.decompiler.bytecode.host.assemble import NOWHERE, VERSION, disassemble, positions_of
from depyf.decompiler.bytecode.host.patch import relocate
from depyf.decompiler.bytecode.tables.written_lines import Position, line_table


@dataclass(frozen=True, slots=True)
class CodeLines:
    """Where code stands; ``table`` is as the interpreter writes it, relative to ``first``."""

    filename: str
    first: int
    table: bytes
    nested: tuple[tuple[int, CodeLines], ...] = ()
    """Those of the code among the constants, by index; what is not here stays where it is."""


def lines_of(code: CodeType, kept: Iterable[CodeType] = ()) -> CodeLines:
    """Where ``code`` stands, without what is nested in it and among ``kept``."""
    same = frozenset(map(id, kept))
    nested = [
        (index, lines_of(const, kept))
        for index, const in enumerate(code.co_consts)
        if isinstance(const, CodeType) and id(const) not in same
    ]
    return CodeLines(code.co_filename, code.co_firstlineno, code.co_linetable, tuple(nested))


def with_lines(code: CodeType, lines: CodeLines, kept: Iterable[CodeType] = ()) -> CodeType:
    """The same instructions at another place; the code objects of ``kept`` stay what they are."""
    if "__firstlineno__" in code.co_names:  # a class knows its line (3.13+)
        code = relocate(code, lines.filename, lines.first, [c for c in code.co_consts if isinstance(c, CodeType)])
    changes: dict[str, Any] = {
        "co_filename": lines.filename, "co_firstlineno": lines.first, "co_linetable": lines.table,
    }  # fmt: skip
    if lines.nested:
        same = frozenset(map(id, kept))
        consts = list(code.co_consts)
        for index, inner in lines.nested:
            if id(consts[index]) not in same:
                consts[index] = with_lines(consts[index], inner, kept)
        changes["co_consts"] = tuple(consts)
    return code.replace(**changes)


def borrowed_lines(
    code: CodeType,
    original: CodeType,
    offsets: Collection[tuple[int, int]],
    nested: Iterable[tuple[int, CodeLines]] = (),
) -> CodeLines:
    """The lines of ``original`` for ``code``, which does the same.

    ``offsets``: of an instruction of ``code``, and of the one of ``original`` that it is.  All others, which nothing
    observes, stand where the one in front of them does.
    """
    positions = positions_of(original)
    at = {offset: positions[other // 2] for offset, other in offsets}
    found: Position = next((position for position in positions if position[0] is not None), NOWHERE)
    ops = disassemble(code)
    extents: list[tuple[int, Position]] = []
    starts = [*(op.start for op in ops), len(code.co_code)]
    for op, (start, end), (_, after) in zip(ops, pairwise(starts), pairwise([*starts[1:], starts[-1]]), strict=True):
        # PRECALL (3.11) does the whole call in front of CALL, once the interpreter knows what is called
        own = range(end, after, 2) if op.name == "PRECALL" else range(start, end, 2)
        found = next((at[offset] for offset in own if offset in at), found)
        extents.append((end - start, found))
    return CodeLines(
        original.co_filename,
        original.co_firstlineno,
        line_table(VERSION, original.co_firstlineno, extents),
        tuple(nested),
    )


def line_at(code: CodeType, offset: int) -> int:
    """The line of the instruction at ``offset`` (``f_lasti``); the first one of ``code`` where it has none."""
    positions = positions_of(code)
    found = positions[offset // 2][0] if 0 <= offset // 2 < len(positions) else None
    return code.co_firstlineno if found is None else found
