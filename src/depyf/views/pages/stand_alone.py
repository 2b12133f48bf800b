"""A function of the user's on a separate page, where the names of its module do not exist.

Input: the source of one ``def``.  Output: text that defines the function without evaluating anything of the program's.
"""

from __future__ import annotations

import ast

from depyf.decompiler.emit.comments import comment, source_lines


def without_defaults(source: str, node: ast.FunctionDef | ast.AsyncFunctionDef, decorator: str) -> str:
    """The ``def`` that ``source`` is, parsed as ``node``, under ``decorator`` instead of its own decorators; a default
    value that is more than a literal is ``...`` in it, and stands in a comment above."""
    lines = source_lines(source)
    shown: list[str] = []
    for argument, value in reversed(_defaults(node.args)):
        if not _is_literal(value):
            shown.insert(0, f"{argument.arg}={' '.join((ast.get_source_segment(source, value) or '').split())}")
            _cut(lines, value)
    head = [comment("Default values: " + ", ".join(shown))] if shown else []
    return "\n".join([*head, decorator, *lines[node.lineno - 1 :]])


def _defaults(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    """Parameters with their default values, in the order of the text."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults))
    return pairs + [(a, value) for a, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None]


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _cut(lines: list[str], value: ast.expr) -> None:
    """Put ``...`` in the place of ``value``; the number of lines stays."""
    first, last = value.lineno - 1, (value.end_lineno or value.lineno) - 1
    before = lines[first].encode()[: value.col_offset].decode()
    after = lines[last].encode()[value.end_col_offset :].decode()
    lines[first] = f"{before}..."
    for number in range(first + 1, last + 1):
        lines[number] = ""
    if first == last:
        lines[first] += after
    else:
        lines[last] = after
