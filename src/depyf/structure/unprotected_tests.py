"""Short circuits that lost the handler of the ``try`` around them (3.14+).

    try:                 LOAD a          handler 0
        (a or b) or c    COPY; BRANCH    no handler: the optimiser joined the jump to that of ``... or c``, and made it anew
    except E:            POP; LOAD b     handler 0
        ...

Text that puts the test into the ``try`` again, with the same parentheses, compiles to the same hole.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.flow.program import NONE, Program


def protect_tests(program: Program) -> None:
    """Give such tests the handler of what is before and behind them, and note them (edits ``program``)."""
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
        if handler[program.next[test]] == around:  # what it jumps to may lie behind the end of the ``try``
            handler[copy] = handler[test] = around
            program.joined.update((copy, test))
