"""Which tensors fix a size that the program marked dynamic: those that came with the same size, and are not marked.

Input: torch's error for a mark that is violated, and the variables of the call that it compiles at this moment.
Output: ``PinnedSize``; None for another error, or where no other tensor of the line has that size.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from depyf.run.advice.source_names import named
from depyf.run.places.place import Place
from depyf.safety.unheard import parse
from depyf.sources.live.pure_access import UnreadableError, attribute
from depyf.sources.live.pure_tensors import tensor
from depyf.sources.reports.failures import pinned_constant
from depyf.sources.reports.wrapped_calls import PinnedSize

_DEPTH = 80
_CONTAINERS = (list, tuple, dict)


def pinned_size(reason: str, place: Place | None) -> PinnedSize | None:
    """The size that torch's error ``reason`` is about.  ``place``: the line that fixed it.  None for another error, or
    where nothing is found."""
    pinned = pinned_constant(reason)
    if pinned is None or place is None:
        return None
    marked, value = named(pinned[0].tensor), pinned[1]
    names = _names(place.text)
    found = [
        (path, index)
        for path, one in _tensors(_variables())
        if path.partition("[")[0] in names and path != marked
        for index in _unmarked(one, value)
    ]
    return PinnedSize(tuple(dict.fromkeys(found)), value) if found else None


def _names(line: str) -> frozenset[str]:
    """The variables in a line of a program, which may be the head of a compound statement."""
    for text in (line, f"{line}\n    pass", f"({line.rstrip(',')})"):
        try:
            return frozenset(node.id for node in ast.walk(parse(text)) if isinstance(node, ast.Name))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return frozenset()


def _variables() -> Mapping[str, Any]:
    """The variables of the call that torch is compiling."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame is None:
            break
        if frame.f_code.co_name == "_compile" and isinstance(found := frame.f_locals.get("locals"), dict):
            return found
        frame = frame.f_back
    return {}


def _tensors(variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The variables, and what is in plain containers among them, by the names that the program has for them."""
    for name, value in dict(variables).items():
        yield name, value
        if type(value) in _CONTAINERS:
            items = dict.items(value) if type(value) is dict else enumerate(value)
            yield from ((f"{name}[{key!r}]", one) for key, one in items if type(key) in (str, int))


def _unmarked(value: Any, size: int) -> list[int]:
    """The dimensions of a tensor that have this size and no mark."""
    try:
        sizes = tensor(value).size
    except UnreadableError:
        return []
    marked = attribute(value, "_dynamo_dynamic_indices", None)
    known = marked if type(marked) is set else set()
    return [n for n, one in enumerate(sizes or ()) if type(one) is int and one == size and n not in known]
