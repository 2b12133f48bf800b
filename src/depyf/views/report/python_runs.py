"""The run string of a line of Python, for most lines: Pygments tries a hundred patterns for each token.

Input: one line, or those of a docstring.  Output: what ``highlighting`` makes of Pygments' tokens of it; None for what
takes Pygments to tell (another string over several lines or one with fields, an import).
"""

from __future__ import annotations

import functools
import keyword
import re
from typing import Any

_TOKEN = re.compile(
    r"""(?P<t>(?:[] \t{}(),;[]|:(?!=))+)
    |(?P<no>(?:[fFtT][rR]?|[rR][fFtT])["'])
    |(?P<s>(?:[rR][bB]?|[bB][rR]?|[uU])?(?!\"{3}|'{3})(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
    |(?P<n>(?:\d(?:_?\d)*\.(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?
        |\d(?:_?\d)*[eE][+-]?\d(?:_?\d)*j?|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0[xX](?:_?[a-fA-F0-9])+|\d(?:_?\d)*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<d>@[A-Za-z_]\w*)
    |(?P<c>\#.*)
    |(?P<o>:=|(?:[-~+/*%=<>&^|]|\.(?!\d))+|[.@]|!=)""",
    re.X,
)
_OTHERS = frozenset({"from", "import", "match", "case", "lazy"})
"""What follows these, and these themselves, are told by what is around them."""
_HEADS = ("def", "class")


def line_runs(line: str) -> str | None:
    if not line.isascii() or "yield from" in line:
        return None
    letters, builtins = _words()
    found: list[str] = []
    place, last, length, after_dot, named = 0, "", 0, False, False
    while place < len(line):
        token = _TOKEN.match(line, place)
        if token is None:
            return None
        start, end = token.span()
        letter = token.lastgroup or ""
        if letter == "name":
            name = token[0]
            letter = letters.get(name, "t")
            if named:
                letter, named = "f", False
            elif name in _HEADS:
                named = True
                if line[end : end + 1] not in (" ", "\t"):
                    return None
            elif name in builtins and not after_dot:
                letter = "b"
        elif named and not token[0].isspace():
            return None
        if letter == "no":
            return None
        if letter != last and length:
            found.append(f"{last}{length}")
            length = 0
        last, place, length, after_dot = letter, end, length + end - start, line[end - 1] == "."
    if length and last != "t":
        found.append(f"{last}{length}")
    return "".join(found)


_DOCSTRING = re.compile(r"([ \t]*)[rRuUbB]{0,2}(\"{3}|'{3})(?:(?!\2).)*\2", re.S)


def docstring_runs(text: str) -> list[str] | None:
    """A string run for each line, where ``text`` is one string in triple quotes; None where it is not."""
    found = _DOCSTRING.fullmatch(text) if text.isascii() else None
    if found is None:
        return None
    first, *rest = text.split("\n")
    margin = len(found[1])
    return [
        f"{f't{margin}' if margin else ''}s{len(first) - margin}",
        *(f"s{len(line)}" if line else "" for line in rest),
    ]


@functools.cache
def _words() -> tuple[dict[str, str], frozenset[str]]:
    """The letters of words, and the words that are builtins where no dot stands before them, by the tables of this
    Pygments."""
    from pygments.lexers.python import PythonLexer

    tables: dict[str, Any] = PythonLexer.tokens
    letters = dict.fromkeys(_listed(tables["magicfuncs"][0]), "f")
    letters |= dict.fromkeys(("in", "is", "and", "or", "not"), "k")
    letters |= {word: "k" for rule in tables["keywords"] for word in _listed(rule)}
    keywords = {*keyword.kwlist, *keyword.softkwlist} - {"type"}  # to Pygments a builtin, whatever it begins
    letters |= dict.fromkeys(keywords - letters.keys(), "no")
    letters |= dict.fromkeys(_OTHERS, "no") | dict.fromkeys(_HEADS, "k")
    builtins = frozenset({*_listed(tables["builtins"][0]), "self", "cls", "Ellipsis", "NotImplemented"})
    return letters, builtins - letters.keys()


def _listed(rule: Any) -> tuple[str, ...]:
    return tuple(rule[0].words)
