"""The text of a function as part of a larger page.

Input: a source that defines it, with the imports and helpers that it needs.  Output: the same as lines that may stand
below others, each with its number in the source, so that what is known of a line of the source is known of it there.
"""

from __future__ import annotations

import ast
from symtable import symtable

from depyf.decompiler.emit.comments import remark, source_lines, split_remark

Numbered = list[tuple[int, str]]
"""Lines of a source, each after its number there; 0 for one that the page adds."""


def function_text(source: str, decorator: str) -> Numbered:
    """The lines of ``source`` with ``decorator`` above its function, which is no part of another one and a ``def``."""
    lines = _decorated(_standing_alone(_unwrapped(_numbered(source))), decorator)
    last = max(at for at, (_, line) in enumerate(lines) if line)
    return lines[: last + 1]


def without_future(source: str) -> str:
    """``source`` as part of a larger file, where a ``__future__`` import may no longer stand."""
    return _joined(_numbered(source))


def _numbered(source: str) -> Numbered:
    """The lines of ``without_future``."""
    lines = [pair for pair in enumerate(source_lines(source), 1) if not pair[1].startswith("from __future__ import ")]
    said = [at for at, (_, line) in enumerate(lines) if line]
    return lines[said[0] : said[-1] + 1] if said else []


def _joined(lines: Numbered) -> str:
    return "\n".join([line for _, line in lines])


def _unwrapped(lines: Numbered) -> Numbered:
    """A text with its function in place of the function that makes it, which a closure needs to be compiled."""
    start = next((at for at, (_, line) in enumerate(lines) if line.startswith("def __make_")), None)
    if start is None:
        return lines
    end = next(at for at, (_, line) in enumerate(lines) if at > start and line.startswith("    return "))
    return [*lines[:start], *((number, line.removeprefix("    ")) for number, line in lines[start + 1 : end])]


def _standing_alone(lines: Numbered) -> Numbered:
    """A text without the ``nonlocal`` statements of nested functions for variables that only the cut away outer
    function has: what runs under this name is not this text, and legal Python it must be."""
    source = _joined(lines)
    if "nonlocal" not in source:
        return lines
    try:
        symtable(source, "<shown>", "exec")
    except SyntaxError as error:
        if "nonlocal" in str(error):
            return [(number, _without_nonlocal(line)) for number, line in lines]
    return lines


def _without_nonlocal(line: str) -> str:
    statement = line.lstrip(" ")
    if statement == line or not statement.startswith("nonlocal "):
        return line
    indent = line[: -len(statement)]
    return remark(f"{indent}...", f"free variables: {statement.removeprefix('nonlocal ')}")


def _decorated(lines: Numbered, decorator: str) -> Numbered:
    """A text with the decorator above its last function (what stands before it are the helpers it needs)."""
    lines = _as_def(lines)
    start = max((at for at, (_, line) in enumerate(lines) if line.startswith(("def ", "async def "))), default=0)
    return [*lines[:start], (0, decorator), *lines[start:]]


def _as_def(numbered: Numbered) -> Numbered:
    """``name = lambda x: x + 1`` with a comment, where a text is that, as a ``def``, which takes a decorator."""
    source = _joined(numbered)
    if "lambda" not in source:
        return numbered
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    if (
        not isinstance(last, ast.Assign)
        or not isinstance(last.value, ast.Lambda)
        or not isinstance(last.targets[0], ast.Name)
    ):
        return numbered
    value = ast.get_source_segment(source, last.value.body) or ast.unparse(last.value.body)
    if "\n" in value:
        value = f"({value})"
    why = split_remark(numbered[(last.end_lineno or last.lineno) - 1][1])[1]
    head = f"def {last.targets[0].id}({ast.unparse(last.value.args)}):"
    number = numbered[last.lineno - 1][0]
    body = [(number, line) for line in remark(f"    return {value}", why).split("\n")]
    return [*numbered[: last.lineno - 1], (0, head), *body]
