"""Whether the graphs of a gallery are faster compiled: each is timed in a process of its own, eager against compiled.

Input: scripts that ``write_gallery`` wrote (they are executed), and the run of their dump.  Output: ``TimedGraph``, the
slowest against eager first, and a table.  A ratio is the median of those of the pairs, with the quartiles beside it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.actions.gallery.script import Script
from depyf.run.bill.traffic import traffic_of
from depyf.run.causes.folding import counted
from depyf.run.memory.tensor_bytes import shown_bytes
from depyf.run.run import Run
from depyf.safety.escape import cut, printable

PAIRS = 15
_TIMER = Path(__file__).parents[1] / "scripts" / "carried" / "timing.py"
_LONGEST = 600.0
"""Seconds for one graph."""
_SURE = 0.02
"""A ratio within this of 1 is called even."""


@dataclass(frozen=True, slots=True)
class WayTimes:
    """Seconds of the rounds of one way: forward and backward."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]
    memory: int
    """The most bytes that a round allocated at once."""

    @property
    def rounds(self) -> tuple[float, ...]:
        return tuple(one + other for one, other in zip(self.forward, self.backward))


@dataclass(frozen=True, slots=True)
class TimedGraph:
    """The times of one graph, or the ``problem`` why it could not be timed."""

    script: Script
    eager: WayTimes | None = None
    compiled: WayTimes | None = None
    problem: str = ""
    about: str = ""
    """What its bill says first."""

    @property
    def ratios(self) -> tuple[float, ...]:
        """The ratio compiled / eager of each pair of rounds."""
        if self.eager is None or self.compiled is None:
            return ()
        return tuple(c / e for c, e in zip(self.compiled.rounds, self.eager.rounds) if e > 0)

    @property
    def ratio(self) -> float | None:
        """The median of ``ratios``; above 1 the compiled code is slower."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and third quartile of ``ratios``."""
        if len(self.ratios) < 2:
            return self.ratios[0], self.ratios[0]
        first, _, third = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return first, third


def time_scripts(
    folder: Path, scripts: Sequence[Script], run: Run, backend: str = "inductor", pairs: int = PAIRS
) -> tuple[TimedGraph, ...]:
    """The slowest against eager first; those that could not be timed last."""
    found = [_timed(folder, script, backend, pairs, _about(script, run)) for script in scripts]
    return tuple(sorted(found, key=lambda one: -(one.ratio if one.ratio is not None else -1.0)))


def _timed(folder: Path, script: Script, backend: str, pairs: int, about: str) -> TimedGraph:
    command = [sys.executable, str(_TIMER), str(folder / script.file), backend, str(pairs)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="backslashreplace", env=dict(os.environ), timeout=_LONGEST,
            check=False,
        )  # fmt: skip
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return TimedGraph(script, problem=f"it did not end within {_LONGEST:.0f} s", about=about)
    except (ValueError, IndexError):
        lines = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        return TimedGraph(script, problem=lines[-1], about=about)
    if "problem" in told:
        return TimedGraph(script, problem=str(told["problem"]), about=about)
    return TimedGraph(script, _way(told, "eager"), _way(told, "compiled"), about=about)


def _way(told: dict[str, Any], name: str) -> WayTimes:
    rounds = told["rounds"][name]
    return WayTimes(tuple(one[0] for one in rounds), tuple(one[1] for one in rounds), int(told["memory"][name]))


def _about(script: Script, run: Run) -> str:
    """The largest cost of the graph's kernels, in words."""
    for cost in traffic_of(run).costs:
        if any(key.text == script.compile_id for key in cost.keys) and cost.line is not None:
            name = cost.line.filename.replace("\\", "/").rpartition("/")[2]
            return f"{cost.kind.value}, {shown_bytes(cost.bytes)}, {name}:{cost.line.line}: {cost.words}"
    return ""


def table_lines(timed: Sequence[TimedGraph]) -> list[str]:
    """A row for each timed graph, a summary, and remarks on slower graphs and those that could not be timed."""
    heads = ("graph", "eager", "compiled", "ratio", "half of them", "backward", "memory", "function")
    rows = [heads, *(_row(one) for one in timed if one.ratio is not None)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    slower = [one for one in timed if one.ratio is not None and one.quartiles[0] > 1 + _SURE]
    faster = [one for one in timed if one.ratio is not None and one.quartiles[1] < 1 - _SURE]
    known = [one for one in timed if one.ratio is not None]
    told = [
        "",
        f"Of {counted(len(known), 'graph')} {_are(len(faster))} faster compiled, {_are(len(slower))} slower, "
        f"{len(known) - len(faster) - len(slower)} even or within the spread.",
    ]
    told += [f"  {one.script.compile_id}: {printable(cut(one.about, 200))}" for one in slower if one.about]
    told += [f"not timed: {one.script.file}: {printable(cut(one.problem, 200))}" for one in timed if one.problem]
    return [*lines, *told] if known else told[2:]


def _are(count: int) -> str:
    return f"{count} is" if count == 1 else f"{count} are"


def _row(one: TimedGraph) -> tuple[str, ...]:
    assert one.eager is not None and one.compiled is not None and one.ratio is not None
    low, high = one.quartiles
    back = (statistics.median(one.eager.backward), statistics.median(one.compiled.backward))
    return (
        one.script.compile_id,
        _seconds(statistics.median(one.eager.rounds)),
        _seconds(statistics.median(one.compiled.rounds)),
        f"{one.ratio:.2f}",
        f"{low:.2f} to {high:.2f}",
        f"{_seconds(back[0])}, {_seconds(back[1])}" if any(back) else "-",
        f"{shown_bytes(one.eager.memory)}, {shown_bytes(one.compiled.memory)}",
        printable(one.script.function),
    )


def _seconds(value: float) -> str:
    return f"{value * 1e6:.0f} us" if value < 1e-3 else f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"
