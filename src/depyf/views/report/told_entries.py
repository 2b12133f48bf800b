"""What a manifest tells of functions and their compilations, in the words that all panels use.

Input: a ``DumpView``.  Output: ``ToldEntry`` for each compilation, ``ToldFunction`` for each function that Dynamo saw, and the lines
of the program whose text the dump holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from depyf.run.causes.stored import whole_seconds
from depyf.run.files.layout import GUARDS_DATA, MEMORY_DATA, SHAPES_DATA
from depyf.run.global_names import resumed
from depyf.run.records import NOTHING_TO_COMPILE, CompileKey
from depyf.views.report.dump_view import DumpView


@dataclass(frozen=True, slots=True)
class ToldEntry:
    """One compilation, or attempt at one."""

    key: CompileKey
    item: dict[str, Any]
    """What the manifest says of it."""
    seconds: float | None

    @property
    def state(self) -> str:
        """``ok``, ``broke``, ``python``, ``failed``; ``unfinished`` where the dump does not say."""
        if self.item.get("failed"):
            return "failed" if self.item.get("raised") else "python"
        if self.item.get("graph_breaks"):
            return "broke"
        return "ok" if self.item.get("compiled") else "unfinished"

    @property
    def given_up(self) -> bool:
        """Whether there was something to compile, and it ran as ordinary Python."""
        return self.state == "python" and self.item["failed"] != NOTHING_TO_COMPILE

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"id": self.key.text, "state": self.state}
        if self.key.generation:
            found["generation"] = self.key.generation
        if self.seconds is not None:
            found["seconds"] = self.seconds
        return found


@dataclass(frozen=True, slots=True)
class ToldFunction:
    """One function with its compilations, in the order of their compile ids."""

    item: dict[str, Any]
    entries: tuple[ToldEntry, ...]
    id: tuple[int, str]
    """Generation and number of the frame."""
    name: str
    """As the program knows it; of what goes on after a graph break, that of the whole function."""
    after: int | None
    """The line of the break after which it goes on; None for a whole function."""

    @property
    def at(self) -> str:
        return str(self.item["from"])

    @property
    def title(self) -> str:
        return self.name if self.after is None else f"{self.name}, after line {self.after}"

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "at": self.at}
        return found if self.after is None else {**found, "after": self.after}


def told_functions(view: DumpView) -> list[ToldFunction]:
    """Every function, in the order of the manifest."""
    times = view.timings.get("seconds")
    seconds = times if isinstance(times, dict) else {}
    items: dict[tuple[int, str], dict[str, Any]] = {}
    read: list[tuple[tuple[int, str], dict[str, Any], tuple[ToldEntry, ...]]] = []
    for item in view.functions:
        entries = tuple(sorted(_entries(item, seconds), key=lambda entry: entry.key.order))
        id = entries[0].key.function if entries else (0, "")
        items.setdefault(id, item)
        read.append((id, item, entries))
    return [ToldFunction(item, entries, id, *_named(id, item, items)) for id, item, entries in read]


def _entries(item: dict[str, Any], seconds: dict[str, Any]) -> Iterator[ToldEntry]:
    for entry in item["entries"]:
        key = CompileKey(entry.get("generation", 0), entry["compile_id"])
        yield ToldEntry(key, entry, whole_seconds(seconds.get(key.slug)))


def _named(
    id: tuple[int, str], item: dict[str, Any], items: dict[tuple[int, str], dict[str, Any]]
) -> tuple[str, int | None]:
    rest = resumed(item["function"])
    root, passed = item, {id}
    while root.get("resume_of") and (above := (id[0], root["resume_of"])) in items and above not in passed:
        passed.add(above)
        root = items[above]
    return root.get("shown", root["function"]), rest[1] if rest is not None else None


def told_lines(view: DumpView) -> dict[str, str]:
    """``file:line`` -> the text of that line, as far as the dump has it as data."""
    found: dict[str, str] = {}
    todo: list[Any] = [view.page.get("causes")]
    todo += [view.json(name) for name in (SHAPES_DATA, MEMORY_DATA, GUARDS_DATA) if name in view.by_name]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            at, line = part.get("at"), part.get("line")
            if isinstance(at, str) and isinstance(line, str) and line:
                found.setdefault(at, line)
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return dict(sorted(found.items()))
