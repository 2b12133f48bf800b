"""Raises exceptions that the bytecode handles again without raising them again (3.11+, plain lifting).

``PUSH_EXC_INFO`` begins a handler.  Elsewhere it makes an exception that some handler has caught the handled one; the
only statement that does so is a handler, so the exception is raised to a new one:

    PUSH_EXC_INFO; ...          ->          RERAISE  !H          H: PUSH_EXC_INFO; ...

What that changes of the exception, its ``__context__``, the verdict says.  Compilers write no such code.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.ops import Handler
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.fallback.stack_slots import depths_from


def raise_reentered(program: Program) -> None:
    """Edit ``program``, fresh from lowering, so that each ``PUSH_EXC_INFO`` is at the start of a handler only."""
    if not any(instr.op == ops.PUSH_EXC_INFO for instr in program.instrs):
        return
    entered = [_entry(program, handler.target) for handler in program.handlers]
    depths = _ordinary(program, entered)
    again = [i for i in sorted(depths) if program.instrs[i].op == ops.PUSH_EXC_INFO]
    if not again:
        return
    handlers = list(program.handlers)
    for number, path in enumerate(entered):
        if any(i in depths for i in path):  # the beginning of this handler is ordinary code elsewhere
            handlers[number] = handlers[number]._replace(target=_copied(program, path))
    for i in again:
        start = program.append(program.next[i], ops.PUSH_EXC_INFO)
        program.handler[start] = program.handler[i]
        program.replace(i, ops.RERAISE, 1)
        program.next[i], program.handler[i] = NONE, len(handlers)
        handlers.append(Handler(start, depths[i] - 1, ("exc",)))
    program.handlers = tuple(handlers)


def _entry(program: Program, position: int) -> list[int]:
    """A handler up to and with its ``PUSH_EXC_INFO``; empty where it never raises, or branches or ends before."""
    path: list[int] = []
    while position not in path and program.instrs[position].op in ops.SILENT:
        path.append(position)
        if program.instrs[position].op == ops.PUSH_EXC_INFO:
            return path
        after = program.successors(position)
        if len(after) != 1:
            break
        position = after[0]
    return []


def _ordinary(program: Program, entered: list[list[int]]) -> dict[int, int]:
    """The instructions that control comes to otherwise than by those paths, with the stack depth at each."""
    starts = [(0, 0)]
    for handler, path in zip(program.handlers, entered, strict=True):
        depth = handler.depth + len(handler.pushes)
        if not path:
            starts.append((handler.target, depth))
            continue
        for i in path:
            pops, pushes = ops.stack_effect(program.instrs[i].op, program.instrs[i].arg)
            depth += pushes - pops
        starts.extend((after, depth) for after in program.successors(path[-1]))
    return depths_from(program, starts)


def _copied(program: Program, path: list[int]) -> int:
    """A copy of instructions that follow each other; where it begins."""
    start = program.successors(path[-1])[0]
    for i in reversed(path):
        op, arg, handler = program.instrs[i].op, program.instrs[i].arg, program.handler[i]
        if op == ops.JUMP:
            continue
        start = program.append(start, op, arg)
        program.handler[start] = handler
    return start
