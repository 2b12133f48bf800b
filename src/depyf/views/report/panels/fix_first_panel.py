"""What to fix first, with seconds; what was compiled, what ran as Python, what failed."""

from __future__ import annotations

from typing import Any

from depyf.run.advice.registry import is_remedy, text_of
from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.causes.collect import weight
from depyf.run.causes.folding import counted
from depyf.run.global_names import in_words
from depyf.run.observations.all_observations import nothing_to_fix, observations_of
from depyf.run.observations.compiled_differs import checked_line, not_compared
from depyf.run.observations.observation import Observation
from depyf.run.records import CompileKey
from depyf.safety.escape import one_line
from depyf.views.pages.sections.fix_first import cost_in_words
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldEntry, ToldFunction, told_functions, written


def fix_first_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The causes in the parts and the order that ``what_to_fix`` prints them in, then the functions by their outcome;
    None where nothing is known."""
    if not view.known:
        return None
    run = view.run
    functions = told_functions(view)
    seconds = run.seconds_of
    found = observations_of(run)
    return {
        "seconds": round(run.seconds, 6) if run.seconds is not None else None,
        "counts": {
            "functions": sum(function.after is None for function in functions),
            "compilations": run.compilations,
            "breaks": len(run.breaks),
            "recompilations": run.recompilations,
            "python": run.ran_as_python,
            "failed": run.errors,
            "kernels": sum(file.kind == "kernel_source" for file in view.files),
        },
        "causes": [
            *(_found(one, seconds, view) for one in found if one.leads),
            *(_cause(cause, seconds, view) for cause in view.causes if not cause.needed),
            *(_found(one, seconds, view) for one in found if not one.leads and not one.of_calls),
            *(_cause(cause, seconds, view) for cause in view.causes if cause.needed and not cause.of_torch),
            *(_cause(cause, seconds, view) for cause in view.causes if cause.of_torch),
            *(_found(one, seconds, view) for one in found if one.of_calls),
        ],
        "fine": nothing_to_fix([run]),
        "checked": checked_line(run.checked),
        "not_checked": [text for checked in run.checked for text in not_compared(checked)],
        "compiled": [_compiled(function, view) for function in functions if _has_code(function)],
        "python": _python(functions, view),
        "failed": [
            {**function.to_json(), **entry.to_json(), "why": one_line(entry.record.failed), **_advice(entry)}
            for function in functions
            for entry in function.entries
            if entry.failed
        ],
    }


def _cause(cause: Cause, seconds: dict[CompileKey, float], view: DumpView) -> dict[str, Any]:
    ways = [{"text": way.text, "predicted": way.predicted} for way in cause.ways]
    notes = [text_of(use) for use in cause.advice if text_of(use) and not is_remedy(use)]
    keys = cause.caused or (cause.entries if cause.kind is CauseKind.FAILED else ())
    spent = [value for key in keys if (value := seconds.get(key)) is not None]
    return {
        "part": "needed" if cause.needed else "fix",
        "kind": cause.kind.value,
        "text": cause.text,
        "more": cause.more,
        "at": written(cause.place),
        "line": view.line(cause.place),
        "function": cause.function,
        "module": cause.module,
        "cost": cost_in_words(cause),
        "seconds": round(sum(spent), 6) if spent else None,
        "weight": weight(cause),
        "weighs": _weighs(cause),
        "ways": ways[:3],
        "notes": notes[:1] if not ways else [],
        "inside": written(cause.inside),
        "entries": [_id(key) for key in (cause.caused or cause.entries)],
        "evidence": [
            {**_id(one.key), "record": one.name, "line": one.line or None} for one in cause.evidence[:_MOST_EVIDENCE]
        ],
        "log": view.run.log,
    }


_MOST_EVIDENCE = 12


def _weighs(cause: Cause) -> str:
    """The number that counts most in the weight of a cause."""
    costs = cause.costs
    if cause.kind is CauseKind.FAILED:
        return "failed"
    if costs.python:
        return f"{costs.python} as Python"
    if costs.breaks:
        return counted(costs.breaks, "break")
    return counted(costs.compilations, "recompilation") if costs.compilations else ""


def _found(observation: Observation, seconds: dict[CompileKey, float], view: DumpView) -> dict[str, Any]:
    """An observation as a cause is shown.  One of calls has no seconds: a change of it does not save the compilation
    that it is in."""
    entries = () if observation.of_calls else observation.entries
    spent = [value for key in entries if (value := seconds.get(key)) is not None]
    place = observation.place
    return {
        "part": "calls" if observation.of_calls else "fix",
        "kind": observation.kind.value,
        "text": observation.text,
        "more": ". ".join(observation.details),
        "at": written(place),
        "line": view.line(place),
        "function": place.function if place is not None else "",
        "module": "",
        "cost": observation.cost,
        "seconds": round(sum(spent), 6) if spent else None,
        "weight": 0.0,
        "weighs": "",
        "ways": [{"text": text, "predicted": ""} for text in observation.ways],
        "notes": [],
        "inside": "",
        "entries": [_id(key) for key in observation.entries],
        "evidence": [],
        "log": "",
    }


def _id(key: CompileKey) -> dict[str, Any]:
    return {"id": key.text, **({"generation": key.generation} if key.generation else {})}


def _has_code(function: ToldFunction) -> bool:
    return any(entry.compiled for entry in function.entries)


def _compiled(function: ToldFunction, view: DumpView) -> dict[str, Any]:
    keys = {entry.key for entry in function.entries}
    kinds = [file.kind for file in view.files if file.key in keys]
    graphs = {file.key for file in view.files if file.kind == "graph" and file.key in keys}
    return {
        **function.to_json(),
        "entries": [entry.to_json() for entry in function.entries],
        "graphs": len(graphs),
        "kernels": kinds.count("kernel_source"),
        "seconds": function.seconds,
    }


def _python(functions: list[ToldFunction], view: DumpView) -> list[dict[str, Any]]:
    """Functions that ran, or ended, as ordinary Python, each once; then those that Dynamo left alone."""
    found = []
    for function in functions:
        given_up = [entry for entry in function.entries if entry.given_up]
        if given_up:
            found.append({
                **function.to_json(), "why": one_line(given_up[-1].record.failed),
                "entries": [entry.to_json() for entry in given_up], "also_compiled": _has_code(function),
                **_advice(given_up[-1]),
            })  # fmt: skip
    for code, reason in view.run.never_compiled:
        found.append({
            "name": in_words(code.qualname), "at": f"{code.filename}:{code.line}", "why": reason, "entries": [],
            "also_compiled": False,
        })  # fmt: skip
    return found


def _advice(entry: ToldEntry) -> dict[str, Any]:
    way = next((text for use in entry.record.advice if (text := text_of(use))), "")
    return {"way": way} if way else {}
