"""Finds the copies of a test: an inverted ``while`` loop has one above the loop and one at its end.

Input: instructions with explicit edges, and where blocks begin so far.  Output: the span of each such test, from its
first operand to its branch.  A span may hold short circuits (``while a[: b or None]:``); no edge enters it
but at its start, so that two spans of the same content are one.
"""

from __future__ import annotations

from collections.abc import Container

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, Program

OPERAND_OPS = frozenset(
    {ops.LOAD_CONST, ops.LOAD_FAST, ops.LOAD_DEREF, ops.LOAD_GLOBAL, ops.LOAD_NAME, ops.LOAD_CLASSDEREF, ops.NULL}
    | {ops.LOAD_ATTR, ops.LOAD_METHOD, ops.SUBSCR, ops.BINARY, ops.UNARY, ops.COMPARE, ops.IS, ops.CONTAINS, ops.CALL}
    | {ops.CALL_EX, ops.COPY, ops.SWAP, ops.ROT, ops.BUILD_TUPLE, ops.BUILD_LIST, ops.BUILD_SLICE, ops.BUILD_MAP}
    | {ops.BUILD_SET, ops.BUILD_STRING, ops.FORMAT, ops.CONVERT, ops.LIST_EXTEND, ops.LIST_APPEND, ops.LIST_TO_TUPLE}
    | {ops.DICT_MERGE, ops.DICT_UPDATE, ops.SET_UPDATE, ops.MAKE_FUNCTION, ops.SET_FUNCTION_ATTRIBUTE, ops.GET_ITER}
    | {ops.LOAD_CLOSURE, ops.YIELD, ops.DELEGATE, ops.GET_AWAITABLE, ops.GET_YIELD_FROM_ITER, ops.LOAD_SUPER_ATTR}
    | {ops.LOAD_SUPER_METHOD, ops.STORE_FAST, ops.STORE_DEREF, ops.STORE_NAME, ops.STORE_GLOBAL}
    | {ops.BUILD_CONST_KEY_MAP, ops.LOAD_FROM_DICT_OR_DEREF, ops.LOAD_FROM_DICT_OR_GLOBALS, ops.LOAD_LOCALS}
)
_INSIDE = OPERAND_OPS | {ops.POP, ops.BRANCH, ops.GET_AITER, ops.LOAD_FAST_CLEAR, ops.RESTORE_FAST}
Span = tuple[int, int]


_LONGEST = 400
"""How many instructions a test may have that is looked for: each operand of a long one begins where the first does."""


def test_spans(program: Program, of: Container[int], leaders: set[int]) -> list[Span]:
    """First and last instruction of each test that shares its source line with another."""
    instrs = program.instrs
    places: dict[int | None, list[int]] = {}
    for i, instr in enumerate(instrs):
        if instr.op == ops.BRANCH and instr.line is not None and i in of:
            places.setdefault(instr.line, []).append(i)
    if all(len(found) == 1 for found in places.values()):
        return []
    entered: dict[int, list[int]] = {}
    for i, target in enumerate(program.jump):
        if target >= 0 and i in of:
            entered.setdefault(target, []).append(i)
    spans = []
    for found in places.values():
        for end in found if len(found) > 1 else ():
            start = _start(program, of, end, entered)
            if start is not None and all(
                start <= source <= end for inside in range(start + 1, end + 1) for source in entered.get(inside, ())
            ):
                spans.append((start, end))
    return [(start, end) for start, end in spans if start not in leaders or _has_blocks(start, end, leaders)]


def _has_blocks(start: int, end: int, leaders: set[int]) -> bool:
    return any(inside in leaders for inside in range(start + 1, end + 1))


def _start(program: Program, of: Container[int], end: int, entered: dict[int, list[int]]) -> int | None:
    """Where the operands of the branch at ``end`` begin, and all that jumps to one of them."""
    instrs = program.instrs
    need, at, first = 1, end, end
    needs: dict[int, int] = {}
    while need or first < at:
        if len(needs) > _LONGEST:
            return None
        needs[at] = need
        before = at - 1
        if before < 0:
            return None
        over = _jump_over(program, of, at)
        if over is not None:
            at = over
            continue
        back = _end_of_loop(program, of, at)
        if back is not None:
            need, at = need + 1, back  # a comprehension; its iterator is gone where the loop ends
            needs[at] = need
            continue
        op, target = instrs[before].op, program.jump[before]
        if before not in of or (op in (ops.BRANCH, ops.JUMP) and target not in needs and not _fails(program, before)):
            return None
        first = min([first, *entered.get(at, ())])
        if op == ops.JUMP:
            need, at = needs[target], before  # one arm of a conditional expression, after the other
            continue
        if program.next[before] != at or op not in _INSIDE:
            return None
        at = before
        pops, pushes = ops.stack_effect(op, instrs[at].arg)
        need = max(need - pushes, 0) + pops
    return at


def _end_of_loop(program: Program, of: Container[int], at: int) -> int | None:
    """The loop that ends in front of ``at``; what ends an asynchronous one is not looked at."""
    before = at - 1
    while before >= 0 and before not in of:
        before -= 1
    loop = program.jump[before] if before >= 0 and program.instrs[before].op == ops.JUMP else -1
    loops = 0 <= loop < before and program.instrs[loop].op in (ops.FOR_ITER, ASYNC_FOR_ITER)
    return loop if loops and program.jump[loop] == at else None


def _jump_over(program: Program, of: Container[int], at: int) -> int | None:
    """The jump to ``at`` over code that is not looked at: what cleans up after a comprehension inside a handler."""
    before = at - 1
    while before >= 0 and before not in of:
        before -= 1
    jumps = before < at - 1 and before >= 0 and program.instrs[before].op == ops.JUMP
    return before if jumps and program.jump[before] == at else None


def _fails(program: Program, branch: int) -> bool:
    """Whether a branch is a link of a chained comparison: where it fails, the operand for the next one is dropped."""
    target = program.jump[branch]
    return program.instrs[branch].op == ops.BRANCH and program.instrs[target].op in (ops.POP, ops.SWAP, ops.ROT)
