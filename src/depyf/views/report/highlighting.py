"""Token runs of a text, for the code panes: Pygments' tokens as short strings, one a line.

A run string is a sequence of a letter and a length in UTF-16 units, which JavaScript counts in: ``k3t1f5`` is a keyword
of three, text of one, the name of a function of five.  ``t`` at the end of a line is left out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from depyf.views.report.python_runs import docstring_runs, line_runs

PLAIN = "t"
LETTERS = {
    "Comment": "c", "Keyword": "k", "Literal.String": "s", "Literal.Number": "n", "Name.Function": "f",
    "Name.Class": "f", "Name.Decorator": "d", "Name.Builtin": "b", "Operator.Word": "k", "Operator": "o",
    "Keyword.Type": "y", "Comment.Preproc": "d",
}  # fmt: skip
"""Pygments' type of token -> the letter of its colour; a type that is not named has that of its parent."""
_LONGEST, _MOST_ERRORS = 1 << 14, 16
"""Characters of a line of which Pygments is asked, and of those that are of no token: it tries all its patterns at
each, and what has more is no code."""
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


_OPENERS = {"python": re.compile(r"#[^\n]*|\"{3}|'{3}|[\"']"), "cpp": re.compile(r"//[^\n]*|/\*|[\"']")}
"""Where a comment or a string of a language begins: those over several lines hold them together."""
_ENDS = {
    '"': re.compile(r'\\|"|\n'), "'": re.compile(r"\\|'|\n"),
    '"' * 3: re.compile(r'\\|"{3}'), "'" * 3: re.compile(r"\\|'{3}"), "/*": re.compile(r"\*/"),
}  # fmt: skip
"""The ends of each opener; a backslash takes the next character along."""


def _closed(text: str, language: str) -> Iterator[tuple[int, int]]:
    """The comments and strings that are closed.  If one is missing, no other of its kind is searched for before that
    position: what is open is read once, whatever stands in it."""
    unclosed: dict[str, int] = {}
    place = 0
    while (found := _OPENERS[language].search(text, place)) is not None:
        start, opener, end = found.start(), found[0], 0
        if opener not in _ENDS:
            end = found.end()
        elif found.end() > unclosed.get(opener, -1):
            end = _end(text, opener, found.end(), unclosed)
        if not end and len(opener) == 3:
            end = start + 2  # an empty string
        if end:
            yield start, end
        place = end or start + 1


def _end(text: str, opener: str, place: int, unclosed: dict[str, int]) -> int:
    """The place after what ``opener``, which ends at ``place``, opens; 0 where it is not closed."""
    while (found := _ENDS[opener].search(text, place)) is not None and found[0] == "\\":
        place = found.start() + 2
    if found is None or found[0] == "\n":
        unclosed[opener] = len(text) if found is None else found.start()
        return 0
    return found.end()


def _pieces(text: str, lines: list[str], lexer_name: str) -> Iterator[tuple[int, int]]:
    """Ranges of lines that can be looked at alone, in order."""
    if lexer_name == "cpp" and "#if 0" in text:
        yield 0, len(lines)
        return
    joined = {number for number, line in enumerate(lines) if line.endswith("\\")}
    """Numbers of lines that go on in the next."""
    number = place = 0
    for begin, after in _closed(text, "python" if lexer_name == "python" else "cpp"):
        if inner := text.count("\n", begin, after):
            number += text.count("\n", place, begin)
            joined.update(range(number, number + inner))
            number += inner
            place = after
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
    plain = [""] * count
    if any(len(line) > _LONGEST for line in piece.split("\n")):
        return plain
    lines: list[str] = []
    current: list[tuple[str, int]] = []
    errors = 0
    for kind, value in _lexer(lexer_name).get_tokens(piece + "\n"):
        letter = _letter(kind)
        errors += kind[:1] == ("Error",)
        if errors > _MOST_ERRORS:
            return plain
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
