"""``depyf.why`` in a notebook: the answer as HTML, folded, with the program's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.run.guards.known_kinds import plain
from depyf.sources.live.notebook_cells import in_cells
from depyf.views.pages import notebook
from depyf.views.pages.notebook import Markup, Part, chip, dim, folded, joined, line

if TYPE_CHECKING:
    from depyf.actions.asking.differences import FailedGuard, Refusal
    from depyf.actions.asking.inside import InnerAnswer
    from depyf.actions.asking.why import Why


def why_html(answer: Why) -> Markup:
    """The answer of ``depyf.why`` as HTML: the entry that runs, and for each other entry its failing guards; the first
    is open."""
    word = "runs" if answer.runs is not None else "refused" if answer.refusals else "nothing compiled"
    outcome = line(chip(word, _kind(answer)), answer.outcome)
    refusals = [_refusal(refusal, opened=position == 0) for position, refusal in enumerate(answer.refusals)]
    served = [line(text) for text in answer.served_lines()]
    inside = [_inner(inner) for inner in (*(rest for rest in answer.rests if rest.again), *answer.inside)]
    page = notebook.report(answer.function, answer.place, outcome, *refusals, *served, *inside)
    return Markup(in_cells(page))


def _inner(inner: InnerAnswer) -> Markup:
    """A function that is dispatched by itself while the call runs."""
    head = joined(
        [chip("inside", "warn" if inner.again else ""), f"{inner.function} ", dim(inner.place), f" {inner.outcome}"]
    )
    parts: list[Part] = []
    for found in inner.answers:
        which = (
            f"{', '.join(found.may_run)} may run" if found.may_run else "no entry fits as things stand before the call"
        )
        parts.append(line(f"for self = {', '.join(found.names)}: {which}" if found.names else which))
        parts += [_refusal(refusal, opened=False) for refusal in found.refusals]
    return folded(head, *parts, opened=inner.again)


def _kind(answer: Why) -> str:
    return "good" if answer.runs is not None and not answer.compiled_again else "warn"


def _refusal(refusal: Refusal, opened: bool) -> Markup:
    if not refusal.differences:
        return line(chip(refusal.compile_id), f"does not run: {refusal.because}")
    number = len(refusal.differences)
    what = refusal.differences[0].subject if number == 1 else f"{number} guards fail"
    parts = [part for group in refusal.alike() for part in _alike(group)]
    unknown = [line(dim(f"not asked: {refusal.unknown}"))] if refusal.not_asked else []
    return folded(joined([chip(refusal.compile_id), f"does not run: {what}"]), *parts, *unknown, opened=opened)


def _alike(group: tuple[list[FailedGuard], list[FailedGuard]]) -> list[Part]:
    """Differences of one kind: the first ones, and the names of the others."""
    parts: list[Part] = []
    for difference in group[0]:
        place, step = difference.place, difference.step
        rows: list[tuple[Part, Part]] = [
            (dim("guard"), notebook.code(plain(step.expression))),
            (dim("expected"), notebook.code(step.expected)),
            (dim("actual"), notebook.code(step.actual)),
        ]
        source = notebook.source(f"{place.filename}:{place.line}", place.text) if place is not None else ""
        advice = line(chip("advice", "good"), difference.advice) if difference.advice else ""
        parts += [line(difference.subject), source, notebook.table((), rows), advice]
    if group[1]:
        names = ", ".join(dict.fromkeys(difference.about for difference in group[1]))
        parts.append(folded(dim(f"{len(group[1])} more of this kind"), line(names)))
    return parts
