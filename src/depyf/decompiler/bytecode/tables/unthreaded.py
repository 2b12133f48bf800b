"""Lines of code that the optimiser of 3.8 and 3.9 left alone, where it would have led a jump past a second test.

It does nothing to a code object whose line table holds the byte 255, which one line of more code than that brings
(``PyCode_Optimize`` in Python/peephole.c): such a line written over several has other jumps.
"""

from __future__ import annotations

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.tables.linetables import runs_of
from depyf.decompiler.bytecode.versions import spec_for

_LONG = 255
_EXTENDED_ARG = "EXTENDED_ARG"
_OR_POP = frozenset({"JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"})
"""The argument is an offset in both versions."""
_TESTS = _OR_POP | {"POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE"}


def unthreaded_lines(unit: CodeUnit) -> frozenset[int]:
    """The long lines of ``unit``, if it has a jump to a test of the same value."""
    if unit.version >= (3, 10) or _LONG not in unit.linetable or not _tests_twice(unit):
        return frozenset()
    start, found = 0, set()
    for end, line in runs_of(unit):
        if end - start >= _LONG and line is not None:
            found.add(line)
        start = end
    return frozenset(found)


def _tests_twice(unit: CodeUnit) -> bool:
    code, opnames = unit.code, spec_for(unit.version).opnames
    names = [opnames[number] for number in code[::2]]
    high = 0
    for at, name in enumerate(names):
        arg = high | code[2 * at + 1]
        high = arg << 8 if name == _EXTENDED_ARG else 0
        if name in _OR_POP:
            target = arg // 2
            while target < len(names) and names[target] == _EXTENDED_ARG:
                target += 1
            if target < len(names) and names[target] in _TESTS:
                return True
    return False
