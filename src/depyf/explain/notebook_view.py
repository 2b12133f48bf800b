"""``depyf.explain`` in a notebook: the report as HTML, folded, with the program's lines."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

from depyf.dump.pages import notebook
from depyf.dump.pages.notebook import Markup, Part, chip, dim, folded, joined, line

if TYPE_CHECKING:
    from depyf.dump.records import GuardRecord, Place
    from depyf.explain.report import EntryReport, Report, ReportedBreak


def explain_html(report: Report) -> Markup:
    """The whole report; the function is open, the resume functions after its graph breaks are folded."""
    resumes = [
        folded(joined([notebook.code(part.function), " ", dim(f"{part.filename}:{part.line}")]), *_parts(part))
        for part in report.all()
        if part is not report
    ]
    return notebook.report(
        report.function, f"{report.filename}:{report.line}", *_parts(report), *resumes, chips=_facts(report)
    )


def _facts(report: Report) -> list[Markup]:
    warned = ("graph break", "recompilation")
    return [
        chip(fact, "warn" if any(word in fact and not fact.startswith("0 ") for word in warned) else "")
        for fact in report.facts()
    ]


def _parts(report: Report) -> list[Part]:
    alone = [line(*_joined_lines(lines), kind="warn") for lines in report.left_alone()]
    breaks = [_break(item, report.filename) for item in report.breaks]
    few = len(report.entries) <= _FEW
    entries = [_entry(entry, opened=few and bool(entry.recompiled_because)) for entry in report.entries]
    return [*alone, *breaks, *entries, *(line(dim(text.strip())) for text in report.forgotten())]


def _joined_lines(lines: list[str]) -> list[Part]:
    return [joined([text.strip() for text in lines], Markup("<br>"))]


def _break(item: ReportedBreak, filename: str) -> Markup:
    place = "" if item.line is None else f"{filename}:{item.line}"
    text = "" if item.line is None else linecache.getline(filename, item.line).strip()
    told = [line("torch: ", item.torch)] if item.torch else []
    hints = [line("hint: ", hint) for hint in item.hints]
    head = joined([chip("graph break", "warn"), item.cause])
    return folded(head, notebook.source(place, text), *told, *hints, opened=True)


_FEW = 3
"""So many entries show at once why they were compiled."""


def _entry(entry: EntryReport, opened: bool) -> Markup:
    from depyf.explain.report import split_guards

    about, rest = split_guards(entry.guards)
    facts = ", ".join(entry.facts())
    head = joined([chip(entry.compile_id, "warn" if entry.recompiled_because else "good"), facts])
    because = [line("compiled because ", entry.recompiled_because)] if entry.recompiled_because else []
    advice = [line(chip("to avoid it", "good"), entry.advice)] if entry.advice else []
    later = [line("goes on in ", notebook.code(name)) for name in entry.continues_in]
    others = [line(dim(f"and {rest} on torch's own state, modules and functions"))] if rest else []
    guards = folded(
        f"{len(entry.guards)} guards, {len(about)} of them on your values",
        notebook.table(("guard", "from"), [_guard(guard) for guard in about]),
        *others,
    )
    return folded(head, *because, *advice, *later, guards, opened=opened)


def _guard(guard: GuardRecord) -> tuple[Part, Part]:
    from depyf.dynamo.guards.guard_values import plain
    from depyf.explain.report import brief

    return notebook.code(brief(guard.expression), title=plain(guard.expression)), _place(guard.place)


def _place(place: Place | None) -> Markup:
    return Markup("") if place is None else notebook.source(f"{place.filename}:{place.line}", place.text)
