"""Escapes untrusted text for Markdown: names, paths, lines of source, messages.

Input: any text.  Output invariant: it stays within its line and its code span, opens no link, image, table cell or HTML
element, and shows every character that would not be seen.
"""

from __future__ import annotations

import re

from depyf.safety.escape import one_line, printable

_ACTIVE = re.compile(r"<(?=[a-zA-Z/!?])|\[(?=[^\]]*\]\()|\||`")


def code(text: str) -> str:
    """``text`` as a Markdown code span."""
    shown = printable(text)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    mark = "`" * (longest + 1)
    return f"{mark} {shown} {mark}" if longest else f"{mark}{shown}{mark}"


def plain(text: str) -> str:
    """``text`` with escapes for Markdown's special characters."""
    return _ACTIVE.sub(r"\\\g<0>", printable(text))


def message(text: str) -> str:
    """A message of torch or an exception on one line, with its Markdown escaped except code spans."""
    return re.sub(_ACTIVE.pattern.removesuffix("|`"), r"\\\g<0>", one_line(text))
