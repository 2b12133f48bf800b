"""Token runs of a text, for the code panes: Pygments' tokens as short strings, one a line.

A run string is a sequence of a letter and a length in UTF-16 units, which JavaScript counts in: ``k3t1f5`` is a keyword
of three, text of one, the name of a function of five.  ``t`` at the end of a line is left out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from depyf.report.python_runs import docstring_runs, line_runs

PLAIN = "t"
LETTERS = {
    "Comment": "c", "Keyword": "k", "Literal.String": "s", "Literal.Number": "n", "Name.Function": "f", "Name.Class": "f",
    "Name.Decorator": "d", "Name.Builtin": "b", "Operator.Word": "k", "Operator": "o", "Keyword.Type": "y", "Comment.Preproc": "d",
}  # fmt: skip
"""Pygments' type of token -> the letter of its colour; a type that is not named has that of its parent."""
LEXERS = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".cu": "cuda"}


def language(name: str) -> str:
    """Pygments' name of the language of a file; "" where it is shown without colours."""
    return next((lexer for suffix, lexer in LEXERS.items() if name.endswith(suffix)), "")


def runs(text: str, lexer_name: str) -> list[str]:
    """One run string for each line of ``text.split("\n")``.

    Lines are looked at one by one, each text of a line once: the graphs of a dump repeat each other.  Lines that belong
    together (a string or a comment over several, a backslash at the end) are looked at together.
    """
    lines = text.split("\n")
    if not lexer_name:
        return [""] * len(lines)
    found: list[str] = []
    for start, end in _pieces(text, lines, lexer_name):
        found += _piece_runs("\n".join(lines[start:end]), lexer_name)
    return found


_WORDS = {
    "python": re.compile(
        r"""#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|\'{3}(?:\\.|[^\\])*?\'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S
    ),
    "cpp": re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S),
}
"""Comments and strings of a language: those over several lines hold them together."""


def _pieces(text: str, lines: list[str], lexer_name: str) -> Iterator[tuple[int, int]]:
    """Ranges of lines that can be looked at alone, in order."""
    if lexer_name == "cpp" and "#if 0" in text:
        yield 0, len(lines)
        return
    joined = {number for number, line in enumerate(lines) if line.endswith("\\")}
    """Numbers of lines that go on in the next."""
    number = place = 0
    for match in _WORDS["python" if lexer_name == "python" else "cpp"].finditer(text):
        if inner := match[0].count("\n"):
            number += text.count("\n", place, match.start())
            joined.update(range(number, number + inner))
            number += inner
            place = match.end()
    start = 0
    for end in range(len(lines)):
        if end not in joined:
            yield start, end + 1
            start = end + 1
    if start < len(lines):
        yield start, len(lines)


@functools.lru_cache(maxsize=1 << 14)
def _piece_runs(piece: str, lexer_name: str) -> list[str]:
    """The run strings of lines that are looked at together."""
    count = piece.count("\n") + 1
    if lexer_name == "python" and (told := docstring_runs(piece)) is not None:
        return told
    if lexer_name == "python" and count == 1 and (line := line_runs(piece)) is not None:
        return [line]
    lines: list[str] = []
    current: list[tuple[str, int]] = []
    for kind, value in _lexer(lexer_name).get_tokens(piece + "\n"):
        letter = _letter(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append(_line(current))
                current = []
            if part and current and current[-1][0] == letter:
                current[-1] = (letter, current[-1][1] + _units(part))
            elif part:
                current.append((letter, _units(part)))
    lines.append(_line(current))
    return (lines + [""] * count)[:count]


def _units(part: str) -> int:
    return len(part) if part.isascii() else len(part.encode("utf-16-le", "surrogatepass")) // 2


def _line(tokens: list[tuple[str, int]]) -> str:
    if tokens and tokens[-1][0] == PLAIN:
        tokens.pop()
    return "".join(f"{letter}{length}" for letter, length in tokens)


_LEXERS: dict[str, Any] = {}
_FOUND: dict[Any, str] = {}


def _lexer(name: str) -> Any:
    if name not in _LEXERS:
        from pygments.lexers import get_lexer_by_name

        _LEXERS[name] = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    return _LEXERS[name]


def _letter(kind: Any) -> str:
    if kind not in _FOUND:
        one = kind
        while one is not None and (text := ".".join(one)) not in LETTERS:
            one = one.parent
        _FOUND[kind] = LETTERS[text] if one is not None else PLAIN
    return _FOUND[kind]
