"""Values that no guard looks at, on the page of a function and in ``index.md``.

Input: the records of a run.  Output: comments, and lines of Markdown; nothing where there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from depyf.decompiler.emit.comments import comments
from depyf.run.causes.folding import counted, folded_ids
from depyf.run.guards.unguarded_value import UnguardedValue
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord
from depyf.safety.escape import one_line
from depyf.views.pages.markdown import code, message
from depyf.views.pages.sections.words import at, link, where

_FEW = 5
"""So many of a function are in the index."""
_MANY = 40
"""So many of an entry are on its page."""


def unguarded_comments(entry: EntryRecord) -> list[str]:
    """The comments below the guards of an entry on values without a guard; [] for none."""
    if not entry.unguarded:
        return []
    lines = ["No guard looks at these: they may change, and this entry runs all the same."]
    lines += [f"  {one_line(str(value))}" for value in entry.unguarded[:_MANY]]
    more = len(entry.unguarded) - _MANY
    return [comments([*lines, *([f"  and {counted(more, 'more', 'more')}"] if more > 0 else [])])]


def without_guard_lines(pages: Mapping[str, tuple[FunctionRecord, ...]]) -> list[str]:
    """The section of ``index.md`` on values without a guard that the program may change; no constants of libraries, no
    hooks."""
    lines = []
    for name, functions in pages.items():
        for function in functions:
            found: dict[UnguardedValue, list[CompileKey]] = {}
            for entry, value in _likely(function):
                found.setdefault(value, []).append(entry.key)
            if found:
                what = f"{counted(len(found), 'value')} without a guard"
                lines.append(f"- {where(function.code)}: {what}; {link(name, name)}")
            for value, keys in list(found.items())[:_FEW]:
                said = f"{code(value.name)} at {at(value.place)}: {message(value.why)}"
                lines.append(f"  - {said} ({folded_ids(keys)})")
            more = len(found) - _FEW
            lines += [f"  - {counted(more, 'more', 'more')}; the page has them"] if more > 0 else []
    return lines


def count_without_guard(pages: Mapping[str, tuple[FunctionRecord, ...]]) -> int:
    """The number of functions with such a value."""
    return sum(any(True for _ in _likely(function)) for functions in pages.values() for function in functions)


def _likely(function: FunctionRecord) -> Iterator[tuple[EntryRecord, UnguardedValue]]:
    return ((entry, value) for entry in function.entries for value in entry.unguarded if value.likely)
