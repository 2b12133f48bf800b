"""The program's own source, line by line: what torch.compile made of each line, what it cost, and why.

Output: for each file of the program its lines with badges.  A badge has the kind that gives its colour, a short text,
what it says in sentences, and where it leads: a line of the chain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from depyf.run.advice.registry import text_of
from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.places.place import Place
from depyf.run.records import CompileKey
from depyf.run.shapes.size_names import size_name
from depyf.safety.escape import one_line
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import chains_of, source_paths
from depyf.views.report.links.program_lines import short_name
from depyf.views.report.told_entries import ToldFunction, told_functions

_ORDER = ("break", "recompile", "dimension", "eager", "failed", "seconds", "kernels")
_MOST_NAMES = 12


@dataclass
class _Badge:
    kind: str
    text: str
    says: dict[str, None] = field(default_factory=dict)
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": self.kind, "text": self.text, "says": list(self.says)}
        return found if self.seconds is None else {**found, "seconds": self.seconds}


class _Badges:
    """Badges by line; those that say the same are one."""

    def __init__(self, paths: dict[str, str]) -> None:
        self.paths = paths
        self.of: dict[tuple[str, int], dict[tuple[str, str], _Badge]] = {}

    def known(self, place: Place | None) -> bool:
        return place is not None and place.filename in self.paths

    def add(self, place: Place | None, kind: str, text: str, *says: str, seconds: float | None = None) -> None:
        """Put a badge at a line; nothing where the dump does not have its file."""
        if place is not None and self.known(place):
            badge = self.of.setdefault((place.filename, place.line), {}).setdefault((kind, text), _Badge(kind, text))
            badge.says.update(dict.fromkeys(one for one in says if one))
            badge.seconds = badge.seconds if seconds is None else seconds

    def to_json(self, path: str) -> list[list[Any]]:
        """The marks of one file: [line, badges]."""
        own = ((line, badges) for (file, line), badges in sorted(self.of.items()) if file == path)
        return [
            [line, [badge.to_json() for badge in sorted(badges.values(), key=lambda badge: _ORDER.index(badge.kind))]]
            for line, badges in own
        ]


def source_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The data of the program's source files with marks on their lines; None where the dump has no such file."""
    paths = source_paths(view)
    if not paths:
        return None
    badges = _Badges(paths)
    functions = told_functions(view)
    for function in functions:
        _function(badges, function)
    for cause in view.causes:
        _cause(badges, cause)
    for code, reason in view.run.never_compiled:
        badges.add(Place(code.filename, code.line), "eager", "not compiled", reason)
    compiled: dict[str, dict[int, list[str | int]]] = {path: {} for path in paths}
    _kernels(view, badges, compiled, {name: path for path, name in paths.items()})
    files = []
    for path, name in paths.items():
        files.append({
            "file": name, "path": path, "name": short_name(path), "badges": badges.to_json(path),
            "chain": [[line, parts] for line, parts in sorted(compiled[path].items())],
        })  # fmt: skip
    files.sort(key=lambda file: (-len(file["badges"]), -len(file["chain"])))
    return {"files": files}


def _function(badges: _Badges, function: ToldFunction) -> None:
    at = function.place
    if not badges.known(at):  # a wrapper of torch around a module: the line that called it
        calls = [caller.place for entry in function.entries for caller in entry.record.callers[-1:]]
        at = next((place for place in calls if badges.known(place)), at)
    known = [entry.seconds for entry in function.entries if entry.seconds is not None]
    ids = ", ".join(entry.key.label for entry in function.entries)
    if known:
        badges.add(
            at, "seconds", _seconds(sum(known)), f"compiling {function.title}: {len(known)} compilations ({ids})",
            seconds=round(sum(known), 3),
        )  # fmt: skip
    again = [entry for entry in function.entries if entry.record.recompiles]
    if again:
        says = []
        for entry in again:
            one = entry.record.recompiles[0]
            values = ""
            if one.expected and "expected" not in one.guard:
                values = f", expected {one.expected}, got {one.actual}"
            says.append(f"{entry.key.label}: {one.guard}{values}")
        badges.add(at, "recompile", f"{len(again)} recompilation{'s' if len(again) > 1 else ''}", *says)
    for entry in function.entries:
        for broken in entry.record.breaks:
            badges.add(
                broken.place, "break", "break", f"{broken.cause or broken.reason} ({entry.key.label})",
                *(f"try: {text_of(use)}" for use in broken.advice[:2]),
            )  # fmt: skip
        for symbol in entry.record.symbols:
            if symbol.became and symbol.where is not None:
                why, size = symbol.by or symbol.why, size_name(symbol.source).text
                badges.add(
                    symbol.where, "dimension", f"{size} = {symbol.became}",
                    (
                        f"{size} was dynamic and became the constant {symbol.became} here "
                        f"({entry.key.label}){': ' + why if why else ''}"
                    ),
                )  # fmt: skip
        if entry.record.failed:
            kind, text = ("failed", "failed") if entry.failed else ("eager", "ran as Python")
            badges.add(at, kind, text, f"{entry.key.label}: {one_line(entry.record.failed)}")


def _cause(badges: _Badges, cause: Cause) -> None:
    """The place of a recompilation is the call that needed it; breaks stand at their lines already."""
    if cause.kind is CauseKind.RECOMPILES and cause.place is not None:
        at = cause.place.filename, cause.place.line
        known = [text for kind, text in badges.of.get(at, ()) if kind == "recompile"]
        badges.add(cause.place, "recompile", known[0] if known else "recompiles", cause.text)


def _kernels(
    view: DumpView, badges: _Badges, compiled: dict[str, dict[int, list[str | int]]], by_file: dict[str, str]
) -> None:
    """The calls of kernels that compute each line, in the first compilation that has the line; and the way to the
    chain."""
    for one in chains_of(view):
        wrappers = [pane for pane in one.panes if pane.kind == "wrapper"]
        for pane in one.panes:
            if pane.kind != "source":
                continue
            path = by_file[pane.file]
            for line in {*pane.direct, *pane.around}:
                if line in compiled[path]:
                    continue
                compiled[path][line] = [*_address(one.key), pane.id, line]
                numbers = pane.direct.get(line, frozenset())
                names = [
                    wrapper.names[at]
                    for wrapper in wrappers
                    for at in sorted(wrapper.names)
                    if wrapper.direct.get(at, frozenset()) & numbers
                ]
                if names:
                    shown = list(dict.fromkeys(names))
                    more = [f"and {len(shown) - _MOST_NAMES} more"] if len(shown) > _MOST_NAMES else []
                    badges.add(
                        Place(path, line), "kernels", f"{len(names)} kernel{'s' if len(names) > 1 else ''}",
                        f"computed in {one.key.label} by", *shown[:_MOST_NAMES], *more,
                    )  # fmt: skip


def _address(key: CompileKey) -> list[str]:
    """The parts of the address of a compilation, as in ``chain_relations.js``."""
    return (f"{key.text}r{key.generation}" if key.generation else key.text).split("/")


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 0.95 else f"{value * 1000:.0f} ms"
