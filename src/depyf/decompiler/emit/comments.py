"""Comments in Python text, and names in docstrings.  Nothing else writes a comment:
``tests/unit/decompiler/emit/test_comments.py`` looks.

Input: any text, names and paths of programs among it.  Output invariant: a comment is one line, and ends where the
line ends; nothing in it is a declaration of the file's encoding (PEP 263), which the first two lines may hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from depyf.safety.escape import printable

_REMARK = "  # "
_ENCODING = re.compile("coding(?=[:=])")


def comment(text: str, indent: str = "") -> str:
    """``# text`` as a line; a line break within ``text`` is shown as an escape."""
    return f"{indent}# {_safe(text)}".rstrip()


def comments(text: str | Iterable[str], indent: str = "") -> str:
    """Every line of ``text`` as a comment."""
    lines = source_lines(text) if isinstance(text, str) else text
    return "\n".join([comment(line, indent) for line in lines])


def remark(line: str, text: str) -> str:
    """``line`` with ``text`` as a comment at its end, after a comment that is already there."""
    return f"{line}{', ' if _REMARK in line else _REMARK}{_safe(text)}" if text else line


def split_remark(line: str) -> tuple[str, str]:
    """Splits a line written by ``remark`` or torch into code and comment; the comment is "" where there is none."""
    code, _, text = line.partition(_REMARK)
    return code, text


def heading(text: str) -> str:
    """``text`` between two rules."""
    rule = comment("=" * 118)
    return f"{rule}\n{comment(text)}\n{rule}"


def in_docstring(text: str) -> str:
    """``text`` escaped for a literal in triple quotes, line breaks kept; the literal ends after a line break."""
    lines = "\n".join(map(printable, text.split("\n")))
    return lines.replace("\\", "\\\\").replace('"""', "'''")


def source_lines(text: str) -> list[str]:
    """The lines as Python counts them; ``str.splitlines`` also splits at other characters, even inside strings."""
    lines = re.split("\r\n|\r|\n", text)
    if not lines[-1]:
        lines.pop()
    return lines


def _safe(text: str) -> str:
    return _ENCODING.sub("coding ", "\t".join(map(printable, text.split("\t"))))
