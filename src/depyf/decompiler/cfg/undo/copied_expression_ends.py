"""Merges the copies of the end of an expression that the compiler put into its arms, in code without lines.

    f; a; BRANCH false E;  b; CALL; RETURN;  E: c; CALL; RETURN      is      f; a; BRANCH false E;  b; JUMP L;  E: c; L:
    CALL; RETURN

``f`` waits on the stack across the branch for what both arms do with it: no statement does that, so the arms belong to
one expression, ``f(b if a else c)``.  Input and output: ``Program``.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.undo.short_circuit_exits import Places, alike

_SHUFFLES = frozenset({ops.POP, ops.SWAP, ops.ROT, ops.COPY, ops.POP_EXCEPT})
"""What statements, too, do to what waits below them: iterators, managers, caught exceptions."""
_ENDS = frozenset({ops.RETURN, ops.RAISE, ops.RERAISE})
_FILLS = frozenset(
    {ops.LIST_EXTEND, ops.LIST_APPEND, ops.SET_UPDATE, ops.SET_ADD, ops.DICT_UPDATE, ops.DICT_MERGE, ops.MAP_ADD}
)
_LONGEST = 60
"""How long an arm may be, in instructions."""


def join_expression_ends(program: Program) -> None:
    """Make one of the copies of what uses the values waiting below a branch (edits ``program``)."""
    if any(line is not None for line in program.line):
        return
    places = Places(program)
    for test in reversed(range(len(program.instrs))):
        if program.instrs[test].op != ops.BRANCH or program.depths[test] < 2:
            continue
        height = program.depths[test]  # the arm's value takes the place of what is tested
        found = _values(program, program.next[test], height)
        if found:
            others = _values(program, program.jump[test], height)
            ends = ((one, other) for one in reversed(found) for other in others if alike(program, one, other))
            pair = next(ends, None)
            if pair is not None:
                places.join(*pair)


def _values(program: Program, start: int, height: int) -> list[int]:
    """Where an arm that begins at ``start`` has its value and goes on with something that uses what waits below it."""
    found: list[int] = []
    at = program.follow(start)
    for _ in range(_LONGEST):
        if at == NONE or at >= len(program.depths) or program.depths[at] < height - 1:
            break
        instr = program.instrs[at]
        if program.depths[at] == height and _uses(program, at, height):
            found.append(at)
        if instr.op in _ENDS:
            break
        after = _after(program, at)
        if after != NONE and program.depths[after] < height and _ends_statement(program, at):
            break
        at = after
    return found


def _after(program: Program, at: int) -> int:
    """What runs after an instruction of an expression; a loop there is a comprehension, of which the end goes on."""
    return program.follow(program.jump[at] if program.instrs[at].op == ops.FOR_ITER else program.next[at])


def _ends_statement(program: Program, at: int) -> bool:
    """Whether an instruction that leaves nothing of an arm is the end of a statement: no value is on its way."""
    instr = program.instrs[at]
    if instr.op == ops.POP:
        return program.instrs[at - 1].op != ops.BRANCH
    return instr.op == ops.FOR_ITER or instr.op.startswith(("STORE", "DELETE"))


def _uses(program: Program, at: int, height: int) -> bool:
    """Whether the first instruction from ``at`` on that reaches below the arm's value does more than drop or move
    it."""
    for _ in range(_LONGEST):
        if at == NONE or at >= len(program.depths):
            return False
        op, arg = program.instrs[at].op, program.instrs[at].arg
        if op in _FILLS:
            lowest = program.depths[at] - (2 if op == ops.MAP_ADD else 1) - arg
        elif op in _SHUFFLES:
            lowest = program.depths[at] - (arg if isinstance(arg, int) else 1)
        else:
            lowest = program.depths[at] - ops.stack_effect(op, arg)[0]
        if lowest < height - 1:
            return op not in _SHUFFLES and op not in _ENDS
        at = _after(program, at)
        if op in _ENDS or op == ops.BRANCH or at != NONE and program.depths[at] < height:
            return False  # the value is used up
    return False
