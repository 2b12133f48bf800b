"""Escapes untrusted text where it is shown or becomes a name: on a terminal, in a comment, as a file.

Input: any string: names, paths and messages come from a program or a file that we do not trust.  Output invariant: what
``printable`` returns is one line of characters that show; what ``safe_name`` and ``file_name`` return is a name that
every usual file system takes, and the same one for the same input.
"""

from __future__ import annotations

import functools
import re
import unicodedata
import zlib

_SHOWS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that count as printable although nothing is seen of them."""  # fmt: skip
_LEGAL = re.compile(r'[<>:"|?*\\/]')
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|com[0-9\xb9\xb2\xb3]|lpt[0-9\xb9\xb2\xb3]|conin\$|conout\$)(?:\..*)?", re.I | re.S
)
"""Names that Windows keeps for devices, with any extension."""  # fmt: skip


def printable(text: str) -> str:
    """``text`` on one line, with an escape for each character that moves, hides or turns around what is shown: line
    ends, control characters (ESC), bidirectional and zero-width marks, and for halves of surrogate pairs.

    >>> printable("a\\n\\x1b[2Jb\\u202ec")
    'a\\\\n\\\\x1b[2Jb\\\\u202ec'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join([char if _shows(char) else char.encode("unicode_escape").decode() for char in text])


def one_line(text: str) -> str:
    """A text of several lines, such as the message of an exception, on one: any white space is one space."""
    return printable(" ".join(text.split()))


def printable_lines(text: str) -> str:
    """As ``printable``, for a text of several lines: newlines and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


_SPAN = "`"


def cut(text: str, longest: int) -> str:
    """``text``, or, where it is longer than ``longest`` characters, its beginning and ``...``.

    A quotation or a code span that the cut would leave open is closed after the dots.

    >>> cut("raise ValueError('no such file')", 26)
    "raise ValueError('no s...'"
    """
    if len(text) <= longest:
        return text
    quote = _open_quote(text[: longest - 3])
    start = text[: longest - 3 - len(quote)]
    in_string = not _open_quote(start).startswith(_SPAN)
    if in_string and start.count(_SPAN) % 2 > text.count(_SPAN) % 2:  # one of a pair
        start = start[: start.rindex(_SPAN)]
    return start + "..." + _open_quote(start)


def cut_around(text: str, longest: int, *parts: str) -> str:
    """``text``, or, where it is longer than ``longest`` characters, that much of it around the first of ``parts`` that
    it has; without any its beginning.

    >>> cut_around("first(a, b, c, d, e); second(f)", 20, "second")
    '... d, e); second(f)'
    """
    at = next((text.find(part) for part in parts if part and part in text), 0)
    part = next((part for part in parts if part and part in text), "")
    if len(text) <= longest or at + len(part) <= longest - 3:
        return cut(text, longest)
    start = max(0, min(at + len(part) + longest // 4, len(text)) - (longest - 6))
    start = len(text) - (longest - 3) if len(text) - start <= longest - 3 else start
    return "..." + cut(text[start:], longest - 3)


_QUOTES = re.compile(r"(?P<escaped>\\.)|(?P<quote>\"\"\"|\'\'\'|`+|\"|\')")
_PREFIX = re.compile(r"(?:^|\W)(?:[rRbBfFuUtT]|[rR][bBfFtT]|[bBfFtT][rR])$")


def _open_quote(text: str) -> str:
    """The mark of the quotation or code span that ``text`` ends inside of; "" where it ends in none.

    An apostrophe within a word, or at its end outside of a quotation, is none: it opens where no word precedes, or the
    prefix of a literal.
    """
    mark = ""
    for found in _QUOTES.finditer(text):
        quote, before = found["quote"], text[: found.start()]
        if mark:
            ends = quote == mark and not (quote == "'" and text[found.end() : found.end() + 1].isalnum())
            mark = "" if ends else mark
        elif quote and (quote[0] == "`" or not before[-1:].isalnum() or _PREFIX.search(before[-3:])):
            mark = quote
    return mark


def _shows(char: str) -> bool:
    return char.isprintable() and not _SHOWS_NOTHING.match(char)


@functools.lru_cache(maxsize=4096)
def safe_name(name: str, longest: int = 120) -> str:
    """``name`` as a part of a file name or of an identifier, at most ``longest`` bytes: ``<lambda>`` becomes
    ``lambda``.

    What is too long ends in a checksum of the whole name.
    """
    plain = unicodedata.normalize("NFKC", name)
    plain = plain if ("_" + plain).isidentifier() else "".join([c if ("_" + c).isidentifier() else " " for c in plain])
    return shortened("_".join(plain.split()).strip("_") or "function", longest, name)


def file_name(name: str, suffix: str = "", longest: int = 250) -> str:
    """``name`` and ``suffix`` as the name of one file, for Linux, macOS and Windows.

    Characters stay where all of these take them and where they show; others become ``_``.
    """
    plain = "".join([char if _shows(char) else "_" for char in unicodedata.normalize("NFC", name)])
    plain = _LEGAL.sub("_", plain)
    if not suffix:
        plain = plain.rstrip(". ")
    if _RESERVED.fullmatch(plain + suffix):
        plain = "_" + plain
    return shortened(plain.lstrip(" ") or "_", longest - len(suffix.encode()), name) + suffix


def shortened(text: str, longest: int, name: str) -> str:
    """``text``, or, where it is longer than ``longest`` bytes, its beginning and a checksum of ``name``."""
    data = text.encode("utf-8", "replace")
    if len(data) <= longest:
        return text
    start = data[: longest - 9].decode("utf-8", "ignore")
    return f"{start}_{zlib.crc32(name.encode('utf-8', 'surrogatepass')):08x}"
