"""Recognises whole ``match`` statements, before basic blocks are formed.

Input: a ``Program`` whose exception regions are known.  Output: the same program, in which the code of every case's
pattern is one ``MATCH_CASE`` operation (with a ``Case``) that falls through when the pattern matched and jumps to the
next case, the default or the end when it did not.  Guards and bodies stay ordinary code.

    COPY 1; <pattern>; stores; guard; POP; body     ->     MATCH_CASE; guard; POP; body

The subject stays on the stack until the body of the case that is taken, or the last case, drops it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from depyf.bytecode import ops
from depyf.bytecode.tables.columns import STEP
from depyf.cfg.program import ASYNC_FOR_ITER, END_FINALLY, MATCH_CASE, NONE, WITH_EXIT, Program
from depyf.ir.stmt import MatchAs, Pattern
from depyf.lift.case_patterns import NoPattern, PatternReader, Reading
from depyf.lift.pattern_tree import pattern_of
from depyf.safety.rewrites import step

_STARTS = frozenset({ops.COPY, ops.MATCH_SEQUENCE, ops.MATCH_MAPPING, ops.MATCH_CLASS})
TESTS_OF_PATTERNS = _STARTS | {ops.BRANCH}
"""Without any of these there is no ``match``."""
_STORES = frozenset({ops.STORE_FAST, ops.STORE_DEREF, ops.STORE_NAME, ops.STORE_GLOBAL})
_LOADS = frozenset({ops.LOAD_CONST, ops.LOAD_FAST, ops.LOAD_GLOBAL, ops.LOAD_NAME, ops.LOAD_DEREF})
_BEGINS = _STORES | _LOADS
_GUARD_LENGTH = 100
_VALUE_TESTS = frozenset({(ops.COMPARE, "=="), (ops.IS, "is")})
_STRUCTURE = frozenset({WITH_EXIT, END_FINALLY, MATCH_CASE})
_ONLY_MATCH = frozenset({ops.MATCH_SEQUENCE, ops.MATCH_MAPPING, ops.MATCH_CLASS, ops.MATCH_KEYS})


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Argument of ``MATCH_CASE``: ``first`` takes the subject from the stack, ``last`` drops it.

    A test on ``guard_line`` after the last case is its guard.
    """

    pattern: Pattern
    first: bool
    last: bool
    line: int | None
    guard_line: int | None = None


_IN_BODY = (len("if "), len("if ("), len("if not "), len("if not ("))
"""How far to the right of its indentation the first column of an ``if`` is."""


def recognise_matches(program: Program, *, idioms: bool = True) -> int:
    """Rewrite every ``match`` statement (edits ``program``) and return how many there were.

    Without ``idioms``, those that ordinary comparisons can express are left alone.
    """
    if not program.unit.has_match:
        return 0
    finder = _Finder(program)
    taken: set[int] = set()
    count = 0
    for at, instr in enumerate(program.instrs):
        if instr.op in _BEGINS and program.next[at - 1] == at or at in taken:
            continue
        if instr.op in _STARTS:
            cases = finder.statement(finder.class_start(at) if instr.op == ops.MATCH_CLASS else at)
        elif idioms and instr.op == ops.BRANCH and (start := finder.value_start(at)) != NONE:
            cases = finder.statement(start, value=True)
        elif idioms and instr.op in _BEGINS and finder.is_second(at):
            cases = finder.statement(at, value=True)
        else:
            continue
        if cases is None or not idioms and not finder.only_match(cases):
            continue
        second = finder.is_second(cases[0][0])
        cases = finder.with_wildcards(cases)
        if second and cases[0][1].code:
            continue  # what a case before it would have left is not there
        if not second and not finder.has_guard(cases):
            if all(fact.kind in ("name", "copy") for _, reading, _ in cases for fact in reading.facts):
                continue  # ``a = b = value`` is the same code as a capture of which the guard is never true
        count += 1
        step("recognise the tests of a match", cases[0][0])
        for position, reading, case in cases:
            taken.update(reading.code)
            if not reading.code:
                program.insert(position, MATCH_CASE, case)
                continue
            program.replace(position, MATCH_CASE, case)
            program.next[position] = reading.success
            program.jump[position] = reading.fail
    return count


Found = list[tuple[int, Reading, Case]]


class _Finder:
    """The tests of one program that decide which ``case`` is taken."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.reader = PatternReader(program)

    @cached_property
    def jumps(self) -> dict[int, list[int]]:
        """What jumps to each instruction, as the compiler left it: asked for before anything is rewritten."""
        found: dict[int, list[int]] = {}
        for i, target in enumerate(self.program.jump):
            if target != NONE:
                found.setdefault(target, []).append(i)
        return found

    def only_match(self, cases: Found) -> bool:
        """Whether the cases use operations that nothing but a pattern compiles to."""
        instrs = self.program.instrs
        return any(instrs[i].op in _ONLY_MATCH for _, reading, _ in cases for i in reading.code)

    def is_second(self, at: int) -> bool:
        """Whether the code at ``at`` is on a later line than the tests that lead to it, and nothing else does."""
        program = self.program
        if at == 0 or program.next[at - 1] == at:
            return False
        before = [program.line[i] if program.instrs[i].op == ops.BRANCH else None for i in self.jumps.get(at, ())]
        own = program.line[at]
        return bool(before) and own is not None and all(line is not None and line < own for line in before)

    def has_guard(self, cases: Found) -> bool:
        """Whether something is tested between the pattern of the first case and the second case."""
        if len(cases) < 2:
            return False
        return self.program.follow(cases[0][1].success) != self.program.follow(cases[1][0])

    def class_start(self, at: int) -> int:
        """Where the operands of a ``MATCH_CLASS`` begin."""
        instrs = self.program.instrs
        at -= 2
        while at > 0 and instrs[at].op == ops.LOAD_ATTR:
            at -= 1
        return at

    def with_wildcards(self, cases: Found) -> Found:
        """``case _ if guard`` before the first case, of which nothing but the guard is left since 3.12."""
        known = NONE
        while cases[0][0] != known:
            known = cases[0][0]
            cases = self._with_wildcard(cases)
        return cases

    def _with_wildcard(self, cases: Found) -> Found:
        program = self.program
        start, _, first = cases[0]
        tests = [i for i in self.jumps.get(start, ()) if program.instrs[i].op == ops.BRANCH]
        if start == 0 or program.next[start - 1] == start or not tests:
            return cases
        guard = NONE
        for at in range(min(tests), max(min(tests) - _GUARD_LENGTH, 0), -1):
            if program.instrs[at].op == ops.POP and program.depths[at] == program.depths[start]:
                break  # drops the subject: the body of the case before
            if (
                program.instrs[at].op != ops.JUMP
                and (program.next[at - 1] == at or at in self.jumps)
                and self._next_case(Reading([], at, NONE), start) == start
            ):
                guard = at
        if guard == NONE:
            return cases
        wildcard = Case(MatchAs(None, None), True, False, program.line[guard])
        rest = replace(first, first=False)
        return [(guard, Reading([], guard, NONE), wildcard), (start, cases[0][1], rest), *cases[1:]]

    def value_start(self, at: int) -> int:
        """Where the operand of the test at ``at`` begins, if it stands on a later line than the value it is compared to.

        The only difference between ``match a: case 1: ...`` and ``if a == 1: ...`` is in the lines: a comparison has
        that of its left operand, a pattern its own.
        """
        instrs, line, program = self.program.instrs, self.program.line, self.program
        start = at
        if instrs[at].arg in ("true", "false"):
            compare = at - 1
            if compare < 2 or (instrs[compare].op, instrs[compare].arg) not in _VALUE_TESTS:
                return NONE
            start = compare - 1
            while start > 0 and instrs[start].op == ops.LOAD_ATTR:
                start -= 1
        before = line[start - 1] if start else None
        if before is None or any(line[i] is None or line[i] != line[at] for i in range(start, at)):
            return NONE
        own = line[at]
        if own is None or before >= own or any(program.next[i] != i + 1 for i in range(start - 1, at)):
            return NONE
        return start

    def statement(self, start: int, *, value: bool = False) -> Found | None:
        """All cases of the ``match`` statement whose first case begins at ``start``.

        ``value`` says that an ordinary comparison is known to be a pattern.
        """
        cases: Found = []
        at = start
        seen: set[int] = set()
        while at not in seen and at != NONE:
            seen.add(at)
            reading = self._read(at, last=True)
            last = reading is not None and (bool(cases) or value or reading.tests)
            if not last:
                is_copy = self.program.instrs[at].op == ops.COPY
                reading = self._read(at, last=False) if is_copy else None
                if reading is None and cases:
                    # 3.12 and later: nothing is left of a wildcard before its guard
                    reading = Reading([], at, NONE)
            if reading is None or not (cases or value or reading.fail != NONE or self._is_below(at)):
                return None
            line, below = self.program.line[at], self._guard_below(at, reading.success) if last else None
            cases.append((at, reading, Case(pattern_of(reading.facts), not cases, last, line, below or line)))
            if last:
                return cases
            following = self._next_case(reading)
            if following is None:
                return None
            if following == NONE:
                return cases
            at = following
        return None

    def _guard_below(self, at: int, test: int) -> int | None:
        """The line of a test below a pattern, if it is its guard; None where it may be that of an ``if`` in the body.

        The body is indented one step deeper than the ``case`` (3.11+).
        """
        line, below = self.program.line[at], self.program.line[test] if test != NONE else None
        if line is None or below is None or below <= line:
            return None
        pattern, column = self.program.columns.least.get(line), NONE
        for at in range(test, len(self.program.line)):
            place = self.program.place(at)
            if self.program.instrs[at].op == ops.BRANCH or place is None or place[0][0] != below:
                break
            column = place[0][1] if column == NONE else min(column, place[0][1])
        if pattern is None or column == NONE:
            return None
        body = pattern - len("case ") + STEP
        return None if column - body in _IN_BODY else below

    def _is_below(self, at: int) -> bool:
        """Whether the code at ``at`` is on a later line than its subject, as a case is.

        ``(n := value) == 1`` is the same code as a capture of which the guard is never true, and the case after it.
        """
        before, own = self.program.line[at - 1] if at else None, self.program.line[at]
        return before is not None and own is not None and before < own

    def _read(self, at: int, *, last: bool) -> Reading | None:
        try:
            reading = self.reader.read(at, last=last)
            pattern_of(reading.facts)
            return reading
        except NoPattern:
            return None

    def _next_case(self, reading: Reading, known: int = NONE) -> int | None:
        """Where control goes, the subject still on the stack, when a case that is not the last one fails.

        On the way to the body the subject must be dropped; a guard may come before that.  -1 if the case never fails:
        its guard is constant, and the cases after it are gone.
        """
        instrs, program = self.program.instrs, self.program
        expected = reading.fail if reading.fail != NONE else known
        failures: list[int] = [expected] if expected != NONE else []
        seen: dict[int, int] = {}
        work = [(reading.success, 0)]
        dropped = False
        reached = known == NONE
        while work:
            at, depth = work.pop()
            at = program.follow(at)
            if at == NONE or at in failures:
                reached = reached or at == known
                continue
            if at in seen:
                if seen[at] != depth:
                    return None
                continue
            seen[at] = depth
            instr = instrs[at]
            if depth == 0 and instr.op == ops.POP:
                dropped = True
                continue
            if instr.op in (ops.RETURN, ops.END_ASYNC_FOR):
                return None
            if depth == 0 and expected == NONE and self._begins_case(at):
                failures.append(at)
                continue
            if instr.op in _STRUCTURE:
                return None
            if instr.op == ASYNC_FOR_ITER:
                work += [(program.next[at], depth + 1), (program.jump[at], depth - 1)]
                continue
            pops, pushes = ops.stack_effect(instr.op, instr.arg)
            if depth < pops and instr.op not in (ops.RAISE, ops.RERAISE):
                return None
            after = depth - pops + pushes
            if instr.op == ops.FOR_ITER:
                work.append((program.next[at], after))
                work.append((program.jump[at], depth - instr.arg))
                continue
            work.extend((position, after) for position in program.successors(at))
        if not reached:
            return None
        if not failures and dropped:
            return NONE
        if len(failures) != 1 or not (dropped or self._never_taken(reading, failures[0])):
            return None
        return failures[0]

    def _never_taken(self, reading: Reading, following: int) -> bool:
        """Whether the next case follows at once: ``case x if False``, but not the test ``(x := a) is None``."""
        before, after = self.program.line[reading.code[0]] if reading.code else None, self.program.line[following]
        if before is None or after is None or before >= after:
            return False
        return self.program.follow(reading.success) == following

    def _begins_case(self, at: int) -> bool:
        if self.program.instrs[at].op == ops.COPY:
            return self._read(at, last=False) is not None or self._read(at, last=True) is not None
        return self._read(at, last=True) is not None


__all__ = ["Case", "recognise_matches"]
