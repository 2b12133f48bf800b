"""The program's own source, line by line: what torch.compile made of each line, what it cost, and why.

Output: for each file of the program its lines with badges.  A badge has the kind that gives its colour, a short text, what it
says in sentences, and where it leads: a line of the chain.
"""

from __future__ import annotations

from typing import Any

from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.causes.stored import causes_in
from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import chains_of, source_paths
from depyf.views.report.links.program_lines import short_name
from depyf.views.report.told_entries import ToldFunction, told_functions

_ORDER = ("break", "recompile", "dimension", "eager", "failed", "seconds", "kernels")
_MOST_NAMES = 12


class _Badges:
    """Badges by line; those that say the same are one."""

    def __init__(self, paths: dict[str, str]) -> None:
        self.paths = paths
        self.of: dict[tuple[str, int], dict[tuple[str, str], dict[str, Any]]] = {}

    def known(self, at: str) -> bool:
        return at.rpartition(":")[0] in self.paths and at.rpartition(":")[2].isdigit()

    def add(self, at: str, kind: str, text: str, *says: str) -> dict[str, Any] | None:
        """Put a badge at ``file:line``; None where the dump does not have that file."""
        if not self.known(at):
            return None
        path, _, line = at.rpartition(":")
        found = self.of.setdefault((path, int(line)), {}).setdefault(
            (kind, text), {"kind": kind, "text": text, "says": []}
        )
        found["says"] += [one for one in says if one and one not in found["says"]]
        return found


def source_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """None where the dump has no file of the program."""
    paths = source_paths(view)
    if not paths:
        return None
    badges = _Badges(paths)
    functions = told_functions(view)
    for function in functions:
        _function(badges, function)
    for cause in causes_in(view.page):
        _cause(badges, cause)
    for item in view.page.get("never_compiled", ()):
        badges.add(str(item.get("from", "")), "eager", "not compiled", str(item.get("reason", "")))
    compiled: dict[str, dict[int, list[str | int]]] = {path: {} for path in paths}
    _kernels(view, badges, compiled, {name: path for path, name in paths.items()})
    files = []
    for path, name in paths.items():
        lines = {line: _sorted(found) for (file, line), found in sorted(badges.of.items()) if file == path}
        files.append({
            "file": name, "path": path, "name": short_name(path), "badges": [[line, found] for line, found in lines.items()],
            "chain": [[line, parts] for line, parts in sorted(compiled[path].items())],
        })  # fmt: skip
    files.sort(key=lambda file: (-len(file["badges"]), -len(file["chain"])))
    return {"files": files}


def _sorted(found: dict[tuple[str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(
        found.values(), key=lambda badge: _ORDER.index(badge["kind"]) if badge["kind"] in _ORDER else len(_ORDER)
    )


def _function(badges: _Badges, function: ToldFunction) -> None:
    at = function.at
    if not badges.known(at):  # a wrapper of torch around a module: the line that called it
        calls = [caller.get("at", "") for entry in function.entries for caller in entry.item.get("called_by", ())[-1:]]
        at = next((place for place in calls if badges.known(place)), at)
    known = [entry.seconds for entry in function.entries if entry.seconds is not None]
    ids = ", ".join(entry.key.label for entry in function.entries)
    if known:
        found = badges.add(
            at, "seconds", _seconds(sum(known)), f"compiling {function.title}: {len(known)} compilations ({ids})"
        )
        if found is not None:
            found["seconds"] = round(sum(known), 3)
    again = [entry for entry in function.entries if entry.item.get("recompiled_because")]
    if again:
        says = []
        for entry in again:
            one = entry.item["recompiled_because"][0]
            values = f", expected {one['expected']}, got {one['actual']}" if one.get("expected") and "expected" not in one["guard"] else ""  # fmt: skip
            says.append(f"{entry.key.label}: {one['guard']}{values}")
        badges.add(at, "recompile", f"{len(again)} recompilation{'s' if len(again) > 1 else ''}", *says)
    for entry in function.entries:
        for one in entry.item.get("graph_breaks", ()):
            advice = [str(use.get("text", "")) for use in one.get("advice", ())[:2]]
            badges.add(
                str(one.get("at", "")), "break", "break", f"{one.get('cause') or one.get('reason', '')} ({entry.key.label})",
                *(f"try: {text}" for text in advice),
            )  # fmt: skip
        for symbol in entry.item.get("symbols", ()):
            if symbol.get("became") and symbol.get("specialised_at"):
                why = symbol.get("specialised_by") or symbol.get("why", "")
                badges.add(
                    str(symbol["specialised_at"]), "dimension", f"{symbol['source']} = {symbol['became']}",
                    f"{symbol['source']} was dynamic and became the constant {symbol['became']} here ({entry.key.label}){': ' + why if why else ''}",
                )  # fmt: skip
        if entry.state in ("python", "failed"):
            kind = "eager" if entry.state == "python" else "failed"
            text = "ran as Python" if kind == "eager" else "failed"
            badges.add(at, kind, text, f"{entry.key.label}: {entry.item['failed']}")


def _cause(badges: _Badges, cause: Cause) -> None:
    """The place of a recompilation is the call that needed it; breaks stand at their lines already."""
    if cause.kind is CauseKind.RECOMPILES and cause.place is not None:
        at = cause.place.filename, cause.place.line
        known = [text for kind, text in badges.of.get(at, ()) if kind == "recompile"]
        badges.add(f"{at[0]}:{at[1]}", "recompile", known[0] if known else "recompiles", cause.text)


def _kernels(
    view: DumpView, badges: _Badges, compiled: dict[str, dict[int, list[str | int]]], by_file: dict[str, str]
) -> None:
    """The calls of kernels that compute each line, in the first compilation that has the line; and the way to the chain."""
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
                        f"{path}:{line}", "kernels", f"{len(names)} kernel{'s' if len(names) > 1 else ''}",
                        f"computed in {one.key.label} by", *shown[:_MOST_NAMES], *more,
                    )  # fmt: skip


def _address(key: CompileKey) -> list[str]:
    """The parts of the address of a compilation, as in ``chain_relations.js``."""
    return (f"{key.text}r{key.generation}" if key.generation else key.text).split("/")


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 0.95 else f"{value * 1000:.0f} ms"
