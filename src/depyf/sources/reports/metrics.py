"""What torch reports at the end of a compilation: compile times per phase, and what its caches answered.

Input: the data of ``compilation_metrics`` / ``bwd_compilation_metrics`` and the payload of a cache artifact.  Output:
seconds by phase (another in every run, so kept out of the records), and a ``CacheRecord``.
"""

from __future__ import annotations

import functools
import json
import linecache
import re
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.records import CacheRecord

_UNITS = (("_us", 1e-6), ("_ms", 1e-3), ("_s", 1.0))
_NO_PHASE = ("start_time", "end_time", "guard_latency", "timeout", "saved", "ephemeral")


def phases(event: str, data: dict[str, Any]) -> dict[str, float]:
    """Phase -> seconds, from every number of torch's metrics whose name ends in a unit of time."""
    prefix = "backward." if event.startswith("bwd_") else ""
    found: dict[str, float] = {}
    for name, value in data.items():
        if type(value) not in (int, float) or (named := _phase(name)) is None:
            continue
        phase, scale = named
        seconds = round(value * scale, 6)
        found[prefix + phase] = max(seconds, found.get(prefix + phase, 0.0))
    return found


@functools.lru_cache(maxsize=1024)
def _phase(name: str) -> tuple[str, float] | None:
    """The phase that the metric ``name`` measures, and its unit in seconds; None for what is no phase."""
    if any(part in name for part in _NO_PHASE):
        return None
    return next(((name.removesuffix(suffix), scale) for suffix, scale in _UNITS if name.endswith(suffix)), None)


def cache_record(cache: str, status: str, payload: str) -> CacheRecord:
    """The record of a cache's answer; for a bypass with torch's reason."""
    try:
        data = json.loads(payload) if payload else {}
    except ValueError:
        data = {}
    reason = ""
    if isinstance(data, dict):
        reason = str(data.get("cache_bypass_reason") or data.get("reason") or "")
        detail = str(data.get("cache_status_detailed") or "")
        if not reason and detail not in ("", status, f"full_{status}"):
            reason = detail.replace("_", " ")
    return CacheRecord(cache, status, without_addresses(first_line(reason))[:300])


def failure(data: dict[str, Any]) -> str:
    """Why a compilation failed, on one line: torch's reason, what it explains, and the user's line; "" where it did
    not."""
    reason = str(data.get("fail_reason") or "")
    if not reason:
        return ""
    text = first_line(f"{data.get('fail_type') or ''}: {reason}")
    if text.endswith("raised:"):  # backend='mine' raised:\nValueError: ...
        text += " " + first_line(reason.partition("\n")[2])
    explained = re.search(r"^ *Explanation: (?P<text>.+)$", reason, re.M)
    if explained:
        text = f"{text}: {first_line(explained['text'])}"
    filename, line = data.get("fail_user_frame_filename"), data.get("fail_user_frame_lineno")
    if isinstance(filename, str) and isinstance(line, int):
        source = linecache.getline(filename, line).strip()
        text += f", at {filename}:{line}" + (f" `{source}`" if source else "")
    return without_addresses(text)


def last_line(text: str) -> str:
    """The last line of a traceback that names an exception; the last line for other texts."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return next((line for line in lines if _names_exception(line)), lines[-1] if lines else "")


def _names_exception(line: str) -> bool:
    head = line.partition(":")[0]
    return "." in head and head.replace(".", "").replace("_", "").isalnum() and head.rpartition(".")[2][:1].isupper()


def first_line(text: str) -> str:
    """The first line of ``text``, without runs of blanks."""
    return " ".join(text.strip().partition("\n")[0].split())
