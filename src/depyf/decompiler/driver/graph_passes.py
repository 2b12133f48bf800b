"""The passes from bytecode to lifted blocks.

A pass changes the ``State``; the lists of ``rungs.py`` say which passes run, in which order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.graph import Graph
from depyf.decompiler.cfg.program import Program
from depyf.decompiler.cfg.undo.class_ends import drop_class_ends
from depyf.decompiler.cfg.undo.copied_expression_ends import join_expression_ends
from depyf.decompiler.cfg.undo.handler_ends import join_handler_ends
from depyf.decompiler.cfg.undo.jump_threading import undo_jump_threading
from depyf.decompiler.cfg.undo.short_circuit_exits import join_short_circuit_exits
from depyf.decompiler.cfg.undo.skipped_tests import join_skipped_tests
from depyf.decompiler.cfg.undo.undo_inlined_returns import undo_inlined_returns
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.state import State
from depyf.decompiler.fallback.plain import PlainSymbolic
from depyf.decompiler.fallback.reentered_handlers import raise_reentered
from depyf.decompiler.fallback.split_handlers import split_handlers
from depyf.decompiler.fallback.unhandled_handlers import drop_idle_handlers, free_unhandled, trim_idle_ranges
from depyf.decompiler.generated.resume.loop_peeling import peel_loops
from depyf.decompiler.generated.resume.strip import strip_resume_prologue
from depyf.decompiler.generated.unreached import unreached
from depyf.decompiler.generated.written_part import written_part
from depyf.decompiler.lift.engine import Style
from depyf.decompiler.lift.lifter import Lifter
from depyf.decompiler.lift.symbolic import Symbolic
from depyf.decompiler.structure.layout.break_lines import note_break_lines
from depyf.decompiler.structure.match.recognise_tests import TESTS_OF_PATTERNS, recognise_matches
from depyf.decompiler.structure.regions.classify import fill_silent_gaps, find_regions
from depyf.decompiler.structure.regions.unprotected_tests import protect_tests
from depyf.decompiler.structure.skip_empty import skip_empty

# Bytecode


def _lower(state: State) -> None:
    state.lowered = state.lower(state.unit)
    state.operations = frozenset([instr.op for instr in state.lowered.instrs])


def _strip_resume_prologue(state: State) -> None:
    state.lowered = strip_resume_prologue(state.lowered, state.promises)


def _peel_loops(state: State) -> None:
    state.lowered = peel_loops(state.lowered)


def _instruction_graph(state: State) -> None:
    state.program = Program(state.lowered)
    if state.resumed:
        state.program.unreached = unreached(state.lowered)


LOWER = Pass("lower", _lower, "lowered", "everything after it speaks the version-free instruction set")
STRIP_RESUME_PROLOGUE = Pass(
    "strip_resume_prologue",
    _strip_resume_prologue,
    "lowered",
    "the way back into a function is torch's, what follows is the user's",
    ("lower",),
    lambda state: state.resumed,
)
PEEL_LOOPS = Pass(
    "peel_loops",
    _peel_loops,
    "lowered",
    "a loop that is entered in its middle has the rest of that turn in front of it",
    ("strip_resume_prologue",),
    lambda state: state.resumed,
)
INSTRUCTION_GRAPH = Pass(
    "instruction_graph",
    _instruction_graph,
    "program",
    "passes rewrite edges, not bytes",
    ("strip_resume_prologue", "peel_loops"),
)


# The graph of instructions: what the compiler did to jumps


_TESTS = frozenset({ops.BRANCH})


def _on_program(
    name: str, run: Callable[[Program], object], why: str, *after: str, needs: frozenset[str] = frozenset()
) -> Pass:
    def of_state(state: State) -> None:
        run(state.program)

    return Pass(name, of_state, "program", why, ("instruction_graph", *after), needs=needs)


CLASS_ENDS = _on_program("class_ends", drop_class_ends, "the copies of a class body's end are one place")
INLINED_RETURNS = _on_program(
    "inlined_returns",
    undo_inlined_returns,
    "3.8, 3.9: returns that were jumps to the end of one expression",
    "class_ends",
    needs=_TESTS,
)
SHORT_CIRCUIT_EXITS = _on_program(
    "short_circuit_exits",
    join_short_circuit_exits,
    "the copies of where a short circuit is left are one place",
    "inlined_returns",
    needs=_TESTS,
)
COPIED_EXPRESSION_ENDS = _on_program(
    "copied_expression_ends",
    join_expression_ends,
    "no lines tell these copies apart: their paths must be one first",
    "short_circuit_exits",
    needs=_TESTS,
)
HANDLER_ENDS = _on_program(
    "handler_ends",
    join_handler_ends,
    "3.12: the end of a handler is copied into the tests before it",
    "copied_expression_ends",
    needs=frozenset({ops.POP_EXCEPT}),
)
JUMP_THREADING = _on_program(
    "jump_threading",
    undo_jump_threading,
    "3.8, 3.9: jumps go through the `continue` that they skipped",
    "handler_ends",
    needs=_TESTS,
)
SKIPPED_TESTS = _on_program(
    "skipped_tests",
    join_skipped_tests,
    "short circuits go through the test of the whole that they skipped",
    "jump_threading",
    needs=_TESTS,
)
THREAD_JUMPS = _on_program("thread_jumps", Program.thread, "loops that may be entered anywhere have no head to keep")


# Regions


def _find_regions(state: State, *, undo_finally: bool, clauses: bool) -> None:
    state.regions = find_regions(state.program, idioms=undo_finally, clauses=clauses)


def _matches(state: State, *, idioms: bool) -> None:
    state.matches = recognise_matches(state.program, idioms=idioms)


def _containers(state: State) -> None:
    state.containers = Containers(state.program, state.regions)


def _regions(*, undo_finally: bool = True, clauses: bool = True) -> Pass:
    return Pass(
        "regions",
        partial(_find_regions, undo_finally=undo_finally, clauses=clauses),
        "regions",
        "copies of finally bodies must be gone before blocks are merged",
        ("protected_tests", "reentered_handlers", "thread_jumps"),
    )


def _find_matches(*, idioms: bool = True) -> Pass:
    return Pass(
        "matches",
        partial(_matches, idioms=idioms),
        "program",
        "a pattern is one test; its many branches must not become blocks",
        ("regions",),
        needs=TESTS_OF_PATTERNS,
    )


PROTECTED_TESTS = _on_program(
    "protected_tests",
    protect_tests,
    "3.14: short circuits that lost the handler around them get it back",
    needs=_TESTS,
)
REENTERED_HANDLERS = _on_program(
    "reentered_handlers", raise_reentered, "what is handled without being raised is raised"
)
REGIONS = _regions()
REGIONS_WITHOUT_FINALLY = _regions(undo_finally=False)
REGIONS_WITHOUT_CLAUSES = _regions(undo_finally=False, clauses=False)
IDLE_HANDLERS = Pass(
    "idle_handlers",
    lambda s: drop_idle_handlers(s.program, s.regions),
    "regions",
    "a handler that is never entered is none",
    ("regions",),
)
IDLE_RANGES = Pass(
    "idle_ranges",
    lambda s: trim_idle_ranges(s.program, s.regions),
    "regions",
    "what cannot raise needs no handler",
    ("idle_handlers",),
)
UNHANDLED_HANDLERS = Pass(
    "unhandled_handlers",
    lambda s: free_unhandled(s.program, s.regions),
    "regions",
    "a handler that never handles what it caught holds it as a value",
    ("idle_ranges",),
)
SILENT_GAPS = Pass(
    "silent_gaps",
    lambda s: fill_silent_gaps(s.regions),
    "regions",
    "what never raises and leads only back belongs to the region around it",
    ("unhandled_handlers",),
)
SPLIT_HANDLERS = Pass(
    "split_handlers",
    lambda s: split_handlers(s.program, s.regions),
    "regions",
    "each instruction lies in the body of one handler",
    ("silent_gaps",),
)
MATCHES = _find_matches()
MATCHES_ONLY_WHOLE = _find_matches(idioms=False)
CONTAINERS = Pass(
    "containers",
    _containers,
    "containers",
    "protected ranges bound every other region",
    ("regions", "split_handlers", "matches"),
)


# Blocks


def _graph(state: State, *, merge: bool, tails: bool) -> None:
    state.graph = Graph(state.program, state.containers, merge=merge, tails=tails)


def _blocks(*, merge: bool = True, tails: bool = True) -> Pass:
    return Pass(
        "graph",
        partial(_graph, merge=merge, tails=tails),
        "graph",
        "copies made by the optimiser are merged before loops and conditions are looked for",
        ("containers",),
    )


GRAPH = _blocks()
GRAPH_OF_GENERATED = _blocks(tails=False)
"""Repeated code of a generator is not a copy made by an optimiser."""
GRAPH_AS_IT_IS = _blocks(merge=False)


# Lifting


def _lift_by(state: State, engine: Symbolic) -> None:
    lifted = Lifter(state.graph, engine).run()
    state.blocks = lifted.blocks
    state.resets = engine.resets()
    state.entry = lifted.merged.get(state.graph.entry, state.graph.entry)
    state.temporaries = engine.spills > 0 or lifted.named_slots


def _lift(state: State, *, wide_folds: bool, generated: bool, held: bool, peeled: bool) -> None:
    style = Style(
        wide_folds=wide_folds,
        generated=generated,
        written=written_part(state.program) if generated else None,
        held=held,
        peeled=peeled,
        stable=state.promises.stable,
        plain_keys=state.promises.plain_keys,
    )
    _lift_by(state, Symbolic(state.program, state.nested, style))


def _lift_plainly(state: State, *, loops: bool, clauses: bool) -> None:
    style = Style(fold=False, stable=state.promises.stable, plain_keys=state.promises.plain_keys)
    _lift_by(state, PlainSymbolic(state.program, state.nested, state.containers, style, loops=loops, clauses=clauses))


def lift(*, wide_folds: bool = True, generated: bool = False, held: bool = False, peeled: bool = False) -> Pass:
    """Lifting that folds short circuits, conditional expressions and comprehensions: see ``lift.style.Style``."""
    run = partial(_lift, wide_folds=wide_folds, generated=generated, held=held, peeled=peeled)
    return Pass("lift", run, "blocks", "short circuits must be one test before if/else", ("graph",))


def lift_plainly(*, loops: bool = True, clauses: bool = True) -> Pass:
    """Lifting that guesses nothing: see ``fallback.plain``."""
    run = partial(_lift_plainly, loops=loops, clauses=clauses)
    return Pass("lift", run, "blocks", "every value that crosses a statement has a temporary", ("graph",))


BREAK_LINES = Pass(
    "break_lines",
    lambda s: note_break_lines(s.program, s.blocks),
    "blocks",
    "of a `break` its line is all that is left",
    ("lift",),
    lambda s: len(s.blocks) > 1 or ops.JUMP in s.operations,
)
EMPTY_BLOCKS = Pass(
    "empty_blocks",
    lambda s: skip_empty(s.blocks, s.graph.containers, s.entry),
    "blocks",
    "what holds nothing after folding is no place to go to",
    ("break_lines",),
)
