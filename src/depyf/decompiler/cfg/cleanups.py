"""Clean-up handlers of the compiler, which only rearrange the stack and re-raise.

Input: a handler.  Output: where such a clean-up, which has no statement in the source, raises again.  One that drops
what it caught and raises what was there before is a clause of the source: ``except: pass`` in a ``finally``.
"""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program

_MOST = 40
"""How many operations such a handler has at most, besides those that restore the variables kept on the stack."""
_OLD = "old"


def reraised_at(program: Program, target: int, depth: int, pushes: tuple[str, ...]) -> int:
    """Where the handler at ``target`` re-raises what it is entered with, if it does nothing else; else -1."""
    position = program.follow(target)
    if _is_empty_finally(program, position):
        return NONE
    caught = pushes[-1]
    stack = [*[_OLD] * depth, *pushes]
    for _ in range(_MOST + depth):
        if position == NONE:
            return NONE
        op, arg = program.instrs[position].op, program.instrs[position].arg
        if op == ops.RERAISE:
            return position if stack and stack[-1] == caught else NONE
        if not _shuffle(stack, op, arg):
            return NONE
        position = program.follow(program.next[position])
    return NONE


def _shuffle(stack: list[str], op: str, arg: Any) -> bool:
    """Carry out one operation that only moves values; false if it is another, or too little is on the stack."""
    if op == ops.JUMP:
        return True
    if op == ops.LOAD_CONST:
        stack.append(_OLD)
        return True
    if op in (ops.POP, ops.RESTORE_FAST, ops.POP_EXCEPT):
        count = arg if op == ops.POP_EXCEPT else 1
        if count > len(stack):
            return False
        del stack[len(stack) - count :]
        return True
    if op == ops.PUSH_EXC_INFO and stack:
        stack.insert(len(stack) - 1, _OLD)
        return True
    if op not in (ops.COPY, ops.SWAP, ops.ROT) or arg > len(stack):
        return False
    if op == ops.COPY:
        stack.append(stack[-arg])
    elif op == ops.SWAP:
        stack[-1], stack[-arg] = stack[-arg], stack[-1]
    else:
        stack.insert(len(stack) - arg, stack.pop())
    return True


def _is_empty_finally(program: Program, position: int) -> bool:
    """Whether the handler at ``position`` is that of ``finally: pass``; the compiler's own clean-up is longer."""
    if position != NONE and program.instrs[position].op == ops.PUSH_EXC_INFO:
        position = program.next[position]
    return position != NONE and program.instrs[position].op == ops.RERAISE
