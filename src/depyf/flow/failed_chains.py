"""Where a chained comparison fails: one place in the source, but the operand it keeps is dropped on one way only.

    a < b < c as a test     COPY; COMPARE; BRANCH false D;  ...; COMPARE; BRANCH false F      D: POP, then a copy of what is at F
    as a value              COPY; COMPARE; COPY; BRANCH false D;  ...; COMPARE, then K        D: SWAP; POP, then a copy of K

The copies may be of code that has no line (``POP_EXCEPT`` and the jump behind it, 3.12+), and then nothing else tells that
they are one.  Input: a ``Program``.  Output: the same, both ways leading to one place.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.flow.program import NONE, Program
from depyf.flow.tails import instruction_content

_COMPARES = frozenset({ops.COMPARE, ops.IS, ops.CONTAINS})
_SWAPS = frozenset({ops.SWAP, ops.ROT})
_LONGEST = 200
"""How far apart the comparisons of a chain may be, and how long such copies may be, in instructions."""


def join_failed_chains(program: Program) -> None:
    """Give both ways the same continuation (edits ``program``)."""
    instrs, depths = program.instrs, program.depths
    into: dict[int, list[int]] = {}
    for test, instr in enumerate(instrs):
        drop = program.jump[test]
        if instr.op != ops.BRANCH or test < 3 or drop <= test:
            continue
        if instrs[test - 1].op in _COMPARES and instrs[drop].op == ops.POP:
            copy = program.next[drop]
            kept = _last_test(program, test, depths[drop] - 1)
        elif instrs[test - 1].op == ops.COPY and instrs[test - 2].op in _COMPARES and instrs[drop].op in _SWAPS:
            copy = program.next[program.next[drop]] if instrs[program.next[drop]].op == ops.POP else NONE
            kept = _last_value(program, test, depths[copy]) if copy != NONE else NONE
        else:
            continue
        copy, kept = program.follow(copy), program.follow(kept)
        if kept in (NONE, copy) or not _alike(program, copy, kept):
            continue
        if not into:
            into = _edges(program)
        for source in into.pop(copy, ()):
            if program.next[source] == copy:
                program.next[source] = kept
            if program.jump[source] == copy:
                program.jump[source] = kept
            into.setdefault(kept, []).append(source)


def _edges(program: Program) -> dict[int, list[int]]:
    """The instructions that lead to each."""
    into: dict[int, list[int]] = {}
    for i in range(len(program.instrs)):
        for after in program.successors(i):
            into.setdefault(after, []).append(i)
    return into


def _last_test(program: Program, test: int, depth: int) -> int:
    """Where the chain that begins with ``test`` goes on if its last comparison fails, with ``depth`` values on the stack."""
    at = program.next[test]
    for _ in range(_LONGEST):
        at = program.follow(at)
        if at == NONE:
            break
        instr = program.instrs[at]
        if instr.op == ops.BRANCH and program.depths[at] - 1 == depth:
            if program.instrs[at - 1].op not in _COMPARES:
                break
            return program.next[at] if instr.arg == "true" else program.jump[at]
        at = program.next[at]
    return NONE


def _last_value(program: Program, test: int, depth: int) -> int:
    """What follows the last comparison of the chain that begins with ``test``, with ``depth`` values on the stack."""
    at = program.next[test]
    for _ in range(_LONGEST):
        at = program.follow(at)
        if at == NONE:
            break
        if program.instrs[at].op in _COMPARES and program.depths[at] - 1 == depth:
            return program.next[at]
        at = program.next[at]
    return NONE


def _alike(program: Program, left: int, right: int) -> bool:
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
