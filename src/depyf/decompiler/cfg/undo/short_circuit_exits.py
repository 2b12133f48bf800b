"""Merges the copies of the early exit of a short circuit or chained comparison.

    a and b, its value dropped    a; COPY; BRANCH false D;  POP; b, then K               D: a copy of K a < b < c as a
    value          COPY; COMPARE; COPY; BRANCH false D;  ...; COMPARE, then K    D: SWAP; POP, then a copy of K a < b <
    c as a test           COPY; COMPARE; BRANCH false D;  ...; COMPARE; BRANCH false F  D: POP, then a copy of what is
    at F

The copies may be of code that has no line (``POP_EXCEPT`` and the jump after it, 3.12+), or have the columns of what
comes before: nothing else tells that they are one.  Input: a ``Program``.  Output: the same, all ways leading to one
place.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.undo.copied_tails import instruction_content
from depyf.safety.rewrites import step

_COMPARES = frozenset({ops.COMPARE, ops.IS, ops.CONTAINS})
_SWAPS = frozenset({ops.SWAP, ops.ROT})
_LONGEST = 200
"""How far apart the parts of an expression may be, and how long such copies may be, in instructions."""


def join_short_circuit_exits(program: Program) -> None:
    """Give the ways out of one expression the same continuation (edits ``program``)."""
    instrs, depths = program.instrs, program.depths
    places = Places(program)
    for test, instr in enumerate(instrs):
        drop = program.jump[test]
        if instr.op != ops.BRANCH or test < 2 or drop <= test:
            continue
        before = instrs[test - 1]
        if before.op in _COMPARES and instrs[drop].op == ops.POP:
            copy = program.next[drop]
            places.join(copy, _last_test(program, test, copy, depths[drop] - 1))
        elif before.op == ops.COPY and before.arg == 1 and instr.arg in ("true", "false"):
            copy = drop
            if instrs[drop].op in _SWAPS and instrs[program.next[drop]].op == ops.POP:
                copy = program.next[program.next[drop]]
            places.join(copy, _last_value(program, test, copy))


class Places:
    """Makes one place of two in a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._into: dict[int, list[int]] | None = None

    def join(self, copy: int, kept: int) -> None:
        """Lead all edges to ``copy`` to ``kept``, if both do the same; either may be -1."""
        program = self.program
        copy, kept = program.follow(copy), program.follow(kept)
        if NONE in (copy, kept) or copy == kept or not alike(program, copy, kept):
            return
        if self._into is None:
            self._into = _edges(program)
        for source in self._into.pop(copy, ()):
            if program.next[source] == copy:
                program.next[source] = kept
            if program.jump[source] == copy:
                program.jump[source] = kept
            self._into.setdefault(kept, []).append(source)
        step(f"lead what goes to the copy at instruction {copy} to the original", kept)


def _edges(program: Program) -> dict[int, list[int]]:
    """The instructions that lead to each."""
    into: dict[int, list[int]] = {}
    for i in range(len(program.instrs)):
        for after in program.successors(i):
            into.setdefault(after, []).append(i)
    return into


def _last_test(program: Program, test: int, copy: int, depth: int) -> int:
    """Where the chain that begins with ``test`` goes on if its last comparison fails, with ``depth`` values on the
    stack.

    Of a test for None nothing but what it does tells which way that is: the same as ``copy``.
    """
    at = program.next[test]
    for _ in range(_LONGEST):
        at = program.follow(at)
        if at == NONE:
            break
        instr = program.instrs[at]
        if instr.op == ops.BRANCH and program.depths[at] - 1 == depth:
            if instr.arg not in ("true", "false"):
                ways = (program.jump[at], program.next[at])
                return next((way for way in ways if copy != NONE and alike(program, copy, way)), NONE)
            if program.instrs[at - 1].op not in _COMPARES:
                break
            return program.next[at] if instr.arg == "true" else program.jump[at]
        at = program.next[at]
    return NONE


def _last_value(program: Program, test: int, copy: int) -> int:
    """What does the same as ``copy`` where the expression of which ``test`` is a part has its value without going
    there."""
    at = program.follow(program.next[test])
    if copy == NONE or at == NONE:
        return NONE
    depth, begun = program.depths[copy], False
    for _ in range(_LONGEST):
        at = program.follow(program.next[at])
        if at in (NONE, copy) or begun and program.depths[at] < depth:
            break  # the value is used up
        begun = begun or program.depths[at] >= depth
        if program.depths[at] == depth and alike(program, copy, at):
            return at
        if program.instrs[at].op == ops.BRANCH or _drops_operand(program, at):
            begun = False  # another operand follows
    return NONE


def _drops_operand(program: Program, at: int) -> bool:
    """Whether the operand of a short circuit is dropped for the next one."""
    instrs = program.instrs
    return at >= 2 and instrs[at].op == ops.POP and instrs[at - 1].op == ops.BRANCH and instrs[at - 2].op == ops.COPY


def alike(program: Program, left: int, right: int) -> bool:
    """Whether two places do the same until they meet or end, whatever their lines."""
    for _ in range(_LONGEST):
        left, right = program.follow(left), program.follow(right)
        if left == right:
            return left != NONE
        if NONE in (left, right) or program.handler[left] != program.handler[right]:
            return False
        if instruction_content(program, left)[:2] != instruction_content(program, right)[:2]:
            return False
        first, second = program.successors(left), program.successors(right)
        if len(first) != len(second) or len(first) > 1 and first != second:
            return False
        if len(first) != 1:
            return True
        left, right = first[0], second[0]
    return False
