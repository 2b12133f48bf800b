"""The chain: the stages of one compilation side by side, and which of their lines belong together.

Output: for each compilation its panes.  The numbers of a line are given as the place of a set in ``sets``; ``direct``
and ``around`` (see ``chain_links.py``) are flat lists line, set, line, set, ...
"""

from __future__ import annotations

from typing import Any

from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import LinkedPane, StageChain, chains_of
from depyf.views.report.links.operations import Numbers


def chain_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The chain of texts of each compilation, rank by rank; None for a dump without a graph."""
    found = []
    for rank, part in [("", view), *((f"rank_{rank}/", part) for rank, part in view.ranks.items())]:
        functions = _functions(part)
        for one in chains_of(part):
            found.append({"rank": rank.rstrip("/"), **functions.get(one.key, {}), **_compilation(one, rank)})
    return {"compilations": found} if found else None


def _functions(view: DumpView) -> dict[CompileKey, dict[str, Any]]:
    """Compile id -> the function, where it is defined, and whether a cache of torch had the compilation."""
    found: dict[CompileKey, dict[str, Any]] = {}
    for function in view.run.functions:
        code = function.code
        for entry in function.entries:
            found[entry.key] = {
                "function": code.shown, "at": f"{code.filename}:{code.line}", "cached": bool(entry.found_in),
            }  # fmt: skip
    return found


def _compilation(one: StageChain, rank: str) -> dict[str, Any]:
    sets: dict[Numbers, int] = {}
    places: dict[str, int] = {}
    operations = []
    for name, stack in zip(one.operations.names, one.operations.stacks):
        path, line = stack[-1] if stack else ("", 0)
        operations.append([name, places.setdefault(path, len(places)), line])
    panes = [_pane(pane, sets, rank) for pane in one.panes]
    return {
        "compile_id": one.key.text,
        "generation": one.key.generation,
        "group": rank + one.key.slug,
        "panes": panes,
        "sets": [sorted(numbers) for numbers in sets],
        "operations": operations,
        "places": list(places),
        "inferred": any(pane.inferred for pane in one.panes),
    }


def _pane(pane: LinkedPane, sets: dict[Numbers, int], rank: str) -> dict[str, Any]:
    def flat(lines: dict[int, Numbers]) -> list[int]:
        return [one for line in sorted(lines) for one in (line, sets.setdefault(lines[line], len(sets)))]

    around = {line: numbers - pane.direct.get(line, frozenset()) for line, numbers in pane.around.items()}
    return {
        "kind": pane.kind,
        "id": pane.id,
        "title": pane.title,
        "file": rank + pane.file,
        "shown": [list(span) for span in pane.shown],
        "direct": flat(pane.direct),
        "around": flat({line: numbers for line, numbers in around.items() if numbers}),
        "names": [[line, name] for line, name in sorted(pane.names.items())],
    }
