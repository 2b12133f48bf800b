"""Evaluates guards without side effects on the program's values.

``L['d'][1]`` is Python for "the item of this dictionary", but a ``defaultdict`` makes one where there is none, and so may
any class that defines ``__missing__`` or ``__getitem__``.  torch's guards look into the dictionary itself.

Input: the syntax tree of guard expressions.  Output: the same tree, on the same lines, where subscripts look and change nothing.
"""

from __future__ import annotations

import ast
import functools
import types
from typing import Any, TypeVar

from depyf.dynamo.pure_access import is_a

ITEM = "__depyf_item"
_Tree = TypeVar("_Tree", bound=ast.AST)
_NOTHING = object()


def item(container: Any, key: Any) -> Any:
    """``container[key]``; of a dictionary only what is in it."""
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
    """``tree``, changed in place."""
    changed: _Tree = _Looking().visit(tree)
    return changed


@functools.lru_cache(maxsize=1024)
def compiled(text: str) -> types.CodeType:
    """The code of one expression, to be evaluated where ``ITEM`` is ``item``."""
    return compile(looking(ast.parse(text.strip(), mode="eval")), "<guard>", "eval")
