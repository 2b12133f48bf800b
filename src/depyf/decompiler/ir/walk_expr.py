"""Walking and rebuilding expressions, wherever they occur in a statement."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from depyf.decompiler.ir.expr import CellOf, Const, Expr, Func, Name, NestedTemp, Purpose, Temp
from depyf.decompiler.ir.grown import Grown
from depyf.decompiler.ir.markers import CommonConstant, LoopItem
from depyf.decompiler.ir.stmt import Body, ExceptClause, MatchCase, Pattern, Stmt
from depyf.safety.depth import any_depth, note

_NODES = (Expr, Stmt, ExceptClause, MatchCase, Pattern)
LEAVES = frozenset({Const, Name, Temp, NestedTemp, CellOf, LoopItem, CommonConstant})
"""Expressions without a node inside: more than half of all, and no class has another one below it."""
_LEAF, _NODE, _MANY = 0, 1, 2
_fields: dict[type, tuple[str, ...]] = {}
_kinds: dict[type, int] = {}
"""Whether the values of a type are nodes, hold some, or neither."""


_NO_NODES = frozenset({
    "CodeUnit", "CodeUnit | None", "str", "int", "bool", "str | None", "int | None", "bool | None", "tuple[str, ...]",
    "tuple[tuple[str, str | None], ...]",
})  # fmt: skip
"""Annotations of fields that hold no node."""


def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold nodes; a constant holds what the program wrote, never one."""
    found = _fields.get(kind)
    if found is None:
        fields = () if kind is Const else dataclasses.fields(kind)
        found = _fields[kind] = tuple(f.name for f in fields if f.type not in _NO_NODES)
    return found


def _kind(kind: type) -> int:
    found = _NODE if issubclass(kind, _NODES) else _MANY if issubclass(kind, (tuple, list, Grown)) else _LEAF
    if found == _NODE or kind.__module__ == "builtins":  # a class of the program is not kept alive
        _kinds[kind] = found
    return found


def children(node: Any) -> list[Any]:
    """Nodes directly inside a statement or expression, tuples flattened, in evaluation order of the fields."""
    found: list[Any] = []
    names = _fields.get(type(node))
    for name in _names(type(node)) if names is None else names:
        value = getattr(node, name)
        kind = _kinds.get(type(value))
        if kind is None:
            kind = _kind(type(value))
        if kind == _NODE:
            found.append(value)
        elif kind == _MANY:
            _collect(value, found)
    return found


def _collect(values: Iterable[Any], found: list[Any]) -> None:
    for value in values:
        kind = _kinds.get(type(value))
        if kind is None:
            kind = _kind(type(value))
        if kind == _NODE:
            found.append(value)
        elif kind == _MANY:
            _collect(value, found)


def own_children(node: Any) -> list[Any]:
    """``children``, but of a nested function only what is evaluated where it is made."""
    if isinstance(node, Func):
        return [*node.defaults, *(value for _, value in node.kwdefaults), *(value for _, value in node.annotations)]
    return children(node)


def walk_all(nodes: Iterable[Any], inside: Callable[[Any], list[Any]] = children) -> Iterator[Any]:
    """Every node in some, outer before inner, in order; nested function bodies are entered too."""
    stack: list[Any] = list(nodes)
    stack.reverse()
    seen = 0
    try:
        while stack:
            node = stack.pop()
            seen += 1
            yield node
            if type(node) not in LEAVES:
                stack.extend(reversed(inside(node)))
    finally:
        note(seen)


def walk_own(nodes: Iterable[Any]) -> Iterator[Any]:
    """As ``walk_all``, but of a nested function only what is evaluated where it is made."""
    return walk_all(nodes, own_children)


def evaluation_order(nodes: Iterable[Any], inside: Callable[[Any], list[Any]] = children) -> list[Any]:
    """Every node in some, in the order in which they are evaluated: operands before what takes them."""
    found: list[Any] = []
    pending = list(nodes)
    while pending:  # the other way round: outer before inner, last before first
        node = pending.pop()
        found.append(node)
        if type(node) not in LEAVES:
            pending.extend(inside(node))
    found.reverse()
    return found


def map_expressions(node: Any, change: Callable[[Expr], Expr]) -> Any:
    """``node`` with every expression in it replaced, innermost first; parts that do not change are kept as they are."""
    kind = type(node)
    if kind in LEAVES:
        return change(node)
    if isinstance(node, (tuple, Grown)):
        return _mapped(node, change)
    return _changed(node, kind, change) if isinstance(node, _NODES) else node


@any_depth
def _changed(node: Any, kind: type, change: Callable[[Expr], Expr]) -> Any:
    updates: dict[str, Any] = {}
    names = _fields.get(kind)
    for name in _names(kind) if names is None else names:
        value = getattr(node, name)
        sort = _kinds.get(type(value))
        if sort is None:
            sort = _kind(type(value))
        if sort != _LEAF:
            new = map_expressions(value, change)
            if new is not value:
                updates[name] = new
    if updates:
        node = dataclasses.replace(node, **updates)
    return change(node) if isinstance(node, Expr) else node


def _mapped(nodes: Any, change: Callable[[Expr], Expr]) -> Any:
    parts = tuple([map_expressions(node, change) for node in nodes])
    for new, old in zip(parts, nodes, strict=True):
        if new is not old:
            return parts
    return nodes


def names_of_block(node: Any) -> Any:
    """``node`` moved from a function to the module or class body around it: what it read as globals are names there."""
    parts: list[Any] = []
    _collect((node,), parts)
    kept = {id(inner) for part in walk_all(tuple(parts)) if isinstance(part, Func) for inner in walk_all(part.body)}

    def change(value: Expr) -> Expr:
        if isinstance(value, Name) and value.scope == "global" and id(value) not in kept:
            return Name(value.id, "name")
        return value

    return map_expressions(node, change)


def next_number(body: Body, purpose: Purpose) -> int:
    """A number that no temporary of that purpose has in ``body``, nor a higher one."""
    found = (node.number for node in walk_all(body) if isinstance(node, Temp) and node.purpose is purpose)
    return 1 + max(found, default=0)
