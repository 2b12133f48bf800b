"""Code that has two places: its line in the program, and the line of the dump whose text it is compiled from.

Input: each code object that runs in the place of what Dynamo made, when it is made, with its lines in the dump.
Output: for a running frame the other place.  Nothing is kept alive: a code object that torch lets go of is forgotten.
"""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass

from depyf.decompiler.bytecode.host.code_lines import CodeLines, line_at, with_lines


@dataclass(frozen=True, slots=True)
class _TwoPlaces:
    code: weakref.ref[types.CodeType]
    other: CodeLines
    dumped: bool
    """The code has the lines of the dump, ``other`` are the program's."""
    original: weakref.ref[types.CodeType] | None


_known: dict[int, _TwoPlaces] = {}
"""By the id of the code object: comparing code objects would compare the program's constants."""


def remember(code: types.CodeType, in_dump: CodeLines, original: types.CodeType | None = None) -> None:
    """Remember that ``code`` has the lines of the program, and ``in_dump`` its lines in the dump.  ``original``: the
    program's code that it replaces at first."""
    _remember(code, in_dump, False, original)


def dumped(code: types.CodeType, in_dump: CodeLines) -> types.CodeType:
    """A copy of ``code`` with the lines of the dump; ``code`` must have been passed to ``remember``."""
    found = with_lines(code, in_dump)
    _remember(found, _alike(code, in_dump), True, None)
    return found


def lines_in_dump(code: types.CodeType) -> CodeLines | None:
    """The lines in the dump of ``code``, which has those of the program; None for any other code."""
    known = _of(code)
    return None if known is None or known.dumped else known.other


def place_in_dump(code: types.CodeType, offset: int) -> tuple[str, int] | None:
    """File and line in the dump of the instruction at ``offset`` (``f_lasti``); None for code of the program's own."""
    return _place(code, offset, False)


def place_in_program(code: types.CodeType, offset: int) -> tuple[str, int, int] | None:
    """File, first line and line in the program for code with the lines of the dump; None for any other."""
    found = _place(code, offset, True)
    return None if found is None else (found[0], _known[id(code)].other.first, found[1])


def originals() -> list[types.CodeType]:
    """Each code object, still alive, for which something runs that has another place in a dump."""
    found = {}
    for known in list(_known.values()):
        original = known.original() if known.original is not None else None
        if original is not None:
            found[id(original)] = original
    return list(found.values())


def _of(code: types.CodeType) -> _TwoPlaces | None:
    known = _known.get(id(code))
    return known if known is not None and known.code() is code else None


def _place(code: types.CodeType, offset: int, dumped: bool) -> tuple[str, int] | None:
    known = _of(code)
    if known is None or known.dumped is not dumped:
        return None
    return known.other.filename, line_at(with_lines(code, known.other), offset)


def _alike(code: types.CodeType, shape: CodeLines) -> CodeLines:
    """The lines of ``code`` for the same parts as ``shape`` has."""
    parts = tuple((index, _alike(code.co_consts[index], inner)) for index, inner in shape.nested)
    return CodeLines(code.co_filename, code.co_firstlineno, code.co_linetable, parts)


def _remember(code: types.CodeType, other: CodeLines, dumped: bool, original: types.CodeType | None) -> None:
    key = id(code)

    def forget(gone: object) -> None:
        known = _known.get(key)
        if known is not None and known.code is gone:
            del _known[key]

    behind = None if original is None else weakref.ref(original)
    _known[key] = _TwoPlaces(weakref.ref(code, forget), other, dumped, behind)
    for index, inner in other.nested:
        _remember(code.co_consts[index], inner, dumped, None)
