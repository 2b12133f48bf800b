"""Reads annotations under ``from __future__ import annotations`` back from the text that the compiler made of them.

Before 3.9 it folded tuples of constants first: ``Callable[..., None]`` became ``'Callable[(Ellipsis, None)]'``, with
the name that ``repr`` gives the constant ``...``.  Read as a name again it would not be folded.
"""

from __future__ import annotations

import ast

from depyf.safety.depth import any_depth
from depyf.safety.unheard import parse, spelled_out


def source_of(text: str, folded: bool) -> str:
    """The annotation that the compiler turns into ``text``; ``folded`` says that it folds tuples of constants."""
    if not folded or "(" not in text or not text.isascii() or "\n" in text:
        return text
    try:
        if spelled_out(text) != text:  # the places in it would be other ones
            return text
        tree = parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    edits: dict[tuple[int, int], str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and _constant(node):
            edits.update((_span(item), "...") for item in ast.walk(node) if isinstance(item, ast.Name))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and _constant(node.slice):
            start, end = _span(node.slice)
            if len(node.slice.elts) > 1:
                edits[start, start + 1] = edits[end - 1, end] = ""
    for (start, end), new in sorted(edits.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _span(node: ast.expr) -> tuple[int, int]:
    return node.col_offset, node.end_col_offset or node.col_offset


@any_depth
def _constant(node: ast.expr) -> bool:
    """Whether an expression may be the ``repr`` of a folded constant."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Tuple):
        # a tuple without parentheses was not folded
        return all(map(_constant, node.elts)) and (not node.elts or node.elts[0].col_offset > node.col_offset)
    return isinstance(node, ast.Constant) or isinstance(node, ast.Name) and node.id == "Ellipsis"
