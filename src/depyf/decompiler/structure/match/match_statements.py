"""Builds ``match`` statements from the tests of their cases.

Input and output: the labelled dialect as ``structure/total.py`` writes it, where every path ends in an exit.  A case is
an ``If`` on a ``CaseTest``; its other arm, or what follows the block around it, tests the next case:

    block L: { if case 1: { if guard: { A } else: exit L }  exit L }  if case 2: { B }  C
        ->  match subject: { case 1 if guard: A   case 2: B   case _: C }

A case that does not go on like that becomes a separate ``match``, on a variable that holds the subject.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from depyf.decompiler.ir.expr import Const, Expr, Purpose, Temp
from depyf.decompiler.ir.markers import CaseTest, Marker, MatchStart, MatchSubject
from depyf.decompiler.ir.stmt import (
    Assign,
    Block,
    Body,
    Exit,
    ExprStmt,
    If,
    Loop,
    Match,
    MatchAs,
    MatchCase,
    Pattern,
    Return,
    Stmt,
)
from depyf.decompiler.ir.transformer import map_lists, map_statements
from depyf.decompiler.ir.walk_stmt import bodies, close_blocks, open_blocks, walk, walk_within, with_bodies
from depyf.decompiler.lift.negation import negate
from depyf.safety.depth import any_depth


def has_cases(stmts: Body) -> bool:
    """Whether there is any test of a case."""
    return any(_case_of(stmt) is not None for stmt in walk(stmts))


class Raising:
    """Raises the cases of one function; ``temporaries`` counts the variables that hold a subject.

    ``nop_lines`` gives the lines that have nothing but a line: ``case _:`` is one.
    """

    def __init__(self, nop_lines: Callable[[], frozenset[int]]) -> None:
        self.temporaries = 0
        self._nop_lines = nop_lines
        self._variables: dict[int, tuple[MatchSubject, Temp]] = {}
        self._lines: dict[int, int | None] = {}
        self._uses: dict[int, int] = {}
        self._defaults: dict[int, Pattern] = {}
        self._depths: dict[int, int] = {}
        """How deep the statement of each label is; ``_blocks`` are those of blocks."""
        self._blocks: set[int] = set()

    def run(self, stmts: Body) -> Body:
        """``stmts`` with every case in a ``Match``."""
        for stmt, depth in walk_within(stmts, 0, lambda _stmt, depth, _at: depth + 1):
            if isinstance(stmt, (Block, Loop)):
                self._depths[stmt.label] = depth
                if isinstance(stmt, Block):
                    self._blocks.add(stmt.label)
        raised = _hoist(map_lists(self._raise(stmts), self._place_defaults))
        for stmt in walk(raised):
            if isinstance(stmt, Match):
                self._uses[id(stmt.subject)] = self._uses.get(id(stmt.subject), 0) + 1
        return map_statements(map_lists(raised, self._place_subjects), self._name_subject)

    @any_depth
    def _raise(self, stmts: Body) -> Body:
        result: list[Stmt] = []
        for i, stmt in enumerate(stmts):
            found = _case_of(stmt)
            if found is not None:
                self._lines[id(found.case.pattern)] = found.case.line
                rest = stmts[i + 1 :]
                if isinstance(stmt, If):
                    made = self._refutable(found, stmt, self._raise(stmt.body), self._raise(stmt.orelse))
                    result.extend(made)
                    result.extend(self._raise(rest))
                else:
                    result.extend(self._irrefutable(found, stmt, self._raise(rest)))
                return tuple(result)
            if bodies(stmt):
                if isinstance(stmt, Block):
                    inner = self._raise(stmt.body)
                    after = self._raise(stmts[i + 1 :])
                    guarded = self._guarded(replace(stmt, body=inner), after)
                    return (*result, *guarded) if guarded is not None else (*result, replace(stmt, body=inner), *after)
                stmt = with_bodies(stmt, self._raise)
            result.append(stmt)
        return tuple(result)

    def _refutable(self, found: CaseTest, stmt: If, yes: Body, no: Body) -> Body:
        """A case whose failure goes to ``no``."""
        subject, case = found.subject, found.case
        following = _leading_match(no, subject)
        head = MatchCase(case.pattern, None, yes)
        if following is not None:
            return _replace_leading(no, replace(following, cases=(head, *following.cases), line=stmt.line))
        if len(no) == 1 and isinstance(no[0], Exit):
            head = _guarded_last(head, no[0].label, case.guard_line)
        return self._with_default((head,), Match(subject, (head,), stmt.line), no)

    def _with_default(self, cases: tuple[MatchCase, ...], match: Match, rest: Body) -> Body:
        """What the last case fails to: the end, or ``case _``, which may turn out to be code after the statement."""
        if len(rest) == 1 and isinstance(rest[0], Exit) and not self._goes_on_inside(cases, rest[0].label):
            return (replace(match, cases=cases), *rest)
        default = MatchAs(None, None)
        self._defaults[id(default)] = default
        return (replace(match, cases=(*cases, MatchCase(default, None, rest))),)

    def _goes_on_inside(self, cases: tuple[MatchCase, ...], label: int) -> bool:
        """Whether a case goes on where ``label`` is still inside: no match leaves more then, as ``break`` does."""
        depth = self._depths.get(label, -1)
        inner = [stmt for case in cases for stmt in walk(case.body)]
        own = {stmt.label for stmt in inner if isinstance(stmt, Block)}
        exits = {stmt.label for stmt in inner if isinstance(stmt, Exit)} & self._blocks - own
        return any(self._depths.get(exit, -1) > depth >= 0 for exit in exits)

    def _place_defaults(self, stmts: list[Stmt]) -> Body:
        result: list[Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, Match) and id(stmt.cases[-1].pattern) in self._defaults:
                *cases, default = stmt.cases
                if not self._is_default(tuple(cases), default.body):
                    result += (replace(stmt, cases=tuple(cases)), *default.body)
                    continue
                guarded = _guarded_default(default) if self._starts_with_guard(cases[-1], default.body) else None
                if guarded is not None:
                    last, rest = guarded
                    result += (replace(stmt, cases=(*cases, last)), *rest)
                    continue
            result.append(stmt)
        return tuple(result)

    def _is_default(self, cases: tuple[MatchCase, ...], rest: Body) -> bool:
        """Where no case goes on after the statement, only lines tell its default from the code after it."""
        pattern = self._lines.get(id(cases[-1].pattern))
        if len(rest) == 1 and isinstance(rest[0], Return) and (rest[0].line is None or rest[0].line == pattern):
            return False
        ends = {stmt.label for stmt in walk(rest) if isinstance(stmt, Exit)}
        exits = (stmt for case in cases for stmt in walk(case.body) if isinstance(stmt, Exit))
        if any(stmt.label in ends and not stmt.written for stmt in exits):
            return True
        start = first_line(rest)
        lines = [stmt.line for stmt in walk(cases[-1].body) if stmt.line is not None]
        if start is None or pattern is None or not lines or pattern in lines:
            return True
        before = max((line for line in lines if line < start), default=pattern)
        return any(before < line <= start for line in self._nop_lines())

    def _starts_with_guard(self, before: MatchCase, rest: Body) -> bool:
        """Whether the first test of the default is on the line of its ``case _``, of which nothing is left then."""
        start, pattern = first_line(rest), self._lines.get(id(before.pattern))
        if start is None or pattern is None:
            return False
        lines = (stmt.line for stmt in walk(before.body) if stmt.line is not None)
        above = max((line for line in lines if line < start), default=pattern)
        return above < start and not any(above < line <= start for line in self._nop_lines())

    def _irrefutable(self, found: CaseTest, stmt: Stmt, rest: Body) -> Body:
        """A case that always matches: ``rest`` is its guard and body, or its body."""
        subject, case = found.subject, found.case
        following = _leading_match(rest, subject)
        if following is not None:  # its guard is constant
            head = MatchCase(case.pattern, Const(False), ())
            return _replace_leading(rest, replace(following, cases=(head, *following.cases), line=stmt.line))
        wrapped, inner = open_blocks(rest)
        guard = inner[0] if inner else None
        if isinstance(guard, If) and len(inner) == 1 and (not case.last or guard.line == case.line):
            yes, no, test = guard.body, guard.orelse, guard.test
            if not case.last and _leading_match(no, subject) is None and _leading_match(yes, subject) is not None:
                yes, no, test = no, yes, negate(test)
            following = _leading_match(no, subject)
            head = MatchCase(case.pattern, test, yes)
            made: Body | None = None
            if following is not None:
                made = _replace_leading(no, replace(following, cases=(head, *following.cases), line=stmt.line))
            elif case.last and is_wildcard(case.pattern):
                default = MatchCase(MatchAs(None, None), None, no)
                made = (Match(subject, (head, default), stmt.line),)
            elif case.last:
                made = self._with_default((head,), Match(subject, (head,), stmt.line), no)
            if made is not None:
                return close_blocks(wrapped, made)
        if not case.last or is_wildcard(case.pattern) and not case.first:
            # its guard is constantly true, and the cases that can never be reached are gone, all but one
            gone = MatchCase(MatchAs(None, None), None, ())
            return (Match(subject, (MatchCase(case.pattern, Const(True), rest), gone), stmt.line),)
        return (Match(subject, (MatchCase(case.pattern, None, rest),), stmt.line),)

    def _guarded(self, block: Block, after: Body) -> Body | None:
        """A block whose end is the next case: the guards of the cases inside it exit to it."""
        match = _leading_match_any(block.body)
        if match is None:
            return None
        prefix, found, tail = match
        if len(tail) != 1 or not isinstance(tail[0], Exit) or tail[0].label != block.label:
            return None
        *others, final = found.cases
        if any(_exits(case.body, block.label) for case in others) or any(
            _exits((stmt,), block.label) for stmt in prefix
        ):
            return None
        following = _leading_match(after, found.subject)
        # (what goes on after the statement, matched or not, is the body ``pass``)
        changed = _never(final, block.label) if following is not None else None
        if changed is None and final.guard is not None and not _exits(final.body, block.label):
            changed = final
        if changed is None:
            changed = _guard(final, block.label, None if following is not None else self._lines.get(id(final.pattern)))
        if changed is None:
            return None
        cases = (*others, changed)
        if following is not None:
            return (*prefix, *_replace_leading(after, replace(found, cases=cases + following.cases)))
        return (*prefix, *self._with_default(cases, found, after))

    def _place_subjects(self, stmts: list[Stmt]) -> Body:
        """The subject is evaluated right before its ``match``: put it there."""
        result: list[Stmt] = []
        for stmt in stmts:
            if result:
                start = _start_of(result[-1])
                if start is not None and self._uses.get(id(start)) == 1:
                    filled = _fill(stmt, start)
                    if filled is not None:
                        result[-1] = filled
                        continue
            result.append(stmt)
        return tuple(result)

    def _name_subject(self, stmt: Stmt) -> Stmt:
        """What could not be put into a ``match`` gets a variable."""
        start = _start_of(stmt)
        if start is not None:
            return Assign((self._variable(start),), start.value, stmt.line)
        if isinstance(stmt, Match) and isinstance(stmt.subject, MatchSubject):
            return replace(stmt, subject=self._variable(stmt.subject))
        return stmt

    def _variable(self, subject: MatchSubject) -> Temp:
        known = self._variables.get(id(subject))
        if known is None:
            self.temporaries += 1
            known = self._variables[id(subject)] = (subject, Temp(self.temporaries, Purpose.SUBJECT))
        return known[1]


def _case_of(stmt: Stmt) -> CaseTest | None:
    test: Expr | None = stmt.test if isinstance(stmt, If) else stmt.value if isinstance(stmt, ExprStmt) else None
    return test if isinstance(test, CaseTest) else None


def _start_of(stmt: Stmt) -> MatchSubject | None:
    return stmt.value.subject if isinstance(stmt, ExprStmt) and isinstance(stmt.value, MatchStart) else None


def _leading_match(stmts: Body, subject: Expr) -> Match | None:
    """The ``match`` on ``subject`` that ``stmts`` begin with, perhaps inside blocks."""
    _, inner = open_blocks(stmts)
    first = inner[0] if inner else None
    return first if isinstance(first, Match) and first.subject is subject else None


def _replace_leading(stmts: Body, match: Match) -> Body:
    around, inner = open_blocks(stmts)
    return close_blocks(around, (match, *inner[1:]))


def _rewrap(stmts: Body, inner: Body) -> Body:
    """``inner`` in place of what the blocks that ``stmts`` begin with hold."""
    return close_blocks(open_blocks(stmts)[0], inner)


def _leading_match_any(stmts: Body) -> tuple[Body, Match, Body] | None:
    """The first ``match`` of a list, on a subject that is still a marker, what is before it and what after."""
    for i, stmt in enumerate(stmts):
        if isinstance(stmt, Match) and isinstance(stmt.subject, MatchSubject):
            return stmts[:i], stmt, stmts[i + 1 :]
    return None


def _exits(body: Body, label: int) -> int:
    return sum(isinstance(stmt, Exit) and stmt.label == label for stmt in walk(body))


@any_depth
def _hoist(stmts: Body) -> Body:
    """Move code after the ``match`` that only one case goes on to, but that stands after all cases in the source."""
    result: list[Stmt] = []
    for stmt in stmts:
        after: Body = ()
        if isinstance(stmt, Match) and stmt is stmts[-1] and irrefutable(stmt.cases[-1].pattern):
            stmt, after = _without_tail(stmt)
        if bodies(stmt):
            stmt = with_bodies(stmt, _hoist)
        result += (stmt, *_hoist(after))
    return tuple(result)


def _without_tail(stmt: Match) -> tuple[Match, Body]:
    lines = [max((inner.line for inner in walk(case.body) if inner.line is not None), default=0) for case in stmt.cases]
    found: tuple[int, Body, Body] | None = None
    for i, case in enumerate(stmt.cases[:-1]):
        body, tail = _split(case.body, max(lines[i + 1 :]))
        if tail:
            if found is not None:
                return stmt, ()
            found = i, body, tail
    if found is None or stmt.cases[-1].guard is not None or not max(lines[found[0] + 1 :]):
        return stmt, ()
    at, body, tail = found
    cases = (*stmt.cases[:at], replace(stmt.cases[at], body=body), *stmt.cases[at + 1 :])
    return replace(stmt, cases=cases), tail


@any_depth
def _split(body: Body, line: int) -> tuple[Body, Body]:
    """``body`` and the end of it that stands after ``line``."""
    at = len(body)
    while at and (first_line(body[at - 1 : at]) or 0) > line:
        at -= 1
    if at < len(body):
        return body[:at], body[at:]
    last = body[-1] if body else None
    if not isinstance(last, (If, Match)) or isinstance(last, Match) and not irrefutable(last.cases[-1].pattern):
        return body, ()
    parts = [_split(inner, line) for inner in bodies(last)]
    tails = [tail for _, tail in parts if tail]
    if len(tails) != 1:
        return body, ()
    shortened = iter(parts)
    return (*body[:-1], with_bodies(last, lambda inner: next(shortened)[0])), tails[0]


def first_line(body: Body) -> int | None:
    """The first line that a list of statements has."""
    return next((stmt.line for stmt in walk(body) if stmt.line is not None), None)


def _never(case: MatchCase, label: int) -> MatchCase | None:
    """A case with a constant false guard, if ``case`` does nothing but go on as if it had not matched."""
    return MatchCase(case.pattern, Const(False), ()) if _only_exit(case.body, label) and case.guard is None else None


def _guard(case: MatchCase, label: int, line: int | None) -> MatchCase | None:
    """A case whose body exits to ``label`` in one place: the other side of its guard, on ``line`` if that is known."""
    if _exits(case.body, label) != 1 or case.guard is not None:
        return None
    _, inner = open_blocks(case.body)
    test = inner[0] if len(inner) == 1 else None
    if not isinstance(test, If) or isinstance(test.test, Marker) or line is not None and test.line != line:
        return None
    if _only_exit(test.orelse, label):
        return MatchCase(case.pattern, test.test, _rewrap(case.body, test.body))
    if _only_exit(test.body, label):
        return MatchCase(case.pattern, negate(test.test), _rewrap(case.body, test.orelse))
    return None


def _guarded_last(case: MatchCase, label: int, line: int | None) -> MatchCase:
    """The last case with its guard: the test that is on its line, and fails to where the pattern does."""
    inner = case.body
    while len(inner) == 1 and isinstance(inner[0], Block):
        inner = inner[0].body
    test = inner[0] if len(inner) == 1 else None
    if not isinstance(test, If) or isinstance(test.test, Marker) or line is None or test.line != line:
        return case
    if _only_exit(test.orelse, label):
        return MatchCase(case.pattern, test.test, _rewrap(case.body, test.body))
    if _only_exit(test.body, label):
        return MatchCase(case.pattern, negate(test.test), _rewrap(case.body, test.orelse))
    return case


def _guarded_default(case: MatchCase) -> tuple[MatchCase, Body] | None:
    """``case _`` with the test that is all of its body as its guard, and where a failure goes."""
    test = case.body[0] if len(case.body) == 1 else None
    if not isinstance(test, If) or isinstance(test.test, Marker):
        return None
    if len(test.orelse) == 1 and isinstance(test.orelse[0], Exit):
        return MatchCase(case.pattern, test.test, test.body), test.orelse
    if len(test.body) == 1 and isinstance(test.body[0], Exit):
        return MatchCase(case.pattern, negate(test.test), test.orelse), test.body
    return None


def _only_exit(body: Body, label: int) -> bool:
    return len(body) == 1 and isinstance(body[0], Exit) and body[0].label == label


@any_depth
def irrefutable(pattern: Pattern) -> bool:
    """Whether a pattern matches anything."""
    return isinstance(pattern, MatchAs) and (pattern.pattern is None or irrefutable(pattern.pattern))


def is_wildcard(pattern: Pattern) -> bool:
    """Whether a pattern is ``_``."""
    return isinstance(pattern, MatchAs) and pattern.pattern is None and pattern.name is None


def _fill(stmt: Stmt, subject: MatchSubject) -> Stmt | None:
    match = _leading_match((stmt,), subject)
    return None if match is None else _replace_leading((stmt,), replace(match, subject=subject.value))[0]


__all__ = ["Raising", "has_cases", "irrefutable", "is_wildcard"]
