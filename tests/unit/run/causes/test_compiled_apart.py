"""A graph break inside a call makes torch compile what was called alone; the break comes before what follows from that."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.advice.registry import use
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.causes.compiled_apart import FunctionsApart, breaks_before_what_follows
from depyf.run.causes.ways_out import WayOut
from depyf.run.records import CompileKey


def cause(kind: CauseKind, function: str, first: str, compilations: int = 1, more: str = "") -> Cause:
    key = CompileKey(0, first)
    return Cause(
        kind, function, None, "", "", (key,), Costs(compilations), "", more=more, functions=(function,), caused=(key,)
    )


SIZE = cause(CauseKind.RECOMPILES, "forward", "1/1", 5)
COUNTER = cause(CauseKind.RECOMPILES, "forward", "1/2", 1)
OTHER = cause(CauseKind.RECOMPILES, "step", "0/1", 3)
BROKEN = cause(CauseKind.BREAKS, "step", "0/0", 2, "also at a.py:3 `x`")
NOTHING = FunctionsApart()


def ranked(*causes: Cause, since: str = "0/0") -> tuple[Cause, ...]:
    apart = FunctionsApart(frozenset({"forward"}), CompileKey(0, since).order)
    return breaks_before_what_follows([(one, apart if one is BROKEN else NOTHING) for one in causes])


def test_the_break_comes_first_and_says_what_follows() -> None:
    found = ranked(OTHER, SIZE, BROKEN, COUNTER)
    assert [one.function for one in found] == ["step", "step", "forward", "forward"]
    assert found[0] is OTHER and found[2] is SIZE
    said = "also at a.py:3 `x`. Torch compiles forward alone only because of it, with 6 recompilations"
    assert found[1].kind is CauseKind.BREAKS and found[1].more == said


def test_a_break_that_costs_more_stays_where_it_is() -> None:
    found = ranked(BROKEN, OTHER, SIZE)
    assert [one.costs.compilations for one in found] == [2, 3, 5] and "with 5 recompilations" in found[0].more


def test_a_function_that_was_recompiled_before_does_not_follow() -> None:
    causes = OTHER, SIZE, BROKEN
    assert ranked(*causes, since="2/0") == causes


def test_recompilations_of_other_functions_do_not_follow() -> None:
    causes = OTHER, BROKEN
    assert ranked(*causes) == causes


def test_what_follows_is_marked_nowhere_if_there_is_another_way() -> None:
    """Its tensors are made in the caller, which torch is to compile."""
    mark, dynamic = WayOut((use("mark-dynamic", tensor="x", dimension="0"),)), WayOut((use("compile-dynamic"),))
    found = ranked(replace(OTHER, ways=(mark, dynamic)), BROKEN, replace(SIZE, ways=(mark, dynamic)))
    assert [cause.ways for cause in found] == [(mark, dynamic), (), (dynamic,)]
    alone = ranked(BROKEN, replace(SIZE, ways=(mark,)))
    assert alone[1].ways == (mark,)
