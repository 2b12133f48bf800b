"""Which tests belong to an ``assert`` statement: those at or after its beginning, in front of the instruction that
loads its error.

The bytecode of ``if a:`` around ``assert b`` is that of one test of both.  The error has the line of the ``assert``,
from 3.11 on its place in the source.  What is written on one line is not told apart before 3.11.
"""

from __future__ import annotations

from bisect import bisect_left

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program

_ERROR = "AssertionError"
_OPERAND = 2
"""So far before the error lies the last operand of the test, before its branch."""


class Assertions:
    """The ``assert`` statements of one function, by place or line: the error may be loaded in several copies."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._by_name = program.unit.asserts_by_name
        loads = ops.LOAD_GLOBAL if self._by_name else ops.LOAD_COMMON
        self._errors = [at for at, instr in enumerate(program.instrs) if instr.op == loads and instr.arg == _ERROR]

    def around(self, at: int) -> object:
        """The ``assert`` that the instruction ``at`` belongs to, None where it belongs to none."""
        index = bisect_left(self._errors, at)
        if at == NONE or index == len(self._errors):
            return None
        program, error = self._program, self._errors[index]
        whole, place = program.place(error), program.place(at)
        if whole is not None and place is not None:
            operand = program.place(error - _OPERAND)
            # on 3.10 and 3.11 it may have the place of a comparison before, which tells nothing
            known = operand is None or operand != whole and _contains(whole, operand)
            return whole if known and _contains(whole, place) else None
        line, begins = program.line[at], program.line[error]
        if line is None or begins is None or begins == program.line[error - _OPERAND]:
            return None
        # an ``if`` in front of a ``raise AssertionError`` may have its line, not a later one
        return begins if begins < line + (not self._by_name) else None


_Span = tuple[tuple[int, int], tuple[int, int]]


def _contains(outer: _Span, inner: _Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
