"""Compares both sides of a proof at a point: the operation, its operands, the locals, the objects kept alive."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.exception_table import GENERATORS
from depyf.decompiler.generated.contract import READ_LOCALS
from depyf.decompiler.verify.assumptions import (
    AWAITED_NOTE,
    CYCLE_NOTE,
    END_ORDER_NOTE,
    EXTEND_NOTE,
    ITERATOR_NOTE,
    KEYWORDS_NOTE,
    LISTS_NOTE,
    NOTED_NOTE,
    RAISED_NOTE,
    TESTED_NOTE,
    WHOLE_NOTE,
)
from depyf.decompiler.verify.identical import incidental, noted_by_compiler
from depyf.decompiler.verify.relation.end_order import same_order
from depyf.decompiler.verify.relation.lifetimes import held_apart, leaves
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.checked_code import ORIGINAL
from depyf.decompiler.verify.state.proof import Ground
from depyf.decompiler.verify.state.proof_state import Pair
from depyf.decompiler.verify.verdict import LifetimeMismatch
from depyf.decompiler.verify.walk.by_name import notes_less
from depyf.decompiler.verify.walk.observable import DIVERGE, RETURN, UNWIND, Event, Key, event_of
from depyf.decompiler.verify.walk.promised import Stable
from depyf.decompiler.verify.walk.step import CIRCLE

FRAME_READER = "frame reader"
COLLECTING = frozenset({ops.LIST_APPEND, ops.LIST_EXTEND})
"""What may happen between reading the last item of a list and deleting it (``Pair.owed``)."""
CALLS = frozenset({ops.CALL, ops.CALL_EX})


def reads_locals(event: Event, values: Values) -> bool:
    """A call of a builtin that shows the caller's local variables."""
    if event.key[0] not in CALLS:
        return False
    known = values.desc[event.operands[0]]
    stable = known[1] if known is not None and known[0] == "const" else None
    if type(stable) is Stable:  # from the table of builtins that a program keeps
        return stable.owner is not None and stable.name in READ_LOCALS
    return known == ("type", FRAME_READER)


class Agreement:
    """Compares the two sides; a difference is raised as ``Mismatch``."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.a, self.b, self.values = ground.a, ground.b, ground.values
        self.hands_back = not self.a.block_stack and not self.a.unit.flags & GENERATORS
        """Whether the exception that counts as handled when it returns still does so for the caller."""
        self.sameness, self.lifetimes, self.promised = ground.sameness, ground.lifetimes, ground.promised

    def same_marks(self, pair: Pair) -> None:
        a, b = pair.a, pair.b
        if a.marks != b.marks:
            raise self.ground.mismatch(pair, "they have not made the same calls before")
        a.marks = b.marks = ()

    def same_locals(self, pair: Pair) -> None:
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
                if value == self.values.unbound and self.promised is not None and name in self.promised.handed.lists:
                    self.promised.use(LISTS_NOTE)  # nothing sees how long they live
                    continue
                shown = "deleted" if value == self.values.unbound else "stored"
                if b.dirty.get(name, -1) >= 0:
                    raise self.ground.mismatch(pair, f"the local {name} does not get the same value")
                raise self.ground.mismatch(pair, f"the local {name} is {shown} only by the original")
        for name, value in b.dirty.items():
            if name not in a.dirty:
                other = loc.get(name, -1)
                if other < 0 or (other != value and not self.sameness.same(pair, other, value)):
                    raise self.ground.mismatch(pair, f"the local {name} is changed only by the recompiled code")
        for name, value in a.dirty.items():
            pair.bind(name, value)
        a.dirty = {}
        b.dirty = {}

    def match(self, pair: Pair) -> tuple[Event, Event] | None:
        """Compare the events both sides stand before; None if one side was moved on instead."""
        a, b = pair.a, pair.b
        event_a, event_b = event_of(pair, a, self.values), event_of(pair, b, self.values)
        if event_a.key != event_b.key and not _joins_too(event_a.key, event_b.key):
            if event_b.key[0] == ops.GET_ITER:
                value = event_b.operands[0]
                known = self.values.desc[value]
                fed = event_a.key[0] == ops.FOR_ITER and self.sameness.same(pair, event_a.operands[0], value)
                if fed or known == ("type", "iter"):
                    self.ground.note(ITERATOR_NOTE)
                    b.stack.extend([self.values.null] * (event_b.results - 1))
                    b.pc += 1
                    return None
            raise self.ground.mismatch(pair, "they do different things")
        if pair.owed and event_a.key[0] not in COLLECTING:
            raise self.ground.mismatch(pair, f"the last item of {pair.owed} is deleted only by the recompiled code")
        if (a.marks or b.marks) and not (self.promised is not None and self.promised.marks_wait(pair, event_a)):
            self.same_marks(pair)
        # Asked before the operands are compared: a container that both pass on is opaque afterwards.
        timed = event_a.key not in (RETURN, UNWIND, DIVERGE) and not self._holds_the_same(pair)
        if len(event_a.operands) != len(event_b.operands):
            raise self.ground.mismatch(pair, f"{len(event_a.operands)} against {len(event_b.operands)} operands")
        for i, (left, right) in enumerate(zip(event_a.operands, event_b.operands)):
            if left != right and not self.sameness.same(pair, left, right):
                constants = self.values.constants((left, right))
                if constants:
                    note = noted_by_compiler(self.a.lowered, self.b.lowered, (a.pc, b.pc))
                    if incidental(note, constants[0], constants[1], self.ground.units):
                        continue
                    if notes_less(note, constants[0], constants[1]):
                        self.ground.note(NOTED_NOTE)
                        continue
                shown = f"{self.sameness.show(pair, left)} against {self.sameness.show(pair, right)}"
                raise self.ground.mismatch(pair, f"operand {i + 1} of {len(event_a.operands)} differs, {shown}")
        key = event_a.key
        if key[0] == ops.LIST_EXTEND and self.a.key[a.pc][0] != self.b.key[b.pc][0] or key != event_b.key:
            self.ground.note(EXTEND_NOTE)
        if key == (ops.GET_AWAITABLE,) and self.a.key[a.pc] != self.b.key[b.pc]:
            self.ground.note(AWAITED_NOTE)
        if event_a.ahead != event_b.ahead and (key[0] == ops.DICT_UPDATE or key == (ops.CALL_EX, True)):
            self.ground.note(KEYWORDS_NOTE if key[0] == ops.CALL_EX else WHOLE_NOTE)
        if a.cur != b.cur and (key != RETURN or self.hands_back) and not self.sameness.same(pair, a.cur, b.cur):
            if key[0] == ops.EXC_MATCH and self.sameness.same(pair, event_a.operands[0], b.cur):
                # the test looks at types alone and runs no code: only the error about what is no class would tell
                self.ground.note(TESTED_NOTE)
            elif key not in (UNWIND, RETURN) or b.cur != self.values.outer_exc:
                raise self.ground.mismatch(pair, "they handle different exceptions at that point")
            else:  # the frame ends with an exception still counted as handled: assumed away, and named
                self.a.restores = True
        elif key == RETURN and self.lifetimes and not self.a.block_stack and not self.sameness.same(pair, a.cur, b.cur):
            # A generator ends with an exception that the other has let go of; by its traceback that holds the frame.
            self.ground.note(END_ORDER_NOTE)
        if timed:
            self.same_lifetimes(pair)
        if pair.temps and self.lifetimes and reads_locals(event_a, self.values):
            shown = f"what reads the local namespace would see the temporary {min(pair.temps)}"
            found = self.ground.mismatch(pair, shown)
            raise LifetimeMismatch(found.reason, found.pc)
        self.same_ends(pair, key == RETURN)
        if pair.temps and self.lifetimes:
            self._outlived(pair, event_b)
        return event_a, event_b

    def _outlived(self, pair: Pair, event: Event) -> None:
        """Note temporaries that live on in a frame which an exception leaves, while the original's stack is gone."""
        b, key = pair.b, event.key
        if key != UNWIND and (b.pc < 0 or not self.b.raises(b.pc) or self.b.handler[b.pc] >= 0):
            return
        notes = self.ground.proof.notes
        if RAISED_NOTE in notes and (CYCLE_NOTE in notes or key[0] != ops.RAISE):
            return
        own = [value for name, value in pair.temps.items() if name[0] == ORIGINAL]
        held = leaves(pair, self.values, [value for name, value in pair.temps.items() if name[0] != ORIGINAL])
        held -= leaves(pair, self.values, own)
        if held:
            self.ground.note(RAISED_NOTE)
        if key[0] == ops.RAISE and not held.isdisjoint(leaves(pair, self.values, event.operands)):
            self.ground.note(CYCLE_NOTE)

    def same_ends(self, pair: Pair, returns: bool = False) -> None:
        """Check that objects end in the same order on both sides, or note that the order is assumed not to count."""
        if self.lifetimes and not same_order(pair, self.values, returns):
            self.ground.note(END_ORDER_NOTE)

    def _holds_the_same(self, pair: Pair) -> bool:
        if not self.lifetimes or not (pair.temps or pair.a.stack != pair.b.stack):
            return True
        return not held_apart(pair, self.values)

    def same_lifetimes(self, pair: Pair) -> None:
        """Before an operation both sides must keep the same objects alive (at the end of the frame all die)."""
        if not self.lifetimes or not (pair.temps or pair.a.stack != pair.b.stack):
            return
        if pair.a.split == CIRCLE or pair.a.pc < 0 or self.a.instrs[pair.a.pc].op == ops.RETURN:
            return
        reason = held_apart(pair, self.values)
        if reason:
            found = self.ground.mismatch(pair, f"lifetimes differ: {reason}")
            raise LifetimeMismatch(found.reason, found.pc)


def _joins_too(original: Key, recompiled: Key) -> bool:
    """Whether the text joins in a display what the original joins for a call (3.8): one error message differs."""
    if original[0] != ops.BUILD_UNPACK or recompiled[0] != ops.BUILD_UNPACK:
        return False
    return bool(original[1] == ("call_tuple", recompiled[1][1]) and recompiled[1][0] == "tuple")
