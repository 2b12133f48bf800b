"""The waterfall of a run as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Input: a ``DumpView``.  Output: the JSON text, in the Trace Event Format's form of an object: complete events ("X") in
microseconds that stand in one another, and the names of processes and threads ("M").  A rank is a process, and a thread
a thread; ranks share one clock.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from depyf.run.files.reading import DumpError
from depyf.views.report.dump_view import DumpView
from depyf.views.report.report_page import write_page
from depyf.views.report.told_entries import titles
from depyf.views.report.waterfall import spans_of

_LATEST = 1e11
"""Seconds since the epoch: what says more is damaged."""


def write_trace(folder: Path, output: Path) -> Path:
    """Write the trace of the dump in ``folder`` to ``output``, which is there whole or as it was; returns ``output``.

    DepyfError where ``folder`` is no dump, has no times, or the file cannot be written.
    """
    return write_page(trace_text(DumpView(folder)), output)


def trace_text(view: DumpView) -> str:
    """The trace; DumpError where the dump has no times of phases."""
    processes = view.ranks or {0: view}
    began = {rank: part.run.began if 0 <= part.run.began <= _LATEST else 0.0 for rank, part in processes.items()}
    first = min(began.values(), default=0.0)
    events: list[dict[str, Any]] = []
    for rank, part in processes.items():
        events += _process(
            part, rank, f"rank {rank}" if view.ranks else part.folder.absolute().name, began[rank] - first
        )
    if not any(event["ph"] == "X" for event in events):
        raise DumpError(f"{view.folder} has no times of phases: it is of an older depyf, or nothing was compiled")
    lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    return '{"displayTimeUnit": "ms", "traceEvents": [\n' + lines + "\n]}\n"


def _process(view: DumpView, number: int, name: str, shift: float) -> list[dict[str, Any]]:
    events = [
        _named("process_name", number, 0, name=name),
        _named("process_sort_index", number, 0, sort_index=number),
    ]
    known = titles(view)
    threads: dict[int, list[dict[str, Any]]] = {}
    for key, spans in spans_of(view).items():
        title = known.get(key)
        arguments = {"compile_id": key.label, "function": title} if title is not None else {}
        for span in spans:
            shown = f"{title} [{key.label}]" if title is not None and not span.depth else span.name
            threads.setdefault(span.thread, []).append({
                "name": shown, "cat": "compile", "ph": "X", "ts": round((span.start + shift) * 1e6),
                "dur": round(span.seconds * 1e6), "pid": number, "tid": span.thread,
                "args": {"phase": span.name, **arguments},
            })  # fmt: skip
    for thread in sorted(threads):
        events.append(_named("thread_name", number, thread, name="compiles" if thread == 0 else f"helper {thread}"))
        events += _in_one_another(threads[thread])
    return events


def _in_one_another(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a thread in their order, each inside of those that are open when it begins: times are rounded, and
    the format asks for a stack: an event must not end after the one around it."""
    ordered = sorted(events, key=lambda event: (event["ts"], -event["dur"]))
    open_until: list[int] = []
    for event in ordered:
        while open_until and open_until[-1] <= event["ts"]:
            open_until.pop()
        if open_until:
            event["dur"] = min(event["dur"], open_until[-1] - event["ts"])
        open_until.append(event["ts"] + event["dur"])
    return ordered


def _named(what: str, process: int, thread: int, **arguments: Any) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": arguments}
