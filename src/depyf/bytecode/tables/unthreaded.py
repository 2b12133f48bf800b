"""Lines of code that the optimiser of 3.8 and 3.9 left alone, where it would have led a jump past a second test.

It does nothing to a code object whose line table holds the byte 255, which one line of more code than that brings
(``PyCode_Optimize`` in Python/peephole.c): such a line written over several has other jumps.
"""

from __future__ import annotations

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.tables.linetables import runs_of

_LONG, _EXTENDED_ARG = 255, 144
_OR_POP = frozenset({111, 112})
"""JUMP_IF_FALSE_OR_POP and JUMP_IF_TRUE_OR_POP; the argument is an offset in both versions."""
_TESTS = _OR_POP | {114, 115}
"""POP_JUMP_IF_FALSE and POP_JUMP_IF_TRUE, too."""


def unthreaded_lines(unit: CodeUnit) -> frozenset[int]:
    """The long lines of ``unit``, if it has a jump to a test of the same value."""
    if unit.version >= (3, 10) or _LONG not in unit.linetable or not _tests_twice(unit.code):
        return frozenset()
    start, found = 0, set()
    for end, line in runs_of(unit):
        if end - start >= _LONG and line is not None:
            found.add(line)
        start = end
    return frozenset(found)


def _tests_twice(code: bytes) -> bool:
    high = 0
    for at in range(0, len(code) - 1, 2):
        arg = high | code[at + 1]
        high = arg << 8 if code[at] == _EXTENDED_ARG else 0
        while arg < len(code) and code[at] in _OR_POP and code[arg] == _EXTENDED_ARG:
            arg += 2
        if code[at] in _OR_POP and arg < len(code) and code[arg] in _TESTS:
            return True
    return False
