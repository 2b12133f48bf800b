"""The attributes assigned on ``self`` that a class records in ``__static_attributes__`` (3.13+).

    LOAD_CONST ("x", "y"); STORE_NAME __static_attributes__

The compiler collects them from the functions in the class, code that is never reached included.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.lower import Lowered

NAME = "__static_attributes__"


def static_attributes(unit: CodeUnit, lower: Callable[[CodeUnit], Lowered]) -> frozenset[str] | None:
    """The attributes that the body of a class lists, by its lowered form; None where there is no list."""
    if not unit.lists_static_attributes or unit.flags & CO_OPTIMIZED or NAME not in unit.names:
        return None
    listed: frozenset[str] | None = None
    for load, store in pairwise(lower(unit).instrs):  # the compiler's own store is the last
        if store.op == ops.STORE_NAME and store.arg == NAME and load.op == ops.LOAD_CONST and type(load.arg) is tuple:
            listed = frozenset(item for item in load.arg if isinstance(item, str))
    return listed
