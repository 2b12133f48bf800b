"""Normalises a dumped text: removes what depends on the installed Python or torch and has no meaning.

Input: a file of a dump.  Output: text that is the same for two files that differ only in comments (places, headers,
line numbers), layout, the bytecode offset in the name of a resume function, the folder torch is installed in, and when
a local variable is released; of a page of ours also without what finds its function and its entries in the process that
compiled.

    return __resume_at_110_13([], h)  # prog.py:9        ->   return __resume_13([], h)
"""

from __future__ import annotations

import ast
import re

from depyf.run.global_names import without_offsets
from depyf.run.installed_files import PACKAGES
from depyf.safety.unheard import parse
from depyf.views.compare.page_names import AskingNames

_CACHE = re.compile(r"(?:/[^\s'\"]*)?/torchinductor_[^\s'\"]*|\b[a-z2-7]{50,}\b|/tmp/tmp\w+/[^\s'\"]*")
_INSTALLED = re.compile(rf"/[^\s'\"]*{PACKAGES}")


def without_caches(text: str) -> str:
    """``text`` without paths of Inductor's caches, and the checksums that they are named by."""
    return _CACHE.sub("<inductor cache>", text)


def meaning(name: str, text: str, asking: AskingNames | None = None) -> str:
    """``text`` of the file ``name``, for comparing; ``asking``: the names by which a page of ours asks torch."""
    text = code_meaning(text, asking) if name.endswith(".py") else text
    return _INSTALLED.sub("<installed>/", without_offsets(text))


def code_meaning(text: str, asking: AskingNames | None = None) -> str:
    """Python text without comments, module docstring and ``del`` of local names; unchanged where it cannot be
    parsed."""
    try:
        tree = parse(text)
        first = tree.body[0] if tree.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            tree.body = tree.body[1:]  # the heading of a full_code page
        return ast.unparse(_Plain(asking or AskingNames()).visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class _Plain(ast.NodeTransformer):
    """Without releases of local names; guards one a line, without their places among torch's own."""

    def __init__(self, asking: AskingNames) -> None:
        self._asking = asking

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        last = node.body[-1] if node.body else None
        if node.name in self._asking.guards and isinstance(last, ast.Return) and isinstance(last.value, ast.BoolOp):
            node.body[-1:] = [ast.Expr(guard) for guard in last.value.values]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return node.value if isinstance(node.value, ast.Name) and node.value.id in self._asking.live else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        self.generic_visit(node)
        made = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return None if len(made) == len(node.targets) and self._asking.live.issuperset(made) else node

    def visit_Delete(self, node: ast.Delete) -> ast.AST | None:
        kept = [target for target in node.targets if not isinstance(target, ast.Name)]
        return ast.Delete(kept) if kept else None
