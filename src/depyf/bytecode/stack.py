"""The invariant of lowering: one stack depth per instruction, whichever path leads there.

Input: a ``Draft``.  Output: the depth before each instruction, -1 where it cannot be reached.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.bytecode.draft import Draft
from depyf.bytecode.ops import stack_effect
from depyf.bytecode.versions.spec import INVALID
from depyf.errors import BytecodeError

SLACK = 64
"""Our shapes may hold a few slots more than CPython's; a depth far beyond ``co_stacksize`` is hostile."""


def depth_limit(draft: Draft) -> int:
    """How deep the stack may get: a slot that a compiler declares is also used by some instruction."""
    return min(draft.unit.stacksize, len(draft.unit.code)) + SLACK


def check_depths(draft: Draft) -> list[int]:
    """Walk every path once; raise where the stack underflows, overflows, disagrees at a join, or code runs off its end."""
    names, args, targets, handler_of, handlers = draft.ops, draft.args, draft.targets, draft.handler, draft.handlers
    effects = ops.FIXED_EFFECTS
    count = len(names)
    if not count:
        raise BytecodeError(f"{draft.unit.qualname}: no instructions")
    limit = depth_limit(draft)
    depths = [-1] * count
    entered = [False] * len(handlers)
    work = [(0, 0)]
    while work:
        i, depth = work.pop()
        while True:
            if i >= count:
                raise draft.error(count - 1, "control falls off the end of the code")
            known = depths[i]
            if known >= 0:
                if known != depth:
                    raise draft.error(i, f"stack depth is {known} on one path and {depth} on another")
                break
            depths[i] = depth
            op = names[i]
            effect = effects.get(op)
            if effect is None and op == INVALID:
                raise draft.error(i, args[i])
            pops, pushes = effect if effect is not None else stack_effect(op, args[i])
            if pops > depth:
                raise draft.error(i, f"needs {pops} stack slots, there are {depth}")
            h = handler_of[i]
            if h >= 0 and not entered[h]:
                entered[h] = True
                target, survive, pushed = handlers[h]
                work.append((target, survive + len(pushed)))
            if h >= 0 and handlers[h].depth > depth and op not in ops.SILENT:
                raise draft.error(i, f"its handler wants {handlers[h].depth} stack slots, there are {depth}")
            target = targets[i]
            if target >= 0:
                work.append((target, depth - pops if op == ops.FOR_ITER else depth - pops + pushes))
            if op in ops.TERMINATORS:
                break
            depth += pushes - pops
            if depth > limit:
                raise draft.error(i, f"stack depth {depth} exceeds the declared {draft.unit.stacksize}")
            i += 1
    check_reach(draft, depths)
    return depths


_REACHING = {
    ops.LIST_APPEND, ops.SET_ADD, ops.MAP_ADD, ops.LIST_EXTEND, ops.SET_UPDATE, ops.DICT_UPDATE, ops.DICT_MERGE,
    ops.WITH_EXCEPT_START,
}  # fmt: skip
_RANGES = {
    ops.COPY: (1, 1 << 32),
    ops.SWAP: (1, 1 << 32),
    ops.ROT: (1, 1 << 32),
    ops.BUILD_SLICE: (2, 3),
    ops.RAISE: (0, 2),
}
_CHECKED = _REACHING | _RANGES.keys()


def check_reach(draft: Draft, depths: list[int]) -> None:
    """Arguments that point into the stack below what the operation takes must point at a slot."""
    for i, op in enumerate(draft.ops):
        if op in _CHECKED and depths[i] >= 0:
            arg = draft.args[i]
            if op in _REACHING:
                low, high = 1, depths[i] - stack_effect(op, arg)[0]
            else:
                low, high = _RANGES[op]
            if not low <= arg <= high:
                raise draft.error(i, f"argument {arg} is out of range")
