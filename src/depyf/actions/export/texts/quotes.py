"""String literals in double quotes, where that changes nothing else: generated files look like formatted ones."""

from __future__ import annotations

import io
import re
import tokenize

_SIMPLE = re.compile(r"'[^'\"\\\n]*'")


def double_quoted(text: str) -> str:
    """``text``, valid Python, with ``"a"`` for ``'a'``; literals that hold quotes or backslashes stay as they are."""
    lines = text.split("\n")
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.STRING]
    for token in reversed(tokens):
        if _SIMPLE.fullmatch(token.string):
            number, start = token.start[0] - 1, token.start[1]
            end = token.end[1]
            lines[number] = f'{lines[number][:start]}"{token.string[1:-1]}"{lines[number][end:]}'
    return "\n".join(lines)
