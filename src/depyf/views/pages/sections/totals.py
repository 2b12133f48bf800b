"""The numbers of a run in words, the same wherever they are told.

Input: ``RunTotals``.  Output: ``30 compilations``, ``2 distinct graph breaks``.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.run.causes.folding import counted
from depyf.run.run import RunTotals

BREAK = "distinct graph break"


@dataclass(frozen=True, slots=True)
class TotalWords:
    """The totals of a run, each as text."""

    compilations: str
    breaks: str
    recompilations: str
    ran_as_python: str
    errors: str
    """"" where there was none."""
    unfinished: str
    """"" where there was none."""


def words_of(totals: RunTotals) -> TotalWords:
    errors, unfinished = counted(totals.errors, "error"), counted(totals.unfinished, "compilation")
    return TotalWords(
        compilations=counted(totals.compilations, "compilation")
        + (f", {totals.loaded} loaded" if totals.loaded else ""),
        breaks=counted(totals.breaks, BREAK),
        recompilations=counted(totals.recompilations, "recompilation"),
        ran_as_python=f"{counted(totals.ran_as_python, 'time')} a function ran as ordinary Python",
        errors=f"{errors} that torch raised instead of compiling" if totals.errors else "",
        unfinished=f"{unfinished} that did not end" if totals.unfinished else "",
    )
