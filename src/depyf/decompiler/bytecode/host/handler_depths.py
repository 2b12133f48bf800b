"""Repairs code in which one handler has several stack depths.

Where torch enters a ``with`` again whose body a graph break cut in two, the entries of the exception table that it
makes for entering and those of the body lead to one handler; from Python 3.14 on they differ in the number of values
that are left on the stack: one more for each ``with``, which is not there (torch 2.14 and 2.15).  The stack on entry of
the handler is then undefined.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from depyf.decompiler.bytecode.exception_table import table_entries
from depyf.decompiler.bytecode.host.assemble import table_of


def with_one_depth(code: CodeType) -> CodeType:
    """``code``, where entries of one handler differ with the least of their depths; itself where none do."""
    entries = table_entries(getattr(code, "co_exceptiontable", b""))
    depths: dict[int, int] = {}
    for _, _, target, depth, _ in entries:
        depths[target] = min(depth, depths.get(target, depth))
    if all(depth == depths[target] for _, _, target, depth, _ in entries):
        return code
    table = table_of((start, end, target, depths[target], lasti) for start, end, target, _, lasti in entries)
    changes: dict[str, Any] = {"co_exceptiontable": table}  # 3.8 has none
    return code.replace(**changes)
