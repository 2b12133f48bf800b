"""Paths that are assumed never to be taken: ``raise None``, which torch puts after a ``with`` that suppressed an
exception.

A rule of the walk (``UNREACHED_NOTE``): a path of the original ends where the test of what ``__exit__`` returned takes
the arm of "suppressed", if that arm does nothing but to leave the managers around it, and then ``raise None``.  Every
other way into that code is walked.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Instr

_SHUFFLES = frozenset({ops.POP, ops.POP_EXCEPT, ops.SWAP, ops.ROT, ops.COPY, ops.NULL})
_LEAVES = frozenset({ops.CALL, ops.GET_AWAITABLE, ops.DELEGATE})
"""The operations that leave a manager: its exit is called with three None, and awaited."""


def arms_of_suppressed(code: Lowered) -> dict[int, int]:
    """Each such test, and where it goes when the exception was suppressed."""
    instrs = code.instrs
    raises = _raising_none(instrs)
    found: dict[int, int] = {}
    for at, instr in enumerate(instrs):
        if instr.op != ops.WITH_EXCEPT_START:
            continue
        test = at + 1
        while _passes(instrs[test]) and instrs[test].op != ops.JUMP:
            test += 1
        if instrs[test].op == ops.BRANCH:
            arm = instrs[test].target if instrs[test].arg == "true" else test + 1
            if arm in raises:
                found[test] = arm
    return found


def _raising_none(instrs: tuple[Instr, ...]) -> set[int]:
    """The instructions from which control goes straight to a ``raise None``, found backwards."""
    found = {
        at - 1
        for at, instr in enumerate(instrs)
        if at and instr.op == ops.RAISE and instr.arg == 1 and _is_none(instrs[at - 1])
    }
    grown = bool(found)
    while grown:
        grown = False
        for at in range(len(instrs) - 2, -1, -1):
            after = instrs[at].target if instrs[at].op == ops.JUMP else at + 1
            if at not in found and after in found and _passes(instrs[at]):
                found.add(at)
                grown = True
    return found


def _passes(instr: Instr) -> bool:
    return instr.op in _SHUFFLES or instr.op in _LEAVES or instr.op == ops.JUMP or _is_none(instr)


def _is_none(instr: Instr) -> bool:
    return instr.op == ops.LOAD_CONST and instr.arg is None
