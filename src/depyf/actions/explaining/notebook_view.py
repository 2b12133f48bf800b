"""``depyf.explain`` in a notebook: the report as HTML, folded, with the program's lines."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

from depyf.actions.explaining.shown_guards import brief, split_guards
from depyf.actions.explaining.terminal_view import (
    fix_first_lines,
    forgotten_lines,
    left_out_of_entry,
    nothing_lines,
    served_lines,
    unguarded_lines,
)
from depyf.run.global_names import in_words
from depyf.run.guards.known_kinds import plain
from depyf.sources.live.notebook_cells import in_cells
from depyf.views.pages import notebook
from depyf.views.pages.notebook import Markup, Part, chip, dim, fact, folded, joined, line

if TYPE_CHECKING:
    from depyf.actions.explaining.explanation import EntryReport, Report
    from depyf.actions.explaining.reported_breaks import ReportedBreak
    from depyf.run.places.place import Place
    from depyf.run.records import GuardRecord


def explain_html(report: Report) -> Markup:
    """The whole report; the function is open, the resume functions after its graph breaks are folded."""
    others = [
        folded(joined([notebook.code(part.function), " ", dim(f"{part.filename}:{part.line}")]), *_parts(part))
        for part in report.all()
        if part is not report
    ]
    inside = any(part.inside for part in report.all())
    tree = [folded("calls", notebook.element("pre", "\n".join(report.call_tree())), opened=True)] if inside else []
    first = fix_first_lines(report)
    causes = [folded("fix first", notebook.element("pre", "\n".join(first)), opened=True)] if first else []
    page = notebook.report(
        report.function,
        f"{report.filename}:{report.line}",
        *causes,
        *tree,
        *_parts(report),
        *others,
        chips=_facts(report),
    )
    return Markup(in_cells(page))


def _facts(report: Report) -> list[Markup]:
    warned = ("graph break", "recompilation", "Python", "error")
    return [
        fact(text, "warn" if any(word in text and not text.startswith("0 ") for word in warned) else "")
        for text in report.facts()
    ]


def _parts(report: Report) -> list[Part]:
    alone = [
        _break("runs as Python" if item.raised is None else "failed", item, report.filename) for item in report.skipped
    ]
    alone += [line(text, kind="warn") for text in nothing_lines(report)]
    breaks = [_break("graph break", item, report.filename) for item in report.breaks]
    known = report.entries
    few = len(known) <= _FEW
    entries = [_entry(entry, known[0], opened=few and bool(entry.unfit)) for entry in known]
    told = [line(text.strip(), kind="warn") for text in (*served_lines(report), *unguarded_lines(report))]
    return [*alone, *breaks, *entries, *told, *(line(dim(text)) for text in forgotten_lines(report))]


def _break(what: str, item: ReportedBreak, filename: str) -> Markup:
    place = "" if item.line is None else f"{filename}:{item.line}"
    text = "" if item.line is None else linecache.getline(filename, item.line).strip()
    told = [line(text) for text in (item.torch, *item.hints) if text]
    head = joined([chip(what, "warn"), item.cause])
    return folded(
        head, notebook.source(place, text), folded(dim("in torch's words"), *told) if told else "", opened=True
    )


_FEW = 3
"""So many entries show at once why they were compiled."""


def _entry(entry: EntryReport, newest: EntryReport, opened: bool) -> Markup:
    """``newest``: the entry whose guards are all shown; of another one, those that it does not have."""
    about, rest = split_guards(entry.guards)
    facts = ", ".join(entry.facts())
    head = joined([chip(entry.compile_id, "warn" if entry.unfit else "good"), facts])
    because = [line("compiled because ", entry.recompiled_because)] if entry.unfit else []
    advice = [line(chip("to avoid it", "good"), entry.advice)] if entry.advice else []
    later = [line("goes on in ", in_words(name)) for name in entry.continues_in]
    others = [line(dim(f"and {rest} on torch's own state, modules and functions"))] if rest else []
    known = {guard.expression for guard in newest.guards} if entry is not newest else set()
    shown = [guard for guard in about if guard.expression not in known]
    if len(shown) < len(about):
        others.insert(0, line(dim(f"and {len(about) - len(shown)} that {newest.compile_id} has as well")))
    guards = folded(
        f"{len(entry.guards)} guards, {len(about)} of them on your values",
        notebook.table(("guard", "from"), [_guard(guard, entry) for guard in shown]),
        *others,
    )
    without = [line(text.strip(), kind="warn") for text in left_out_of_entry(entry)]
    return folded(head, *because, *advice, *later, guards, *without, opened=opened)


def _guard(guard: GuardRecord, entry: EntryReport) -> tuple[Part, Part]:
    shown = entry.in_words(brief(guard.expression))
    return notebook.code(shown, title=plain(guard.expression)), _place(guard.place)


def _place(place: Place | None) -> Markup:
    return Markup("") if place is None else notebook.source(f"{place.filename}:{place.line}", place.text)
