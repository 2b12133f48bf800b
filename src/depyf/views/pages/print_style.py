"""How a medium shows what is of the program and of torch: Markdown with everything escaped, or a terminal.

Input: source text, names, messages.  Output: text on one line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from depyf.safety.escape import one_line, printable
from depyf.views.pages.markdown import code, message, plain


@dataclass(frozen=True, slots=True)
class PrintStyle:
    """How a medium (Markdown, terminal) formats code, names and messages, and what begins a line of detail."""

    name: Callable[[str], str]
    """Of a function."""
    code: Callable[[str], str]
    plain: Callable[[str], str]
    message: Callable[[str], str]
    detail: str
    way_out: str


MARKDOWN = PrintStyle(code, code, plain, message, "   - ", "   - **way out:** ")
TERMINAL = PrintStyle(printable, lambda text: f"`{printable(text)}`", printable, one_line, "     ", "     way out: ")
