"""Every guard of every entry, by line, with the value that it looked at when the recording ended."""

from __future__ import annotations

from typing import Any

from depyf.run.files.layout import GUARDS_DATA
from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldFunction, told_functions


def guards_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Guards, each once with the numbers of the entries that have it; None for a dump without ``guards.json``."""
    page = view.json(GUARDS_DATA) if GUARDS_DATA in view.by_name else None
    listed = page.get("entries") if isinstance(page, dict) else None
    guards = page.get("guards") if isinstance(page, dict) else None
    if not isinstance(listed, list) or not isinstance(guards, list):
        return None
    by_id: dict[tuple[Any, Any], tuple[CompileKey | None, ToldFunction | None]] = {
        (entry.key.text, entry.key.generation): (entry.key, function)
        for function in told_functions(view)
        for entry in function.entries
    }
    entries: list[dict[str, Any]] = []
    having: list[list[int]] = [[] for _ in guards]
    for item in sorted((item for item in listed if isinstance(item, dict)), key=lambda item: _order(item, by_id)):
        function = by_id.get((item.get("compile_id"), item.get("generation", 0)), (None, None))[1]
        for number in item.get("guards", ()):
            if type(number) is int and 0 <= number < len(guards):
                having[number].append(len(entries))
        entries.append({
            "id": item.get("compile_id", ""), "generation": item.get("generation", 0), "state": item.get("state", ""),
            "function": function.title if function is not None else "",
        })  # fmt: skip
    shown = [
        {**{name: guard[name] for name in _SHOWN if name in guard}, "entries": numbers}
        for guard, numbers in zip(guards, having)
        if isinstance(guard, dict) and numbers
    ]
    return {"entries": entries, "guards": sorted(shown, key=_place)} if shown else None


_SHOWN = ("kind", "expression", "at", "line", "why", "value", "holds")


def _order(item: dict[str, Any], known: dict[Any, Any]) -> tuple[Any, ...]:
    key = known.get((item.get("compile_id"), item.get("generation", 0)), (None, None))[0]
    return (0, *key.order) if key is not None else (1,)


def _place(guard: dict[str, Any]) -> tuple[bool, str, int]:
    """By line; what torch asks for itself, which is of no line, last."""
    filename, _, line = str(guard.get("at", "")).rpartition(":")
    return not filename, filename, int(line) if line.isdecimal() else 0
