"""Repairs code in which one handler has several stack depths.

Where torch enters a ``with`` again whose body a graph break cut in two, the entries of the exception table that it
makes for entering and those of the body lead to one handler; from Python 3.14 on they differ in the number of values
that are left on the stack: one more for each ``with``, which is not there (torch 2.14 and 2.15).  The stack on entry of
the handler is then undefined.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from depyf.decompiler.bytecode.exception_table import table_entries, table_of

_Entry = tuple[int, int, int, int, bool]
"""Of an exception table: start, end, handler, depth, whether the place of the exception is pushed."""


def with_one_depth(code: CodeType) -> CodeType:
    """``code``, where entries of one handler differ with the least of their depths; itself where none do.

    What cleans up after such a handler was made for one of its depths: it differs by as much."""
    entries = table_entries(getattr(code, "co_exceptiontable", b""))
    leading: dict[int, list[_Entry]] = {}
    for entry in entries:
        leading.setdefault(entry[2], []).append(entry)
    least = {target: min(depth for _, _, _, depth, _ in same) for target, same in leading.items()}
    if all(depth == least[target] for _, _, target, depth, _ in entries):
        return code
    extra = {target: _extra(target, leading, least) for target in leading}
    table = table_of(
        (start, end, target, least[target] - extra[target], lasti) for start, end, target, _, lasti in entries
    )
    changes: dict[str, Any] = {"co_exceptiontable": table}  # 3.8 has none
    return code.replace(**changes)


def _extra(cleanup: int, leading: dict[int, list[_Entry]], least: dict[int, int]) -> int:
    """How many values more than the handlers have now are below what ``cleanup`` expects.

    A handler has, above its depth, the place of the exception (if asked for) and the exception that was handled before.
    """
    for start, _, _, depth, _ in leading[cleanup]:
        handler = max((target for target in leading if target <= start and target != cleanup), default=-1)
        for _, _, _, own, lasti in leading.get(handler, ()):
            if own > least[handler] and depth == own + lasti + 1:
                return own - least[handler]
    return 0
