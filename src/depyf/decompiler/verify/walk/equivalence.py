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

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.generated.contract import NO_CONTRACT, READ_LOCALS, GeneratorContract
from depyf.decompiler.verify.assumptions import LEFT_NOTE, MANAGER_NOTE, UNREACHED_NOTE
from depyf.decompiler.verify.promises.handed_on import NOTHING, HandedOn, popped_list
from depyf.decompiler.verify.promises.passed_over import is_resumed
from depyf.decompiler.verify.promises.suppressed import arms_of_suppressed
from depyf.decompiler.verify.relation.facts import take
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof import GaveUp, Ground, Proof
from depyf.decompiler.verify.state.proof_state import Pair, Side, propagate_facts, reachable, resolve
from depyf.decompiler.verify.walk.agreement import CALLS, FRAME_READER, Agreement
from depyf.decompiler.verify.walk.joins import Joins
from depyf.decompiler.verify.walk.managers import ENTERING, asks, refuses, slots_of
from depyf.decompiler.verify.walk.observable import DIVERGE, RESULT_TYPES, TRUTH, UNWIND, Event
from depyf.decompiler.verify.walk.step import advance
from depyf.safety.depth import spend

STEPS_PER_INSTRUCTION = 60
_SLOTS_A_STEP = 6
"""As a power of two: the slots of a deep stack are visited again and again, so 64 of them count as one step."""
_WORK = 10
"""The cost of such a step in the budget of the whole decompilation."""
MANY_FACTS = 6
"""After so many tests of booleans without an operation in between, a path ends at the next join.

The facts about them are dropped there, which is sound.  Otherwise each of ``n`` tests in a row would double the paths.
"""
NAME_LOADS = frozenset({ops.LOAD_GLOBAL, ops.LOAD_NAME})


def prove(
    original: Lowered,
    recompiled: Lowered,
    is_temp: Callable[[str], bool],
    *,
    nested_proven: Callable[[CodeUnit, CodeUnit], bool],
    renames: Mapping[str, str] | None = None,
    stand_ins: Mapping[str, str] | None = None,
    bindings: Mapping[str, Any] | None = None,
    builtins: Mapping[str, Any] = MappingProxyType({}),
    promises: GeneratorContract = NO_CONTRACT,
    variables: frozenset[str] = frozenset(),
    lifetimes: bool = True,
    loose: Iterable[frozenset[Any]] = (),
    handed: HandedOn = NOTHING,
) -> Proof:
    """Walk both codes; raises ``Mismatch`` on a difference and ``GaveUp`` when the budget is spent.

    ``promises`` hold for both sides; ``variables`` are locals of the original that count as its temporaries.
    ``handed`` is what the rules for resume functions need to know of the original.
    ``nested_proven`` tells whether two nested code objects are proven: it decides which of several belong together.
    """
    ground = Ground(
        original,
        recompiled,
        is_temp,
        nested_proven,
        renames,
        stand_ins,
        bindings,
        builtins,
        promises,
        variables,
        lifetimes,
        loose,
        handed,
    )
    return _Walk(ground).run()


class _Walk:
    """Lock step through both codes, from the entry to the end of every path."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.values, self.a, self.b, self.promised = ground.values, ground.a, ground.b, ground.promised
        self.agreement = Agreement(ground)
        self.joins = Joins(ground)
        promised = self.promised is not None and is_resumed(self.a.lowered, self.promised.promises)
        self.suppressed = arms_of_suppressed(ground.a.lowered) if promised else {}
        self.work: list[Pair] = []
        self.budget = STEPS_PER_INSTRUCTION * (self.a.count + self.b.count) + 2000

    def run(self) -> Proof:
        outer = self.values.outer_exc
        start = Pair(Side(self.a, 0, [], outer), Side(self.b, 0, [], outer))
        start.early = start.before_graph = self.promised is not None
        if self.promised is not None:
            self.promised.enter(start)
        self.work.append(start)
        while True:
            if self.work:
                self._run_pair(self.work.pop())
            elif self.joins.pending:
                self._run_pair(*self.joins.next())
            else:
                return self.ground.done()

    def _run_pair(self, pair: Pair, arrived: tuple[int, int] | None = None) -> None:
        """Follow one path to its end or to the next join; ``arrived`` is the join that it comes from."""
        values, proof = self.values, self.ground.proof
        while True:
            a, b = pair.a, pair.b
            before = proof.steps
            proof.steps += advance(pair, a, b, values) + advance(pair, b, a, values)
            proof.steps += len(a.stack) + len(b.stack) >> _SLOTS_A_STEP  # each may be gone through
            spend(_WORK * (proof.steps - before + 1))
            if proof.steps > self.budget:
                raise GaveUp(f"gave up after {self.budget} steps")
            if a.pc == pair.standing:
                a.joined = False
            if a.split >= 0 or b.split >= 0:
                if pair.fresh and a.split != b.split and self._same_objects(pair):
                    continue
                side = a if a.split >= 0 else b
                asked = asks(values, side.split)
                if asked and (a.pc, b.pc) == arrived:
                    a.joined = b.joined = False
                many = len(pair.facts) >= MANY_FACTS and a.dirty == b.dirty
                if (asked or many) and (a.joined or b.joined):
                    self.agreement.same_locals(pair)
                    self._arrive(pair)
                else:
                    pair.standing = a.pc if asked else -1
                    self._fork(pair, side)
                return
            self.agreement.same_locals(pair)
            if (a.pc, b.pc) == arrived:
                a.joined = b.joined = False
            arrived = None
            if a.joined or b.joined:
                self.agreement.same_lifetimes(pair)  # what only this path holds is forgotten at the join
                self._arrive(pair)
                return
            event = self.agreement.match(pair)
            pair.standing = -1
            if event is None:
                continue
            if a.pc >= 0 and b.pc >= 0:
                proof.places.setdefault(b.pc, a.pc)
                proof.places.setdefault(b.pc + event[1].ahead, a.pc + event[0].ahead)
            if not self._perform(pair, *event):
                return

    def _same_objects(self, pair: Pair) -> bool:
        """Whether the boolean is about objects that both sides have built, and that match: then it is decided for the
        matched ones."""
        asked = [split for split in (pair.a.split, pair.b.split) if split >= 0]
        if len(asked) == 2 and self.ground.sameness.same(pair, asked[0], asked[1]):
            return True
        if not reachable(asked, pair.fresh, self.values):
            return False
        self.ground.sameness.pair_fresh(pair)
        return any(resolve(pair, self.values, split, {}) != split for split in asked)

    def _fork(self, pair: Pair, side: Side) -> None:
        """Case distinction on a boolean value: no operation runs, so only one side needs to ask."""
        values = self.values
        base = side.split
        for constant in (values.false, values.true):
            new = pair.copy()
            new.facts[base] = constant
            if propagate_facts(new, values):
                self.work.append(new)

    def _arrive(self, pair: Pair) -> None:
        """End a path at a join: merge its state into the stored one."""
        pair.a.joined = pair.b.joined = False
        if pair.owed:
            raise self.ground.mismatch(pair, f"the last item of {pair.owed} is deleted only by the recompiled code")
        self.agreement.same_marks(pair)
        self.agreement.same_ends(pair)
        self.joins.arrive(pair)

    def _perform(self, pair: Pair, event_a: Event, event_b: Event) -> bool:
        """The effect of a matched event; False when the path ends here or goes on elsewhere."""
        a, b, values = pair.a, pair.b, self.values
        key = event_a.key
        op = key[0]
        if op == ops.RETURN:
            if self.a.unit.forgets_its_stack and len(a.stack) + len(b.stack) > 2:
                self.ground.note(LEFT_NOTE)
            if self.b.namespace_temps and pair.temps:
                raise self.ground.mismatch(pair, f"the temporary {min(pair.temps)} is left in the namespace")
            return False
        if key == UNWIND:
            return False
        if (a.pc >= 0 and self.a.raises(a.pc)) or (b.pc >= 0 and self.b.raises(b.pc)) or key == DIVERGE:
            exc = event_a.operands[0] if op == ops.END_ASYNC_FOR else -1
            owed, pair.owed = pair.owed, ""  # nothing sees the list
            self.joins.raise_into_handlers(pair, exc)
            pair.owed = owed
        if op in ENTERING or op == ops.WITH_EXCEPT_START:
            if self.b.instrs[b.pc].op != op:
                self.ground.note(MANAGER_NOTE)
            if op in ENTERING and refuses(pair, values, op, event_a.operands[0]):
                return False
            # asked again next time, at another place
            pair.facts = {base: fact for base, fact in pair.facts.items() if not asks(values, base)}
        if key == DIVERGE or op == ops.RAISE:
            return False
        if key == TRUTH:
            arm = self.suppressed.get(a.pc, -1)
            for truth in (False, True):
                new = pair.copy()
                decide(new.a, values, truth)
                if new.a.pc == arm and self.promised is not None:
                    self.promised.use(UNREACHED_NOTE)
                    continue
                decide(new.b, values, truth)
                self.work.append(new)
            return False
        if op == ops.FOR_ITER:
            done = pair.copy()
            for side in (done.a, done.b):
                side.gone.extend(take(side.stack, side.program.arg[side.pc]))
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
        if op == ops.GET_ITER:  # beside an iterator lies no object (3.15)
            results[1:] = [values.null] * (len(results) - 1)
        if op == ops.SUBSCR and event_b.ahead:
            pair.owed = popped_list(self.b.instrs, b.pc)
        changed = a.pc
        push_results(pair, event_a, event_b, values, results)
        if self.promised is not None:
            self.promised.changed(pair, changed)
        if op == ops.LOAD_FAST:
            pair.bind(key[1], results[0])
        elif op == ops.DELETE_FAST:
            for side in (a, b):
                side.gone.append(pair.loc.get(key[1], values.unbound))
            pair.loc[key[1]] = values.unbound
        elif op == ops.MAKE_CELL:
            pair.epoch = values.new()
        return True


def push_results(pair: Pair, event_a: Event, event_b: Event, values: Values, results: list[int]) -> None:
    """Take the operands off both stacks, put ``results`` there, and go on after the event."""
    apart = event_a.key[0] in ENTERING and event_a.results != event_b.results
    found = (
        (pair.a, event_a, slots_of(pair, values, event_a.operands[0], results) if apart else results),
        (pair.b, event_b, results[-1:] if apart else results[: event_b.results]),
    )
    for side, event, own in found:
        side.gone.extend(event.operands)
        if event.pops:
            del side.stack[len(side.stack) - event.pops :]
        side.stack.extend([values.negated(value) for value in own] if event.negated else own)
        side.stack.extend(event.extra)
        side.pc += 1 + event.ahead


def decide(side: Side, values: Values, truth: bool) -> None:
    """Both outcomes of a truth test: a branch goes its way, ``not`` leaves a constant."""
    side.gone.append(side.stack.pop())
    program = side.program
    instr = program.instrs[side.pc]
    if instr.op == ops.UNARY:
        side.stack.append(values.false if truth else values.true)
        side.pc += 1
    elif (instr.arg == "true") == truth:
        side.pc = instr.target
    else:
        side.pc += 1
