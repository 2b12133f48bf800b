"""Restores the test of a conditional expression that short circuits in its arms were threaded past.

    (a if b else c or d) or e      b; BRANCH false C;  a; JUMP M;  C: c; COPY; BRANCH true E;  POP; d;
                                   M: COPY; BRANCH true E;  POP; e;  E:

``c`` leads to ``M`` in the source; the optimiser knows what the test there finds and goes on to ``E``.  Under ``and e``
it goes on to ``POP``, or after it without having copied ``c`` (up to 3.11).  Input: a ``Program``.  Output: the same,
such branches going to ``M`` again.  ``c`` is in one of the arms because it lies after ``b``, the last instruction that
all ways to ``M`` have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.safety.rewrites import step

_LONGEST = 1000
"""How far apart the parts of an expression may be, in instructions."""


@dataclass(frozen=True, slots=True)
class _Test:
    """The test of an operand; ``start`` is the copy of what is tested, or the branch where there is none."""

    start: int
    branch: int
    copied: bool
    after: int
    """Where the next operand begins."""


def join_skipped_tests(program: Program) -> None:
    """Lead short circuits to the test of the whole expression (edits ``program``)."""
    tests = _tests(program)
    if len(tests) < 2:
        return
    into = _edges(program)
    for position, whole in enumerate(tests):
        if len(into[whole.start]) < 2:
            continue
        nearest = whole.start - _LONGEST
        inner = [test for test in tests[max(0, position - _LONGEST) : position] if test.start > nearest]
        inner = [test for test in inner if _skips(program, test, whole)]
        begun = _dominator(into, whole.start) if inner else 0
        for test in inner:
            if test.start > begun:
                _lead(program, into, test, whole)


def _tests(program: Program) -> list[_Test]:
    """All that may be tests of operands, in their order."""
    instrs = program.instrs
    found = []
    for branch in range(1, len(instrs)):
        if instrs[branch].op != ops.BRANCH or program.jump[branch] <= branch or program.next[branch] == NONE:
            continue
        copy, after = instrs[branch - 1], program.next[branch]
        if copy.op == ops.COPY and copy.arg == 1 and program.next[branch - 1] == branch:
            if instrs[after].op == ops.POP:
                found.append(_Test(branch - 1, branch, True, program.next[after]))
        else:
            found.append(_Test(branch, branch, False, after))
    return found


def _skips(program: Program, test: _Test, whole: _Test) -> bool:
    """Whether the branch of ``test`` goes where that of ``whole`` goes with the same value."""
    if program.depths[test.start] != program.depths[whole.start]:
        return False
    there, found = program.follow(program.jump[test.branch]), program.instrs[test.branch].arg
    if found == program.instrs[whole.branch].arg:
        return test.copied == whole.copied and there == program.follow(program.jump[whole.branch])
    if found not in ("true", "false"):
        return False
    return there == (program.follow(program.next[whole.branch]) if test.copied else whole.after)


def _edges(program: Program) -> list[list[int]]:
    """The instructions that lead to each."""
    into: list[list[int]] = [[] for _ in program.instrs]
    for i, (after, taken) in enumerate(zip(program.next, program.jump, strict=True)):
        if after != NONE:
            into[after].append(i)
        if taken != NONE:
            into[taken].append(i)
    return into


def _dominator(into: list[list[int]], whole: int) -> int:
    """The last instruction that all ways to ``whole`` go through: the arms of a conditional expression lie after it.

    From the last one backwards: where one is the only one still to look at, no edge passes over it.
    """
    lowest = max(0, whole - _LONGEST)
    pending, known = [-whole], {whole}  # a heap of negated indices
    while pending:
        at = -heappop(pending)
        if at < lowest:
            break
        if not pending and at < whole:
            return at
        for before in into[at]:
            if before < at and before not in known:
                known.add(before)
                heappush(pending, -before)
    return whole


def _lead(program: Program, into: list[list[int]], test: _Test, whole: _Test) -> None:
    """Let the branch of ``test`` go to ``whole``, with what it tests on the stack."""
    branch = test.branch
    into[program.jump[branch]].remove(branch)
    program.jump[branch] = whole.start
    into[whole.start].append(branch)
    if not test.copied:
        program.insert(branch, ops.COPY, 1)
        program.next[branch] = program.append(program.next[branch], ops.POP)
    step("lead a branch to the test of the whole that it skips", branch)
