"""The lines of causes: place, cost and way out, escaped for the medium."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.advice.registry import use
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.records import CompileKey, Place
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
    told = fix_first([replace(CAUSE, advice=(use("capture-scalars"), use("keep-tensor")))] * 3, most=2)
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
    other = use("keep-tensor")
    together, apart = (fix_first([replace(CAUSE, advice=advice)]) for advice in (sizes, (sizes[0], other)))
    assert [line.strip().partition(":")[0] for line in (together[-1], apart[-1])] == ["- and", "- or"]
    assert (replace(CAUSE, advice=(*sizes, other)).needed_together, len(replace(CAUSE, advice=sizes).remedies)) == (
        2,
        2,
    )
    broken = replace(CAUSE, kind=CauseKind.BREAKS, advice=sizes)
    assert fix_first([broken])[-1].strip().startswith("- or:")
