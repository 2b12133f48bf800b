"""Bisimulation: two codes mean the same when they do the same observable things, in order, with the same operands.

Input: two ``Lowered`` codes of one Python version.  Output: a ``Proof`` with the nested code objects that have to
match, or a ``Mismatch`` that names both instructions.

Both sides run in lock step from the entry with symbolic values (``values``).  Each side runs alone through silent steps
(``silent``) to its next event (``events``); both events must agree; an event that may raise also leads to the pair of
exception handlers.  Where paths join, the state is reduced to "these places hold the same value" and stored under the
pair of instructions; arriving there again weakens it until nothing changes.  ::

    original:    LOAD_FAST x; BRANCH false L; A; RETURN;  L: B; RETURN
    recompiled:  LOAD_FAST x; BRANCH true M;  B; RETURN;  M: A; RETURN       # the same events on every path
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.lower import Lowered
from depyf.promises import NO_PROMISES, READ_LOCALS, Promises
from depyf.verify.events import DIVERGE, RESULT_TYPES, RETURN, TRUTH, UNWIND, Event, event_of
from depyf.verify.identical import incidental
from depyf.verify.known import MAX_TRACKED, widest
from depyf.verify.lifetimes import HANDLED_NOTE, held_apart, leaves, still_held
from depyf.verify.managers import ENTERING, MANAGER_NOTE, asks, refuses
from depyf.verify.outcomes import push_results, settle
from depyf.verify.pending import Key, Pending
from depyf.verify.program import Program
from depyf.verify.promised import VARIABLE_NOTE, Promised, stable_globals
from depyf.verify.quiet import enter_handler
from depyf.verify.sameness import Sameness
from depyf.verify.silent import CIRCLE, LifetimeMismatch, Mismatch, advance
from depyf.verify.state import Frozen, Pair, Side, covers, freeze, meet, restrict, thaw
from depyf.verify.unwinding import UNWIND_NOTE
from depyf.verify.values import Values

STEPS_PER_INSTRUCTION = 60
MANY_FACTS = 6
"""After so many tests of booleans without an operation in between, a path ends at the next join.

What is known of them is forgotten there, which is sound; each of ``n`` tests in a row would double the paths otherwise.
"""
ITERATOR_NOTE = "assumes that iter() of an iterator gives the iterator itself"
CAUGHT_NOTE = "where an exception is caught, a temporary may keep its object alive until the function returns"
EXTEND_NOTE = "where a list is extended by what is not iterable, the message of the TypeError may differ"
WHOLE_NOTE = "a mapping that updates a dict made in another block is read whole before the dict changes"
AGAIN_NOTE = "an exception that is raised again by a statement may get another __context__"
NAMESPACE_NOTE = "assumes an ordinary namespace: temporaries are names in it for a while"


class GaveUp(Exception):
    """The budget is spent; nothing was proven or refuted."""


@dataclass
class Proof:
    """What a successful walk leaves to be proven, and what it had to assume."""

    nested: list[tuple[CodeUnit, CodeUnit]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    steps: int = 0


def prove(
    original: Lowered,
    recompiled: Lowered,
    is_temp: Callable[[str], bool],
    *,
    nested_proven: Callable[[CodeUnit, CodeUnit], bool],
    renames: Mapping[str, str] | None = None,
    bindings: Mapping[str, Any] | None = None,
    promises: Promises = NO_PROMISES,
    variables: frozenset[str] = frozenset(),
    lifetimes: bool = True,
) -> Proof:
    """Walk both codes; raises ``Mismatch`` on a difference and ``GaveUp`` when the budget is spent.

    ``promises`` hold for both sides; ``variables`` are locals of the original that count as temporaries of its own.
    ``nested_proven`` tells whether two nested code objects are proven: it settles which of several belong together.
    """
    walk = _Walk(original, recompiled, is_temp, nested_proven, renames, bindings, promises, variables, lifetimes)
    return walk.run()


STABLE_NOTE = "assuming that the globals which the generator of this code installed are not rebound"


class _Walk:
    def __init__(
        self,
        original: Lowered,
        recompiled: Lowered,
        is_temp: Callable[[str], bool],
        nested_proven: Callable[[CodeUnit, CodeUnit], bool],
        renames: Mapping[str, str] | None,
        bindings: Mapping[str, Any] | None,
        promises: Promises,
        variables: frozenset[str],
        lifetimes: bool,
    ) -> None:
        self.values = Values()
        fixed = stable_globals(promises, original, recompiled)
        self.promised = self.values.promised = Promised(promises, self.values) if promises != NO_PROMISES else None
        self.a = Program(original, self.values, 0, variables.__contains__ if variables else None, bindings=fixed)
        self.b = Program(recompiled, self.values, 1, is_temp, renames, {**fixed, **(bindings or {})})
        self.values.tracked = max(MAX_TRACKED, widest(original.instrs), widest(recompiled.instrs))
        self.units = original.unit, recompiled.unit
        self.lifetimes = lifetimes
        self.states: dict[Key, Frozen] = {}
        self.pending = Pending()
        self.work: list[Pair] = []
        self.last_at_handler: dict[tuple[int, int], Any] = {}
        self.comparing: set[tuple[int, int]] = set()
        self.proof = Proof()
        self.sameness = Sameness(self.values, nested_proven, self.proof.nested)
        self.budget = STEPS_PER_INSTRUCTION * (self.a.count + self.b.count) + 2000
        self.rebinds_cells = any(instr.op == ops.MAKE_CELL for instr in (*original.instrs, *recompiled.instrs))
        if fixed:
            self.note(STABLE_NOTE)
        if variables:
            self.note(VARIABLE_NOTE)
        if self.b.namespace_temps:
            self.note(NAMESPACE_NOTE)

    def note(self, text: str) -> None:
        if text not in self.proof.notes:
            self.proof.notes.append(text)

    # The driver.

    def run(self) -> Proof:
        outer = self.values.outer_exc
        start = Pair(Side(self.a, 0, [], outer), Side(self.b, 0, [], outer))
        start.early = start.before_graph = self.promised is not None
        self.work.append(start)
        while True:
            if self.work:
                self._run_pair(self.work.pop())
            elif self.pending:
                key = self.pending.pop()
                at = _entry(key[0]), _entry(key[1])
                self._run_pair(self._thaw(self.states[key], *at), at if at == key[:2] else None)
            else:
                for text in self.promised.notes if self.promised is not None else ():
                    self.note(text)
                if self.a.restores:
                    self.note(UNWIND_NOTE)
                if self.b.keeps:
                    self.note(HANDLED_NOTE)
                if self.b.again:
                    self.note(AGAIN_NOTE)
                return self.proof

    def _run_pair(self, pair: Pair, arrived: tuple[int, int] | None = None) -> None:
        """Follow one path to its end or to the next join; ``arrived`` is the join that it comes from."""
        values = self.values
        while True:
            a, b = pair.a, pair.b
            self.proof.steps += advance(pair, a, b, values) + advance(pair, b, a, values)
            if self.proof.steps > self.budget:
                raise GaveUp(f"gave up after {self.budget} steps")
            if a.pc == pair.standing:
                a.joined = False
            if a.split >= 0 or b.split >= 0:
                side = a if a.split >= 0 else b
                asked = asks(values, side.split)
                if asked and (a.pc, b.pc) == arrived:
                    a.joined = b.joined = False
                many = len(pair.facts) >= MANY_FACTS and a.dirty == b.dirty
                if (asked or many) and (a.joined or b.joined):
                    self._same_locals(pair)
                    self._arrive(pair)
                else:
                    pair.standing = a.pc if asked else -1
                    self._fork(pair, side)
                return
            self._same_locals(pair)
            if (a.pc, b.pc) == arrived:
                a.joined = b.joined = False
            arrived = None
            if a.joined or b.joined:
                self._same_lifetimes(pair)  # what only this path holds is forgotten at the join
                self._arrive(pair)
                return
            event = self._match(pair)
            pair.standing = -1
            if event is None:
                continue
            if not self._perform(pair, *event):
                return

    def _fork(self, pair: Pair, side: Side) -> None:
        """Case distinction on a boolean value: no operation runs, so only one side needs to ask."""
        values = self.values
        base = side.split
        for constant in (values.false, values.true):
            new = pair.copy()
            new.facts[base] = constant
            self.work.append(new)

    # State at joins.

    def _arrive(self, pair: Pair) -> None:
        """Merge into the stored state of this pair of instructions; if that weakens it, it has to be gone through."""
        a, b = pair.a, pair.b
        a.joined = b.joined = False
        self._same_marks(pair)
        self.sameness.pair_fresh(pair)
        temps = self._kept_temps(pair)
        key = (a.pc, b.pc, self._flag_key(temps, b.pc))
        frozen = freeze(pair, self.values, temps, (a.exc, b.exc))
        if self._store(key, frozen) is not None:
            self.pending.add(key)

    def _thaw(self, stored: Frozen, pc_a: int, pc_b: int) -> Pair:
        pair = thaw(stored, self.a, self.b, pc_a, pc_b)
        if self.rebinds_cells:
            pair.epoch = self.values.new()
        return pair

    def _store(self, key: Key, frozen: Frozen) -> Frozen | None:
        old = self.states.get(key)
        if old is not None:
            if old.depth_a != frozen.depth_a or old.depth_b != frozen.depth_b:
                raise GaveUp("the stack depth is not the same on every path")
            if old.temps != frozen.temps:  # a temporary that is only bound on some paths, and not needed, is forgotten
                kept = self._live_temps(_entry(key[0]), _entry(key[1])).union(set(old.temps) & set(frozen.temps))
                old = self.states[key] = restrict(old, kept)
                frozen = restrict(frozen, kept)
            if covers(old, frozen, self.values):
                return None
            frozen = meet(old, frozen, self.values)
        self.states[key] = frozen
        return frozen

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

    def _caught_temps(self, pair: Pair, target_a: int, target: int, below: list[int]) -> dict[str, int]:
        """The temporaries a handler may still read, and those of slots ``below`` that the original keeps as well."""
        temps = pair.temps
        if not temps:
            return temps
        live = self._live_temps(target_a, target)
        inside = leaves(pair, self.values, below) if pair.fresh else set(below)
        kept = {name: value for name, value in temps.items() if name in live or value in below or value in inside}
        if kept and self.lifetimes and target in self.b.asking:
            kept = still_held(pair, self.values, kept, below)
        if self.lifetimes and target >= 0 and len(kept) != len(temps):
            self.note(CAUGHT_NOTE)
        return kept

    def _flag_key(self, temps: dict[str, int], pc: int) -> tuple[int, ...]:
        """Constants in flag variables select a path: such states are kept apart."""
        flags = self.b.flags
        if not flags or not temps:
            return ()
        live = self.b.live_temps(pc)
        return tuple(
            [
                temps[name] if self.values.is_const(temps[name]) else -1
                for name in sorted(flags)
                if name in temps and name in live
            ]
        )

    # Comparing.

    def _same_marks(self, pair: Pair) -> None:
        a, b = pair.a, pair.b
        if a.marks != b.marks:
            raise self._mismatch(pair, "they have not made the same calls before")
        a.marks = b.marks = ()

    def _same_locals(self, pair: Pair) -> None:
        """Both sides must have left the user locals alike; their stores become common knowledge."""
        a, b = pair.a, pair.b
        if not a.dirty and not b.dirty:
            return
        loc = pair.loc
        for name, value in a.dirty.items():
            other = b.dirty.get(name, -1)
            if other < 0:
                other = loc.get(name, -1)
            if other < 0 or (other != value and not self.sameness.same(pair, value, other)):
                shown = "deleted" if value == self.values.unbound else "stored"
                if b.dirty.get(name, -1) >= 0:
                    raise self._mismatch(pair, f"the local {name} does not get the same value")
                raise self._mismatch(pair, f"the local {name} is {shown} only by the original")
        for name, value in b.dirty.items():
            if name not in a.dirty:
                other = loc.get(name, -1)
                if other < 0 or (other != value and not self.sameness.same(pair, other, value)):
                    raise self._mismatch(pair, f"the local {name} is changed only by the recompiled code")
        for name, value in a.dirty.items():
            pair.bind(name, value)
        a.dirty = {}
        b.dirty = {}

    def _match(self, pair: Pair) -> tuple[Event, Event] | None:
        """Compare the events both sides stand before; None if one side was moved on instead."""
        a, b = pair.a, pair.b
        event_a, event_b = event_of(pair, a, self.values), event_of(pair, b, self.values)
        if event_a.key != event_b.key:
            if event_b.key[0] == ops.GET_ITER and event_b.results == 1:
                value = event_b.operands[0]
                known = self.values.desc[value]
                fed = event_a.key[0] == ops.FOR_ITER and self.sameness.same(pair, event_a.operands[0], value)
                if fed or known == ("type", "iter"):
                    self.note(ITERATOR_NOTE)
                    b.pc += 1
                    return None
            raise self._mismatch(pair, "they do different things")
        if (a.marks or b.marks) and not (self.promised is not None and self.promised.marks_wait(pair, event_a)):
            self._same_marks(pair)
        # Asked before the operands are compared: a container that both pass on is opaque afterwards.
        timed = event_a.key not in (RETURN, UNWIND, DIVERGE) and not self._holds_the_same(pair)
        if len(event_a.operands) != len(event_b.operands):
            raise self._mismatch(pair, f"{len(event_a.operands)} against {len(event_b.operands)} operands")
        for i, (left, right) in enumerate(zip(event_a.operands, event_b.operands)):
            if left != right and not self.sameness.same(pair, left, right):
                constants = self.values.constants((left, right))
                if constants and incidental(event_a.key, constants[0], constants[1], self.units):
                    continue
                shown = f"{self.sameness.show(pair, left)} against {self.sameness.show(pair, right)}"
                raise self._mismatch(pair, f"operand {i + 1} of {len(event_a.operands)} differs, {shown}")
        key = event_a.key
        if key[0] == ops.LIST_EXTEND and self.a.key[a.pc][0] != self.b.key[b.pc][0]:
            self.note(EXTEND_NOTE)
        if event_a.ahead != event_b.ahead:
            self.note(WHOLE_NOTE)
        if a.cur != b.cur and key != RETURN and not self.sameness.same(pair, a.cur, b.cur):
            raise self._mismatch(pair, "they handle different exceptions at that point")
        if timed:
            self._same_lifetimes(pair)
        if pair.temps and self.lifetimes and reads_locals(event_a, self.values):
            shown = f"what reads the local namespace would see the temporary {min(pair.temps)}"
            found = self._mismatch(pair, shown)
            raise LifetimeMismatch(found.reason, found.pc)
        return event_a, event_b

    def _holds_the_same(self, pair: Pair) -> bool:
        if not self.lifetimes or not (pair.temps or pair.a.stack != pair.b.stack):
            return True
        return not held_apart(pair, self.values)

    def _same_lifetimes(self, pair: Pair) -> None:
        """Before an operation both sides must keep the same objects alive (at the end of the frame all die)."""
        if not self.lifetimes or not (pair.temps or pair.a.stack != pair.b.stack):
            return
        if pair.a.split == CIRCLE or pair.a.pc < 0 or self.a.instrs[pair.a.pc].op == ops.RETURN:
            return
        reason = held_apart(pair, self.values)
        if reason:
            found = self._mismatch(pair, f"lifetimes differ: {reason}")
            raise LifetimeMismatch(found.reason, found.pc)

    def _mismatch(self, pair: Pair, why: str) -> Mismatch:
        a, b = pair.a, pair.b
        where_a, where_b = self.a.describe(a.pc), self.b.describe(b.pc)
        return Mismatch(f"original {where_a} and recompiled {where_b}: {why}", a.pc)

    # Doing it.

    def _perform(self, pair: Pair, event_a: Event, event_b: Event) -> bool:
        """The effect of a matched event; False when the path ends here or goes on elsewhere."""
        a, b, values = pair.a, pair.b, self.values
        key = event_a.key
        op = key[0]
        if op == ops.RETURN:
            if self.b.namespace_temps and pair.temps:
                raise self._mismatch(pair, f"the temporary {min(pair.temps)} is left in the namespace")
            return False
        if key == UNWIND:
            return False
        if (a.pc >= 0 and self.a.raises(a.pc)) or (b.pc >= 0 and self.b.raises(b.pc)) or key == DIVERGE:
            exc = event_a.operands[0] if op == ops.END_ASYNC_FOR else -1
            self._raise_into_handlers(pair, exc)
        if op in ENTERING or op == ops.WITH_EXCEPT_START:
            if self.b.instrs[b.pc].op != op:
                self.note(MANAGER_NOTE)
            if op in ENTERING and refuses(pair, values, op, event_a.operands[0]):
                return False
            # asked anew next time, at a place of its own
            pair.facts = {base: fact for base, fact in pair.facts.items() if not asks(values, base)}
        if key == DIVERGE or op == ops.RAISE:
            return False
        if key == TRUTH:
            for truth in (False, True):
                new = pair.copy()
                settle(new.a, values, truth)
                settle(new.b, values, truth)
                self.work.append(new)
            return False
        if op == ops.FOR_ITER:
            done = pair.copy()
            for side in (done.a, done.b):
                del side.stack[len(side.stack) - side.program.arg[side.pc] :]
                side.pc = side.program.target[side.pc]
            self.work.append(done)
        if op == ops.END_ASYNC_FOR:
            for side, event in ((a, event_a), (b, event_b)):
                if event.pops > 2:  # before 3.11 the slots below the exception hold the one handled before
                    side.cur = side.stack[-5]
        kind = FRAME_READER if op in NAME_LOADS and key[1] in READ_LOCALS else RESULT_TYPES.get(op)
        if self.promised is not None and op != ops.MAKE_CELL:
            callee = event_a.operands[0] if op in CALLS else -1
            self.promised.ended(pair, callee)
            kind = self.promised.result_type(callee) if callee >= 0 else kind
        results = [values.new() if kind is None else values.typed(kind) for _ in range(event_a.results)]
        push_results(pair, event_a, event_b, values, results)
        if op == ops.LOAD_FAST:
            pair.bind(key[1], results[0])
        elif op == ops.DELETE_FAST:
            pair.loc[key[1]] = values.unbound
        elif op == ops.MAKE_CELL:
            pair.epoch = values.new()
        return True

    def _raise_into_handlers(self, pair: Pair, exc: int) -> None:
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
        temps = self._caught_temps(pair, target_a, target_b, a.stack[:depth_a])
        place = (-2 - target_a, -2 - target_b)
        held = {*a.stack[:depth_a], *b.stack[:depth_b], cur_a, cur_b, *temps.values()}
        loc = pair.named(held)
        if exc < 0:
            if not (pair.fresh or pair.alias or pair.facts):
                now = (a.stack[:depth_a], b.stack[:depth_b], cur_a, cur_b, dict(temps), loc)
                if self.last_at_handler.get(place) == now:
                    return  # pushed before, nothing has changed
                self.last_at_handler[place] = now
            exc = self.values.typed("exception")
        new = pair.view()
        del new.a.stack[depth_a:]
        del new.b.stack[depth_b:]
        new.a.cur, new.b.cur = cur_a, cur_b
        new.temps = temps
        self.sameness.pair_fresh(new)
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
        if self._store(key, freeze(new, self.values, temps, (exc_a, exc_b), loc)) is not None:
            self.pending.add(key)


FRAME_READER = "frame reader"
NAME_LOADS = frozenset({ops.LOAD_GLOBAL, ops.LOAD_NAME})
CALLS = frozenset({ops.CALL, ops.CALL_EX})


def reads_locals(event: Event, values: Values) -> bool:
    """A call of a builtin that shows the caller's local variables."""
    return event.key[0] in CALLS and values.desc[event.operands[0]] == ("type", FRAME_READER)


def _entry(pc: int) -> int:
    """Handler states are stored under ``-2 - target``, the others under their instruction."""
    return pc if pc >= -1 else -2 - pc
