"""String literals: plain ones, docstrings, and those inside the braces of an f-string.

Output invariant: evaluating the returned text gives exactly the string that went in, and every text is free of
control characters (``layout.py`` uses those as marks) except for the line breaks of a triple-quoted docstring.
"""

from __future__ import annotations

import re

QUOTES = ('"', "'", '"""', "'''")


class NoQuotes(Exception):
    """No kind of quotes is left for a string inside nested f-strings (before 3.12)."""


def string(value: str, prefer: str = '"') -> str:
    """``value`` as a literal, with double quotes unless that needs more escapes."""
    text = repr(value)
    if prefer == '"' and text[0] == "'" and '"' not in text:
        return f'"{text[1:-1]}"'
    return text


def data(value: bytes) -> str:
    """``value`` as a bytes literal, with double quotes unless that needs more escapes."""
    text = repr(value)
    if text[1] == "'" and '"' not in text:
        return f'b"{text[2:-1]}"'
    return text


def raw(value: str) -> str | None:
    """``value`` as it stands in a source without a backslash; None where it cannot.

    Control characters have stand-ins (see ``unmasked``): ``layout.py`` uses them as marks.
    """
    if _NEVER_RAW.search(value):
        return None
    return value if value.isprintable() else value.translate(_MASKED)


def unmasked(text: str) -> str:
    """A finished line of text with control characters in the place of the stand-ins that ``raw`` put."""
    return text if text.isascii() else text.translate(_UNMASKED)


_STAND_IN = 0xF0000
_MASKED = {code: _STAND_IN + code for code in range(0x20)}
_UNMASKED = {other: code for code, other in _MASKED.items()}
_NEVER_RAW = re.compile("[\\0\r\\\\\ud800-\udfff\U000f0000-\U000f001f]")
NEWLINE = chr(_MASKED[ord("\n")])


def unescaped(value: str, allowed: tuple[str, ...], outer: tuple[str, ...] = (), prefix: str = "") -> str | None:
    """``value`` without any backslash, in the ``allowed`` quotes; None if there is no such literal.

    ``outer`` are the quotes of the strings around it, which it must not contain.  Where no kind of quotes will do, it
    is cut into adjacent literals.  Before 3.12 nothing else may stand between the braces of an f-string.
    """
    shown = raw(value)
    if shown is None:
        return None
    for quote in allowed:
        if reach(shown, 0, quote, outer) == len(shown):
            text = prefix + quote + shown + quote
            if not any(other in text for other in outer):
                return text
    pieces = []
    at = 0
    while at < len(shown):
        end, quote = max(
            ((reach(shown, at, quote, outer), quote) for quote in allowed), key=lambda item: item[0], default=(0, "")
        )
        if end <= at:
            return None
        pieces.append(prefix + quote + shown[at:end] + quote)
        at = end
    text = " ".join(pieces)
    return None if not pieces or any(other in text for other in outer) else text


def reach(shown: str, at: int, quote: str, outer: tuple[str, ...]) -> int:
    """How far a literal in ``quote`` gets in ``shown`` from ``at`` on, without a backslash."""
    ends = [_before(shown, at, quote, 0)]
    ends += [_before(shown, at, other, len(other) - 1) for other in outer]
    if any(len(other) == 1 for other in (quote, *outer)):
        ends.append(_before(shown, at, NEWLINE, 0))
    end = min(ends)
    while len(quote) == 3 and end > at and shown[end - 1] == quote[0]:
        end -= 1
    return end


def _before(shown: str, at: int, what: str, more: int) -> int:
    found = shown.find(what, at)
    return len(shown) if found < 0 else found + more


def fragment(value: str, quote: str) -> str:
    """The inside of a literal in ``quote``: what is not printable is escaped, and what would end the literal."""
    text = _plain(value)
    return _in_triple(text, quote) if len(quote) == 3 else text.replace(quote, "\\" + quote)


def docstring(value: str, pad: str, cleaned: bool) -> str:
    """A docstring literal whose value on the target is ``value``.

    ``cleaned`` is true where the compiler strips indentation (3.13+): then the lines may follow the block's own
    indentation ``pad``.
    """
    if "\n" not in value:
        return _triple(value)
    if cleaned:
        lines = value.split("\n")
        indented = "\n".join([lines[0]] + [pad + line if line.strip() else line for line in lines[1:]])
        if value.endswith("\n"):
            indented += pad
        for candidate in (indented, value):
            if clean(candidate) == value:
                return _triple(candidate)
    return _triple(value)


def is_clean(value: str) -> bool:
    """Whether the compiler of 3.13+ takes a docstring, and leaves it as it is: it refuses surrogates."""
    return clean(value) == value and not any("\ud800" <= char <= "\udfff" for char in value)


def clean(value: str) -> str:
    """What the compiler of 3.13+ makes of a docstring (``_PyCompile_CleanDoc``)."""
    lines = value.expandtabs().split("\n")
    margins = [len(line) - len(line.lstrip(" ")) for line in lines[1:] if line.strip(" ")]
    margin = min(margins, default=0)
    head = lines[0].lstrip(" ")
    if head == lines[0] and not margin:
        return "\n".join(lines)
    rest = []
    for line in lines[1:]:
        spaces = len(line) - len(line.lstrip(" "))
        rest.append(line[min(margin, spaces) :])
    return "\n".join([head, *rest])


def _triple(value: str) -> str:
    text = "\n".join(map(_plain, value.split("\n")))
    return f'"""{_in_triple(text, QUOTES[2])}"""'


def _plain(value: str) -> str:
    """``value`` with escapes for what is not printable, and for no quote."""
    return repr('"' + value)[2:-1].replace("\\'", "'")


def _in_triple(text: str, quote: str) -> str:
    """``text``, in which no quote is escaped, with escapes for those that would end a literal in triple quotes."""
    escaped = "".join("\\" + char for char in quote)
    if text.endswith(quote[0]):
        return text[:-1].replace(quote, escaped) + escaped[:2]
    return text.replace(quote, escaped)
