"""The waterfall of a run as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Input: a ``DumpView``.  Output: the JSON text.  A rank is a process, and a thread a thread; ranks share one clock.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from depyf.dump.files.reading import DumpError
from depyf.report.dump_view import DumpView
from depyf.report.report_page import write_page
from depyf.report.told_entries import told_functions
from depyf.report.waterfall import spans_of


def write_trace(folder: Path, output: Path) -> Path:
    """Write the trace of the dump in ``folder`` to ``output``, which is there whole or as it was; returns ``output``.

    DepyfError where ``folder`` is no dump, has no times, or the file cannot be written.
    """
    return write_page(trace_text(DumpView(folder)), output)


def trace_text(view: DumpView) -> str:
    """The trace; DumpError where the dump has no times of phases."""
    processes = view.ranks or {0: view}
    began = {rank: _began(part) for rank, part in processes.items()}
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


def _began(view: DumpView) -> float:
    began = view.timings.get("began")
    return float(began) if isinstance(began, (int, float)) else 0.0


def _process(view: DumpView, number: int, name: str, shift: float) -> list[dict[str, Any]]:
    events = [_named("process_name", number, 0, name)]
    titles = {entry.key.slug: (function, entry) for function in told_functions(view) for entry in function.entries}
    threads: set[int] = set()
    for slug, spans in spans_of(view).items():
        function, entry = titles.get(slug, (None, None))
        label = entry.key.label if entry is not None else ""
        arguments = {"compile_id": label, "function": function.title} if function is not None else {}
        for span in spans:
            threads.add(span.thread)
            shown = f"{function.title} [{label}]" if function is not None and not span.depth else span.name
            events.append({
                "name": shown, "cat": "compile", "ph": "X", "ts": round((span.start + shift) * 1e6), "dur": round(span.seconds * 1e6),
                "pid": number, "tid": span.thread, "args": {"phase": span.name, **arguments},
            })  # fmt: skip
    return events + [_named("thread_name", number, n, "compiles" if n == 0 else f"helper {n}") for n in sorted(threads)]


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
