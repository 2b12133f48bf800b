"""A Chrome trace of torch's profiler: its kernels, and the compiled region that each ran in.

Input: a file that anybody may have written, JSON or gzip of it.  Output: its events as they are, and ``KernelRun``
records.  Nothing is looked up or executed; what is no event is left alone.
"""

from __future__ import annotations

import bisect
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.safety.escape import printable

_MOST = 1 << 30
"""Bytes of a trace that are read."""
_REGION = re.compile(r"Torch-Compiled Region: (?P<id>[!A-Za-z0-9_./+-]{1,100})")
_ON_CPU = re.compile(r"graph_\d+_(?P<name>\w+)\Z")
"""How Inductor names a C++ kernel for the profiler (``cpp.enable_kernel_profile``)."""


class TraceError(DepyfError):
    """The file is no readable trace."""


@dataclass(frozen=True, slots=True)
class KernelRun:
    """One run of a kernel."""

    event: dict[str, Any]
    """As the trace has it."""
    name: str
    """As the dump calls it, if it has it."""
    microseconds: float
    compile_id: str
    """Of the compiled region that it ran in, or was started in; "" for none."""


@dataclass
class ChromeTrace:
    """The document, and the list of events in it."""

    document: Any
    events: list[Any] = field(default_factory=list)


def read_trace(path: Path) -> ChromeTrace:
    """TraceError where the file cannot be read or holds no events."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            raw = file.read(_MOST + 1)
        if len(raw) > _MOST:
            raise TraceError(f"{printable(str(path))} has more than {_MOST >> 20} MiB")
        document = json.loads(raw)
    except (OSError, EOFError, ValueError, RecursionError) as error:
        said = str((isinstance(error, OSError) and error.strerror) or error)
        raise TraceError(f"{printable(str(path))} is no trace that can be read: {printable(said)}") from error
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list) or not any(isinstance(event, dict) and "ph" in event for event in events):
        raise TraceError(f"{printable(str(path))} holds no events of a trace")
    return ChromeTrace(document, events)


def kernel_runs(trace: ChromeTrace) -> list[KernelRun]:
    """The runs of kernels in the trace, in order."""
    spans = [event for event in trace.events if _is_span(event)]
    regions = _Regions(spans)
    started = {
        _correlation(event): event
        for event in spans
        if event.get("cat") in ("cuda_runtime", "cuda_driver", "xpu_runtime") and _correlation(event) is not None
    }
    return [run for event in spans if (run := _run(event, regions, started)) is not None]


def _is_span(event: Any) -> bool:
    return (
        isinstance(event, dict)
        and event.get("ph") == "X"
        and isinstance(event.get("name"), str)
        and all(type(event.get(key)) in (int, float) for key in ("ts", "dur"))
    )


def _correlation(event: dict[str, Any]) -> Any:
    told = event.get("args")
    found = told.get("correlation") if isinstance(told, dict) else None
    return found if isinstance(found, (int, str)) else None


def _run(event: dict[str, Any], regions: _Regions, started: dict[Any, dict[str, Any]]) -> KernelRun | None:
    if event.get("cat") == "kernel":
        by = started.get(_correlation(event))
        return KernelRun(event, event["name"], float(event["dur"]), regions.around(by) if by is not None else "")
    on_cpu = _ON_CPU.match(event["name"])
    if on_cpu is not None:
        return KernelRun(event, on_cpu["name"], float(event["dur"]), regions.around(event))
    return None


class _Regions:
    """The compiled regions of each thread."""

    def __init__(self, spans: Sequence[dict[str, Any]]) -> None:
        found: dict[tuple[Any, Any], list[tuple[float, float, str]]] = {}
        for event, name in _named(spans):
            place = (str(event.get("pid")), str(event.get("tid")))
            found.setdefault(place, []).append((event["ts"], event["ts"] + event["dur"], name))
        self._of_thread = {place: sorted(regions) for place, regions in found.items()}

    def around(self, event: dict[str, Any]) -> str:
        """The innermost region that the event is in."""
        regions = self._of_thread.get((str(event.get("pid")), str(event.get("tid"))), [])
        at = bisect.bisect_right(regions, (event["ts"], float("inf"), ""))
        for begin, end, name in reversed(regions[max(0, at - 64) : at]):
            if begin <= event["ts"] <= end:
                return name
        return ""


def _named(spans: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    for event in spans:
        region = _REGION.match(event["name"])
        if region is not None:
            yield event, region["id"]
