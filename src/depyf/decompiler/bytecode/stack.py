"""The invariant of lowering: one stack depth per instruction, whichever path leads there.

Input: a ``Draft``.  Output: the depth before each instruction, -1 where it cannot be reached.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.draft import Draft
from depyf.decompiler.bytecode.ops import stack_effect
from depyf.decompiler.bytecode.versions.spec import INVALID
from depyf.errors import BytecodeError
from depyf.safety.depth import any_depth

SLACK = 64
"""Our shapes may hold a few slots more than CPython's; a depth far beyond ``co_stacksize`` is hostile."""


def depth_limit(draft: Draft) -> int:
    """The maximum stack depth that is accepted: compilers declare no slot that no instruction uses."""
    return min(draft.unit.stacksize, len(draft.unit.code)) + SLACK


def check_depths(draft: Draft) -> list[int]:
    """Walk every path once; raise where the stack underflows, overflows, disagrees at a join, or code runs off its end.

    A handler of nothing but what never raises is never entered: where its code does not fit, ``draft`` loses it.
    """
    if not draft.ops:
        raise BytecodeError(f"{draft.unit.qualname}: no instructions")
    depths = [-1] * len(draft.ops)
    entered = [False] * len(draft.handlers)
    idle: set[int] = set()
    _walk(draft, [(0, 0)], depths, entered, idle)
    unused = sorted(h for h in idle if not entered[h])
    if unused:
        found = _tried(draft, unused, depths, entered)
        for h in unused if found is None else ():
            one = _tried(draft, [h], depths, entered) if not entered[h] else (depths, entered)
            if one is None:
                draft.handler = [-1 if other == h else other for other in draft.handler]
            else:
                depths, entered = one
        depths = depths if found is None else found[0]
    check_reach(draft, depths)
    return depths


@any_depth
def _tried(
    draft: Draft, unused: list[int], depths: list[int], entered: list[bool]
) -> tuple[list[int], list[bool]] | None:
    """``depths`` and ``entered`` with the code of handlers that nothing raises to; None where it does not fit."""
    depths, entered = depths.copy(), entered.copy()
    work = []
    for h in unused:
        target, survive, pushed = draft.handlers[h]
        entered[h] = True
        work.append((target, survive + len(pushed)))
    inner: set[int] = set()
    try:
        _walk(draft, work, depths, entered, inner)
    except BytecodeError:
        return None
    again = sorted(h for h in inner if not entered[h])
    return _tried(draft, again, depths, entered) if again else (depths, entered)


def _walk(draft: Draft, work: list[tuple[int, int]], depths: list[int], entered: list[bool], idle: set[int]) -> None:
    """Fill ``depths`` from the places in ``work`` on; ``idle`` collects the handlers of what never raises."""
    names, args, targets, handler_of, handlers = draft.ops, draft.args, draft.targets, draft.handler, draft.handlers
    effects, silent = ops.FIXED_EFFECTS, ops.SILENT
    count = len(names)
    limit = depth_limit(draft)
    bound = _always_bound(draft) if draft.handlers else frozenset()
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
            if h >= 0:
                if op in silent or op == ops.LOAD_FAST and args[i] in bound:
                    idle.add(h)
                    if handlers[h][1] > depth:
                        handler_of[i] = -1  # it never raises, and there is not what its handler would find
                else:
                    target, survive, pushed = handlers[h]
                    if survive > depth:
                        raise draft.error(i, f"its handler wants {survive} stack slots, there are {depth}")
                    if not entered[h]:
                        entered[h] = True
                        work.append((target, survive + len(pushed)))
            target = targets[i]
            if target >= 0:
                work.append((target, depth - pops if op == ops.FOR_ITER else depth - pops + pushes))
            if op in ops.TERMINATORS:
                break
            depth += pushes - pops
            if depth > limit:
                raise draft.error(i, f"stack depth {depth} exceeds the declared {draft.unit.stacksize}")
            i += 1


def _always_bound(draft: Draft) -> frozenset[str]:
    """The parameters that nothing unbinds: reading them never raises."""
    if ops.DELETE_FAST in draft.ops or ops.LOAD_FAST_CLEAR in draft.ops:
        return frozenset()
    return frozenset(draft.unit.params)


REACHING = {
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
_CHECKED = REACHING | _RANGES.keys()


def check_reach(draft: Draft, depths: list[int]) -> None:
    """Arguments that point into the stack below what the operation takes must point at a slot."""
    for i, op in enumerate(draft.ops):
        if op in _CHECKED and depths[i] >= 0:
            arg = draft.args[i]
            if op in REACHING:
                low, high = 1, depths[i] - stack_effect(op, arg)[0]
            else:
                low, high = _RANGES[op]
            if not low <= arg <= high:
                raise draft.error(i, f"argument {arg} is out of range")
