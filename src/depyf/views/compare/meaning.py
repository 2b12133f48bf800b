"""Normalises a dumped text: removes what depends on the installed Python or torch and has no meaning.

Input: a file of a dump.  Output: text that is the same for two files that differ only in comments (places, headers,
line numbers), layout, the bytecode offset in the name of a resume function, the folder torch is installed in, when a
local variable is released, and Python's own bytecode.

    return __resume_at_110_13([], h)  # prog.py:9        ->   return __resume_13([], h)
"""

from __future__ import annotations

import ast
import re

from depyf.run.installed_files import PACKAGES
from depyf.safety.unheard import parse

_RESUME = re.compile(r"\b(__(?:original_)?resume)_at_\d+_(\d+)\b")
"""Dynamo names a resume function after the offset of the instruction it goes on at, and a counter."""
_AFTER = re.compile(r"(?<=` after line )\d+")
"""The rest of a function after a graph break, as the pages call it; the place beside it is the same line, paired."""
_INSTALLED = re.compile(rf"/[^\s'\"]*{PACKAGES}")
_BYTECODE = "\nBytecode:\n"


def meaning(name: str, text: str) -> str:
    """``text`` of the file ``name``, for comparing."""
    if name.startswith("__original_code_"):
        text = text.partition(_BYTECODE)[0]
    elif name.endswith(".py"):
        text = _code(text)
    elif name.endswith(".md"):
        text = _AFTER.sub("N", text)
    return _INSTALLED.sub("<installed>/", _RESUME.sub(r"\1_\2", text))


def _code(text: str) -> str:
    """Python without comments, module docstring and ``del`` of local names; as it is where it cannot be parsed."""
    try:
        tree = parse(text)
        first = tree.body[0] if tree.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            tree.body = tree.body[1:]  # the heading of a full_code page
        return ast.unparse(_Plain().visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class _Plain(ast.NodeTransformer):
    """Without releases of local names; guards one a line, without their places among torch's own."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        last = node.body[-1] if node.body else None
        if node.name.startswith("guards_") and isinstance(last, ast.Return) and isinstance(last.value, ast.BoolOp):
            node.body[-1:] = [ast.Expr(guard) for guard in last.value.values]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        number = isinstance(node.value, ast.Name) and re.fullmatch(r"guard_(?:ca)?\d+_\d+\w*", node.value.id)
        return node.value if number else node

    def visit_Delete(self, node: ast.Delete) -> ast.AST | None:
        kept = [target for target in node.targets if not isinstance(target, ast.Name)]
        return ast.Delete(kept) if kept else None
