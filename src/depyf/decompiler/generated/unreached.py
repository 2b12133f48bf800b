"""Finds code that the contract calls unreachable: ``raise None`` after a ``with`` that suppressed an exception.

Dynamo enters a ``with`` again whose body a graph break cut in two, and closes it at the head of the function, away from
the body; after that it puts ``raise None``, "to make analysis work for unreachable code"
(``torch/_dynamo/resume_execution.py``).  ::

    H: WITH_EXCEPT_START; BRANCH true S; RERAISE
    S: POP; POP_EXCEPT; POP; POP; [the exits of the ``with`` around it]; LOAD_CONST None; RAISE 1
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.control_flow import predecessors
from depyf.decompiler.bytecode.lower import Lowered

_BETWEEN = frozenset({
    ops.POP, ops.POP_EXCEPT, ops.SWAP, ops.ROT, ops.COPY, ops.JUMP, ops.NULL, ops.CALL, ops.GET_AWAITABLE, ops.DELEGATE,
})  # fmt: skip


def unreached(lowered: Lowered) -> frozenset[int]:
    """The instructions between such a test and its ``raise None``, both ends included, that nothing else leads to."""
    tests = dict(_suppressed(lowered))
    chains = {start: chain for start in tests if (chain := _to_raise_none(lowered, start))}
    incoming = predecessors(lowered) if chains else {}
    while True:
        inside = {index for chain in chains.values() for index in chain}
        entered = {
            index
            for index in inside
            if any(source not in inside | {tests.get(index)} for source in incoming.get(index, ()))
        }
        if not entered:
            return frozenset(inside)
        chains = {start: chain for start, chain in chains.items() if entered.isdisjoint(chain)}


def _suppressed(lowered: Lowered) -> list[tuple[int, int]]:
    """(where control goes on when a manager suppressed the exception, the branch that tests that)."""
    found = []
    for at, instr in enumerate(lowered.instrs):
        if instr.op == ops.WITH_EXCEPT_START:
            test = at + 1
            while test < len(lowered.instrs) and lowered.instrs[test].op in _BETWEEN - {ops.JUMP}:
                test += 1
            if test < len(lowered.instrs) and lowered.instrs[test].op == ops.BRANCH:
                branch = lowered.instrs[test]
                found.append((branch.target if branch.arg == "true" else test + 1, test))
    return found


def _to_raise_none(lowered: Lowered, start: int) -> list[int]:
    """The straight way from ``start`` to ``raise None``; [] where it is none."""
    instrs = lowered.instrs
    chain: list[int] = []
    at = start
    while at < len(instrs) and len(chain) <= len(instrs):
        instr = instrs[at]
        chain.append(at)
        if instr.op == ops.RAISE:
            return chain if instr.arg == 1 and len(chain) > 1 and _is_none(instrs[chain[-2]]) else []
        if instr.op not in _BETWEEN and not _is_none(instr):
            return []
        at = instr.target if instr.op == ops.JUMP else at + 1
    return []


def _is_none(instr: ops.Instr) -> bool:
    return instr.op == ops.LOAD_CONST and instr.arg is None
