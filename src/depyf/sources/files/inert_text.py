"""``inert_objects`` as text, as much of it as a limit allows.

Output invariant: printable lines; each object is written out once, and afterwards by its number; what is deeper or
longer than the limits is named, with how much it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from depyf.safety.escape import printable
from depyf.sources.files.inert_objects import Called, External, Members, Named, Pairs, inside

MOST_LINES = 50_000
_DEEPEST = 60
_WIDEST = 2000
_LONGEST = 160
_SHORT = 3
"""How deep ``in_short`` looks."""
Unfold = Callable[[bytes], object]


def in_short(value: object, depth: int = _SHORT) -> str:
    """``value`` on one line, such as ``torch.device('cpu')``."""
    return printable(cut(_short(value, depth)))


def cut(text: str) -> str:
    """``text``, of which what is too long for a line is left out."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} letters)"


def _short(value: object, depth: int) -> str:
    if isinstance(value, str):
        return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}... ({len(value)} letters)"
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"<a number of {value.bit_length()} bits>"
    if isinstance(value, Named):
        return value.name if value.module == "builtins" else value.full
    if isinstance(value, External):
        return f"<external {_short(value.key, depth - 1) if depth else '...'}>"
    if not isinstance(value, (tuple, list, Pairs, Members, Called)):
        return repr(value)
    return _shape(value, depth)


def _shape(value: object, depth: int) -> str:
    """A container or a call, its parts cut at ``depth``."""
    if isinstance(value, Called):
        function = _short(value.function, depth - 1) if depth else "..."
        return f"{function}({_joined(value.arguments, depth) if isinstance(value.arguments, tuple) else '...'})"
    if isinstance(value, tuple):
        return f"({_joined(value, depth)}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{_joined(value, depth)}]"
    if isinstance(value, Members):
        inner = f"{{{_joined(value.members, depth)}}}" if value.members else ""
        return f"frozenset({inner})" if value.frozen else inner or "set()"
    if isinstance(value, Pairs):
        pairs = value.pairs[:8] if depth else []
        shown = [f"{_short(key, depth - 1)}: {_short(item, depth - 1)}" for key, item in pairs]
        return f"{{{', '.join([*shown, *(['...'] if len(value.pairs) > len(pairs) else [])])}}}"
    return "..."


def _joined(items: tuple[object, ...] | list[object], depth: int) -> str:
    shown = [_short(item, depth - 1) for item in items[:8]] if depth else []
    return ", ".join([*shown, *(["..."] if len(items) > len(shown) else [])])


def tree(root: object, unfold: Unfold) -> Iterator[str]:
    """An indented line for each object.  ``unfold``: returns the object pickled in some bytes, or the bytes."""
    numbers: dict[int, int] = {}
    todo: list[tuple[int, object, object]] = [(0, "", root)]
    lines, room = 0, MOST_LINES
    while todo:
        depth, key, value = todo.pop()
        lines += 1
        content = unfold(value) if isinstance(value, bytes) else value
        name = (
            f"{'  ' * depth}{printable(cut(key) if isinstance(key, str) else in_short(key))}{': ' if key != '' else ''}"
        )
        if id(content) in numbers:
            yield f"{name}as in line {numbers[id(content)]}"
            continue
        parts = list(islice(inside(content), min(room, _WIDEST) + 1))
        if not parts:
            yield name + in_short(content)
        elif depth >= _DEEPEST:
            yield f"{name}deeper than is shown"
        else:
            numbers[id(content)] = lines
            packed = f"<{len(value)} bytes> " if isinstance(value, bytes) else ""
            yield name + packed + _head(content)
            if len(parts) > min(room, _WIDEST):
                parts[-1] = "...", "more than is shown"
            room -= min(room, len(parts))
            todo += [(depth + 1, part, item) for part, item in reversed(parts)]


def _head(value: object) -> str:
    if isinstance(value, Called):
        return in_short(value.function)
    if isinstance(value, Members):
        return "frozenset" if value.frozen else "set"
    return {tuple: "tuple", list: "list", Pairs: "dict"}.get(type(value), "external")
