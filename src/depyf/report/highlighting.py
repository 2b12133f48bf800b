"""Token runs of a text, for the code panes: Pygments' tokens as short strings, one a line.

A run string is a sequence of a letter and a length in UTF-16 units, which JavaScript counts in: ``k3t1f5`` is a keyword
of three, text of one, the name of a function of five.  ``t`` at the end of a line is left out.
"""

from __future__ import annotations

from typing import Any

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
    """One run string for each line of ``text.split("\\n")``."""
    count = text.count("\n") + 1
    if not lexer_name:
        return [""] * count
    lines: list[str] = []
    current: list[str] = []
    for kind, value in _lexer(lexer_name).get_tokens(text):
        letter = _letter(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append(_line(current))
                current = []
            if part:
                current.append(letter + str(len(part.encode("utf-16-le", "surrogatepass")) // 2))
    lines.append(_line(current))
    return (lines + [""] * count)[:count]


def _line(tokens: list[str]) -> str:
    while tokens and tokens[-1][0] == PLAIN:
        tokens.pop()
    return "".join(tokens)


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
