"""Recognises whole ``match`` statements, before basic blocks are formed.

Input: a ``Program`` whose exception regions are known.  Output: the same program, in which the code of every case's
pattern is one ``MATCH_CASE`` operation (with a ``Case``) that falls through when the pattern matched and jumps to the
next case, the default or the end when it did not.  Guards and bodies stay ordinary code.

    COPY 1; <pattern>; stores; guard; POP; body     ->     MATCH_CASE; guard; POP; body

The subject stays on the stack until the body of the case that is taken, or the last case, drops it.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.tables.columns import STEP
from depyf.decompiler.cfg.program import MATCH_CASE, NONE, STATEMENTS, Program
from depyf.decompiler.ir.markers import Case
from depyf.decompiler.structure.match.case_guard import CaseGuard
from depyf.decompiler.structure.match.case_patterns import NoPattern, PatternReader, Reading, same_place
from depyf.decompiler.structure.match.pattern_tree import pattern_of
from depyf.safety.rewrites import step

_STARTS = frozenset({ops.COPY, ops.MATCH_SEQUENCE, ops.MATCH_MAPPING, ops.MATCH_CLASS})
TESTS_OF_PATTERNS = _STARTS | {ops.BRANCH}
"""Without any of these there is no ``match``."""
_STORES = frozenset({ops.STORE_FAST, ops.STORE_DEREF, ops.STORE_NAME, ops.STORE_GLOBAL})
_NO_VALUES = frozenset(
    {
        ops.NULL,
        ops.COPY,
        ops.SWAP,
        ops.ROT,
        ops.GET_ITER,
        ops.GET_AITER,
        ops.FOR_ITER,
        ops.LOAD_FAST_CLEAR,
        ops.WITH_EXCEPT_START,
    }
)
"""What leaves something on the stack that is no subject of a ``match``."""
_VALUE_TESTS = frozenset({(ops.COMPARE, "=="), (ops.IS, "is")})
_ONLY_MATCH = frozenset({ops.MATCH_SEQUENCE, ops.MATCH_MAPPING, ops.MATCH_CLASS, ops.MATCH_KEYS})


_IN_BODY = (len("if "), len("if ("), len("if not "), len("if not ("))
"""How far to the right of its indentation the first column of an ``if`` is."""


def recognise_matches(program: Program, *, idioms: bool = True) -> int:
    """Rewrite every ``match`` statement (edits ``program``) and return how many there were.

    Without ``idioms``, those that ordinary comparisons can express are left alone.
    """
    if not program.unit.has_match:
        return 0
    finder = _Finder(program)
    held = finder.held()
    taken: set[int] = set()
    count = 0
    for at, instr in enumerate(program.instrs):
        if at in taken:
            continue
        if instr.op in _STARTS:
            cases = finder.statement(finder.class_start(at) if instr.op == ops.MATCH_CLASS else at)
        elif at in held:
            cases = finder.statement(at, held=True)
        elif idioms and instr.op == ops.BRANCH and (start := finder.value_start(at)) != NONE:
            cases = finder.statement(start, value=True)
        else:
            continue
        if cases is None or not idioms and not finder.only_match(cases):
            continue
        if not finder.has_guard(cases):
            if all(fact.kind in ("name", "copy") for _, reading, _ in cases for fact in reading.facts):
                continue  # ``a = b = value`` is the same code as a capture of which the guard is never true
        count += 1
        step("recognise the tests of a match", cases[0][0])
        for position, reading, case in cases:
            taken.update(reading.code)
            taken.update((position, reading.success))
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
        self.handlers = frozenset(handler.target for handler in program.handlers)

    def held(self) -> frozenset[int]:
        """Where code begins that tests something while a value lies on the stack, to be dropped whatever comes out.

        That is a ``case _`` with its guard before other cases; nothing else is left of it from 3.12 on.
        """
        instrs, depths = self.program.instrs, self.program.depths
        found: set[int] = set()
        asked: set[int] = set()
        for at, depth in enumerate(depths):
            if instrs[at].op != ops.BRANCH:
                continue
            for after in self.program.successors(at):
                dropped = self.program.follow(after)
                if dropped not in asked and dropped != NONE and instrs[dropped].op == ops.POP:
                    asked.add(dropped)
                    found.add(self._held_since(at, depth - 1))
        return frozenset(found)

    def _held_since(self, at: int, depth: int) -> int:
        """Where the expression begins that ends before ``at`` and leaves alone the value on top of ``depth`` slots.

        -1 if that value is not the result of an expression.
        """
        instrs, depths = self.program.instrs, self.program.depths
        while True:
            after, at = at, at - 1
            if at > 0 and instrs[at].op == ops.RERAISE:
                while at > 0 and at not in self.handlers:
                    at -= 1  # the handler of a comprehension
                continue
            if at < 0 or depths[at] < 0:
                return NONE
            op = instrs[at].op
            if op in _STORES and depths[at] == depth + 1:
                # only a named value has a copy below it
                return after if at and instrs[at - 1].op == ops.COPY and depths[at - 1] == depth else NONE
            if op == ops.JUMP:
                continue
            if op in ops.TERMINATORS or op in STATEMENTS:
                return NONE
            takes, gives = ops.stack_effect(op, instrs[at].arg)
            if depths[at] - takes < depth:
                return after if gives == 1 and depths[at] - takes == depth - 1 and op not in _NO_VALUES else NONE

    def only_match(self, cases: Found) -> bool:
        """Whether the cases use operations that nothing but a pattern compiles to."""
        instrs = self.program.instrs
        return any(instrs[i].op in _ONLY_MATCH for _, reading, _ in cases for i in reading.code)

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

    def value_start(self, at: int) -> int:
        """Where the operand of the test at ``at`` begins, if it stands on a later line than the value it is compared
        to.

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

    def statement(self, start: int, *, value: bool = False, held: bool = False) -> Found | None:
        """All cases of the ``match`` statement whose first case begins at ``start``.

        ``value`` says that an ordinary comparison is known to be a pattern, ``held`` that the first case is a guard
        alone.
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
                if reading is None and (cases or held):
                    # 3.12 and later: nothing is left of a wildcard before its guard
                    reading = Reading([], at, NONE)
            if reading is None:
                return None
            line, below = self.program.line[at], self._guard_below(at, reading.success) if last else None
            case = Case(pattern_of(reading.facts), not cases, last, line, below or line)
            cases.append((at, reading, case))
            if last:
                return cases
            following = self._next_case(reading)
            if following is None:
                return None
            if not (len(cases) > 1 or value or held or reading.fail != NONE) and not self._is_case(
                at, reading, following
            ):
                return None
            if following == NONE:
                return cases
            at = following
        return None

    def _is_case(self, at: int, reading: Reading, following: int) -> bool:
        """Whether what is copied and stored first is a capture: something is tested before the copy is dropped.

        ``(n := value) == 1`` is the same code as a capture of which the guard is never true, and the case after it:
        there, and where the guard is never false, only the line tells.
        """
        if following not in (NONE, self.program.follow(reading.success)):
            return True
        before, own = self.program.line[at - 1] if at else None, self.program.line[at]
        return before is not None and own is not None and before < own

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

    def _read(self, at: int, *, last: bool) -> Reading | None:
        try:
            reading = self.reader.read(at, last=last)
            pattern_of(reading.facts)
            names = [fact.detail for fact in reading.facts if fact.kind == "name"]
            return reading if len(names) == len(set(names)) else None
        except NoPattern:
            return None

    def _next_case(self, reading: Reading) -> int | None:
        """Where control goes, the subject still on the stack, when a case that is not the last one fails.

        On the way to the body the subject must be dropped; a guard may come before that.  -1 if the case never fails:
        its guard is constant, and the cases after it are gone.  None where that is not what the code does.
        """
        start = self.program.follow(reading.success)
        drops = self.program.instrs[start].op == ops.POP
        if not drops and reading.fail != NONE and same_place(self.program, start, reading.fail):
            start = reading.success = reading.fail
        if start == reading.fail or reading.fail == NONE and (drops or self._begins_case(start)):
            if reading.fail != NONE or self._never_taken(reading, start):
                return start
            if not drops:
                return None
        return CaseGuard(self.program, start, reading.fail).run()

    def _never_taken(self, reading: Reading, following: int) -> bool:
        """Whether the next case follows at once: ``case x if False``, but not the test ``(x := a) is None``."""
        before, after = self.program.line[reading.code[0]] if reading.code else None, self.program.line[following]
        return before is not None and after is not None and before < after

    def _begins_case(self, at: int) -> bool:
        if self.program.instrs[at].op == ops.COPY:
            return self._read(at, last=False) is not None or self._read(at, last=True) is not None
        return self._read(at, last=True) is not None


__all__ = ["recognise_matches"]
