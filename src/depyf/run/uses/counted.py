"""The line on which a function counts a value that it uses later.

Input: the source of the function, the name of the value and a line that uses it.  Output: an earlier line that
increases or decreases the value and that always runs before: torch 2.15 tells of the use only, earlier ones of the
first reading.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from depyf.run.uses.value_uses import parsed_lines

_BODIES = ("body", "orelse", "finalbody")


def counting_line(source: str, name: str, line: int, first: int) -> int:
    """``name``: a variable or an attribute (``self.calls``); ``first``: the number of the first line of ``source``.
    Returns 0 where no line before ``line`` counts the value for sure, or the source is no Python."""
    module = parsed_lines(textwrap.dedent(source).splitlines())
    wanted = line - first + 1
    if module is None:
        return 0
    found = next((node.lineno for node in _before(module.body, wanted) if _counts(node, name)), 0)
    return found + first - 1 if found else 0


def _before(body: list[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements that have run whenever ``line`` does, of the blocks around it."""
    for node in body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            for name in _BODIES:
                inner = getattr(node, name, [])
                if inner and inner[0].lineno <= line <= (inner[-1].end_lineno or inner[-1].lineno):
                    yield from _before(inner, line)
            return
        yield node


def _counts(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, (ast.Add, ast.Sub)) and ast.unparse(node.target) == name
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        changed = [ast.unparse(target) for target in node.targets] == [name]
        return changed and isinstance(node.value.op, (ast.Add, ast.Sub)) and ast.unparse(node.value.left) == name
    return False
