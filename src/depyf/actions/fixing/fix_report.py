"""What ``depyf doctor --fix`` prints: the patch with what was measured, and what was tried in vain.

Input: ``Fixes``.  Output: lines, plain data.
"""

from __future__ import annotations

from typing import Any

from depyf.actions.doctor.trial import Measured
from depyf.actions.fixing.fix_program import Fixes, TriedPatch
from depyf.safety.escape import cut, printable
from depyf.views.findings.finding import shown_path
from depyf.views.pages.sections.totals import words_of


def fix_lines(fixes: Fixes) -> list[str]:
    """The report of ``fix_program`` as lines, without the patch."""
    if fixes.difference:
        return [
            f"Two runs of the program as it is differ ({printable(fixes.difference)}): what an edit changes cannot be "
            "told, and none is made. Seed random numbers in the program."
        ]
    if not fixes.tried:
        return ["No way out is an edit with one meaning: see the ways out above."]
    lines = []
    for one in fixes.tried:
        what = printable(cut(one.patch.way.text, 110))
        lines.append(f"{'kept' if one.kept else 'not kept'}: {_at(one)}{what}")
        lines.append(
            f"     {_counts(one.before)} -> {_counts(one.after)}"
            if one.kept
            else f"     {printable(cut(one.why, 160))}"
        )
    lines += [
        "",
        "Kept edits change neither what compiled functions return, raise or write to, nor what is printed or logged, "
        "nor modules, variables, gradients or random numbers at the end, but for rounding.",
    ]
    if fixes.not_compared:
        told = "; ".join(printable(cut(one, 80)) for one in fixes.not_compared[:6])
        lines.append(f"Not compared, as two runs of the program as it is differ in them: {told}")
    lines += [f"All together: {_counts(fixes.base)} -> {_counts(fixes.last)}"] if fixes.kept else []
    lines += ["More could be tried: --most N"] if fixes.left_out else []
    return lines


def _at(one: TriedPatch) -> str:
    place = one.place
    return f"{printable(shown_path(place.filename))}:{place.line}: " if place is not None else ""


def _counts(measured: Measured) -> str:
    totals, words = measured.totals, words_of(measured.totals)
    python = f", {words.ran_as_python}" if totals.ran_as_python else ""
    return f"{words.compilations}, {words.breaks}{python}{f', {words.errors}' if totals.errors else ''}"


def fix_document(fixes: Fixes) -> dict[str, Any]:
    """The report of ``fix_program`` as JSON values, for ``depyf doctor --fix --format json``."""
    return {
        "difference": fixes.difference,
        "not_compared": list(fixes.not_compared),
        "diff": fixes.diff,
        "files": list(fixes.after),
        "before": _plain(fixes.base),
        "after": _plain(fixes.last),
        "edits": [
            {
                "advice": [{"id": use.id, "values": dict(use.values)} for use in one.patch.way.uses],
                "text": one.patch.way.text,
                "at": _at(one).removesuffix(": "),
                "kept": one.kept,
                "why_not": one.why,
                "before": _plain(one.before),
                "after": _plain(one.after),
            }
            for one in fixes.tried
        ],
    }


def _plain(measured: Measured) -> dict[str, int]:
    totals = measured.totals
    return {
        "compilations": totals.compilations,
        "graph_breaks": totals.breaks,
        "ran_as_python": totals.ran_as_python,
        "errors": totals.errors,
    }
