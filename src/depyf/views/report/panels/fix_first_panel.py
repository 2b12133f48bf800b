"""What to fix first, with seconds; what was compiled, what ran as Python, what failed."""

from __future__ import annotations

from typing import Any

from depyf.run.advice.registry import ADVICE, text_of
from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.causes.stored import causes_in
from depyf.run.global_names import in_words
from depyf.run.records import CompileKey
from depyf.views.pages.sections.fix_first import cost_in_words
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldEntry, ToldFunction, told_functions


def fix_first_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Causes, the most expensive first; then the functions by what became of them.  None for a run that has not finished:
    nothing says it."""
    if not view.page:
        return None
    functions = told_functions(view)
    seconds = {entry.key: entry.seconds for function in functions for entry in function.entries}
    entries = [entry for function in functions for entry in function.entries]
    known = [value for value in seconds.values() if value is not None]
    return {
        "seconds": round(sum(known), 6) if known else None,
        "counts": {
            "functions": sum(function.after is None for function in functions),
            "compilations": sum(bool(entry.item.get("compiled")) for entry in entries),
            "breaks": len({_break_place(found) for entry in entries for found in entry.item.get("graph_breaks", ())}),
            "recompilations": sum(bool(e.item.get("recompiled_because")) and not e.item.get("failed") for e in entries),
            "python": sum(any(entry.given_up for entry in function.entries) for function in functions),
            "failed": sum(entry.state == "failed" for entry in entries),
            "kernels": sum(file.kind == "kernel_source" for file in view.files),
        },
        "causes": [_cause(cause, seconds) for cause in causes_in(view.page)],
        "compiled": [_compiled(function, view) for function in functions if _has_code(function)],
        "python": _python(functions, view),
        "failed": [
            {**function.to_json(), **entry.to_json(), "why": entry.item["failed"], **_advice(entry)}
            for function in functions
            for entry in function.entries
            if entry.state == "failed"
        ],
    }


def _break_place(found: dict[str, Any]) -> str:
    return str(found.get("from") or found.get("at") or found.get("reason"))


def _cause(cause: Cause, seconds: dict[CompileKey, float | None]) -> dict[str, Any]:
    ways = [text_of(use) for use in cause.remedies]
    notes = [text_of(use) for use in cause.advice if text_of(use) and not ADVICE[use.id].remedy]
    keys = cause.caused or (cause.entries if cause.kind is CauseKind.FAILED else ())
    spent = [value for key in keys if (value := seconds.get(key)) is not None]
    return {
        "kind": cause.kind.value,
        "text": cause.text,
        "more": cause.more,
        "at": f"{cause.place.filename}:{cause.place.line}" if cause.place is not None else "",
        "line": cause.place.text if cause.place is not None else "",
        "function": cause.function,
        "module": cause.module,
        "cost": cost_in_words(cause),
        "seconds": round(sum(spent), 6) if spent else None,
        "ways": ways[:3],
        "needed_together": cause.needed_together,
        "notes": notes[:1] if not ways else [],
        "inside": f"{cause.inside.filename}:{cause.inside.line}" if cause.inside is not None else "",
        "entries": [_id(key) for key in (cause.caused or cause.entries)],
    }


def _id(key: CompileKey) -> dict[str, Any]:
    return {"id": key.text, **({"generation": key.generation} if key.generation else {})}


def _has_code(function: ToldFunction) -> bool:
    return any(entry.item.get("compiled") for entry in function.entries)


def _compiled(function: ToldFunction, view: DumpView) -> dict[str, Any]:
    keys = {entry.key for entry in function.entries}
    kinds = [file.kind for file in view.files if file.key in keys]
    graphs = {file.key for file in view.files if file.kind == "graph" and file.key in keys}
    return {
        **function.to_json(),
        "entries": [entry.to_json() for entry in function.entries],
        "graphs": len(graphs),
        "kernels": kinds.count("kernel_source"),
        "seconds": _sum(function),
    }


def _sum(function: ToldFunction) -> float | None:
    known = [entry.seconds for entry in function.entries if entry.seconds is not None]
    return round(sum(known), 6) if known else None


def _python(functions: list[ToldFunction], view: DumpView) -> list[dict[str, Any]]:
    """Functions that ran, or ended, as ordinary Python, each once; then those that Dynamo left alone."""
    found = []
    for function in functions:
        given_up = [entry for entry in function.entries if entry.given_up]
        if given_up:
            reason = str(given_up[-1].item["failed"])
            found.append({
                **function.to_json(), "why": reason, "entries": [entry.to_json() for entry in given_up],
                "also_compiled": _has_code(function), **_advice(given_up[-1]),
            })  # fmt: skip
    for item in view.page.get("never_compiled", ()):
        found.append({
            "name": in_words(str(item.get("function", ""))), "at": item.get("from", ""), "why": item.get("reason", ""), "entries": [],
            "also_compiled": False,
        })  # fmt: skip
    return found


def _advice(entry: ToldEntry) -> dict[str, Any]:
    texts = [use["text"] for use in entry.item.get("advice", ()) if use.get("text")]
    return {"way": texts[0]} if texts else {}
