"""What ``depyf doctor`` prints, and its JSON document.

Input: what was measured.  Output: lines without control characters; plain data.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

from depyf.actions.doctor.trial import Measured
from depyf.actions.doctor.tries import Tries
from depyf.actions.doctor.ways import TriedWay, WayOutcome, best_first
from depyf.run.advice.registry import ADVICE, text_of
from depyf.run.bill.guard_filters import LEAST
from depyf.run.causes.folding import counted
from depyf.safety.escape import cut, printable
from depyf.views.pages.print_style import TERMINAL
from depyf.views.pages.sections.fix_first import left_out, what_to_fix, with_heading
from depyf.views.pages.sections.totals import words_of

_SHOWN_CAUSES = 7
_LONGEST_WAY = 64
_COLUMNS = ("predicted", "compilations", "breaks", "as Python", "seconds", "compiling", "results")


def headline(name: str, measured: Measured) -> str:
    """How the run went, in one line."""
    spent = f" after {measured.seconds:.1f} s" if measured.seconds is not None else ""
    totals, words = measured.totals, words_of(measured.totals)
    compiling = f" ({totals.seconds:.1f} s of them compiling)" if totals.seconds >= 0.05 and spent else ""
    if not measured.recorded:
        return f"{name}: {_ended(measured)}: {measured.problem}"
    python = words.ran_as_python if totals.ran_as_python else ""
    parts = (words.compilations, words.breaks, python, words.errors, words.unfinished)
    return f"{name}: {_ended(measured)}{spent}{compiling}: {', '.join(filter(None, parts))}"


def _ended(measured: Measured) -> str:
    if measured.interrupted:
        return "interrupted"
    if measured.status < 0:
        return f"killed by {_signal(-measured.status)}"
    return "ended" if measured.status == 0 else f"ended with status {measured.status}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def causes_lines(measured: Measured) -> list[str]:
    """``Fix first``, with seconds; or that there is nothing to fix."""
    if not measured.recorded:
        return []
    if not measured.causes and all(one.of_calls for one in measured.observations):
        costs = what_to_fix((), measured.observations, _SHOWN_CAUSES, TERMINAL, measured.seconds_of)
        return [measured.fine, *costs, *measured.compiling]
    lines = with_heading(
        what_to_fix(measured.causes, measured.observations, _SHOWN_CAUSES, TERMINAL, measured.seconds_of)
    )
    left = left_out(measured.causes, _SHOWN_CAUSES)
    return [*lines, *([f"and {left} more"] if left > 0 else []), *measured.compiling]


def tries_lines(before: Measured, tries: Tries) -> list[str]:
    """A table of what was tried, the best first, and what is left to say of it."""
    if not tries.ways and not tries.left_out:
        return ["No way out that needs no edit: there is nothing to try.", *_filters_left(before, tries)]
    left = (
        [f"{tries.left_out} more were not tried (--most {len(tries.ways) + tries.left_out})"] if tries.left_out else []
    )
    if tries.interrupted:
        left = [f"interrupted: {tries.left_out} more were not tried"]
    tried = _tried_lines(before, tries.ways, tries.difference) if tries.ways else ()
    return [*tried, *left, *_filters_left(before, tries)]


def _filters_left(before: Measured, tries: Tries) -> list[str]:
    """That guards take long, where no filter of them was asked for."""
    if before.guards < LEAST or any(way.plan.guard_filter is not None for way in tries.ways):
        return []
    return [
        f"Guards take {before.guards:.0f} us of each call: `--try --guards` measures what it brings to leave some out."
    ]


def _tried_lines(before: Measured, tried: Sequence[TriedWay], difference: str) -> list[str]:
    guards = any(way.plan.guard_filter is not None for way in tried)
    columns = (*_COLUMNS[:-1], "guards", _COLUMNS[-1]) if guards else _COLUMNS
    rows = [("as it is", "", *_numbers(before, guards), "")]
    ordered = best_first(tried)
    rows += [
        (cut(printable(way.text), _LONGEST_WAY), _predicted(way), *_numbers(way.measured, guards), _verdict(way))
        for way in ordered
    ]
    widths = [max(len(row[column]) for row in [*rows, ("", *columns)]) for column in range(len(columns))]
    head = "  ".join([" " * widths[0], *(name.rjust(widths[n]) for n, name in enumerate(columns[:-1], 1)), columns[-1]])
    lines = ["Tried, each in a separate process with empty compile caches and seeded random numbers:", "", head]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(widths[n]) for n, cell in enumerate(row[1:-1], 1)), row[-1]]
        lines.append("  ".join(cells).rstrip())
    if difference:
        lines += [
            "",
            (
                f"The program returns something else in each run ({printable(difference)}): "
                "what a way changes in its results cannot be told."
            ),
        ]
    return [*lines, *_remarks(ordered, bool(before.causes))]


def _filter_remarks(tried: Sequence[TriedWay]) -> list[str]:
    """What each filter of guards that helps saves, how it is written, and what is not noticed then."""
    lines = []
    for way in tried:
        one = way.plan.guard_filter
        if one is None or way.outcome is not WayOutcome.HELPS:
            continue
        lines += [
            f"{one.text}",
            f"  guards take {way.measured.guards:.0f} us a call with it, what the program returned is "
            f"{'the same' if way.results == 'equal' else 'not compared'}",
            f"  the compiled code does not notice then: {one.risk}",
        ]
    return lines


def _predicted(way: TriedWay) -> str:
    return "" if way.plan.prediction is None else way.plan.prediction.short


def _numbers(measured: Measured, guards: bool) -> tuple[str, ...]:
    """``guards``: what they take of a call, too."""
    seconds = "-" if measured.seconds is None else f"{measured.seconds:.1f}"
    return (
        str(measured.totals.compilations),
        str(measured.totals.breaks),
        str(measured.totals.ran_as_python),
        seconds,
        f"{measured.totals.seconds:.1f}",
        *([f"{measured.guards:.0f} us"] if guards else []),
    )


def _verdict(way: TriedWay) -> str:
    if way.outcome is WayOutcome.FAILED:
        return "FAILED"
    if way.outcome is WayOutcome.HARMFUL:
        return "DIFFER: harmful"
    told = {
        WayOutcome.HELPS: "",
        WayOutcome.MIXED: ", mixed",
        WayOutcome.WORSE: ", worse",
        WayOutcome.NOTHING: ", no help",
    }
    return way.results + told[way.outcome]


def _remarks(tried: Sequence[TriedWay], has_causes: bool) -> list[str]:
    lines = []
    for way in tried:
        if way.outcome in (WayOutcome.HARMFUL, WayOutcome.FAILED):
            what = "changes what the program computes" if way.outcome is WayOutcome.HARMFUL else "does not work here"
            lines.append(f"Do not: {printable(way.text)} {what} ({printable(cut(way.detail, 160))})")
        if way.wrong and way.plan.prediction is not None:
            measured = counted(way.measured.totals.compilations, "compilation")
            lines.append(
                f"The prediction was wrong: {printable(way.text)} leaves {measured}, "
                f"predicted were {way.plan.prediction.left}"
            )
    lines += _filter_remarks(tried)
    best = next((way for way in tried if way.outcome is WayOutcome.HELPS), None)
    if best is not None:
        names = f": {best.plan.text}" if best.together else ""
        costs = dict.fromkeys(ADVICE[one.use.id].costs for one in best.plan.ways if ADVICE[one.use.id].costs)
        lines[:0] = [printable(f"Best: {best.text}{names}"), *(f"  it may cost: {cost}" for cost in costs)]
    elif tried:
        left = ": see the ways out above that need an edit" if has_causes else ""
        lines.insert(0, f"None of these helps{left}.")
    return ["", *lines] if lines else []


def document(name: str, base: Measured, tries: Tries | None, dump: str | None) -> dict[str, Any]:
    """The JSON document; ``tries`` is None where nothing was to be tried."""
    return {
        "program": name,
        "dump": dump,
        **_plain(base),
        "causes": [cause.to_json() for cause in base.causes],
        "observations": [observation.to_json() for observation in base.observations],
        "deterministic": None if tries is None else not tries.difference,
        "tried": None
        if tries is None
        else [
            {
                "ways": [
                    {
                        "id": one.use.id,
                        "values": dict(one.use.values),
                        "function": one.function,
                        "text": text_of(one.use),
                    }
                    for one in way.plan.ways
                ],
                "predicted": None if way.plan.prediction is None else way.plan.prediction.after,
                "outcome": way.outcome.value,
                "results": way.results,
                "detail": way.detail,
                **_plain(way.measured),
            }
            for way in best_first(tries.ways)
        ],
    }


def _plain(measured: Measured) -> dict[str, Any]:
    totals = measured.totals
    return {
        "status": measured.status,
        "problem": measured.problem,
        "compilations": totals.compilations,
        "graph_breaks": totals.breaks,
        "ran_as_python": totals.ran_as_python,
        "errors": totals.errors,
        "seconds": None if measured.seconds is None else round(measured.seconds, 3),
        "compile_seconds": round(totals.seconds, 3),
    }
