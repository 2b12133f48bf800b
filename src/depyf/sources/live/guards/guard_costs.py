"""What the guards of each line take of a check of all guards of an entry, measured while torch reports them.

Input: the root of the guard manager that torch has just built, the guards that it reports, and the variables of the
call.  Output: seconds for each line.  torch can copy a part of the tree (``RootGuardManager.clone_manager``): for each
line a tree is checked that has its guards and the way to them, and one that has none.  The difference is what is told.
Guards that two lines share the way to are not told apart, so all lines together may come to more than the whole.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from depyf.run.bill.guard_time import GuardTime
from depyf.run.records import GuardRecord
from depyf.sources.live.guards.guard_tree import GuardNode, root_node

_MOST = 6
"""Lines, those with most guards first."""
_LONGEST = 1.0
"""Seconds, after which no further line is measured."""


def guard_costs(root: Any, guards: Sequence[GuardRecord], check: Callable[[Any], float]) -> tuple[GuardTime, ...]:
    """The times of the lines; () where this torch cannot copy a part of a tree.  ``check``: the seconds of one check of
    all guards of a root."""
    if not hasattr(root, "clone_manager"):
        return ()
    end = time.monotonic() + _LONGEST
    guards = [guard for guard in guards if guard.place is not None]
    counts = Counter(map(_line, guards))
    sources: dict[tuple[str, int], set[str]] = {}
    for guard in guards:
        sources.setdefault(_line(guard), set()).add(guard.source)
    top = root_node(root)
    nothing = check(_part(top, set()))
    found = []
    for file, line in sorted(counts, key=lambda line: (-counts[line], line))[:_MOST]:
        if time.monotonic() < end:
            seconds = check(_part(top, sources[file, line])) - nothing
            found.append(GuardTime(file, line, max(seconds, 0.0)))
    return tuple(found)


def _line(guard: GuardRecord) -> tuple[str, int]:
    return (guard.place.filename, guard.place.line) if guard.place is not None else ("", 0)


def _part(top: GuardNode, sources: set[str]) -> Any:
    """A copy of the tree with the managers of ``sources`` and those above them."""
    managers = [node.manager for node in _kept(top, sources)] or [top.manager]
    kept = {id(manager) for manager in managers}  # they live, so no other object has one of these ids
    return top.manager.clone_manager(lambda manager: id(manager) in kept)


def _kept(node: GuardNode, sources: set[str]) -> Iterator[GuardNode]:
    below = [kept for child in node.children() for kept in _kept(child, sources)]
    if below or (node.source in sources and not node.is_root):
        yield node
        yield from below
