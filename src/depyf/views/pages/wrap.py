"""Long bracketed lists on several lines, broken between their items."""

from __future__ import annotations

import re
from collections.abc import Sequence

WIDTH = 116


def wrap(opening: str, items: Sequence[str], closing: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """``opening + items + closing`` on one line where it fits, else the items on separate lines, packed."""
    line = f"{indent}{opening}{', '.join(items)}{closing}"
    if len(line) <= width or not items:
        return [line]
    lines = [indent + opening]
    inner = indent + "    "
    current = ""
    for position, item in enumerate(items):
        text = item + ("," if position < len(items) - 1 else "")
        if current and len(current) + 1 + len(text) <= width:
            current += " " + text
        else:
            if current:
                lines.append(current)
            current = inner + text
    return [*lines, current, indent + closing]


_CALL = re.compile(r"(?P<function>[A-Za-z_][\w.]*)\((?P<arguments>.*)\)", re.S)
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?P<opens>[(\[{])|(?P<closes>[)\]}])|(?P<comma>,\s*)""", re.S
)


def split_call(expression: str) -> tuple[str, list[str]] | None:
    """The function and the arguments of ``expression``, valid Python without comments and triple quotes, where it is a
    call of a name as a whole.

    >>> split_call("f(a, g(b, 'x, y'), c=[1, 2])")
    ('f', ['a', "g(b, 'x, y')", 'c=[1, 2]'])
    """
    match = _CALL.fullmatch(expression)
    if match is None:
        return None
    text, arguments, depth, start = match["arguments"], [], 0, 0
    for token in _TOKEN.finditer(text):
        if token["opens"]:
            depth += 1
        elif token["closes"]:
            depth -= 1
            if depth < 0:  # the first parenthesis is closed before the end: f(a) + g(b)
                return None
        elif token["comma"] and depth == 0:
            arguments.append(text[start : token.start()])
            start = token.end()
    if text[start:].strip():
        arguments.append(text[start:])
    return match["function"], arguments
