"""Exception handlers of CPython 3.8-3.10: simulate the block stack that SETUP_* and POP_BLOCK work on.

Input: a ``Draft`` with the pseudo operations SETUP and POP_BLOCK.  Output: the depth before each instruction (-1 where
it cannot be reached), with ``draft.handler`` and ``draft.handlers`` filled in.  A join where paths disagree about the
stack depth or the open blocks is an error.

The body of a handler is a block as well (``EXCEPT_HANDLER``, which the interpreter pushes by itself): it catches
nothing, and ``POP_EXCEPT`` closes it.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.checks import finally_markers, saved_exceptions
from depyf.decompiler.bytecode.checks.saved_exceptions import Blocks
from depyf.decompiler.bytecode.draft import Draft
from depyf.decompiler.bytecode.ops import Handler, stack_effect
from depyf.decompiler.bytecode.stack import check_reach, depth_limit
from depyf.decompiler.bytecode.versions.spec import INVALID, POP_BLOCK, PSEUDO, SETUP

PUSHES = ("old_tb", "old_value", "old_type", "tb", "value", "type")


def assign_handlers(draft: Draft) -> list[int]:
    """Walk every path once, as ``check_depths`` does, with the open blocks as part of the state."""
    names, args, targets = draft.ops, draft.args, draft.targets
    effects = ops.FIXED_EFFECTS
    count = len(names)
    limit = depth_limit(draft)
    depths = [-1] * count
    open_at: list[Blocks] = [()] * count
    numbers: dict[Handler, int] = {}
    entered: set[int] = set()
    handler_of = draft.handler
    work: list[tuple[int, int, Blocks]] = [(0, 0, ())]
    while work:
        i, depth, blocks = work.pop()
        innermost = _protecting(blocks)
        while True:
            if i >= count:
                raise draft.error(count - 1, "control falls off the end of the code")
            known = depths[i]
            if known >= 0:
                if known != depth:
                    raise draft.error(i, f"stack depth is {known} on one path and {depth} on another")
                if open_at[i] != blocks:
                    raise draft.error(i, "it is inside different try blocks on different paths")
                break
            depths[i] = depth
            open_at[i] = blocks
            op = names[i]
            if op == SETUP:
                if depth < args[i]:
                    raise draft.error(i, "not enough stack slots")
                handler = Handler(targets[i], depth - args[i], PUSHES)
                number = numbers.setdefault(handler, len(numbers))
                if number in blocks or len(blocks) >= _MAX_BLOCKS:
                    raise draft.error(i, "too many nested blocks")
                if number not in entered:
                    entered.add(number)
                    work.append((handler.target, handler.depth + len(PUSHES), (*blocks, ~number)))
                blocks = (*blocks, number)
                innermost = number
                i += 1
                continue
            if op in PSEUDO and op != POP_BLOCK:
                i += 1
                continue
            if op == POP_BLOCK:
                if not blocks or blocks[-1] < 0:
                    raise draft.error(i, "no block is open")
                blocks = blocks[:-1]
                innermost = _protecting(blocks)
                i += 1
                continue
            effect = effects.get(op)
            if effect is None and op == INVALID:
                raise draft.error(i, args[i])
            pops, pushes = effect if effect is not None else stack_effect(op, args[i])
            if pops > depth:
                raise draft.error(i, f"needs {pops} stack slots, there are {depth}")
            handler_of[i] = innermost
            target = targets[i]
            if target >= 0:
                work.append((target, depth - pops if op == ops.FOR_ITER else depth - pops + pushes, blocks))
            if op in ops.TERMINATORS:
                break
            if op in _CLOSING:
                if not blocks or blocks[-1] >= 0:
                    raise draft.error(i, "it is not in an exception handler")
                blocks = blocks[:-1]
            depth += pushes - pops
            if depth > limit:
                raise draft.error(i, f"stack depth {depth} exceeds the declared {draft.unit.stacksize}")
            i += 1
    draft.handlers = list(numbers)
    check_reach(draft, depths)
    finally_markers.check(draft, depths)
    saved_exceptions.check(draft, depths, open_at)
    return depths


def _protecting(blocks: Blocks) -> int:
    """The handler of an instruction in ``blocks``; -1 where there is none."""
    return next((block for block in reversed(blocks) if block >= 0), -1)


_CLOSING = frozenset({ops.POP_EXCEPT, ops.END_ASYNC_FOR})
"""The operations that close the body of a handler."""
_MAX_BLOCKS = 200
"""The interpreter allows 20; this only keeps hostile input from growing without bound."""
