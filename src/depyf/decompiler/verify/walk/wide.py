"""Large dicts and sets made by one instruction, which only generated code has.

    k1 v1 ... k20 v20; BUILD_MAP 20     against     BUILD_MAP 0; k1 v1 MAP_ADD; ... k20 v20 MAP_ADD

The keys are hashed and compared after the last value in the one, and in between in the other.  Where that may have an
effect, text calls ``dict([(k1, v1), ...])``; where the program promised that it has none
(``GeneratorContract.plain_keys``), a display says the same.  The dict is then known by its keys, constants or not, and
the steps that fill it are silent.
"""

from __future__ import annotations

import builtins

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.verify.relation.facts import container_kind, elements
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import Pair, Side

PAIRS, ITEMS = 15, 30
"""The maximum number of values that a compiler takes off the stack at once (3.10+)."""
AT_ONCE = {ops.BUILD_MAP: PAIRS, ops.BUILD_CONST_KEY_MAP: PAIRS, ops.BUILD_SET: ITEMS}
_ADDING = {ops.MAP_ADD: 2, ops.SET_ADD: 1, ops.DICT_UPDATE: 1, ops.SET_UPDATE: 1}
"""What adds to a container on the stack, and how many values lie above it."""


def makes_wide(code: Lowered) -> bool:
    """Whether a code object makes such a dict or set."""
    return any(instr.op in AT_ONCE and instr.arg > AT_ONCE[instr.op] for instr in code.instrs)


def any_key(pair: Pair, side: Side, other: Side, values: Values, count: int = 0, into: int = -1) -> bool:
    """Whether the dict or set that ``side`` makes of ``count`` parts, or adds to (``into``), may have keys that are no
    constants.

    The original's own small ones, and those of the user's code, stay operations.
    """
    if values.promised is None or not values.promised.wide:
        return False
    op = side.program.instrs[side.pc].op
    if count > AT_ONCE.get(op, count):
        return values.promised.any_key()
    if not side.program.side:
        return False
    if other.pc >= 0:
        at = other.program.instrs[other.pc]
        if at.op in AT_ONCE and op in AT_ONCE or at.op in _ADDING and not _is_less_filled(pair, other, at, into):
            return False
    return values.promised.any_key()


def _is_less_filled(pair: Pair, other: Side, at: Instr, into: int) -> bool:
    """Whether less is in ``into`` than in what the original adds to next: then this is no separate step."""
    mine, theirs = pair.fresh.get(into), pair.fresh.get(other.stack[-at.arg - _ADDING[at.op]])
    return theirs is not None and (mine is None or len(mine[1]) < len(theirs[1]))


def made_by_call(
    pair: Pair, values: Values, callee: int, arguments: tuple[int, ...]
) -> tuple[str, tuple[int, ...]] | None:
    """``dict([(a, b), (c, d)])`` and ``set([a, b])`` in the text, where the original makes such a thing at once.

    The operation, and its operands in the order of ``BUILD_MAP`` or ``BUILD_SET``.
    """
    original = pair.a
    at = original.program.instrs[original.pc].op if original.pc >= 0 else ""
    if at not in AT_ONCE or len(arguments) != 1 or container_kind(pair, values, arguments[0]) != "list":
        return None
    items = elements(pair, values, arguments[0])
    if items is None:
        return None
    if at == ops.BUILD_SET:
        return (at, items) if values.desc[callee] == ("const", builtins.set) else None
    if values.desc[callee] != ("const", builtins.dict):
        return None
    flat: list[int] = []
    for item in items:
        parts = elements(pair, values, item) if item not in pair.fresh else None
        if parts is None or len(parts) != 2:
            return None
        flat += parts
    return ops.BUILD_MAP, tuple(flat)
