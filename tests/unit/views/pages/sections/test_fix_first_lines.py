"""The lines of causes: place, cost and way out, escaped for the medium."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.advice.registry import use
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.causes.prediction import Prediction
from depyf.run.causes.ways_out import WayOut
from depyf.run.places.place import Place
from depyf.run.records import CompileKey
from depyf.views.pages.print_style import MARKDOWN, TERMINAL
from depyf.views.pages.sections.fix_first import fix_first

KEYS = tuple(CompileKey(0, f"0/{n}") for n in range(1, 8))
CAUSE = Cause(
    CauseKind.RECOMPILES, "step", Place("/home/me/train.py", 45, "step", "n += 1"), "G['n'] == 1", "", KEYS,
    Costs(compilations=7, python=1), "the global counter n is a constant of the compiled code",
    functions=("step",), python=("step",), caused=KEYS,
)  # fmt: skip


def test_cost_and_seconds() -> None:
    assert fix_first([CAUSE], seconds=dict.fromkeys(KEYS, 0.5), style=TERMINAL) == [
        "1. train.py:45 `n += 1`: the global counter n is a constant of the compiled code",
        "     7 recompilations of step (0/1 ... 0/7), then it ran as ordinary Python, 3.5 s of compiling",
    ]


def test_files_of_one_name_are_told_apart() -> None:
    assert CAUSE.place is not None
    other = replace(CAUSE, place=replace(CAUSE.place, filename="/home/you/train.py"))
    first, second = (line for line in fix_first([CAUSE, other]) if line[0].isdigit())
    assert first.startswith("1. me/train.py:45 ") and second.startswith("2. you/train.py:45 ")


def test_only_the_first_and_their_ways_out() -> None:
    ways = (WayOut((use("capture-scalars"),)), WayOut((use("keep-tensor"),)))
    told = fix_first([replace(CAUSE, ways=ways)] * 3, most=2)
    assert sum("**way out:**" in line for line in told) == 2 and not any(line.startswith("3.") for line in told)


def test_nothing_of_the_program_is_markup() -> None:
    assert CAUSE.place is not None
    hostile = replace(CAUSE, place=replace(CAUSE.place, text="x = '`'\n<b>"), text="<script>\n# a", functions=("<f>",))
    for style in (MARKDOWN, TERMINAL):
        lines = fix_first([hostile], style=style)
        assert all(line.isprintable() for line in lines)
    assert not any("<script>" in line.replace("\\<", "") for line in fix_first([hostile]))


def test_what_is_needed_together_and_what_is_another_way() -> None:
    sizes = (use("mark-dynamic", tensor="x", dimension="0"), use("mark-dynamic", tensor="y", dimension="0"))
    first, second = fix_first(
        [replace(CAUSE, ways=(WayOut(sizes, Prediction(8, 2)), WayOut((use("compile-dynamic"),), Prediction(8, 8))))]
    )[-2:]
    assert first.endswith(
        "torch._dynamo.mark_dynamic(x, 0) and torch._dynamo.mark_dynamic(y, 0) before the first call "
        "(8 compilations -> 2, predicted)"
    )
    assert second.strip().startswith("- or: torch.compile(dynamic=True) (8")


def test_where_nothing_helps_it_is_needed() -> None:
    again = replace(CAUSE, costs=Costs(compilations=1), python=(), advice=(use("condition"),))
    assert again.needed and not replace(again, ways=(WayOut((use("compile-dynamic"),), Prediction(2, 1)),)).needed
    assert not replace(again, advice=()).needed, "nothing is known"
