"""The passes from lifted blocks to the statements that are printed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.tables.kept_instructions import loop_ends, nop_lines
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.state import State
from depyf.decompiler.fallback.drop_copies import drop_copies
from depyf.decompiler.generated.bind_argument_lists import bind_argument_lists
from depyf.decompiler.generated.common_subexpressions import share_subexpressions
from depyf.decompiler.generated.idle_code import drop_empty_arms, drop_idle_parameters, drop_unreached
from depyf.decompiler.generated.immediate_stores import exchange, store_at_once
from depyf.decompiler.generated.inline_values import inline_values
from depyf.decompiler.generated.name_values import name_values
from depyf.decompiler.generated.sink_assignments import sink_assignments
from depyf.decompiler.idioms.annotation_traces import restore_traces
from depyf.decompiler.idioms.annotations import annotate_function, place_annotations
from depyf.decompiler.idioms.class_body import class_body, ends_outside
from depyf.decompiler.idioms.dead_temporaries import deletions, drop_dead_temporaries, unread_temporaries
from depyf.decompiler.idioms.eager_annotations import eager_annotations, is_mark
from depyf.decompiler.idioms.final_return import final_return, say_ellipsis
from depyf.decompiler.idioms.one_line import join_lines
from depyf.decompiler.idioms.release import release_temporaries
from depyf.decompiler.idioms.temporaries import number_temporaries, renumber_nested
from depyf.decompiler.idioms.whole_bodies import finish_statements
from depyf.decompiler.ir.stmt import Body, Stmt
from depyf.decompiler.structure.labels import Lowering
from depyf.decompiler.structure.layout.fall_off import fall_off
from depyf.decompiler.structure.layout.loop_exits import leave_inner_loops_first
from depyf.decompiler.structure.layout.sinking import cheapest, idle
from depyf.decompiler.structure.layout.star_exits import leaves_clause
from depyf.decompiler.structure.total import Structurer, only_statements
from depyf.safety.rewrites import heard_by

# Structure


def _structure(state: State, *, plain: bool) -> None:
    if (only := only_statements(state.blocks)) is not None:
        state.labelled = only
        return
    structurer = Structurer(
        state.blocks,
        state.containers,
        state.entry,
        state.unit.qualname,
        handlers_last=state.unit.handlers_last or plain,
        ends=None if plain else loop_ends(state.unit, tuple(state.program.instrs)),
        resets=state.resets,
        plain=plain,
        copies_tails=plain and state.is_function,
    )
    state.labelled = structurer.run()
    state.temporaries = state.temporaries or structurer.dispatches.count > 0


def _fall_off(state: State) -> None:
    state.labelled = fall_off(state.labelled)


def _statements(state: State, labelled: list[Stmt], *, plain: bool) -> tuple[Lowering, Body]:
    lines = (lambda: nop_lines(state.unit)) if state.matches else None
    reraising = ops.RERAISE in state.operations
    lowering = Lowering(lines, plain and not state.is_function, careful=plain, reraising=reraising)
    return lowering, lowering.run(labelled)


def _labels(state: State, *, plain: bool) -> None:
    lowering, state.body = _statements(state, state.labelled, plain=plain)
    state.costs_something = any(lowering.cost)
    state.flags = lowering.flags + lowering.temporaries > 0


def _cheaper_exits(state: State) -> None:
    def price(labelled: list[Stmt]) -> tuple[int, ...]:
        with heard_by(None):  # what is tried is no rewrite
            lowering, body = _statements(state, labelled, plain=False)
        return leaves_clause(body), *lowering.cost, idle(body)

    left_first = list(leave_inner_loops_first(tuple(state.labelled)))
    if price(left_first) < price(state.labelled):
        state.labelled = left_first
    state.labelled = cheapest(state.labelled, price(state.labelled), price)
    _labels(state, plain=False)


STRUCTURE = Pass(
    "structure",
    partial(_structure, plain=False),
    "labelled",
    "always succeeds; what follows only improves",
    ("empty_blocks",),
)
PLAIN_STRUCTURE = Pass("structure", partial(_structure, plain=True), "labelled", STRUCTURE.why, STRUCTURE.after)
FALL_OFF = Pass(
    "fall_off",
    _fall_off,
    "labelled",
    "a module or class body cannot return",
    ("structure",),
    lambda state: not state.is_function,
)
LABELS = Pass(
    "labels",
    partial(_labels, plain=False),
    "body",
    "statements are recognised while the exits still say where control goes",
    ("fall_off",),
)
PLAIN_LABELS = Pass("labels", partial(_labels, plain=True), "body", LABELS.why, LABELS.after)
CHEAPER_EXITS = Pass(
    "cheaper_exits",
    _cheaper_exits,
    "body",
    "code goes to the exit that alone leads to it, where that saves a flag or a copy",
    ("labels",),
    lambda state: state.costs_something,
)


# Bodies


def _on_body(
    name: str,
    run: Callable[[State, Body], Body],
    why: str,
    *after: str,
    when: Callable[[State], bool] | None = None,
    shows: str = "body",
) -> Pass:
    def of_state(state: State) -> None:
        state.body = run(state, state.body)

    return Pass(name, of_state, shows, why, ("labels", "cheaper_exits", *after), when)


def _with_temporaries(state: State) -> bool:
    return state.temporaries or state.flags


def _hold(state: State) -> None:
    state.deleted = frozenset(deletions(state.body))
    state.held = unread_temporaries(state.body) - state.deleted


def _annotations(state: State, body: Body) -> Body:
    if state.is_class:
        body = ends_outside(body, annotate_function)
    state.prepared = any(is_mark(stmt) for stmt in body)
    return eager_annotations(state.unit, place_annotations(body, state.is_class))


def _in_namespace(state: State) -> bool:
    return not state.is_function


def idioms(*, plain: bool = False) -> Pass:
    """Statements that the compiler made of other ones; without guesses where ``plain``."""
    return _on_body(
        "compiler_idioms",
        lambda s, body: finish_statements(s.program.columns, body, indents=not plain),
        "asserts and branches show only in the finished statements",
        "class_body",
        shows="printable",
    )


def returns(*, plain: bool = False) -> Pass:
    """The implicit ``return`` at the end goes; where ``plain``, any ``return`` there."""
    return _on_body(
        "final_return",
        lambda s, body: final_return(s.program.columns, body, idioms=not plain),
        "which returns are implicit shows once branches are what they were",
        "compiler_idioms",
        shows="printable",
    )


def dead_temporaries(*, held: bool = False) -> Pass:
    """Temporaries that nothing reads go; with ``held`` those that the next branch still needs stay."""
    return _on_body(
        "dead_temporaries",
        lambda _, body: drop_dead_temporaries(body, held=held),
        "their values are evaluated all the same",
        "annotation_traces",
        "one_line",
        when=_with_temporaries,
        shows="printable",
    )


def nested_temporaries(*, when: Callable[[State], bool] = _with_temporaries) -> Pass:
    """Temporaries of nested functions get separate numbers."""
    return _on_body(
        "nested_temporaries",
        lambda _, body: renumber_nested(body),
        "those of two functions may have one number",
        "dead_temporaries",
        when=when,
        shows="printable",
    )


def release(*, in_try: bool = False) -> Pass:
    """A ``del`` where the original drops the value of a temporary (plain lifting has put these already)."""
    return _on_body(
        "release",
        lambda s, body: release_temporaries(body, s.promises.stable, s.held, in_try=in_try),
        "no object lives longer than it did",
        "nested_temporaries",
        "exchange",
        when=_with_temporaries,
        shows="printable",
    )


def numbers(*, by_slot: bool = False) -> Pass:
    """Temporaries are numbered as they appear, or by their stack slots."""
    return _on_body(
        "numbers",
        lambda _, body: number_temporaries(body, by_slot=by_slot),
        "names do not depend on how they came to be",
        "release",
        "name_values",
        when=_with_temporaries,
        shows="printable",
    )


def _of_generated(name: str, run: Callable[[State, Body], Body], why: str, *after: str) -> Pass:
    return _on_body(name, run, why, "nested_temporaries", *after, when=_with_temporaries, shows="printable")


_JOINED = frozenset(
    {
        ops.IMPORT_NAME,
        ops.IMPORT_NAME_LAZY,
        ops.DELETE_FAST,
        ops.DELETE_DEREF,
        ops.DELETE_GLOBAL,
        ops.DELETE_NAME,
        ops.DELETE_ATTR,
        ops.DELETE_SUBSCR,
    }
)
PLAIN_COPIES = _on_body("plain_copies", lambda _, body: drop_copies(body), "temporaries that are only passed on")
ANNOTATIONS = _on_body(
    "annotations",
    _annotations,
    "what evaluates them is taken for statements else",
    "plain_copies",
    when=_in_namespace,
    shows="printable",
)
CLASS_BODY = _on_body(
    "class_body",
    lambda s, body: class_body(body, s.unit.notes_class_line),
    "the compiler stores names in front of each class body",
    "annotations",
    when=lambda state: state.is_class,
    shows="printable",
)
IDIOMS = idioms()
PLAIN_IDIOMS = idioms(plain=True)
FINAL_RETURN = returns()
PLAIN_FINAL_RETURN = returns(plain=True)
ELLIPSIS = _on_body(
    "ellipsis",
    lambda s, body: say_ellipsis(s.program.columns, body),
    "`...` leaves nothing but its columns: it is a `pass` without a return after it",
    "final_return",
    shows="printable",
)
ANNOTATION_TRACES = _on_body(
    "annotation_traces",
    lambda s, body: restore_traces(s.unit, body, s.prepared),
    "annotations that left no code are added to the finished body",
    "ellipsis",
    when=_in_namespace,
    shows="printable",
)
ONE_LINE = _on_body(
    "one_line",
    lambda _, body: join_lines(body),
    "`del a, b` and `import a, b` are one statement",
    "annotation_traces",
    when=lambda s: not _JOINED.isdisjoint(s.operations) or _with_temporaries(s),
    shows="printable",
)
DEAD_TEMPORARIES = dead_temporaries()
UNREACHED = _on_body(
    "unreached",
    lambda _, body: drop_unreached(body),
    "what torch writes after a `with` is never reached",
    "dead_temporaries",
    when=lambda state: state.resumed,
    shows="printable",
)
EMPTY_ARMS = _on_body(
    "empty_arms",
    lambda _, body: drop_empty_arms(body),
    "the peeled turn leaves tests with nothing to do",
    "unreached",
    shows="printable",
)
IDLE_PARAMETERS = _on_body(
    "idle_parameters",
    lambda s, body: drop_idle_parameters(body, frozenset(s.unit.params)),
    "parameters that are only unbound",
    "empty_arms",
    when=lambda state: state.promises.variables is not None,
    shows="printable",
)
NESTED_TEMPORARIES = nested_temporaries()
HOLD = Pass(
    "hold",
    _hold,
    "held",
    "what the stack kept until a branch was taken is kept that long",
    ("nested_temporaries",),
    _with_temporaries,
)
IMMEDIATE_STORES = _of_generated(
    "immediate_stores",
    lambda _, body: store_at_once(body),
    "a value that waits for its variable is stored at once",
    "hold",
)
SINK_ASSIGNMENTS = _of_generated(
    "sink_assignments",
    lambda _, body: sink_assignments(body),
    "what both arms assign last stands after the `if`",
    "immediate_stores",
)
COMMON_SUBEXPRESSIONS = _of_generated(
    "common_subexpressions",
    lambda s, body: share_subexpressions(body, s.promises),
    "one result of a graph is one value",
    "sink_assignments",
)
INLINE_VALUES = _of_generated(
    "inline_values",
    lambda s, body: inline_values(body, s.promises, s.held | s.deleted),
    "values move to where they are used",
    "common_subexpressions",
)
BIND_ARGUMENT_LISTS = _of_generated(
    "bind_argument_lists",
    lambda s, body: bind_argument_lists(body, s.promises),
    "what a list hands on, it alone holds",
    "inline_values",
)
EXCHANGE = _of_generated(
    "exchange", lambda _, body: exchange(body), "`a, b = b, a` out of three stores", "bind_argument_lists"
)
RELEASE = release()
NAME_VALUES = _on_body(
    "name_values",
    lambda s, body: name_values(s.unit, body, s.promises),
    "temporaries get the names a person would use",
    "release",
    shows="printable",
)
NUMBERS = numbers()
