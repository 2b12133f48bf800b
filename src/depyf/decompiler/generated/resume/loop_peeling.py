"""Peels a loop that is entered in its middle: the rest of the first iteration is copied in front of the loop.

A function that Dynamo resumes after a call in a loop begins so (``torch/_dynamo/resume_execution.py``), with the
iterator and what else was on the stack::

    JUMP E; H: FOR_ITER; a; E: b; JUMP H        ->        JUMP E'; E': b; JUMP H; H: FOR_ITER; a; E: b; JUMP H

Loop peeling of one turn, from its entry on (Muchnick, Advanced Compiler Design and Implementation, 1997, section
17.4.3). Nothing is assumed: it is the same code, unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.control_flow import next_ones, predecessors, reached, successors
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Handler, Instr

_MOST = 2_000
"""The maximum length of an iteration that is copied."""
_FEW = 12
_APART = 1 << 32
"""How far before the original the lines of a copy are, in the same order: CPython keeps a line in 32 bits."""
_DEEPEST = 8
"""The maximum number of nested loops that are left one by one."""


def peel_loops(lowered: Lowered) -> Lowered:
    """``lowered`` with such copies; itself where control enters all loops at their heads."""
    for _ in range(_DEEPEST):
        peeled = _peeled(lowered)
        if peeled is None:
            break
        lowered = peeled
    return _protected(lowered)


def own_line(line: int | None) -> int | None:
    """The line of what a copy was made of, given that of the copy; any other as it is."""
    return None if line is None else line - _turn_of(line) * _APART


def _turn_of(line: int) -> int:
    """0 for a line of the original, less for one of a copy."""
    return (line + _APART // 2) // _APART


def _jump_of_head(lowered: Lowered) -> int:
    """The jump by which the head of the function ends, to which nothing belongs that leads elsewhere; -1 if there is
    none."""
    for at, instr in enumerate(lowered.instrs):
        if instr.op == ops.JUMP:
            return at
        if instr.target >= 0 or instr.op in ops.TERMINATORS:
            break
    return -1


def _protected(lowered: Lowered) -> Lowered:
    """``lowered`` with as much of its head in the ``try`` that it leads into as cannot raise: there it is read."""
    instrs, handlers, depths = list(lowered.instrs), lowered.handlers, lowered.depths
    at = _jump_of_head(lowered)
    around = _around(lowered, instrs[at].target) if at >= 0 else []
    bound = frozenset(lowered.unit.params)
    deleted = {instr.arg for instr in instrs if instr.op in (ops.DELETE_FAST, ops.LOAD_FAST_CLEAR)}
    while at >= 0 and around:
        instr = instrs[at]
        silent = instr.op in ops.SILENT or instr.op == ops.LOAD_FAST and instr.arg in bound - deleted
        if instr.handler >= 0 or not silent:
            break
        if depths[at] < handlers[around[0]].depth:
            around = around[1:]
            continue
        instrs[at] = replace(instr, handler=around[0])
        at -= 1
    return lowered._replace(instrs=tuple(instrs))


def _peeled(lowered: Lowered) -> Lowered | None:
    """``lowered`` with the outermost loop that is entered in its middle peeled."""
    instrs = lowered.instrs
    at = _jump_of_head(lowered)
    if at < 0:
        return None
    entry = instrs[at].target
    after = reached([entry], lambda index: successors(lowered, index))
    before = predecessors(lowered)
    loop = after & reached(before.get(entry, ()), lambda index: before.get(index, ()))
    heads = [
        target for index in loop for target in successors(lowered, index) if target <= index and target in loop
    ]  # fmt: skip
    head = min(heads, default=entry)
    if entry not in loop or head == entry or not at < head:
        return None
    turn = _turn(lowered, entry, head, loop)
    return _copied(lowered, at, turn, head) if len(turn) <= _MOST else None


def _turn(lowered: Lowered, entry: int, head: int, loop: set[int]) -> list[int]:
    """The instructions that control may pass from ``entry`` on, before it reaches ``head`` or leaves the loop."""
    around = _around(lowered, head)
    first = lowered.instrs[head]
    if first.op == ops.FOR_ITER:
        past_loop = reached([first.target], lambda index: successors(lowered, index))
    else:
        # deeper on the stack are the tails of handlers, which have an exception there
        ends = [target for index in loop for target in next_ones(lowered, index) if target not in loop]
        left = [
            target
            for target in ends
            if lowered.depths[target] <= lowered.depths[head] and not _leaves_soon(lowered, target)
        ]
        past_loop = reached(left, lambda index: next_ones(lowered, index))
    outside = {head, *past_loop}

    def inside(index: int) -> list[int]:
        handler = lowered.instrs[index].handler
        raised = [lowered.handlers[handler].target] if handler >= 0 and handler not in around else []
        return [target for target in (*next_ones(lowered, index), *raised) if target not in outside]

    return sorted(reached([entry], inside))


def _leaves_soon(lowered: Lowered, at: int) -> bool:
    """Whether a few instructions from ``at`` on lead straight out of the function."""
    for instr in lowered.instrs[at : at + _FEW]:
        if instr.op in (ops.RETURN, ops.RAISE):
            return True
        if instr.target >= 0:
            break
    return False


def _around(lowered: Lowered, at: int) -> list[int]:
    """The handlers around an instruction, inner first."""
    found: list[int] = []
    handler = lowered.instrs[at].handler
    while handler >= 0 and handler not in found:
        found.append(handler)
        handler = lowered.instrs[lowered.handlers[handler].target].handler
    return found


def _copied(lowered: Lowered, jump: int, turn: list[int], head: int) -> Lowered:
    """``lowered`` with a copy of these instructions after the jump to one of them, which leads to the copy."""
    instrs, handlers, depths = lowered.instrs, list(lowered.handlers), lowered.depths
    first = min((_turn_of(instr.line) for instr in instrs if instr.line is not None), default=0)
    apart = (1 - first) * _APART
    inside, breaks = frozenset(turn), _breaks(lowered, turn, head)
    copies: list[tuple[Instr, int]] = []
    place: dict[int, int] = {}
    for index in turn:
        place[index] = jump + 1 + len(copies)
        instr = instrs[index]
        line = None if instr.line is None else instr.line - apart
        copies.append((replace(instr, line=None if index in breaks else line), depths[index]))
        if instr.op not in ops.TERMINATORS and index + 1 not in inside:
            copies.append((Instr(ops.JUMP, None, index + 1, line, instr.offset, -1), depths[index + 1]))
    shift = len(copies)

    def moved(index: int) -> int:
        return index + shift if index > jump else index

    def led(index: int) -> int:
        return place[index] if index in inside else moved(index)

    own: dict[int, int] = {}
    for handler in sorted({instrs[index].handler for index in turn} - {-1}):
        if handlers[handler].target in inside:
            own[handler] = len(handlers)
            handlers.append(handlers[handler]._replace(target=place[handlers[handler].target]))

    def retargeted(instr: Instr, to: Callable[[int], int]) -> Instr:
        return instr if instr.target < 0 else replace(instr, target=to(instr.target))

    made = [retargeted(instr, moved) for instr in instrs]
    made[jump] = replace(instrs[jump], target=place[instrs[jump].target])
    turned = [
        replace(retargeted(instr, led), handler=own.get(instr.handler, instr.handler)) for instr, _ in copies
    ]  # fmt: skip
    kept = len(lowered.handlers)
    return lowered._replace(
        instrs=(*made[: jump + 1], *turned, *made[jump + 1 :]),
        depths=(*depths[: jump + 1], *(depth for _, depth in copies), *depths[jump + 1 :]),
        handlers=(*(_moved(handler, moved) for handler in handlers[:kept]), *handlers[kept:]),
    )


def _breaks(lowered: Lowered, turn: list[int], head: int) -> set[int]:
    """What a ``break`` leaves in the turn: where there is no loop, it is no statement."""
    found: set[int] = set()
    for index in turn:
        instr = lowered.instrs[index]
        if instr.op == ops.JUMP and instr.target != head and instr.target not in turn:
            found.add(index)
            while lowered.instrs[index - 1].op == ops.POP:
                index -= 1
                found.add(index)
    return found


def _moved(handler: Handler, moved: Callable[[int], int]) -> Handler:
    return handler._replace(target=moved(handler.target))
