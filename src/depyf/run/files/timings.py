"""``timings.json``: seconds by compile id and phase, as torch measured them, when each phase began, and what
tracing took.

The one file of a dump that differs from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from depyf.run.bill.guard_time import GuardTime
from depyf.run.bill.traced_calls import TracedCall
from depyf.run.files.manifest import indented
from depyf.run.phase_times import PhaseTime
from depyf.run.run import TimesRecord
from depyf.run.store.codec import plain


@dataclass(frozen=True, slots=True)
class TimesPage:
    """What the file holds; compile ids are as in file names."""

    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    """Compile id -> phase -> seconds."""
    phases: dict[str, tuple[PhaseTime, ...]] = field(default_factory=dict)
    traced: dict[str, tuple[TracedCall, ...]] = field(default_factory=dict)
    instructions: dict[str, int] = field(default_factory=dict)
    """Compile id -> what the processor ran, where that was counted."""
    guards: dict[str, tuple[GuardTime, ...]] = field(default_factory=dict)
    """Compile id -> what the guards of each line take, where depyf measured it."""
    began: float = 0.0
    """When the recording began, in seconds since the epoch."""


def timings_page(times: Iterable[TimesRecord], began: float = 0.0) -> str:
    """The JSON text; ``began``: when the recording began, in seconds since the epoch."""
    ordered = sorted(times, key=lambda record: (record.key.order, record.key.text))
    totals = {record.key.slug: dict(sorted(record.seconds)) for record in ordered if record.seconds}
    counted = {record.key.slug: record.instructions for record in ordered if record.instructions is not None}
    guards = {record.key.slug: [plain(guard) for guard in record.guards] for record in ordered if record.guards}
    measured = {name: found for name, found in (("instructions", counted), ("guards", guards)) if found}
    told = {"seconds": totals, **measured, "began": round(began, 6)}
    page = indented(told).removesuffix("\n}")
    waterfall = ",\n".join(
        f'  "{record.key.slug}": {_listed(sorted(record.phases))}' for record in ordered if record.phases
    )
    traced = ",\n".join(
        f'  "{record.key.slug}": [\n   ' + ",\n   ".join(map(_call, record.traced)) + "\n  ]"
        for record in ordered
        if record.traced
    )
    parts = [("phases", waterfall), *([("traced", traced)] if traced else [])]
    return page + "".join(f',\n "{name}": {{' + (f"\n{text}\n }}" if text else "}") for name, text in parts) + "\n}\n"


def _call(call: TracedCall) -> str:
    return json.dumps(plain(call), ensure_ascii=False)


def _listed(phases: Sequence[PhaseTime]) -> str:
    """One line a phase."""
    lines = (
        json.dumps({
            "name": phase.name, "start": phase.start, "seconds": phase.seconds,
            **({"thread": phase.thread} if phase.thread else {}),
        }, ensure_ascii=False)
        for phase in phases
    )  # fmt: skip
    return "[\n   " + ",\n   ".join(lines) + "\n  ]"
