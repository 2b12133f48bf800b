"""``timings.json``: seconds by compile id and phase, as torch measured them, and when each phase began.

The one file of a dump that differs from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from depyf.run.files.manifest import indented
from depyf.run.phase_times import PhaseTime
from depyf.run.records import CompileKey


def timings_page(
    seconds: Mapping[CompileKey, Mapping[str, float]],
    phases: Mapping[CompileKey, Sequence[PhaseTime]],
    began: float = 0.0,
) -> str:
    """The JSON text.  ``seconds``: compile id -> phase -> seconds; ``began``: when the recording began, in seconds since the
    epoch."""
    totals = {key.slug: dict(sorted(seconds[key].items())) for key in _ordered(seconds)}
    page = indented({"seconds": totals, "began": round(began, 6)}).removesuffix("\n}")
    waterfall = ",\n".join(f'  "{key.slug}": {_listed(sorted(phases[key]))}' for key in _ordered(phases))
    return page + ',\n "phases": {' + (f"\n{waterfall}\n }}" if waterfall else "}") + "\n}\n"


def _ordered(found: Mapping[CompileKey, Any]) -> list[CompileKey]:
    return sorted(found, key=lambda key: (key.order, key.text))


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
