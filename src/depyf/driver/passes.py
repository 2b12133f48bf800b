"""The passes, and what runs them: code unit in, statements of the Python dialect out.

Every pass is a function from the artifact of the one before; ``trace_passes`` shows each of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.bytecode.lower import Lowered, lower
from depyf.bytecode.tables.loop_ends import loop_ends
from depyf.bytecode.tables.nop_lines import nop_lines
from depyf.cfg.containers import Containers
from depyf.cfg.graph import Graph
from depyf.cfg.program import Program
from depyf.cfg.region_table import Regions
from depyf.cfg.undo.class_ends import drop_class_ends
from depyf.cfg.undo.copied_expression_ends import join_pending
from depyf.cfg.undo.handler_ends import join_handler_ends
from depyf.cfg.undo.jump_threading import unthread
from depyf.cfg.undo.short_circuit_exits import join_short_ways
from depyf.cfg.undo.skipped_tests import join_skipped_tests
from depyf.cfg.undo.undo_inlined_returns import join_returned
from depyf.cfg.written_part import written_part
from depyf.driver.choices import LADDER, Choices
from depyf.driver.failure_stub import in_place_of
from depyf.driver.invariants import check_graph, check_labelled, check_lifted, check_printable, check_python
from depyf.errors import BytecodeError, DecompilationError
from depyf.fallback.drop_copies import drop_copies
from depyf.fallback.plain import PlainSymbolic
from depyf.fallback.reentered_handlers import enter_by_raising
from depyf.fallback.split_handlers import separate_handlers
from depyf.fallback.unhandled_handlers import drop_idle, handle_bare, trim_idle
from depyf.generated.bind_argument_lists import hand_over
from depyf.generated.common_subexpressions import share_items
from depyf.generated.idle_code import drop_empty_arms, drop_idle_parameters, drop_unreached
from depyf.generated.immediate_stores import exchange, store_at_once
from depyf.generated.inline_values import tidy
from depyf.generated.name_values import polish
from depyf.generated.resume.loop_peeling import with_first_turns
from depyf.generated.resume.strip import without_books
from depyf.generated.sink_assignments import share_tails
from depyf.generated.unreached import unreached
from depyf.idioms.dead_temporaries import deletions, drop_unread, unread_temporaries
from depyf.idioms.one_line import join_lines
from depyf.idioms.release import release_temporaries
from depyf.idioms.temporaries import number_temporaries, settle_nested
from depyf.idioms.whole_bodies import finish_body
from depyf.ir.expr import Expr
from depyf.ir.stmt import Body, Stmt
from depyf.lift.lifted_block import Lifted
from depyf.lift.lifter import Lifter
from depyf.lift.stack_values import SPILL_BASE
from depyf.lift.style import Style
from depyf.lift.symbolic import Symbolic
from depyf.safety.budget import TooMuchWork
from depyf.safety.depth import any_depth_of, no_room, part_of_work, with_room
from depyf.structure.labels import Lowering
from depyf.structure.layout.break_lines import note_break_lines
from depyf.structure.layout.fall_off import fall_off
from depyf.structure.layout.loop_exits import settle_inner, settle_loops
from depyf.structure.layout.sinking import cheapest, idle
from depyf.structure.layout.star_exits import leaves_clause
from depyf.structure.loop_tails import move_tails
from depyf.structure.match.recognise_tests import find_matches
from depyf.structure.regions.classify import fill_silent, find_regions
from depyf.structure.regions.unprotected_tests import protect_tests
from depyf.structure.skip_empty import skip_empty
from depyf.structure.total import Structurer

Nested = Callable[[CodeUnit, bool], Body]
"""Decompiles nested code; true where the source has an expression, not a function: there are no statements then."""


@dataclass(slots=True)
class State:
    """What the passes hand on; each pass fills the fields that it is the source of."""

    unit: CodeUnit
    choices: Choices
    nested: Nested
    lowered: Callable[[CodeUnit], Lowered] = lower
    program: Program | None = None
    regions: Regions | None = None
    matches: int = 0
    containers: Containers | None = None
    graph: Graph | None = None
    blocks: dict[int, Lifted] | None = None
    entry: int = 0
    resets: dict[int, tuple[Expr, ...]] = field(default_factory=dict)
    temporaries: bool = False
    labelled: list[Stmt] | None = None
    body: Body = ()


@dataclass(frozen=True, slots=True)
class Pass:
    """One step of the pipeline; ``why`` says why it stands where it stands."""

    name: str
    run: Callable[[State], object]
    why: str
    check: Callable[[Any], None] = lambda artifact: None
    """What must hold of the artifact; raises InvariantError."""


def _lower(state: State) -> object:
    promises = state.choices.promises
    lowered, _ = without_books(state.lowered(state.unit), promises)
    resumed = state.unit.name.startswith(promises.resumed)
    if resumed and state.choices.turns:
        lowered = with_first_turns(lowered)
    state.program = Program(lowered)
    if resumed:
        state.program.unreached = unreached(lowered)
    drop_class_ends(state.program)
    if state.choices.idioms:
        join_returned(state.program)
        join_short_ways(state.program)
        join_pending(state.program)
        join_handler_ends(state.program)
        unthread(state.program)
        join_skipped_tests(state.program)
    if not state.choices.loops:
        state.program.thread()
    return state.program


def _regions(state: State) -> object:
    assert state.program is not None
    if state.choices.idioms:
        protect_tests(state.program)
    else:
        enter_by_raising(state.program)
    state.regions = find_regions(
        state.program, idioms=state.choices.idioms and state.choices.finally_, clauses=state.choices.clauses
    )
    if not state.choices.idioms:
        drop_idle(state.program, state.regions)
        trim_idle(state.program, state.regions)
        handle_bare(state.program, state.regions)
        fill_silent(state.regions)
        separate_handlers(state.program, state.regions)
    return state.regions


def _matches(state: State) -> object:
    assert state.program is not None
    if state.choices.clauses:
        state.matches = find_matches(state.program, idioms=state.choices.idioms)
    return state.program


def _containers(state: State) -> object:
    assert state.program is not None and state.regions is not None
    state.containers = Containers(state.program, state.regions)
    return state.containers


def _graph(state: State) -> object:
    assert state.program is not None and state.containers is not None
    # a program repeats itself without having copied anything
    state.graph = Graph(state.program, state.containers, merge=state.choices.idioms, tails=not state.choices.generated)
    return state.graph


def _engine(state: State, graph: Graph) -> Symbolic:
    choices = state.choices
    style = Style(
        fold=choices.idioms,
        wide_folds=choices.wide_folds,
        generated=choices.generated,
        written=written_part(graph.program) if choices.generated else None,
        held=choices.held,
        peeled=choices.turns,
        stable=choices.promises.stable,
        plain_keys=choices.promises.plain_keys,
    )
    if choices.idioms:
        return Symbolic(graph.program, state.nested, style)
    return PlainSymbolic(
        graph.program, state.nested, graph.containers, style, loops=choices.loops, clauses=choices.clauses
    )


def _lift(state: State) -> object:
    assert state.graph is not None
    lifter = Lifter(state.graph, _engine(state, state.graph))
    state.blocks = lifter.run()
    state.resets = lifter.symbolic.resets()
    state.entry = lifter.merged.get(state.graph.entry, state.graph.entry)
    if state.choices.idioms and state.program is not None:
        note_break_lines(state.program, state.blocks)
    skip_empty(state.blocks, state.graph.containers, state.entry)
    state.temporaries = lifter.symbolic.spills > SPILL_BASE or lifter.named_slots
    return state.blocks


def _structure(state: State) -> object:
    assert state.blocks is not None and state.containers is not None
    structurer = Structurer(
        state.blocks,
        state.containers,
        state.entry,
        state.unit.qualname,
        handlers_last=state.unit.handlers_last or not state.choices.idioms,
        ends=loop_ends(state.unit, tuple(state.program.instrs)) if state.program and state.choices.idioms else None,
    )
    structurer.resets, structurer.plain = state.resets, not state.choices.idioms
    structurer.copies_tails = structurer.plain and bool(state.unit.flags & CO_OPTIMIZED)
    state.labelled = structurer.run()
    if state.choices.idioms and structurer.loops and structurer.edges.tries:
        state.labelled = list(move_tails(settle_loops(tuple(state.labelled))))
    if not state.unit.flags & CO_OPTIMIZED:
        state.labelled = fall_off(state.labelled)
    state.temporaries = state.temporaries or structurer.dispatches > 0
    return state.labelled


def _labels(state: State) -> object:
    assert state.labelled is not None
    releases = not state.choices.idioms and not state.unit.flags & CO_OPTIMIZED

    def lowered(labelled: list[Stmt]) -> tuple[Lowering, Body]:
        lines = (lambda: nop_lines(state.unit)) if state.matches else None
        lowering = Lowering(lines, releases, careful=not state.choices.idioms)
        return lowering, lowering.run(labelled)

    def price(labelled: list[Stmt]) -> tuple[int, ...]:
        lowering, body = lowered(labelled)
        return leaves_clause(body), *lowering.cost, idle(body)

    lowering, state.body = lowered(state.labelled)
    if any(lowering.cost) and state.choices.idioms:
        settled = list(settle_inner(tuple(state.labelled)))
        if price(settled) < price(state.labelled):
            state.labelled = settled
        state.labelled = cheapest(state.labelled, price(state.labelled), price)
        lowering, state.body = lowered(state.labelled)
    state.temporaries = state.temporaries or lowering.flags + lowering.temporaries > 0
    return state.body


def _bodies(state: State) -> object:
    if not state.choices.idioms:
        state.body = drop_copies(state.body)
    assert state.program is not None
    state.body = finish_body(state.program.columns, state.body, idioms=state.choices.idioms)
    if state.choices.idioms and not state.choices.generated:
        state.body = join_lines(state.body)
    if state.temporaries and state.choices.idioms:
        state.body = drop_unread(state.body, held=state.choices.held)
    if state.choices.idioms and state.unit.name.startswith(state.choices.promises.resumed):
        state.body = drop_unreached(state.body)
    if state.choices.turns:
        state.body = drop_empty_arms(state.body)
    if state.choices.promises.variables is not None:
        state.body = drop_idle_parameters(state.body, frozenset(state.unit.params))
    if state.temporaries or state.choices.tidy:
        state.body = settle_nested(state.body)
    if state.temporaries:
        deleted = frozenset(deletions(state.body)) if state.choices.held else frozenset()
        held = unread_temporaries(state.body) - deleted if state.choices.held else frozenset()
        if state.choices.generated:
            state.body = store_at_once(state.body)
        if state.choices.tidy:
            shared = share_items(share_tails(state.body), state.choices.promises)
            state.body = hand_over(tidy(shared, state.choices.promises, held | deleted), state.choices.promises)
            state.body = exchange(state.body)
        # plain lifting has put the deletions where the original drops its values
        released = state.body
        if state.choices.idioms:
            released = release_temporaries(state.body, state.choices.promises.stable, held, in_try=state.choices.tidy)
        state.body = released
    if state.choices.tidy:
        state.body = polish(state.unit, state.body, state.choices.promises)
    if state.temporaries:
        state.body = number_temporaries(state.body, by_slot=not state.choices.idioms)
    return state.body


PIPELINE = (
    Pass("lower", _lower, "everything after it speaks the version-free instruction set"),
    Pass("regions", _regions, "copies of finally bodies must be gone before blocks are merged"),
    Pass("matches", _matches, "a pattern is one test; its many branches must not become blocks"),
    Pass("containers", _containers, "protected ranges bound every other region"),
    Pass(
        "graph",
        _graph,
        "copies made by the optimiser are merged before loops and conditions are looked for",
        check_graph,
    ),
    Pass("lift", _lift, "short circuits must be one test before if/else", check_lifted),
    Pass("structure", _structure, "always succeeds; what follows only improves", check_labelled),
    Pass("labels", _labels, "statements are recognised while the exits still say where control goes", check_python),
    Pass("bodies", _bodies, "implicit returns and asserts show only in the finished statements", check_printable),
)


Key = tuple[str, int]


def key_of(unit: CodeUnit) -> Key:
    """What names a code object within its module."""
    return unit.qualname, unit.firstlineno


on_internal_error: Callable[[CodeUnit, Exception], None] | None = None
"""What tests and sweeps set to hear of bugs that the next choice would hide."""


class Decompilation:
    """Decompiles a code unit and the code nested in it.

    ``rungs`` says how far down the ladder of choices each code object is, ``reasons`` what was wrong with the first
    choice, by qualified name; ``failures`` which have no source at all; ``lowered`` keeps what was lowered, by id, for
    the next choice and for the proof.
    """

    def __init__(
        self,
        rungs: dict[Key, int] | None = None,
        ladder: tuple[Choices, ...] = LADDER,
        reasons: dict[str, str] | None = None,
        lowered: dict[int, Lowered] | None = None,
    ) -> None:
        self.ladder = ladder
        self.lowered: dict[int, Lowered] = lowered if lowered is not None else {}
        self.rungs: dict[Key, int] = rungs if rungs is not None else {}
        self.reasons: dict[str, str] = reasons if reasons is not None else {}
        self.failures: dict[Key, DecompilationError] = {}

    def body(self, unit: CodeUnit, expression: bool = False, *, strict: bool = False) -> Body:
        """Statements of ``unit``; code without a translation raises in its place, or here if ``strict``.

        ``expression`` says that the source shows the code as an expression, as it does a lambda.
        """
        return self._body(unit, expression, strict=strict)

    def _nested(self, unit: CodeUnit, expression: bool = False) -> Body:
        """The code in code that a program wrote is what it found, somebody's source."""
        return self._body(unit, expression, found=True)

    @any_depth_of(2)
    def _body(self, unit: CodeUnit, expression: bool, *, strict: bool = False, found: bool = False) -> Body:
        key = key_of(unit)
        expression = expression or found and unit.name.startswith("<")
        failure: DecompilationError | None = None
        while self.rungs.get(key, 0) < len(self.ladder):
            choices = self.ladder[self.rungs.get(key, 0)]
            if not choices.idioms and expression:
                choices = Choices()  # a lambda or comprehension is an expression or nothing
            if found and choices.generated:
                choices = replace(choices, generated=False, tidy=False)
            state = State(unit, choices, self._nested, self._lowered)
            try:
                with part_of_work(unit.qualname, len(unit.code)):
                    for step in PIPELINE:
                        step.run(state)
                return state.body
            except DecompilationError as error:
                failure = failure or error
            except TooMuchWork as error:
                failure = DecompilationError(str(error), unit.qualname)
                plain = next(rung for rung, other in enumerate(self.ladder) if not other.idioms)
                last = plain if self.rungs.get(key, 0) < plain else len(self.ladder)
                self.rungs[key] = last - 1
            except BytecodeError as error:
                failure = DecompilationError(str(error), unit.qualname)
                break
            except RecursionError:
                failure = DecompilationError(no_room(), unit.qualname)
                break
            except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
                # a bug of ours in one function must not cost the others
                if on_internal_error is not None:
                    on_internal_error(unit, error)
                text = f"internal error, please report it: {type(error).__name__}: {error}"
                failure = failure or DecompilationError(text, unit.qualname)
            self.rungs[key] = self.rungs.get(key, 0) + 1
        reason = self.reasons.setdefault(unit.qualname, failure.reason if failure else "no choice is proven")
        if failure is None or failure.reason != reason:
            failure = DecompilationError(reason, unit.qualname)
        if strict:
            raise failure
        self.failures[key] = failure
        return in_place_of(unit, failure, self._nested)

    def _lowered(self, unit: CodeUnit) -> Lowered:
        found = self.lowered.get(id(unit))
        if found is None:
            found = self.lowered[id(unit)] = lower(unit)
        return found


def trace_passes(unit: CodeUnit, choices: Choices = Choices()) -> Iterator[tuple[str, Any]]:
    """Run the pipeline on one code unit and yield each pass's name and artifact, its invariant checked."""
    state = State(unit, choices, Decompilation().body)

    def checked(step: Pass) -> object:
        artifact = step.run(state)
        step.check(artifact)
        return artifact

    for step in PIPELINE:
        yield step.name, with_room(functools.partial(checked, step))
