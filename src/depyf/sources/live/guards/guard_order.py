"""Which guards of an entry may still be asked once another one has failed.

torch stops at the first guard that fails: the guards on what a value holds run only where those on the value itself
hold. Whoever asks all of them would run what torch never does, such as a property of an object of another class.  So
from a failing guard on, the values below it are looked at purely, or not at all.

Input: readable guard expressions in torch's order, and the names they use.  Output: whether each may be asked.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from depyf.run.guards.guard_kind import called
from depyf.run.guards.known_kinds import BY_CLASS, READS_SIZES
from depyf.safety.unheard import parse
from depyf.sources.live.pure_access import (
    SCALARS,
    UnreadableError,
    attribute,
    class_module,
    item,
    own_attributes,
    short_name,
)
from depyf.sources.live.pure_tensors import is_tensor, tells_sizes, tensor

_CONTAINERS = (list, tuple, dict, set, frozenset, range, slice)
_OF_TENSORS = ("size", "stride", "storage_offset")
_NOTHING = object()


class GuardOrder:
    """The order-dependent part of evaluating guards: what may be read after some guards have failed."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._failed: set[str] = set()

    def failed(self, expression: str) -> None:
        """Note that the guard ``expression`` failed."""
        self._failed.update(paths[0] for paths in _paths(expression) if paths)

    def follows(self, expression: str) -> str:
        """The value of an earlier failed guard that this guard reads, or a part of which it reads; "" for none."""
        if not self._failed:
            return ""
        found = [text for paths in _paths(expression) for text in paths if text in self._failed]
        return min(found, key=len, default="")

    def may_ask(self, expression: str) -> bool:
        """Whether evaluating this guard runs no code that torch would not run."""
        tree = _tree(expression)
        below = [source for source in sources(tree) if any(text in self._failed for text in _prefixes(source))]
        try:
            return all(_harmless(tree, self._value(source)) for source in below)
        except (UnreadableError, ValueError, RecursionError):
            return False

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(name) if name in ("L", "G"):
                return self._names[name]
            case ast.Subscript(ast.Name(name), index) if name in ("L", "G"):
                try:
                    return self._names[name][ast.literal_eval(index)]
                except KeyError:
                    raise UnreadableError from None
            case ast.Subscript(value, index):
                return item(self._value(value), ast.literal_eval(index))
            case ast.Attribute(value, "__dict__"):
                return own_attributes(self._value(value))
            case ast.Attribute(value, name):
                found = attribute(self._value(value), name, _NOTHING)
                if found is not _NOTHING:
                    return found
        raise UnreadableError


def sources(tree: ast.expr) -> list[ast.expr]:
    """The values that an expression looks at, up to the first call: ``L['x']`` of ``L['x'].size()[0] == 3``."""
    return list(_sources(tree))


def _sources(node: ast.AST) -> Iterator[ast.expr]:
    found = _path(node)
    if found is not None:
        yield found
        return
    for child in ast.iter_child_nodes(node):
        yield from _sources(child)


def _path(node: ast.AST) -> ast.expr | None:
    """The access path that ``node`` is, cut before its first call; None for what is none."""
    links: list[ast.expr] = []
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                return None
            links.clear()
            node = node.func.value
        else:
            links.append(node)
            node = node.value
    if not isinstance(node, ast.Name) or node.id not in ("L", "G"):
        return None
    return links[0] if links else node


def _prefixes(source: ast.expr) -> Iterator[str]:
    node: ast.expr = source
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        yield ast.unparse(node)
        node = node.value


@functools.lru_cache(maxsize=1024)
def _paths(expression: str) -> tuple[tuple[str, ...], ...]:
    """Each value that an expression looks at, and those through which it is reached: ``L['x'].y``, ``L['x']``."""
    return tuple(tuple(_prefixes(source)) for source in sources(_tree(expression)))


def _harmless(tree: ast.expr, value: Any) -> bool:
    """Whether a check may look at ``value``, of which torch's own check may not have made sure what it is."""
    check = called(tree)
    if check in BY_CLASS:
        return not is_tensor(value) or check not in READS_SIZES or not has_symbols(value)
    if isinstance(tree, ast.Compare) and all(isinstance(sign, (ast.Is, ast.IsNot)) for sign in tree.ops):
        return True
    if is_tensor(value):
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        asked = {func.attr for func in calls if isinstance(func, ast.Attribute)}
        return asked <= {*_OF_TENSORS} and bool(asked) and tells_sizes(type(value)) and not has_symbols(value)
    kind = type(value)
    return kind in SCALARS or kind in _CONTAINERS or (class_module(kind), short_name(kind)) in _OF_TORCH


_OF_TORCH = {("torch", "dtype"), ("torch", "device"), ("torch", "Size")}


def has_symbols(value: Any) -> bool:
    """A tensor whose sizes are symbols of a trace: comparing them would add guards to it."""
    return tensor(value).symbolic


def _tree(expression: str) -> ast.expr:
    return parse(expression.strip(), mode="eval").body
