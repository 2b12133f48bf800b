"""Every guard of every entry, by line, with the value that it looked at when the recording ended.  What no guard looks
at stands by the line that reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from depyf.run.guards.broken_guards import Way, left_out
from depyf.run.guards.served_values import ServedValue, served_values
from depyf.run.guards.unguarded_value import UnguardedValue
from depyf.run.records import GuardRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import titles, written


@dataclass
class _ShownGuard:
    record: GuardRecord
    ways: tuple[Way, ...] = ()
    """Calls that run although it does not hold, where it was left out."""
    served: ServedValue | None = None
    """An artefact serves no other value of what it looks at."""
    entries: list[int] = field(default_factory=list)
    """The numbers of those that have it."""


def guards_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Guards, each once with the numbers of the entries that have it; None where none is known."""
    of_function = titles(view)
    guarded = [entry for _, entry in view.run.entries if entry.guards or entry.left_out or entry.unguarded]
    shown: dict[tuple[object, ...], _ShownGuard] = {}
    for function in view.run.functions:
        served = {one.record: one for one in served_values(function)}
        for entry in function.entries:
            ways = {told.record: told.ways for told in left_out(function, entry).guards}
            for guard in (*entry.guards, *entry.left_out):
                shown.setdefault(_alike(guard), _ShownGuard(guard, ways.get(guard, ()), served.get(guard)))
    if not guarded:
        return None
    unguarded: dict[UnguardedValue, list[int]] = {}
    entries: list[dict[str, Any]] = []
    for entry in sorted(guarded, key=lambda entry: entry.key.order):
        for guard in (*entry.guards, *entry.left_out):
            shown[_alike(guard)].entries.append(len(entries))
        for value in entry.unguarded:
            unguarded.setdefault(value, []).append(len(entries))
        entries.append({
            "id": entry.key.text, "generation": entry.key.generation, "state": entry.guard_state,
            "function": of_function.get(entry.key, ""),
        })  # fmt: skip
    ordered = sorted(shown.values(), key=_order)
    told = [_unguarded(value, numbers, view) for value, numbers in unguarded.items()]
    return {"entries": entries, "guards": [*told, *(_guard(guard, view) for guard in ordered)]}


def _alike(guard: GuardRecord) -> tuple[object, ...]:
    """What guards that are shown as one share."""
    seen = guard.value, guard.holds or not guard.value
    said = guard.expression or guard.text
    return guard.kind, said, guard.source, written(guard.place), guard.why, guard.left_out_by, *seen


def _guard(shown: _ShownGuard, view: DumpView) -> dict[str, Any]:
    guard = shown.record
    told = {
        "kind": guard.kind, "expression": guard.expression or guard.text, "at": written(guard.place),
        "line": view.line(guard.place), "why": guard.why, "value": guard.value,
        "left_out": guard.left_out_by,
    }  # fmt: skip
    holds: dict[str, Any] = {"holds": guard.holds} if guard.value else {}
    if shown.ways:
        holds["ways"] = [way.text for way in shown.ways]
    if shown.served is not None:
        holds["served"] = shown.served.said
        holds["raises"] = [way.text for way in shown.served.ways]
    return {**{name: text for name, text in told.items() if text}, **holds, "entries": shown.entries}


def _unguarded(value: UnguardedValue, entries: list[int], view: DumpView) -> dict[str, Any]:
    """What may change while the entries still run."""
    return {
        "expression": value.name, "at": written(value.place), "line": view.line(value.place), "unguarded": value.why,
        "likely": value.likely, "entries": entries,
    }  # fmt: skip


def _order(shown: _ShownGuard) -> tuple[bool, str, int]:
    """By line; what torch asks for itself, which is of no line, last."""
    place = shown.record.place
    return (place is None, place.filename, place.line) if place is not None else (True, "", 0)
