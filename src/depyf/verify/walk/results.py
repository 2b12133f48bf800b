"""What a matched event leaves on the two stacks.

Both sides get the same new values; where the recompiled code enters a manager by calls, each side gets them in its own layout.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.verify.relation.values import Values
from depyf.verify.state.proof_state import Pair, Side
from depyf.verify.walk.managers import ENTERING, slots_of
from depyf.verify.walk.observable import Event


def push_results(pair: Pair, event_a: Event, event_b: Event, values: Values, results: list[int]) -> None:
    """Take the operands off both stacks, put ``results`` there, and go on after the event."""
    apart = event_a.key[0] in ENTERING and event_a.results != event_b.results
    found = (
        (pair.a, event_a, slots_of(pair, values, event_a.operands[0], results) if apart else results),
        (pair.b, event_b, results[-1:] if apart else results[: event_b.results]),
    )
    for side, event, own in found:
        side.gone.extend(event.operands)
        if event.pops:
            del side.stack[len(side.stack) - event.pops :]
        side.stack.extend([values.negated(value) for value in own] if event.negated else own)
        side.stack.extend(event.extra)
        side.pc += 1 + event.ahead


def decide(side: Side, values: Values, truth: bool) -> None:
    """Both outcomes of a truth test: a branch goes its way, ``not`` leaves a constant."""
    side.gone.append(side.stack.pop())
    program = side.program
    instr = program.instrs[side.pc]
    if instr.op == ops.UNARY:
        side.stack.append(values.false if truth else values.true)
        side.pc += 1
    elif (instr.arg == "true") == truth:
        side.pc = instr.target
    else:
        side.pc += 1
