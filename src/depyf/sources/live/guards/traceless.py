"""Evaluates guards without side effects on the program's values.

``L['d'][1]`` is Python for "the item of this dictionary", but a ``defaultdict`` makes one where there is none, and so
may any class that defines ``__missing__`` or ``__getitem__``.  torch's guards look into the dictionary itself.

Input: the syntax tree of guard expressions.  Output: the same tree, on the same lines, where subscripts look and change
nothing; or, of one expression, its value.
"""

from __future__ import annotations

import ast
import builtins
import functools
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from depyf.safety.unheard import parse
from depyf.sources.live.pure_access import is_a

ITEM = "__depyf_item"
_Tree = TypeVar("_Tree", bound=ast.AST)
_NOTHING = object()


def item(container: Any, key: Any) -> Any:
    """``container[key]``; for a dict without calling ``__missing__``.  KeyError for a missing key."""
    if not is_a(container, dict):
        return container[key]
    found = dict.get(container, key, _NOTHING)
    if found is _NOTHING:
        raise KeyError(key)
    return found


class _Looking(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        frame = isinstance(node.value, ast.Name) and node.value.id in ("L", "G")
        if frame or isinstance(node.slice, ast.Slice) or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(_at(node, ast.Name(ITEM, ast.Load())), [node.value, node.slice], []), node)


def _at(node: ast.AST, made: ast.expr) -> ast.expr:
    return ast.copy_location(made, node)


def looking(tree: _Tree) -> _Tree:
    """Replace the subscripts in ``tree`` by calls of ``item``, in place; returns the tree."""
    changed: _Tree = _Looking().visit(tree)
    return changed


@functools.lru_cache(maxsize=1024)
def compiled(text: str) -> types.CodeType:
    """The code of one expression, to be evaluated where ``ITEM`` is ``item``."""
    return compile(looking(parse(text.strip(), mode="eval")), "<guard>", "eval")


def value_of(tree: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of one expression, as ``eval`` gives it; raises what that raises.

    Most guards are an access path or a call with some.  These are followed here: to compile a tree takes twenty times
    as long.
    """
    try:
        return _followed(tree, names)
    except _NotFollowedError:
        return eval(compiled(ast.unparse(tree)), {ITEM: item, **names})


class _NotFollowedError(Exception):
    """An expression of another kind."""


def _followed(tree: ast.expr, names: Mapping[str, Any]) -> Any:
    steps: list[ast.Attribute | ast.Subscript] = []
    while type(tree) is ast.Attribute or type(tree) is ast.Subscript:
        steps.append(tree)
        tree = tree.value
    value = _start(tree, names)
    whole = type(tree) is ast.Name and tree.id in ("L", "G")
    for step in reversed(steps):
        if type(step) is ast.Attribute:
            value = getattr(value, step.attr)
        elif type(step) is ast.Subscript:
            key = _followed(step.slice, names)
            value = value[key] if whole else item(value, key)
        whole = False
    return value


def _start(tree: ast.expr, names: Mapping[str, Any]) -> Any:
    if type(tree) is ast.Constant:
        return tree.value
    if type(tree) is ast.Name:
        found = names.get(tree.id, _NOTHING)
        return found if found is not _NOTHING else _builtin(tree.id)
    if type(tree) is ast.Call and all(keyword.arg is not None for keyword in tree.keywords):
        function = _followed(tree.func, names)
        arguments = [_followed(argument, names) for argument in tree.args]
        return function(*arguments, **{keyword.arg or "": _followed(keyword.value, names) for keyword in tree.keywords})
    if (
        type(tree) is ast.Compare
        and len(tree.ops) == 1
        and (compare := _COMPARISONS.get(type(tree.ops[0]))) is not None
    ):
        return compare(_followed(tree.left, names), _followed(tree.comparators[0], names))
    if type(tree) is ast.UnaryOp and type(tree.op) is ast.Not:
        return not _followed(tree.operand, names)
    if type(tree) is ast.Tuple or type(tree) is ast.List:
        items = [_followed(part, names) for part in tree.elts]
        return tuple(items) if type(tree) is ast.Tuple else items
    raise _NotFollowedError


def _builtin(name: str) -> Any:
    try:
        return vars(builtins)[name]
    except KeyError:
        raise NameError(f"name {name!r} is not defined") from None


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
}  # fmt: skip
