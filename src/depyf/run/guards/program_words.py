"""An expression of a guard as the program would write it.

L['G'].size()[0] <= L['G'].size()[1]   ->   G.size(0) <= G.size(1)
"""

from __future__ import annotations

import ast
import functools

from depyf.run.advice.source_names import named
from depyf.run.guards.guard_kind import spelled, tree_of
from depyf.safety.unheard import parse

_OF_A_TENSOR = ("size", "stride", "storage_offset")


@functools.lru_cache(maxsize=1024)
def in_program(expression: str) -> str:
    """``expression`` with the program's names instead of Dynamo's access paths; unchanged where it is no expression."""
    tree = tree_of(expression)
    return expression if tree is None else ast.unparse(_Spelled().visit(parse(ast.unparse(tree), mode="eval").body))


class _Spelled(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        called = node.value
        if isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute) and not called.args:
            if called.func.attr in _OF_A_TENSOR:
                owner = ast.Attribute(self.visit(called.func.value), called.func.attr, ast.Load())
                return ast.Call(owner, [node.slice], [])
        if isinstance(node.value, ast.Name) and node.value.id in ("L", "G") and isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
            return ast.Name(name, ast.Load()) if name.isidentifier() else node
        self.generic_visit(node)
        return self._short(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return node if node.attr in _OF_A_TENSOR else self._short(node)

    def _short(self, node: ast.expr) -> ast.AST:
        """``self._modules['fc']`` is ``self.fc``."""
        text = spelled(node)
        short = tree_of(named(text))
        return short if short is not None and named(text) != text else node
