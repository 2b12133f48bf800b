"""The lists of passes, and the order in which the proof makes the driver try them.

READABLE is for the code of compilers, GENERATED for code that a program wrote, TOTAL for what no compiler writes.  A
rung is one of them, or one of them with a few passes in other variants.  ``validate`` checks the order that the passes
ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from depyf.decompiler.driver import graph_passes, statement_passes
from depyf.decompiler.driver.graph_passes import lift, lift_plainly
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.statement_passes import dead_temporaries, nested_temporaries, numbers, release
from depyf.decompiler.generated.contract import NO_CONTRACT, GeneratorContract

Passes = tuple[Pass, ...]

READABLE: Passes = (
    graph_passes.LOWER,
    graph_passes.STRIP_RESUME_PROLOGUE,
    graph_passes.INSTRUCTION_GRAPH,
    graph_passes.CLASS_ENDS,
    graph_passes.INLINED_RETURNS,
    graph_passes.SHORT_CIRCUIT_EXITS,
    graph_passes.COPIED_EXPRESSION_ENDS,
    graph_passes.HANDLER_ENDS,
    graph_passes.JUMP_THREADING,
    graph_passes.SKIPPED_TESTS,
    graph_passes.PROTECTED_TESTS,
    graph_passes.REGIONS,
    graph_passes.MATCHES,
    graph_passes.CONTAINERS,
    graph_passes.GRAPH,
    lift(),
    graph_passes.BREAK_LINES,
    graph_passes.EMPTY_BLOCKS,
    statement_passes.STRUCTURE,
    statement_passes.FALL_OFF,
    statement_passes.LABELS,
    statement_passes.CHEAPER_EXITS,
    statement_passes.ANNOTATIONS,
    statement_passes.CLASS_BODY,
    statement_passes.IDIOMS,
    statement_passes.FINAL_RETURN,
    statement_passes.ELLIPSIS,
    statement_passes.ANNOTATION_TRACES,
    statement_passes.ONE_LINE,
    statement_passes.DEAD_TEMPORARIES,
    statement_passes.UNREACHED,
    statement_passes.IDLE_PARAMETERS,
    statement_passes.NESTED_TEMPORARIES,
    statement_passes.RELEASE,
    statement_passes.NUMBERS,
)

TOTAL: Passes = (
    graph_passes.LOWER,
    graph_passes.STRIP_RESUME_PROLOGUE,
    graph_passes.INSTRUCTION_GRAPH,
    graph_passes.CLASS_ENDS,
    graph_passes.REENTERED_HANDLERS,
    graph_passes.REGIONS_WITHOUT_FINALLY,
    graph_passes.IDLE_HANDLERS,
    graph_passes.IDLE_RANGES,
    graph_passes.UNHANDLED_HANDLERS,
    graph_passes.SILENT_GAPS,
    graph_passes.SPLIT_HANDLERS,
    graph_passes.MATCHES_ONLY_WHOLE,
    graph_passes.CONTAINERS,
    graph_passes.GRAPH_AS_IT_IS,
    lift_plainly(),
    graph_passes.EMPTY_BLOCKS,
    statement_passes.PLAIN_STRUCTURE,
    statement_passes.FALL_OFF,
    statement_passes.PLAIN_LABELS,
    statement_passes.PLAIN_COPIES,
    statement_passes.ANNOTATIONS,
    statement_passes.CLASS_BODY,
    statement_passes.PLAIN_IDIOMS,
    statement_passes.PLAIN_FINAL_RETURN,
    statement_passes.ANNOTATION_TRACES,
    statement_passes.IDLE_PARAMETERS,
    statement_passes.NESTED_TEMPORARIES,
    numbers(by_slot=True),
)

GENERATED: Passes = (
    graph_passes.LOWER,
    graph_passes.STRIP_RESUME_PROLOGUE,
    graph_passes.INSTRUCTION_GRAPH,
    graph_passes.CLASS_ENDS,
    graph_passes.INLINED_RETURNS,
    graph_passes.SHORT_CIRCUIT_EXITS,
    graph_passes.COPIED_EXPRESSION_ENDS,
    graph_passes.HANDLER_ENDS,
    graph_passes.JUMP_THREADING,
    graph_passes.SKIPPED_TESTS,
    graph_passes.PROTECTED_TESTS,
    graph_passes.REGIONS,
    graph_passes.MATCHES,
    graph_passes.CONTAINERS,
    graph_passes.GRAPH_OF_GENERATED,
    lift(generated=True),
    graph_passes.BREAK_LINES,
    graph_passes.EMPTY_BLOCKS,
    statement_passes.STRUCTURE,
    statement_passes.FALL_OFF,
    statement_passes.LABELS,
    statement_passes.CHEAPER_EXITS,
    statement_passes.ANNOTATIONS,
    statement_passes.CLASS_BODY,
    statement_passes.IDIOMS,
    statement_passes.FINAL_RETURN,
    statement_passes.ELLIPSIS,
    statement_passes.ANNOTATION_TRACES,
    statement_passes.DEAD_TEMPORARIES,
    statement_passes.UNREACHED,
    statement_passes.IDLE_PARAMETERS,
    nested_temporaries(when=lambda state: True),
    statement_passes.IMMEDIATE_STORES,
    statement_passes.SINK_ASSIGNMENTS,
    statement_passes.COMMON_SUBEXPRESSIONS,
    statement_passes.INLINE_VALUES,
    statement_passes.BIND_ARGUMENT_LISTS,
    statement_passes.EXCHANGE,
    release(in_try=True),
    statement_passes.NAME_VALUES,
    statement_passes.NUMBERS,
)


def variant(base: Passes, *others: Pass, without: tuple[Pass, ...] = ()) -> Passes:
    """``base`` with ``others`` in the place of the passes of their names, and some left out."""
    known = {other.name: other for other in others}
    return tuple(known.get(step.name, step) for step in base if step not in without)


def inserted(base: Passes, new: Pass, *, before: str) -> Passes:
    """``base`` with one more pass, in front of the one of that name."""
    at = next(index for index, step in enumerate(base) if step.name == before)
    return (*base[:at], new, *base[at:])


def validate(steps: Passes) -> None:
    """ValueError where a pass stands before one that it has to follow, or twice."""
    names = [step.name for step in steps]
    for at, step in enumerate(steps):
        if step.name in names[:at]:
            raise ValueError(f"the pass {step.name} stands twice")
        late = [name for name in step.after if name in names[at:]]
        if late:
            raise ValueError(f"the pass {step.name} stands before {', '.join(late)}")


_HELD = (lift(generated=True, held=True), dead_temporaries(held=True))
_ALL_INLINED = (
    statement_passes.SINK_ASSIGNMENTS,
    statement_passes.COMMON_SUBEXPRESSIONS,
    statement_passes.INLINE_VALUES,
    statement_passes.BIND_ARGUMENT_LISTS,
    statement_passes.EXCHANGE,
    statement_passes.NAME_VALUES,
)


class Rung(Enum):
    """The ways to decompile a code object, with the passes of each; which are tried, and when: ``ladder``."""

    READABLE = READABLE
    SEPARATE_TESTS = variant(READABLE, lift(wide_folds=False))
    """Tests on different lines are different statements: `if a:` / `if b:` rather than `if a and b:`."""
    SPELLED_FINALLY = variant(READABLE, graph_passes.REGIONS_WITHOUT_FINALLY)
    """A `finally` is shown as `except: ...; raise`, with its copies."""
    TOTAL = TOTAL
    TOTAL_ITERATORS = inserted(
        variant(TOTAL, lift_plainly(loops=False)), graph_passes.THREAD_JUMPS, before="reentered_handlers"
    )
    """Iterators are values, and each `FOR_ITER` is a step of one."""
    TOTAL_CLAUSES = inserted(
        variant(
            TOTAL,
            graph_passes.REGIONS_WITHOUT_CLAUSES,
            lift_plainly(loops=False, clauses=False),
            without=(graph_passes.MATCHES_ONLY_WHOLE,),
        ),
        graph_passes.THREAD_JUMPS,
        before="reentered_handlers",
    )
    """The tests of `except` and `case`, and the exits of managers, are values, too."""
    PEELED = inserted(
        inserted(variant(READABLE, lift(peeled=True)), graph_passes.PEEL_LOOPS, before="instruction_graph"),
        statement_passes.EMPTY_ARMS,
        before="idle_parameters",
    )
    """The rest of the first turn of a loop that is entered in its middle is copied in front of it."""
    INLINED = GENERATED
    INLINED_HELD = inserted(variant(GENERATED, *_HELD), statement_passes.HOLD, before="immediate_stores")
    """A value that nothing reads is kept until the branch after it has been taken, as the stack did."""
    GENERATED = variant(GENERATED, nested_temporaries(), release(), without=_ALL_INLINED)
    """Only lists that never leave the function are evaluated; no value moves."""
    READABLE_HELD = inserted(
        variant(READABLE, lift(held=True), dead_temporaries(held=True)), statement_passes.HOLD, before="release"
    )
    """For functions that are defined in code of INLINED_HELD."""

    @property
    def passes(self) -> Passes:
        """The passes, in their order."""
        return self.value

    @property
    def is_total(self) -> bool:
        """Whether this is for what no compiler writes: statements alone, nothing folded."""
        return self.name.startswith("TOTAL")

    @property
    def for_source(self) -> Rung:
        """The rung for code that generated code defines: that is what a compiler wrote."""
        return {Rung.INLINED: Rung.READABLE, Rung.GENERATED: Rung.READABLE, Rung.INLINED_HELD: Rung.READABLE_HELD}.get(
            self, self
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to decompile a code object, with what its program promises."""

    rung: Rung
    promises: GeneratorContract = NO_CONTRACT


LADDER = tuple(
    Attempt(rung)
    for rung in (
        Rung.READABLE,
        Rung.SEPARATE_TESTS,
        Rung.SPELLED_FINALLY,
        Rung.TOTAL,
        Rung.TOTAL_ITERATORS,
        Rung.TOTAL_CLAUSES,
    )
)
"""Tried in this order until the proof holds."""


def ladder(generated: bool, promises: GeneratorContract) -> tuple[Attempt, ...]:
    """The attempts at one decompilation, best first."""
    if not generated:
        peeled = (Rung.PEELED,) if promises.resumed else ()
        return tuple(Attempt(rung, promises) for rung in (*peeled, *(attempt.rung for attempt in LADDER)))
    inlined = (Rung.INLINED, Rung.INLINED_HELD) if promises.variables is not None else ()
    # whatever is tried: the proof reads resume functions without torch's prologue
    prologue = GeneratorContract(
        resumed=promises.resumed,
        tracing_flags=promises.tracing_flags,
        boxed_parameters=promises.boxed_parameters,
        display_only=promises.display_only,
        plain_keys=promises.plain_keys,
    )
    return (
        *(Attempt(rung, promises) for rung in (*inlined, Rung.GENERATED)),
        *(Attempt(attempt.rung, prologue) for attempt in LADDER),
    )
