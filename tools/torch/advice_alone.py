"""A program of ``tests/torch/advice_programs.py`` as a script of its own, without the advice: what a user has.

Input: the text of that file, and the id of an advice.  Output: a script.  Of the file only what the program reaches is
kept; ``advised`` is False, and what hangs on it is decided.
"""

from __future__ import annotations

import ast
from typing import Any


def program_alone(text: str, advice: str) -> str:
    """KeyError where no program is for ``advice``."""
    module = ast.parse(text)
    known: dict[str, ast.stmt] = {}
    found = None
    for node in module.body:
        for name in _bound(node):
            known[name] = node
        if isinstance(node, ast.FunctionDef) and any(map(_is_for(advice), node.decorator_list)):
            found = node
    if found is None:
        raise KeyError(advice)
    found.decorator_list = []
    found.args.args = []
    folded = _Decided().visit(found)
    ends = next((at for at, one in enumerate(folded.body) if isinstance(one, ast.Return)), len(folded.body))
    folded.body = folded.body[: ends + 1]
    _drop_unused(folded)
    wanted, left = {id(folded)}, [folded]
    while left:
        for name in _names(left.pop()):
            node = known.get(name)
            if node is not None and id(node) not in wanted:
                wanted.add(id(node))
                left.append(node)
    kept = [node for node in module.body if id(node) in wanted or _future(node)]
    return ast.unparse(ast.fix_missing_locations(ast.Module(kept, []))) + f"\n\nRESULT = {found.name}()\n"


def _is_for(advice: str) -> Any:
    def check(node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "needs"
            and isinstance(node.args[0], ast.Constant) and node.args[0].value == advice
        )  # fmt: skip

    return check


def _future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(one.asname or one.name).partition(".")[0] for one in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def _names(node: ast.AST) -> set[str]:
    """The names read below a node, and the texts: a program may set ``globals()["FACTOR"]``."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names | {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def _drop_unused(function: ast.FunctionDef) -> None:
    """Leave out the functions in it that only the advised program calls."""
    while True:
        read = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
        kept = [one for one in function.body if not isinstance(one, ast.FunctionDef) or one.name in read]
        if len(kept) == len(function.body):
            return
        function.body = kept


class _Decided(ast.NodeTransformer):
    """Puts False for ``advised``, and takes the branch that is left."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(False) if node.id == "advised" else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        known = isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant)
        return ast.Constant(not node.operand.value) if known else node  # type: ignore[attr-defined]

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return (node.body if node.test.value else node.orelse) or None
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        keywords = []
        for one in node.keywords:
            if one.arg is None and isinstance(one.value, ast.Dict):
                keywords += [ast.keyword(key.value, value) for key, value in zip(one.value.keys, one.value.values)]  # type: ignore[union-attr]
            else:
                keywords.append(one)
        node.keywords = keywords
        return node
