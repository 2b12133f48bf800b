"""``depyf.explain`` on a terminal: the report as lines.

Input: a ``Report``.  Output: text; of entries that were compiled for one reason the newest is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.actions.explaining.reported_breaks import break_lines, left_alone_in_words
from depyf.actions.explaining.shown_guards import brief, split_guards
from depyf.decompiler.emit.comments import remark
from depyf.run.causes.folding import counted
from depyf.run.global_names import in_words
from depyf.run.guards.served_values import RAISES
from depyf.run.observations.all_observations import observations_of
from depyf.views.pages.call_tree import folded_states
from depyf.views.pages.print_style import TERMINAL
from depyf.views.pages.sections.fix_first import ON_TERMINAL, left_out, what_to_fix, with_heading
from depyf.views.pages.sections.words import with_cells

if TYPE_CHECKING:
    from depyf.actions.explaining.explanation import EntryReport, Report

_FEW = 3
_MOST_UNGUARDED = 6
_MOST_LEFT_OUT = 6


def explain_text(report: Report) -> str:
    """The whole report as text."""
    head, *rest = _lines(report)
    lines = [f"{head}: {', '.join(report.facts())}"]
    first = fix_first_lines(report)
    lines += ["", *with_heading(first), ""] if first else []
    overview = _overview(report)
    lines += overview if first else ["", *overview] if overview else []
    return with_cells("\n".join(lines + rest), report.run.cells)


def fix_first_lines(report: Report) -> list[str]:
    """The first causes, with seconds, and what else was found; [] where there is nothing."""
    lines = what_to_fix(report.causes, observations_of(report.part), ON_TERMINAL, TERMINAL, report.run.seconds_of)
    left = left_out(report.causes, ON_TERMINAL)
    return [*lines, f"and {left} more that {'costs' if left == 1 else 'cost'} less"] if left > 0 else lines


def nothing_lines(report: Report) -> list[str]:
    """The lines for a function without compiled code; [] where there is code or a reason.  For an object: the parts
    compiled inside it."""
    parts = [text for part in report.parts for text in part.lines()]
    if report.entries or report.skipped or parts:
        return parts
    lines = ["nothing is compiled for it (it was never called, or torch has dropped it)"]
    if "/torch/nn/modules/" in report.filename:
        lines.append(
            "a module of torch's own is passed over where no function of yours calls it and it was compiled in "
            "place (module.compile()): torch.compile(module) compiles it"
        )
    return lines


def unguarded_lines(report: Report) -> list[str]:
    """What may change without a recompilation."""
    more = len(report.unguarded) - _MOST_UNGUARDED
    return [
        *(f"no guard on {value}" for value in report.unguarded[:_MOST_UNGUARDED]),
        *([f"no guard on {more} more values; `.unguarded` has them all"] if more > 0 else []),
    ]


def served_lines(report: Report) -> list[str]:
    """The values that an artefact serves alone, each with a call that raises."""
    lines = [f"of torch.compiler.precompile: {RAISES}:"] if report.served else []
    for one in report.served:
        lines.append(remark(f"  {one.said}", f"raises: {one.ways[0].text}" if one.ways else ""))
    return lines


def forgotten_lines(report: Report) -> list[str]:
    """A remark where torch no longer remembers all compilations; else []."""
    return [] if report.complete else ["torch no longer remembers all of these compilations: reasons may be missing"]


def _lines(report: Report, within: bool = False) -> list[str]:
    """``within``: it stands inside another function, its guards are left out."""
    lines = [in_words(report.function) + (f" ({report.filename}:{report.line})" if report.filename else "")]
    for item in report.skipped:
        lines += break_lines(left_alone_in_words(item), item)
    lines += [f"  {text}" for text in nothing_lines(report)]
    lines += _folded_entries(report.entries) if within else _all_entries(report.entries)
    for item in report.breaks:
        lines += break_lines("graph break", item)
    lines += [f"  {text}" for text in (*served_lines(report), *unguarded_lines(report), *forgotten_lines(report))]
    for resume in report.resumes:
        lines += ["", *_lines(resume, within)]
    for inner in report.inside:
        lines += ["", *_lines(inner, within=True)]
    return lines


def _overview(report: Report) -> list[str]:
    """The call tree, where something was compiled inside."""
    if not any(part.inside for part in report.all()):
        return []
    older = [f"  ({text})" for text in report.run.missing]
    return ["Call tree:", *("  " + line for line in report.call_tree()), *older, ""]


def _entry_lines(entry: EntryReport) -> list[str]:
    lines = [f"  {entry.compile_id}: {', '.join(entry.facts())}"]
    if entry.unfit:
        lines.append(f"    compiled because {entry.recompiled_because}")
        lines += [f"      to avoid it: {entry.advice}"] if entry.advice else []
    lines += [f"    goes on in {in_words(name)}" for name in entry.continues_in]
    about, rest = split_guards(entry.guards)
    for guard in about:
        lines.append(f"    guard {entry.in_words(brief(guard.expression))}")
        if guard.place is not None and guard.place.text:
            lines[-1] = remark(lines[-1], f"{guard.place.filename.rpartition('/')[2]}:{guard.place.line}")
    if rest:
        lines.append(f"    and {counted(rest, 'guard')} on torch's own state, modules and functions")
    return lines + left_out_of_entry(entry)


def left_out_of_entry(entry: EntryReport) -> list[str]:
    """Lines on the guards that a filter left out, each with a call that runs although the guard would fail."""
    found = entry.left_out
    lines = [f"    {counted(found.count, 'guard')} left out: {found.who}"] if found.count else []
    for guard in found.guards[:_MOST_LEFT_OUT]:
        risky = "risky; " if guard.risky else ""
        lines.append(remark(f"      {guard.said}", f"{risky}runs all the same: {guard.ways[0].text}"))
    more = len(found.guards) - _MOST_LEFT_OUT
    return [*lines, f"      and {more} more; `.left_out` of the entry has them all"] if more > 0 else lines


def _all_entries(entries: tuple[EntryReport, ...]) -> list[str]:
    """Each entry with its guards; of many that were compiled for the same reason the newest one, and which the others
    are."""
    lines: list[str] = []
    for group in _by_reason(entries):
        shown = group[:1] if len(group) > _FEW and group[0].unfit else group
        for entry in shown:
            lines += _entry_lines(entry)
        if len(shown) < len(group):
            lines.append(f"  {_ids(group[1:])}: compiled for the same reason, with other values")
    return lines


def _by_reason(entries: tuple[EntryReport, ...]) -> list[list[EntryReport]]:
    groups: dict[str, list[EntryReport]] = {}
    for entry in entries:
        groups.setdefault(entry.reason, []).append(entry)
    return list(groups.values())


def _ids(group: list[EntryReport]) -> str:
    return folded_states([(entry.compile_id, "") for entry in reversed(group)]).strip()


def _folded_entries(entries: tuple[EntryReport, ...]) -> list[str]:
    """A function inside: its entries without their guards, those compiled for the same reason together."""
    lines: list[str] = []
    for group in _by_reason(entries):
        first = group[0]
        lines.append(f"  {_ids(group)}: {', '.join(first.facts())}")
        if first.unfit:
            newest = "" if len(group) == 1 else f" (the newest, {first.compile_id})"
            lines.append(f"    compiled because{newest} {first.decided_because}")
            lines += [f"      to avoid it: {first.advice}"] if first.advice else []
    return lines
