"""Chooses ``else``, ``elif`` or neither where the first arm of an ``if`` leaves: the bytecode is the same.

Indentation decides, where it is known (3.11+); otherwise ``if a: ... return`` needs no ``else``.  Input and output: the
Python dialect, the arms finished.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from depyf.decompiler.bytecode.tables.columns import STEP, Columns
from depyf.decompiler.bytecode.tables.kept_instructions import try_lines
from depyf.decompiler.idioms.annotations import REACHED
from depyf.decompiler.idioms.indentation import Indents
from depyf.decompiler.ir.expr import BoolOf, Expr
from depyf.decompiler.ir.stmt import AnnAssign, Body, Break, Continue, If, PassStmt, Return, Stmt, Try, With
from depyf.decompiler.ir.walk_stmt import bodies
from depyf.decompiler.structure.exits import ends, first_line
from depyf.safety.depth import any_depth
from depyf.safety.rewrites import step


class Branches:
    """Decides for the statements of one code unit; without ``indents`` it takes the most readable form."""

    def __init__(self, columns: Columns, *, indents: bool = True) -> None:
        self.unit = columns.unit
        self.indents = Indents(columns) if indents else None
        self.loops = 0
        """How many loops are around: in one, nothing falls off the end of the function."""
        self._reaching: dict[int, tuple[Stmt, bool]] = {}
        """Caches for statements; holds the statements, so that their ids stay unique."""

    def level(self, body: Body, known: int | None) -> int | None:
        """The indentation of ``body``, which is ``known`` otherwise."""
        if self.indents is None or known is not None or If not in map(type, body):
            return known
        return self.indents.level(body)

    def level_of(self, stmt: If, known: int | None) -> int | None:
        """The indentation of ``stmt``, which is ``known`` otherwise."""
        if self.indents is None or known is not None:
            return known
        return self.indents.around(stmt)

    def in_else_of_try(self, stmt: If, tried: Try | None, level: int | None) -> int | None:
        """The indentation of ``stmt`` in a body at ``level``: deeper in the ``else`` of a ``try`` (see ``with_else``).

        ``tried`` is the last one before it.
        """
        if self.indents is None or level is None or tried is None or tried.orelse or tried.final:
            return level
        if not self.unit.handlers_last or self.indents.is_at(stmt, level) is not False:
            return level
        return level + STEP if self.indents.is_at(stmt, level + STEP) else level

    def level_of_else(self, stmt: If, level: int | None) -> int | None:
        """``level`` if what is in the ``else`` of ``stmt`` begins there, too."""
        if self.indents is None or level is None or not stmt.orelse:
            return None
        return level if self.indents.is_at(stmt.orelse[0], level) else None

    @any_depth
    def nested(self, stmt: Stmt) -> Stmt:
        """``if a and b:`` as one ``if`` in another where the body is indented like that."""
        if self.indents is None or not isinstance(stmt, If) or stmt.orelse:
            return stmt
        test = stmt.test
        if not isinstance(test, BoolOf) or test.op != "and":
            return stmt
        depth = self.indents.depth(stmt)
        others = [at for at, _ in test.deeper]  # a test on the line of another one is no separate ``if``
        each = depth == len(test.values) == len(others) + 1
        inner = others if each else _inner_tests(test, depth)
        body, end = stmt.body, len(test.values)
        for start in reversed(inner):
            body, end = (If(_and(test, start, end), body, ()),), start
        if end == len(test.values):
            return stmt
        made = replace(stmt, test=_and(test, 0, end), body=body)
        step("write an and as an if in an if", made)
        return made

    def one_with(self, stmt: With) -> With:
        """``with a:`` around ``with b:`` as ``with a, b:`` where both are on one line, or indented like one."""
        within = stmt.body[0] if len(stmt.body) == 1 else None
        if not isinstance(within, With) or within.is_async != stmt.is_async:
            return stmt
        if within.line != stmt.line and (self.indents is None or not self.indents.is_one_with(stmt, within)):
            return stmt
        made = With(stmt.items + within.items, within.body, stmt.is_async, stmt.line)
        step("join two with statements", made)
        return made

    def with_else(self, body: deque[Stmt]) -> None:
        """A ``try`` begins ``body``: what stood in its ``else``, nothing else, goes there; where all its handlers
        leave, both are the same."""
        stmt = body[0]
        if self.indents is None or not isinstance(stmt, Try) or stmt.final or stmt.star or not stmt.handlers:
            return
        if stmt.orelse and self._is_flat(stmt):
            body.popleft()
            body.extendleft(reversed((replace(stmt, orelse=()), *stmt.orelse)))
            step("move the else of a try to after it", body[0])
        if stmt.orelse or not self.unit.handlers_last:
            return
        left = stmt.body[-1] if len(stmt.body) > 1 else None
        clause = stmt.handlers[-1]
        if isinstance(left, (Break, Continue)) and (left.line or 0) > max(last_line(clause.body), clause.line or 0):
            body[0] = replace(stmt, body=stmt.body[:-1], orelse=(left,))
        elif len(body) > 1 and all(ends(clause.body) for clause in stmt.handlers):
            body.popleft()
            orelse = tuple(body.popleft() for _ in range(self.indents.in_else(stmt, body)))
            body.appendleft(replace(stmt, orelse=orelse) if orelse else stmt)
            if orelse:
                step("move what follows a try into its else", body[0])

    def one_try(self, stmt: Try) -> Try:
        """``try: try: .. except: .. finally: ..`` as one statement, with what follows the inner one in its ``else``.

        After handlers that all leave, both are the same; a second ``try:`` would have a separate line.
        """
        inner = stmt.body[0] if stmt.body and stmt.final and not stmt.handlers else None
        if not isinstance(inner, Try) or not inner.handlers or inner.final:
            return stmt
        rest = stmt.body[1:]
        if rest:
            line = first_line(inner.body)
            if line is None or not all(ends(clause.body) for clause in inner.handlers) or self._tries.get(line) != 1:
                return stmt
        made = Try(inner.body, inner.handlers, (*inner.orelse, *rest), stmt.final, inner.star, stmt.line)
        step("join a try in a try", made)
        return made

    @cached_property
    def _tries(self) -> dict[int, int]:
        return try_lines(self.unit)

    def _is_flat(self, stmt: Try) -> bool:
        """Whether what is in the ``else`` of a ``try`` is indented like the ``try``."""
        level = self.indents.first(stmt.body) if self.indents else None
        if self.indents is None or level is None or not all(ends(clause.body) for clause in stmt.handlers):
            return False
        return self.indents.is_at(stmt.orelse[0], level - STEP) is True

    def loop_body(self, body: Body) -> Body:
        """The body of a loop; the handlers of a ``try`` at its end without a ``continue`` that is not in the source."""
        last = body[-1] if body else None
        if self.indents is None:
            return body
        if isinstance(last, Continue) and len(body) == 1 and self.indents.columns.word(last.line) != "continue":
            return (PassStmt(last.line),)
        if not isinstance(last, Try) or last.final:
            return body
        handlers = tuple(replace(clause, body=self._falling(clause.body)) for clause in last.handlers)
        return (*body[:-1], replace(last, handlers=handlers))

    def _falling(self, body: Body) -> Body:
        last = body[-1] if body else None
        if not isinstance(last, Continue) or self.indents is None:
            return body
        if self.indents.columns.word(last.line) == "pass":
            return body[:-1] or (PassStmt(last.line),)
        written = last.line is not None and last.line > (last_line(body[:-1]) if len(body) > 1 else 0)
        return body if written or len(body) == 1 else body[:-1]

    def flat_if(self, stmt: If, orelse: deque[Stmt], level: int | None) -> deque[Stmt]:
        """``stmt`` without an ``else`` that is not in the source; what only falls off the end of the function needs
        one.

        The ``else`` comes apart from ``stmt``, which has none; the result takes it over.
        """
        outer: list[tuple[If, int | None]] = []
        while True:
            level = self.level_of(stmt, level)
            end = self._end_of_arm(stmt, orelse)
            if end < len(stmt.body) or not orelse or not ends(stmt.body) or self._reaches_end(stmt.body):
                last = replace(stmt, body=stmt.body[:end], orelse=tuple(orelse))
                orelse = deque((self.nested(last), *stmt.body[end:]))
                break
            outer.append((stmt, level))
            inner = orelse[0] if len(orelse) == 1 else None
            if not isinstance(inner, If):
                break
            stmt, orelse, level = replace(inner, orelse=()), deque(inner.orelse), None
        for test, at in reversed(outer):
            count = max(self._in_else(test, orelse, at), self._annotated(orelse))
            inside = tuple(orelse.popleft() for _ in range(count))
            if orelse:
                step("move the else of an if that leaves to after it", test)
            orelse.appendleft(self.nested(replace(test, orelse=self._as_elif(inside, at))))
        return orelse

    def _as_elif(self, body: Body, level: int | None) -> Body:
        """``body`` of an ``else`` that was an ``elif`` with another ``else``."""
        first = body[0] if len(body) > 1 else None
        if not isinstance(first, If) or first.orelse or level is None or self.indents is None:
            return body
        if not ends(first.body) or not self.indents.is_elif(first, level):
            return body
        return (replace(first, orelse=body[1:]),)

    def _end_of_arm(self, stmt: If, orelse: Sequence[Stmt]) -> int:
        """Where the first arm of ``stmt`` ends: what stands after the ``else`` runs only after that arm, but is no part
        of it."""
        if orelse and ends(orelse) and not self._reaches_end(orelse) and (last := last_line(orelse)):
            later = (i for i, inner in enumerate(stmt.body) if inner.line and inner.line > last)
            return next(later, 0) or len(stmt.body)
        return len(stmt.body)

    @any_depth
    def _reaches_end(self, body: Sequence[Stmt]) -> bool:
        """Whether ``body`` can fall off the end of the function."""
        if not body or self.loops:
            return False
        last = body[-1]
        if isinstance(last, Return):
            return last.implicit
        known = self._reaching.get(id(last))
        if known is None:
            reaches = False
            for inner in bodies(last):
                reaches = reaches or self._reaches_end(inner)
            known = self._reaching[id(last)] = last, reaches
        return known[1]

    def _annotated(self, orelse: Sequence[Stmt]) -> int:
        """How many statements of an ``else`` come before the end of its last annotation: a class notes those that are
        in some branch."""
        if REACHED not in self.unit.cellvars or self.loops:
            return 0
        return max((at + 1 for at, stmt in enumerate(orelse) if isinstance(stmt, AnnAssign)), default=0)

    def _in_else(self, test: If, body: Sequence[Stmt], level: int | None) -> int:
        """How many statements at the beginning of ``body`` are indented deeper than ``level`` of ``test``."""
        if self.indents is None or level is None:
            return 0
        for count, stmt in enumerate(body):
            at = None if (stmt.line or 0) <= (test.line or 0) else self.indents.is_at(stmt, level)
            if at or at is None and not count:
                return count
        return len(body)


def last_line(body: Sequence[Stmt]) -> int:
    """The line of the last statement that has one, 0 if that is not soon found."""
    for _ in range(40 if body else 0):
        nested = [inner for inner in bodies(body[-1]) if inner]
        if not nested:
            return body[-1].line or 0
        body = nested[-1]
    return 0


@any_depth
def _inner_tests(test: BoolOf, depth: int | None) -> list[int]:
    """The operands of ``and`` that begin the test of an inner ``if``; ``depth``: how many there are, if known."""
    found: list[int] = []
    for at, steps in test.deeper:
        if steps == len(found) + 1:
            found.append(at)
    if depth in (None, len(found) + 1):
        return found
    # of ``if (`` over several lines, the first operand has another column
    below = [at for at, _ in test.deeper]
    return below if depth == len(below) + 1 else []


def _and(test: BoolOf, start: int, end: int) -> Expr:
    return test.values[start] if end - start == 1 else BoolOf(test.op, tuple(test.values[start:end]))
