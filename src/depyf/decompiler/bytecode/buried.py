"""Finds the constant on top of the stack in generated code, where other instructions may come between loading and use.

    LOAD_CONST ('k',); ...; GET_ITER; FOR_ITER; ...; JUMP; CALL_KW        Dynamo: side effects before the call

A compiler loads the names of keywords where it uses them.  Input: what the instructions before that place were lowered
to.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.decode import Raw

Out = tuple[str, Any, int, int]
State = list[int]
"""The top of the stack: where each value was loaded, if it is a constant.  Of what is below nothing is known."""

_FAR = (30, 200, 2000)
"""How many operations before the place are searched; the smallest number is tried first."""
_STEPS = 10
"""The maximum number of times that all operations of a code object are visited."""
_DEEP = 200
"""The number of stack slots that are tracked."""
_UNKNOWN = -1


class Buried:
    """The search in one code object; ``steps`` is how many operations may still be gone through."""

    def __init__(self, raw: Raw, handlers: Collection[int]) -> None:
        """``handlers`` are raw instructions at which the stack may hold anything."""
        self.steps = _STEPS * (len(raw.opcodes) + 400)
        jumps = [(target, source) for source, target in enumerate(raw.targets) if target >= 0]
        self.arrivals = sorted([*jumps, *((target, -1) for target in handlers)])

    def on_top(self, out: Sequence[Out], i: int) -> int:
        """The index in ``out`` of the LOAD_CONST whose value is on top before raw instruction ``i``.

        -1 if what is on top is not known, or not the same whichever way leads there.
        """
        for far in _FAR:
            found = self._search(out[-far:], i)
            if found >= 0:
                return max(len(out) - far, 0) + found
        return _UNKNOWN

    def _search(self, code: Sequence[Out], i: int) -> int:
        begins = [source for *_, source in code]
        if not begins or any(one > other for one, other in pairwise(begins)):
            return _UNKNOWN
        count, oldest = len(code), begins[0]

        def place(target: int) -> int:
            """The operation at which a jump arrives; -1 where that is outside of the search."""
            return bisect_left(begins, target) if oldest <= target <= i else -1

        states: dict[int, State | None] = {count: None}
        followed = set()
        for _, _, target, source in code:
            if target >= 0:
                states.setdefault(place(target), None)
                followed.add(source)
        arrivals = self.arrivals[bisect_left(self.arrivals, (oldest, -1)) : bisect_left(self.arrivals, (i + 1, -1))]
        self.steps -= len(arrivals)
        states.update((place(target), []) for target, source in arrivals if source not in followed)
        states[0] = []
        work = [at for at, state in states.items() if state is not None]
        while work:
            at = work.pop()
            state = list(states[at] or ())
            while at < count:
                self.steps -= 1
                if self.steps < 0:
                    return _UNKNOWN
                op, arg, target, _ = code[at]
                where = place(target) if target >= 0 else -1
                if (
                    op == ops.FOR_ITER
                    and where >= 0
                    and _joined(states, where, state[: max(len(state) - arg, 0)], code)
                ):
                    work.append(where)
                moves = _execute(op, arg, at, state)
                if op != ops.FOR_ITER and where >= 0 and _joined(states, where, state if moves else [], code):
                    work.append(where)
                if op in ops.TERMINATORS:
                    break
                at += 1
                if at in states:
                    if _joined(states, at, state, code):
                        work.append(at)
                    break
        found = states[count]
        return found[-1] if found else _UNKNOWN


def _joined(states: dict[int, State | None], at: int, state: State, code: Sequence[Out]) -> bool:
    """Merge ``state`` into what is known at ``at``.  Returns whether less is known there now, or it is reached for the
    first time."""
    known = states[at]
    if known is None:
        states[at] = list(state)
        return True
    height = min(len(known), len(state))
    tops = zip(known[len(known) - height :], state[len(state) - height :])
    states[at] = merged = [one if _same(one, other, code) else _UNKNOWN for one, other in tops]
    return merged != known


def _same(one: int, other: int, code: Sequence[Out]) -> bool:
    return one == other or (one >= 0 and other >= 0 and code[one][1] is code[other][1])


def _execute(op: str, arg: Any, at: int, state: State) -> bool:
    """What ``op`` does to the stack; false where it does nothing but begin or end a block (3.8 to 3.10)."""
    if op in (ops.SWAP, ops.ROT, ops.COPY):
        if not 0 < arg <= _DEEP:
            state.clear()
            return True
        state[:0] = [_UNKNOWN] * (arg - len(state))
        if op == ops.SWAP:
            state[-1], state[-arg] = state[-arg], state[-1]
        elif op == ops.ROT:
            state.insert(len(state) - arg, state.pop())
        else:
            state.append(state[-arg])
    else:
        try:
            takes, gives = ops.stack_effect(op, arg)
        except ValueError:  # one of ``spec.PSEUDO``
            return False
        del state[max(len(state) - takes, 0) :]
        state += [_UNKNOWN] * min(gives, _DEEP)
        if op == ops.LOAD_CONST:
            state[-1] = at
    del state[: max(len(state) - _DEEP, 0)]
    return True
