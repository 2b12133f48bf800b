"""Reads a guard once for all values of which it says the same.

A model has hundreds of guards, and most differ in the value alone: the type of one module, and that of the next.  So
the value (``source``) is replaced by a short name that reads like one, the rest is read, and the value put in again.

Input: the text of a guard, the value that it looks at, and a function that reads guards.  Output: what that function
returns for the very text.  Only values that it leaves as they are, wherever they stand, are replaced.

    ___check_type_id(L['self']._modules['fc'], 94), type=<class 'int'>   ->  ___check_type_id(L['value of a guard'],
    94), ...
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from depyf.run.addresses import without_addresses
from depyf.run.guards.known_kinds import QUOTES
from depyf.safety.unheard import parse
from depyf.sources.reports.guards.guard_names import in_python

Reader = Callable[[str, str, str], tuple[str, str]]
"""Kind, text and value of a guard -> its text without addresses, and its expression."""

_VALUE = "L['value of a guard']"
_MOST = 4096
_STEP = re.compile(r"(?:\.[A-Za-z_]\w*|\['[\w .<>-]*'\]|\[\d+\])\Z", re.A)
"""The last part of most values."""
_UNLIKE = re.compile(r"[{}#]|, ?\d+\)|<(?:class|enum) '")
"""What patterns that read guards may take for a part of the guard."""
_QUOTED = tuple(f"{check}(" for check in sorted(QUOTES))
"""Expressions in which the text of the guard is a string, whose quotes depend on all of it."""


class GuardTemplates:
    """Caches the results of reading guards, by their text with the value replaced."""

    def __init__(self, read: Reader) -> None:
        self._read = read
        self._known: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._plain: dict[str, bool] = {}

    def clear(self) -> None:
        self._known.clear()
        self._plain.clear()

    def read(self, kind: str, text: str, source: str) -> tuple[str, str]:
        """As the function ``read`` passed to ``__init__``."""
        if source not in text or _VALUE in text or not self._is_plain(source):
            return self._read(kind, text, source)
        template = kind, text.replace(source, _VALUE)
        if template not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            shown, expression = self._read(*template, _VALUE)
            self._known[template] = None if expression.startswith(_QUOTED) else (shown, expression)
        known = self._known[template]
        if known is None:
            return self._read(kind, text, source)
        return known[0].replace(_VALUE, source), known[1].replace(_VALUE, source)

    def _is_plain(self, source: str) -> bool:
        """Whether ``source`` is one operand, and shown as it is."""
        steps = []
        while (known := self._plain.get(source)) is None and (last := _STEP.search(source)) is not None:
            steps.append(source)
            source = source[: last.start()]
        if known is None:
            known = _is_shown_as_it_is(source)
            steps.append(source)
        if len(self._plain) + len(steps) > _MOST:
            self._plain.clear()
        self._plain.update((step, known and _has_no_address(step)) for step in steps)
        return known and (not steps or self._plain[steps[0]])


def _has_no_address(source: str) -> bool:
    return without_addresses(source) == source


def _is_shown_as_it_is(source: str) -> bool:
    if source in ("L", "G"):
        return True
    if not source or _UNLIKE.search(source) or in_python(source) != source or not _has_no_address(source):
        return False
    tree = parse(source, mode="eval").body
    return isinstance(tree, (ast.Attribute, ast.Subscript, ast.Call)) and ast.unparse(tree) == source
