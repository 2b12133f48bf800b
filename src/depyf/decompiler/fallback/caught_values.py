"""Which stack slots hold what a handler has caught, so that a bare ``raise`` can say ``RERAISE`` (plain lifting).

``raise e`` adds an entry to the traceback; ``raise`` does not, and neither does ``RERAISE``.  Where a slot has a
temporary, its expression no longer says what it holds.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, NONE, STATEMENTS, Program
from depyf.decompiler.cfg.region_table import Region, Regions
from depyf.safety.depth import spend

Caught = frozenset[int]
"""The regions whose handlers have caught, the last time that they were entered, the object in question."""
State = tuple[Caught, ...]
"""What is being handled, then each slot of the stack, bottom to top."""
ANY: Caught = frozenset()
_OLD = ("old_tb", "old_value", "old_type")


class CaughtValues:
    """The exceptions on the stack of a program, found when they are first asked for."""

    def __init__(self, program: Program, regions: Regions) -> None:
        self.program = program
        self.regions = regions
        self._found: dict[int, State] | None = None

    def holds(self, at: int, depth: int, region: int) -> bool:
        """Whether, before instruction ``at`` in the body of the handler of ``region``, the slot ``depth`` from the top
        surely holds what that handler has caught."""
        if self._found is None:
            self._found = caught_values(self.program, self.regions)
        state = self._found.get(at, (ANY,))
        return len(state) > depth and region in state[-depth]


def caught_values(program: Program, regions: Regions) -> dict[int, State]:
    """The state before each instruction, on all ways there."""
    found: dict[int, State] = {}
    work: list[tuple[int, State]] = [(0, (ANY,))]
    while work:
        at, state = work.pop()
        if at == NONE:
            continue
        known = found.get(at)
        if known is not None:
            state = tuple([old & new for old, new in zip(known, state)])
            if state == known:
                continue
        found[at] = state
        spend(len(state) >> 2)
        instr = program.instrs[at]
        region = regions.table.get(program.handler[at])
        if region is not None and instr.op not in ops.SILENT:
            work.append((region.target, _entered(region, instr, state)))
        if instr.op in STATEMENTS and instr.op != ASYNC_FOR_ITER:
            continue
        after = _after(instr, state)
        ended = instr.arg + 1 if instr.op in (ops.FOR_ITER, ASYNC_FOR_ITER) else 0
        work.append((program.jump[at], after[: len(after) - ended]))
        work.append((program.next[at], after))
    return found


def _entered(region: Region, instr: Instr, state: State) -> State:
    """The state at the entry of a handler to which ``instr`` raises; before 3.11 its exception is handled there."""
    own = frozenset({region.index})
    again = state[-1] if instr.op == ops.RERAISE else state[0] if instr.op == ops.RAISE and not instr.arg else ANY
    before, *kept = [caught - own for caught in state[: region.depth + 1]]
    pushed = [before if name in _OLD else again | own for name in region.pushes]
    return (again | own if _OLD[0] in region.pushes else before, *kept, *pushed)


def _after(instr: Instr, state: State) -> State:
    """The state after ``instr``; only what is moved on the stack is still known."""
    op, n = instr.op, instr.arg
    handled, stack = state[0], state[1:]
    if op == ops.COPY:
        return (*state, stack[-n])
    if op == ops.SWAP and n > 1:
        return (handled, *stack[:-n], stack[-1], *stack[1 - n : -1], stack[-n])
    if op == ops.ROT:
        return (handled, *stack[: len(stack) - n], stack[-1], *stack[len(stack) - n : -1])
    if op == ops.PUSH_EXC_INFO:
        return (stack[-1], *stack[:-1], handled, stack[-1])
    if op == ops.POP_EXCEPT:
        return (stack[-1], *stack[: len(stack) - n])
    if op == ops.EXC_MATCH:
        return (*state[:-1], ANY)
    if op == ASYNC_FOR_ITER:
        return (*state, ANY)
    takes, gives = ops.stack_effect(op, n)
    return (handled, *stack[: len(stack) - takes], *[ANY] * gives)
