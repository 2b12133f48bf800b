"""The stored states at joins and at the entries of handlers, where paths meet.

The state is the partition of storage places into equal values.  A path that arrives weakens what is stored there
(``meet``) until nothing changes; places whose state was weakened wait in ``pending``.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from depyf.decompiler.bytecode.ops import stack_effect
from depyf.decompiler.verify.assumptions import CAUGHT_NOTE, EMPTY_NOTE, FORGOTTEN_NOTE
from depyf.decompiler.verify.relation.lifetimes import leaves, still_held
from depyf.decompiler.verify.state.proof import GaveUp, Ground
from depyf.decompiler.verify.state.proof_state import (
    Frozen,
    Pair,
    Side,
    contents,
    covers,
    freeze,
    meet,
    resolve,
    restrict,
    thaw,
)
from depyf.decompiler.verify.walk.agreement import CALLS
from depyf.decompiler.verify.walk.rare_steps import enter_handler
from depyf.safety.depth import spend


class Joins:
    """The stored states of one walk."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.a, self.b, self.values = ground.a, ground.b, ground.values
        self.sameness, self.lifetimes = ground.sameness, ground.lifetimes
        self.pending = Pending()
        self._states: dict[Key, Frozen] = {}
        self._last_at_handler: dict[tuple[int, int], Any] = {}

    def next(self) -> tuple[Pair, tuple[int, int] | None]:
        """The state to walk next, and its join; no join for a handler."""
        key = self.pending.pop()
        at = entry(key[0]), entry(key[1])
        return self._thaw(self._states[key], *at), at if at == key[:2] else None

    def arrive(self, pair: Pair) -> None:
        """Merge into the stored state of this pair of instructions; if that weakens it, it is walked again."""
        a, b = pair.a, pair.b
        spend(len(pair.loc) + len(a.stack) + len(b.stack) >> 2)
        self.sameness.pair_fresh(pair)
        temps = self._kept_temps(pair)
        key = (a.pc, b.pc, self._flag_key(temps, b.pc))
        if self._store(key, freeze(pair, self.values, temps, (a.exc, b.exc))):
            self.pending.add(key)

    def _thaw(self, stored: Frozen, pc_a: int, pc_b: int) -> Pair:
        pair = thaw(stored, self.a, self.b, pc_a, pc_b)
        if self.ground.rebinds_cells:
            pair.epoch = self.values.new()
        return pair

    def _store(self, key: Key, frozen: Frozen) -> bool:
        """Whether the state stored at ``key`` is new, or weaker than it was."""
        old = self._states.get(key)
        if old is not None:
            if old.depth_a != frozen.depth_a or old.depth_b != frozen.depth_b:
                raise GaveUp("the stack depth is not the same on every path")
            if old.temps != frozen.temps:  # a temporary that is only bound on some paths, and not needed, is forgotten
                kept = self._live_temps(entry(key[0]), entry(key[1])).union(set(old.temps) & set(frozen.temps))
                self._note_forgotten(old, kept)
                self._note_forgotten(frozen, kept)
                old = self._states[key] = restrict(old, kept)
                frozen = restrict(frozen, kept)
            if covers(old, frozen, self.values):
                return False
            frozen = meet(old, frozen, self.values)
        self._states[key] = frozen
        return True

    def _note_forgotten(self, state: Frozen, kept: frozenset[str]) -> None:
        """Note temporaries that one of the paths here does not delete, so that they keep their objects."""
        if not self.lifetimes or kept.issuperset(state.temps):
            return
        for name, value in state.held_by_temps():
            known = self.values.desc[value]
            if name not in kept and (
                value in state.fresh or known is None or known[0] not in ("const", "mark", "maybe")
            ):
                self.ground.note(FORGOTTEN_NOTE)

    def _live_temps(self, pc_a: int, pc_b: int) -> frozenset[str]:
        live = self.b.live_temps(pc_b)
        return live | self.a.live_temps(pc_a) if self.a.temps else live

    def _kept_temps(self, pair: Pair) -> dict[str, int]:
        """Temporaries worth remembering: those read later, and those that keep an object alive."""
        temps = pair.temps
        if not temps or self.lifetimes:
            return temps
        live = self._live_temps(pair.a.pc, pair.b.pc)
        return {name: value for name, value in temps.items() if name in live}

    def _flag_key(self, temps: dict[str, int], pc: int) -> tuple[int, ...]:
        """Constants in flag variables select a path: such states are kept apart."""
        flags = self.b.flags
        if not flags or not temps:
            return ()
        live = self.b.live_temps(pc)
        return tuple(
            [
                temps[name] if temps[name] in self.b.settings else -1
                for name in sorted(flags)
                if name in temps and name in live
            ]
        )

    def _caught_temps(self, pair: Pair, target_a: int, target: int, below: list[int]) -> dict[str, int]:
        """The temporaries a handler may still read, and those of slots ``below`` that the original keeps as well."""
        temps = pair.temps
        if not temps:
            return temps
        live = self._live_temps(target_a, target)
        inside = leaves(pair, self.values, below) if pair.fresh else set(below)
        if pair.alias:  # objects that were matched have one number for each side, and a common one
            memo: dict[int, int] = {}
            inside.update(resolve(pair, self.values, value, memo) for value in below)
            inside.update(value for value in temps.values() if resolve(pair, self.values, value, memo) in inside)
        kept = {name: value for name, value in temps.items() if name in live or value in below or value in inside}
        if kept and self.lifetimes and target in self.b.asking:
            kept = still_held(pair, self.values, kept, below)
        if self.lifetimes and target >= 0 and len(kept) != len(temps):
            self.ground.note(CAUGHT_NOTE)
        return kept

    def _below(self, side: Side, depth: int) -> list[int]:
        """What a handler finds below the exception: the ``depth`` lowest slots.

        A call releases its arguments and the callee before its exception is raised.  If these were below the block
        (only a program writes that), their slots are empty in the handler.
        """
        found = side.stack[:depth]
        if found and (instr := side.program.instrs[side.pc]).op in CALLS:
            taken = len(side.stack) - stack_effect(instr.op, instr.arg)[0]
            if taken < len(found):
                self.ground.note(EMPTY_NOTE)
                found[taken:] = [self.values.null] * (len(found) - taken)
        return found

    def raise_into_handlers(self, pair: Pair, exc: int) -> None:
        """The exceptional successor of the events both sides stand before."""
        a, b = pair.a, pair.b
        index_a, index_b = self.a.handler[a.pc], self.b.handler[b.pc]
        cur_a, cur_b = self.a.unwound(a.pc, a.stack, a.cur), self.b.unwound(b.pc, b.stack, b.cur)
        if index_a < 0 and index_b < 0:
            return
        handler_a = self.a.handlers[index_a] if index_a >= 0 else None
        handler_b = self.b.handlers[index_b] if index_b >= 0 else None
        target_a = handler_a.target if handler_a else -1
        target_b = handler_b.target if handler_b else -1
        depth_a = handler_a.depth if handler_a else 0
        depth_b = handler_b.depth if handler_b else 0
        stack_a, stack_b = self._below(a, depth_a), self._below(b, depth_b)
        temps = self._caught_temps(pair, target_a, target_b, stack_a)
        place = (-2 - target_a, -2 - target_b)
        held = contents({*stack_a, *stack_b, cur_a, cur_b, *temps.values()}, pair.fresh, self.values)
        loc = pair.named(held)
        if exc < 0:
            if not (pair.fresh or pair.alias or pair.facts):
                now = (stack_a, stack_b, cur_a, cur_b, dict(temps), loc)
                if self._last_at_handler.get(place) == now:
                    return  # pushed before, nothing has changed
                self._last_at_handler[place] = now
            exc = self.values.typed("exception")
        new = pair.view()
        new.a.stack[:], new.b.stack[:] = stack_a, stack_b
        new.a.cur, new.b.cur = cur_a, cur_b
        new.temps = temps
        self.sameness.pair_fresh(new)
        if len(temps) != len(pair.temps) and self.lifetimes:
            temps = new.temps = self.sameness.paired(new, pair.temps)
        exc_a = exc_b = -1
        if handler_a:
            enter_handler(new.a.stack, new.a, self.values, handler_a.pushes, exc)
        else:
            exc_a = exc
        if handler_b:
            enter_handler(new.b.stack, new.b, self.values, handler_b.pushes, exc)
        else:
            exc_b = exc
        key = (*place, self._flag_key(temps, target_b))
        if self._store(key, freeze(new, self.values, temps, (exc_a, exc_b), loc)):
            self.pending.add(key)


def entry(place: int) -> int:
    """Handler states are stored under ``-2 - target``, the others under their instruction."""
    return place if place >= -1 else -2 - place


Key = tuple[int, int, tuple[int, ...]]
"""The instructions of both sides (``-2 - target`` at a handler), and constant flags that select a path."""


class Pending:
    """A set of keys; ``pop`` gives the one whose instruction of the original comes first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Key]] = []
        self._keys: set[Key] = set()

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, key: Key) -> None:
        if key not in self._keys:
            self._keys.add(key)
            heappush(self._heap, (key[0] if key[0] >= -1 else -2 - key[0], key))

    def pop(self) -> Key:
        key = heappop(self._heap)[1]
        self._keys.remove(key)
        return key
