"""Rewrites of a syntax tree that keep its meaning: what a decompiler may well write for the same bytecode."""

from __future__ import annotations

import ast
import copy


def rewritten(tree: ast.Module, *which: str) -> ast.Module:
    """``tree`` with the named rewrites (all of them by default) applied everywhere they fit."""
    new = copy.deepcopy(tree)
    for name in which or REWRITES:
        new = REWRITES[name]().visit(new)
    return ast.fix_missing_locations(new)


class InvertIf(ast.NodeTransformer):
    """``if c: A else: B``  ->  ``if not c: B else: A``"""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse or [ast.Pass()], node.body)


class WhileTrue(ast.NodeTransformer):
    """``while c: A``  ->  ``while True: if not c: break; A``"""

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if node.orelse or isinstance(node.test, ast.Constant):
            return node
        leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
        return ast.While(ast.Constant(True), [leave, *node.body], [])


class ElseAfterReturn(ast.NodeTransformer):
    """``if c: ...; return x`` and what follows  ->  ``else:`` around what follows"""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                setattr(node, field, self._nest(body))
        return node

    def _nest(self, body: list[ast.stmt]) -> list[ast.stmt]:
        for i, stmt in enumerate(body[:-1]):
            if isinstance(stmt, ast.If) and not stmt.orelse and isinstance(stmt.body[-1], (ast.Return, ast.Raise)):
                return [*body[:i], ast.If(stmt.test, stmt.body, self._nest(body[i + 1 :]))]
        return body


class DuplicateReturn(ast.NodeTransformer):
    """``if c: A else: B``, ``return x``  ->  ``if c: A; return x else: B; return x``"""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        body = node.body
        if len(body) > 1 and isinstance(body[-1], ast.Return) and isinstance(body[-2], ast.If):
            last, branch = body[-1], body[-2]
            copies = [*branch.body, copy.deepcopy(last)], [*branch.orelse, copy.deepcopy(last)]
            node.body = [*body[:-2], ast.If(branch.test, *copies)]
        return node


class Temporaries(ast.NodeTransformer):
    """``x = E``  ->  ``__temp_1 = E; x = __temp_1; del __temp_1``, likewise for ``return E`` and tests of ``if``."""

    def __init__(self) -> None:
        self.function = 0
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.function += 1
        self.generic_visit(node)
        self.function -= 1
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self.function += 1
        self.generic_visit(node)
        self.function -= 1
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        before, self.function = self.function, 0
        self.generic_visit(node)
        self.function = before
        return node

    def _temp(self) -> str:
        self.count += 1
        return f"__temp_{self.count}"

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if not self.function or not all(isinstance(target, ast.Name) for target in node.targets):
            return node
        name = self._temp()
        return [store(name, node.value), ast.Assign(node.targets, load(name), lineno=node.lineno), drop(name)]

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if node.value is None:
            return node
        name = self._temp()
        return [store(name, node.value), ast.Return(load(name))]

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not self.function or isinstance(node.test, (ast.Constant, ast.BoolOp, ast.NamedExpr)):
            return node
        if isinstance(node.test, (ast.UnaryOp, ast.Compare, ast.IfExp)):
            return node  # ``not`` makes a bool of its own; a chain is tested piece by piece
        name = self._temp()
        arms = [drop(name), *node.body], [drop(name), *node.orelse]
        return [store(name, node.test), ast.If(load(name), *arms)]


class FinallyAsExcept(ast.NodeTransformer):
    """``try: A finally: F``  ->  ``try: A except: F; raise``, ``F``, where ``A`` does not jump out."""

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        jumps = (ast.Return, ast.Break, ast.Continue)
        parts = [*node.body, *node.orelse, *node.finalbody, *[s for h in node.handlers for s in h.body]]
        if not node.finalbody or any(isinstance(n, jumps) for part in parts for n in ast.walk(part)):
            return node
        inner: list[ast.stmt] = node.body
        if node.handlers:
            inner = [ast.Try(node.body, node.handlers, node.orelse, [])]
        handler = ast.ExceptHandler(None, None, [*copy.deepcopy(node.finalbody), ast.Raise()])
        return [ast.Try(inner, [handler], [], []), *node.finalbody]


def store(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=value.lineno)


def load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def drop(name: str) -> ast.stmt:
    return ast.Delete([ast.Name(name, ast.Del())])


REWRITES: dict[str, type[ast.NodeTransformer]] = {
    "temporaries": Temporaries,
    "else after return": ElseAfterReturn,
    "duplicate return": DuplicateReturn,
    "while true": WhileTrue,
    "invert if": InvertIf,
    "finally as except": FinallyAsExcept,
}
