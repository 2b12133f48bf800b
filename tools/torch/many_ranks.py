"""Logs of many ranks, made of those of a few: recorded logs replicated, with differences planted.

    python -m tools.torch.many_ranks LOGS OUT [--ranks 512]

Input: a folder with logs that ``TORCH_TRACE`` wrote on one or several ranks.  Output: OUT with a log for each rank, and
``planted.json``, which says what was planted where:

- *guard*: a guard of one compilation is another one;
- *more*: a function is compiled once more at the end;
- *collective*: a graph lacks a collective, and what uses its result;
- *late*: a rank takes longer for a compilation, and is late from then on;
- *cut*: the log ends in the middle of a record.

Then ``depyf merge OUT`` and ``depyf report OUT`` have to find them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from depyf.sources.trace_log.log_files import LogFile, find_logs, opened
from depyf.sources.trace_log.log_lines import LogLines, LogRecord
from depyf.sources.trace_log.rank_digest import moment

RANKS = 512
LATE = 4.0
"""Seconds."""
_COLLECTIVE = re.compile(r"^.*torch\.ops\._c10d_functional\.all_reduce.*\n", re.M)
_HEADER = "V{stamp} 1 torch/_logging/x.py:1] {data}\n"


@dataclass(frozen=True)
class Planted:
    """A change of the records of one rank; ``apply`` gives those that it has instead."""

    name: str
    rank: int
    apply: Callable[[list[LogRecord]], list[LogRecord]]
    cut: bool = False


def records_of(log: LogFile) -> list[LogRecord]:
    """All of them, whole."""
    with opened(log.path) as file:
        return list(LogLines(file))


def text_of(records: list[LogRecord], rank: int) -> Iterator[str]:
    """The log of ``rank``."""
    for record in records:
        data = {**record.metadata, **({"rank": rank} if "rank" in record.metadata else {})}
        payload = re.sub(r"\b(cuda|cpu):\d+\b", rf"\1:{rank % 8}", record.payload)
        if "has_payload" in data:
            data["has_payload"] = hashlib.md5(payload.encode()).hexdigest()
        yield _HEADER.format(stamp=record.stamp, data=json.dumps(data))
        if "has_payload" in data:
            yield "".join(f"\t{line}\n" for line in payload.split("\n"))


def _first(records: list[LogRecord], name: str, holds: str = "", skip: int = 0) -> int:
    """Where a record of that name is whose payload holds a text."""

    def of_name(metadata: dict[str, Any]) -> bool:
        inside = metadata.get("artifact")
        return name in metadata or (isinstance(inside, dict) and inside.get("name") == name)

    found = [at for at, one in enumerate(records) if of_name(one.metadata) and holds in one.payload]
    return found[min(skip, len(found) - 1)]


def other_guard(records: list[LogRecord]) -> list[LogRecord]:
    at = _first(records, "dynamo_cpp_guards_str", skip=1)
    changed = records[at].payload + "| +- LAMBDA_GUARD: L['planted'] == 7  # planted.py:1 in planted\n"
    return [*records[:at], replace(records[at], payload=changed), *records[at + 1 :]]


def once_more(records: list[LogRecord]) -> list[LogRecord]:
    """The last compilation again, with the next number."""
    frame, number = (records[_first(records, "compilation_metrics", skip=99)].metadata[k] for k in _IDS)
    own = [one for one in records if [one.metadata.get(k) for k in _IDS] == [frame, number]]
    again = [replace(one, metadata={**one.metadata, "frame_compile_id": number + 1}) for one in own]
    return [*records, *again]


_IDS = ("frame_id", "frame_compile_id")


def without_collective(records: list[LogRecord]) -> list[LogRecord]:
    at = _first(records, "aot_forward_graph", "all_reduce")
    changed = _COLLECTIVE.sub("", records[at].payload, count=1)
    return [*records[:at], replace(records[at], payload=changed), *records[at + 1 :]]


def late(records: list[LogRecord], seconds: float = LATE) -> list[LogRecord]:
    """From the middle of the second compilation on."""
    at = _first(records, "dynamo_output_graph", skip=1)
    return [*records[:at], *(replace(one, stamp=_later(one.stamp, seconds)) for one in records[at:])]


def _later(stamp: str, seconds: float) -> str:
    day, _, _ = stamp.partition(" ")
    at = moment(stamp) % 86400 + seconds
    return f"{day} {int(at // 3600):02}:{int(at // 60 % 60):02}:{at % 60:09.6f}"


def plan(ranks: int, seed: int = 1) -> list[Planted]:
    """Which rank gets what; no rank twice, and not the first."""
    chosen = random.Random(seed).sample(range(1, ranks), 5)
    same: Callable[[list[LogRecord]], list[LogRecord]] = list
    kinds = (other_guard, once_more, without_collective, late, same)
    names = ("guard", "more", "collective", "late", "cut")
    return [Planted(name, rank, how, name == "cut") for name, rank, how in zip(names, chosen, kinds)]


def make(logs: Path, out: Path, ranks: int) -> list[Planted]:
    """Write them."""
    recorded = [records_of(log) for log in find_logs(logs).logs.values()]
    planted = {one.rank: one for one in plan(ranks)}
    out.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        records, one = recorded[rank % len(recorded)], planted.get(rank)
        text = "".join(text_of(one.apply(records) if one is not None else records, rank))
        text = text[: len(text) * 3 // 4] if one is not None and one.cut else text
        (out / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_text(text, encoding="utf-8")
    (out / "planted.json").write_text(json.dumps({one.name: one.rank for one in planted.values()}, indent=1) + "\n")
    return list(planted.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ranks", type=int, default=RANKS)
    options = parser.parse_args()
    for one in make(options.logs, options.out, options.ranks):
        print(f"rank {one.rank}: {one.name}")


if __name__ == "__main__":
    main()
