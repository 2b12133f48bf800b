"""Restores the handler of tests that the compiler left outside of their ``try``.

Short circuits, from 3.14 on:

    try:                 LOAD a          handler 0
        (a or b) or c    COPY; BRANCH    no handler: the optimiser joined the jump to that of ``... or c``, and made it
        anew
    except E:            POP; LOAD b     handler 0
        ...

Text that puts the test into the ``try`` again, with the same parentheses, compiles to the same hole.

``a is None``, where Dynamo has copied code that jumps on None: it writes out the comparison, without a handler.

    LOAD a                               handler 0
    LOAD_CONST None; IS; BRANCH          no handler: none of them raises
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.safety.rewrites import step


def protect_tests(program: Program) -> None:
    """Give such tests the handler of what is before and after them, and note them (edits ``program``)."""
    if not program.handlers:
        return
    instrs, handler = program.instrs, program.handler
    for copy in range(1, len(instrs) - 1):
        test = copy + 1
        if (
            instrs[copy].op != ops.COPY
            or instrs[test].op != ops.BRANCH
            or handler[copy] != NONE
            or handler[test] != NONE
        ):
            continue
        around = handler[copy - 1]
        if around == NONE or program.next[copy - 1] != copy or program.next[copy] != test:
            continue
        if handler[program.next[test]] == around:  # what it jumps to may lie after the end of the ``try``
            handler[copy] = handler[test] = around
            program.joined.update((copy, test))
            step("put a test back into the try around it", test)
    _protect_comparisons(program)


def _protect_comparisons(program: Program) -> None:
    """What is compared was put on the stack in the ``try``, and no value on the stack outlives its statement."""
    instrs, handler = program.instrs, program.handler
    for at in range(1, len(instrs) - 2):
        if instrs[at + 1].op != ops.IS or instrs[at].op != ops.LOAD_CONST or instrs[at + 2].op != ops.BRANCH:
            continue
        written_out = (at, at + 1, at + 2)
        around = handler[at - 1]
        if around != NONE and all(handler[i] == NONE and program.next[i - 1] == i for i in written_out):
            for i in written_out:
                handler[i] = around
