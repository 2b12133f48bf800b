"""The causes that a dump holds, and the seconds of its compilations, read from its files.

Input: the manifest of a dump.  Output: records, in the order of the manifest.
"""

from __future__ import annotations

from typing import Any

from depyf.run.advice.advice import AdviceUse
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.files.layout import TIMINGS
from depyf.run.files.reading import DumpError, Manifest, read_json
from depyf.run.records import CompileKey, Place


def stored_causes(manifest: Manifest) -> tuple[Cause, ...]:
    """The causes, the most expensive first; those of a kind that this depyf does not know are left out."""
    return causes_in(manifest.page)


def causes_in(page: dict[str, Any]) -> tuple[Cause, ...]:
    """The same, from all of a manifest."""
    kinds = {kind.value for kind in CauseKind}
    return tuple(_cause(item) for item in page.get("causes", ()) if item["kind"] in kinds)


def compile_seconds(manifest: Manifest, causes: tuple[Cause, ...]) -> dict[CompileKey, float]:
    """What the compilations of these causes took; those that the dump does not say are missing."""
    try:
        page = read_json(manifest.folder, TIMINGS)
    except DumpError:
        return {}
    phases = page.get("seconds") if isinstance(page, dict) else None
    found = {}
    for key in {key for cause in causes for key in (*cause.entries, *cause.caused)}:
        seconds = whole_seconds(phases.get(key.slug)) if isinstance(phases, dict) else None
        if seconds is not None:
            found[key] = seconds
    return found


def whole_seconds(phases: Any) -> float | None:
    """The seconds of a compilation and, where there is one, its backward."""
    if not isinstance(phases, dict):
        return None
    parts = [phases.get("entire_frame_compile_time"), phases.get("backward.inductor_cumulative_compile_time")]
    known = [part for part in parts if isinstance(part, (int, float))]
    return float(sum(known)) if known else None


def _cause(item: dict[str, Any]) -> Cause:
    costs = item["costs"]
    return Cause(
        kind=CauseKind(item["kind"]),
        function=item["function"],
        place=_place(item["at"], item["line"]),
        asked=item["asked"],
        module=item["module"],
        entries=_keys(item["compile_ids"]),
        costs=Costs(costs["compilations"], costs["python"], costs["operations"], costs["breaks"]),
        text=item["text"],
        more=item.get("more", ""),
        advice=tuple(
            AdviceUse(use["id"], tuple((name, text) for name, text in use["values"].items() if isinstance(text, str)))
            for use in item["advice"]
        ),
        inside=_place(item["inside"], ""),
        functions=tuple(item["functions"]),
        python=tuple(item["ran_as_python"]),
        caused=_keys(item["caused"]),
    )


def _keys(items: list[dict[str, Any]]) -> tuple[CompileKey, ...]:
    return tuple(CompileKey(item["generation"], item["compile_id"]) for item in items)


def _place(text: str, line: str) -> Place | None:
    filename, _, number = text.rpartition(":")
    return Place(filename, int(number), "", line) if number.isascii() and number.isdigit() else None
