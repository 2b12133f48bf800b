"""``else``, ``elif`` or neither, where the first arm of an ``if`` leaves: all of them are the same code.

Indentation decides, where it is known (3.11+); otherwise ``if a: ... return`` needs no ``else``.  Input and output: the
Python dialect, the arms finished.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.bytecode.codeunit import CodeUnit
from depyf.idioms.indents import Indents
from depyf.structure.exits import ends
from depyf.tree.nodes import Body, If, Return
from depyf.tree.rewrite import bodies


class Branches:
    """Decides for the statements of one code unit; without ``indents`` it takes what reads best."""

    def __init__(self, unit: CodeUnit, *, indents: bool = True) -> None:
        self.unit = unit
        self.indents = Indents(unit) if indents else None

    def level(self, body: Body, known: int | None) -> int | None:
        """The indentation of ``body``, which is ``known`` otherwise."""
        if self.indents is None or known is not None or not any(isinstance(stmt, If) for stmt in body):
            return known
        return self.indents.level(body)

    def level_of(self, stmt: If, known: int | None) -> int | None:
        """The indentation of ``stmt``, which is ``known`` otherwise."""
        if self.indents is None or known is not None:
            return known
        return self.indents.around(stmt)

    def behind(self, stmt: If, level: int | None) -> int | None:
        """``level`` if what is in the ``else`` of ``stmt`` begins there, too."""
        if self.indents is None or level is None or not stmt.orelse:
            return None
        return level if self.indents.is_at(stmt.orelse[0], level) else None

    def flat_if(self, stmt: If, level: int | None) -> Body:
        """``stmt`` without an ``else`` that nobody wrote; what only falls off the end of the function needs one."""
        level = self.level_of(stmt, level)
        if stmt.orelse and ends(stmt.orelse) and not _reaches_end(stmt.orelse):
            # what stands behind the ``else`` runs only after the first arm, but is no part of it
            last = last_line(stmt.orelse)
            behind = [i for i, inner in enumerate(stmt.body) if last and inner.line and inner.line > last]
            if behind and behind[0]:
                return (replace(stmt, body=stmt.body[: behind[0]]), *stmt.body[behind[0] :])
        if stmt.orelse and ends(stmt.body) and not _reaches_end(stmt.body):
            rest = stmt.orelse
            if len(rest) == 1 and isinstance(rest[0], If):
                rest = self.flat_if(rest[0], None)
            inside = self._in_else(stmt, rest, level)
            if inside:
                return (replace(stmt, orelse=rest[:inside]), *rest[inside:])
            return (replace(stmt, orelse=()), *rest)
        return (stmt,)

    def _in_else(self, test: If, body: Body, level: int | None) -> int:
        """How many statements at the start of ``body`` are indented deeper than ``level``, that of ``test``."""
        if self.indents is None or level is None:
            return 0
        for count, stmt in enumerate(body):
            at = None if (stmt.line or 0) <= (test.line or 0) else self.indents.is_at(stmt, level)
            if at or at is None and not count:
                return count
        return len(body)


def last_line(body: Body) -> int:
    """The line of the last statement that has one, 0 if that is not soon found."""
    for _ in range(40):
        nested = [inner for inner in bodies(body[-1]) if inner]
        if not nested:
            return body[-1].line or 0
        body = nested[-1]
    return 0


def _reaches_end(body: Body) -> bool:
    """Whether ``body`` can fall off the end of the function."""
    if not body:
        return False
    last = body[-1]
    return last.implicit if isinstance(last, Return) else any(_reaches_end(inner) for inner in bodies(last))
