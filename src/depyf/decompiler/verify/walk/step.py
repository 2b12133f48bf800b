"""The silent steps of one side: everything between two observable operations.

``advance`` runs one side until it stands before an observable operation, wants to branch on an undecided boolean
(``side.split``), leaves the frame with an exception (``pc == -1``), or runs in a circle (``side.split == CIRCLE``).
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.verify.relation.end_order import unknown
from depyf.decompiler.verify.relation.facts import (
    bound_now,
    is_none,
    plain_bool,
    truth_of,
)
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import VACANT, Pair, Side, resolve
from depyf.decompiler.verify.verdict import Mismatch
from depyf.decompiler.verify.walk import dispatch
from depyf.decompiler.verify.walk.folds import FOLDS
from depyf.decompiler.verify.walk.rare_steps import RARE

CIRCLE = -2


def advance(pair: Pair, side: Side, other: Side, values: Values) -> int:
    """Run ``side`` to its next event; how many instructions that took."""
    program = side.program
    kind_of, arg_of, target_of, join = program.kind, program.arg, program.target, program.join
    stack, dirty, loc, gone = side.stack, side.dirty, pair.loc, side.gone
    always = program.always
    desc = values.desc
    promised = values.promised
    pc = side.pc
    side.split = -1
    limit = max(program.count, other.program.count) + 8  # both go round a circle as often, if it is as long
    lowest = limit  # where a circle is left, so that every path that meets it again is at the same place
    steps = 0
    while pc >= 0:
        steps += 1
        if steps > limit:
            if pc < lowest and steps <= 2 * limit:
                lowest = pc
            elif pc == lowest and steps > 2 * limit or steps > 3 * limit:
                side.split = CIRCLE
                break
        if join[pc]:
            side.joined = True
        kind = kind_of[pc]
        if kind == dispatch.LOAD_FAST:
            name = arg_of[pc]
            value = dirty.get(name)
            if value is None:
                value = loc.get(name)
                if value is None:
                    if name not in always and not bound_now(program, pc, side, other, name):
                        break
                    value = values.new()
                    pair.bind(name, value)
            known = desc[value]
            if known is not None and (known[0] == "maybe" or known[0] == "mark"):
                if known[0] == "mark" or not bound_now(program, pc, side, other, name):
                    break
            stack.append(value)
        elif kind == dispatch.LOAD_CONST:
            stack.append(arg_of[pc])
        elif kind == dispatch.STORE_FAST:
            name = arg_of[pc]
            value = dirty.get(name, -1)
            if value < 0:
                value = loc.get(name, -1)
            gone.append(value if value >= 0 else unknown(pair, name))
            dirty[name] = stack.pop()
        elif kind == dispatch.POP:
            gone.append(stack.pop())
        elif kind == dispatch.NULL:
            stack.append(values.null)
        elif kind == dispatch.JUMP:
            pc = target_of[pc]
            continue
        elif kind == dispatch.COPY:
            stack.append(stack[-arg_of[pc]])
        elif kind == dispatch.SWAP:
            at = -arg_of[pc]
            stack[-1], stack[at] = stack[at], stack[-1]
        elif kind == dispatch.ROT:
            stack.insert(len(stack) - arg_of[pc], stack.pop())
        elif kind == dispatch.BUILD_TUPLE:
            count = arg_of[pc]
            items = tuple(stack[len(stack) - count :])
            del stack[len(stack) - count :]
            stack.append(values.tuple_of(items))
        elif kind == dispatch.LOAD_TEMP:
            value = pair.temps.get(arg_of[pc])
            if value is None or value == values.unbound or desc[value] in (("maybe",), VACANT):
                raise Mismatch(f"{program.describe(pc)}: the temporary {arg_of[pc]} may be unbound", other.pc)
            stack.append(value)
        elif kind == dispatch.STORE_TEMP:
            value = pair.temps.get(arg_of[pc], -1)
            if value >= 0:
                gone.append(value)
            pair.temps[arg_of[pc]] = stack.pop()
        elif kind == dispatch.DELETE_TEMP:
            value = pair.temps.pop(arg_of[pc], None)
            if value is None or value == values.unbound or desc[value] in (("maybe",), VACANT):
                raise Mismatch(f"{program.describe(pc)}: the temporary {arg_of[pc]} may be unbound", other.pc)
            gone.append(value)
        elif kind <= dispatch.BRANCH_NOT_NONE:
            taken = _decide(pair, side, values, kind, stack[-1])
            if taken is None:
                break
            stack.pop()
            if taken:
                pc = target_of[pc]
                continue
        elif kind == dispatch.RARE:
            side.pc = pc
            moved = RARE[program.instrs[pc].op](pair, side, values, arg_of[pc])
            if moved is not None:
                pc = moved
                continue
        elif kind == dispatch.FOLD:
            side.pc = pc
            if not FOLDS[program.instrs[pc].op](pair, side, other, values, arg_of[pc]):
                if promised is None or not promised.step(pair, side, pc):
                    break
            if side.pc != pc or program.instrs[pc].op == ops.RAISE:  # one of these may lead to itself
                pc = side.pc
                continue
        elif promised is None or not promised.step(pair, side, pc):
            break
        pc += 1
    side.pc = pc
    return steps


def _decide(pair: Pair, side: Side, values: Values, kind: int, value: int) -> bool | None:
    """Whether the branch is taken; None where it is an event (a truth test) or undecided (``side.split``)."""
    if kind == dispatch.BRANCH_TRUE or kind == dispatch.BRANCH_FALSE:
        truth = truth_of(pair, values, value)
        if truth is None:
            if pair.alias or pair.facts:
                value = resolve(pair, values, value, {})
                truth = truth_of(pair, values, value)
            if truth is None and values.is_bool(value):
                truth = _decided(pair, side, values, value)
        return None if truth is None else truth == (kind == dispatch.BRANCH_TRUE)
    none = is_none(pair, values, value)
    if none is None:
        if pair.alias or pair.facts:
            value = resolve(pair, values, value, {})
            none = is_none(pair, values, value)
        if none is None:
            none = _decided(pair, side, values, values.identity(value, values.none))
    return None if none is None else none == (kind == dispatch.BRANCH_NONE)


def _decided(pair: Pair, side: Side, values: Values, value: int) -> bool | None:
    """The truth that is decided on this path for a boolean, else a request to split on it."""
    base, flip = plain_bool(values, value)
    if base == values.true or base == values.false:
        return (base == values.true) != flip
    fact = pair.facts.get(base)
    if fact is None:
        side.split = base
        return None
    return (fact == values.true) != flip
