"""Functions on a separate page, below others: of the user, whose module does not exist there, and of Dynamo.

Input: the source of one ``def`` of the program; or a source that defines transformed code, with the imports and helpers
that it needs.  Output: text that defines the function without evaluating anything of the program's; for transformed
code each line with its number in the source.
"""

from __future__ import annotations

import ast
from symtable import symtable

from depyf.decompiler.emit.comments import comment, remark, source_lines, split_remark
from depyf.decompiler.emit.entry import MAKER
from depyf.safety.unheard import parse


def without_defaults(source: str, node: ast.FunctionDef | ast.AsyncFunctionDef, decorator: str) -> str:
    """The definition ``source``, parsed as ``node``, under ``decorator`` instead of its own decorators.  A default that
    is no literal is replaced by ``...`` and shown in a comment above."""
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


Numbered = list[tuple[int, str]]
"""Lines of a source, each after its number there; 0 for one that the page adds."""


def function_text(source: str, decorator: str) -> Numbered:
    """The lines of ``source``, a function that is not nested, with ``decorator`` above it."""
    lines = _decorated(_standing_alone(_unwrapped(_numbered(source))), decorator)
    last = max(at for at, (_, line) in enumerate(lines) if line)
    return lines[: last + 1]


def without_future(source: str) -> str:
    """``source`` without ``__future__`` imports, as part of a larger file."""
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
    start = next((at for at, (_, line) in enumerate(lines) if line.startswith(f"def {MAKER}")), None)
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
    tree = parse(source)
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
