"""Reads the guards of this process: with the classes that live here, and the kinds of guards that its torch has.

Input: the text of a ``GuardManagerWrapper`` (also sent as the event ``dynamo_cpp_guards_str``), or one guard of it.
Output: records, expressions (``GuardReader``).
"""

from __future__ import annotations

import functools

from depyf.sources.reports.guards.guard_text import GuardReader


def _class_at(address: int) -> type | None:
    """The live class with this id, found without touching what is not a class."""
    seen: set[int] = set()
    todo: list[type] = [object]
    while todo:
        cls = todo.pop()
        if id(cls) == address:
            return cls
        if id(cls) not in seen:
            seen.add(id(cls))
            todo += type.__subclasses__(cls)
    return None


@functools.cache
def has_guard(kind: str) -> bool:
    """Whether this torch has guards of that name."""
    try:
        from torch._dynamo.guards import GuardBuilder
    except ImportError:
        return True
    return hasattr(GuardBuilder, kind)


READER = GuardReader(has_guard, _class_at)
parse_guards = READER.guards
readable = READER.readable
guard_record = READER.left_out
