"""Walking and rebuilding expressions, wherever they occur in a statement."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from depyf.tree.expr import Expr, Func, Name
from depyf.tree.nodes import Body, ExceptClause, MatchCase, Pattern, Stmt

_NODES = (Expr, Stmt, ExceptClause, MatchCase, Pattern)
_fields: dict[type, tuple[str, ...]] = {}


def _names(kind: Any) -> tuple[str, ...]:
    found = _fields.get(kind)
    if found is None:
        found = _fields[kind] = tuple(f.name for f in dataclasses.fields(kind) if f.name not in ("unit", "line"))
    return found


def children(node: Any) -> Iterator[Any]:
    """Nodes directly inside a statement or expression, tuples flattened, in evaluation order of the fields."""
    for name in _names(type(node)):
        value = getattr(node, name)
        if isinstance(value, _NODES):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _inside(value)


def _inside(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, _NODES):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _inside(value)


def walk_all(body: Body) -> Iterator[Any]:
    """Every node in ``body``; nested function bodies are entered too."""
    stack: list[Any] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(list(children(node))))


def map_expressions(node: Any, change: Callable[[Expr], Expr]) -> Any:
    """``node`` with every expression in it replaced, innermost first; parts that do not change are kept as they are."""
    if isinstance(node, tuple):
        parts = tuple(map_expressions(part, change) for part in node)
        return node if all(a is b for a, b in zip(parts, node, strict=True)) else parts
    if not isinstance(node, _NODES):
        return node
    updates: dict[str, Any] = {}
    for name in _names(type(node)):
        value = getattr(node, name)
        if isinstance(value, (_NODES, tuple)):
            new = map_expressions(value, change)
            if new is not value:
                updates[name] = new
    if updates:
        node = dataclasses.replace(node, **updates)  # type: ignore[type-var]
    return change(node) if isinstance(node, Expr) else node


def names_of_block(node: Any) -> Any:
    """``node`` moved from a function to the module or class body around it: what it read as globals are names there."""
    kept = {
        id(inner)
        for part in walk_all(tuple(_inside((node,))))
        if isinstance(part, Func)
        for inner in walk_all(part.body)
    }

    def change(value: Expr) -> Expr:
        if isinstance(value, Name) and value.scope == "global" and id(value) not in kept:
            return Name(value.id, "name")
        return value

    return map_expressions(node, change)
