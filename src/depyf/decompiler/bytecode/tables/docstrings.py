"""Decides whether the body of a class or module begins with a docstring or with an assignment to ``__doc__``.

    LOAD_CONST 'text'; STORE_NAME __doc__

Both are these two instructions; but with ``-OO`` the compiler drops docstrings, and keeps assignments.
"""

from __future__ import annotations

from itertools import pairwise

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.tables.columns import Columns

DROPPED = 2
"""The level of optimisation from which on there are no docstrings."""


def begins_with_docstring(lowered: Lowered, whole: CodeUnit) -> bool:
    """As far as the columns of the code tell (3.11+), else as how the code around it, ``whole``, is known to be
    compiled.

    Of a docstring both instructions have the place of the text.
    """
    columns = Columns(lowered.unit, lowered.locations)
    for load, store in pairwise(lowered.instrs):
        if store.op == ops.STORE_NAME and store.arg == "__doc__" and load.op == ops.LOAD_CONST:
            text, target = columns.place(load.offset // 2), columns.place(store.offset // 2)
            if text is not None and target is not None:
                return text == target
            break
    return whole.optimized < DROPPED
