"""``explain(f).unguarded``: values that compiled code took from the program, and no guard of a live entry looks at.

Input: a function, and the run of its live cache entries.  Output: ``Unguarded`` records, each with the entries that do
not look at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from depyf.run.guards.unguarded_value import UnguardedValue, WhyUnguarded
from depyf.run.guards.unguarded_values import NO_GUARD, NOT_STORED, unguarded_values
from depyf.run.places.place import Place
from depyf.run.run import Run
from depyf.sources.live.ahead.filtered_guards import filter_of, filter_words, left_out_of
from depyf.sources.live.target import Target
from depyf.sources.live.unguarded.called_frames import compiled_frame
from depyf.sources.live.unguarded.live_unguarded import guards_of_rests, unguarded_hooks
from depyf.sources.live.unguarded.unguarded_reads import SourceTrees, reads_of


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A value that the entries do not look at."""

    value: UnguardedValue
    entries: tuple[str, ...]
    """The compile ids of the entries."""

    @property
    def name(self) -> str:
        """The value as the program writes it: ``self.factor``, ``SCALE``."""
        return self.value.name

    @property
    def place(self) -> Place:
        """The line that reads the value."""
        return self.value.place

    @property
    def why(self) -> str:
        """The reason for which no guard checks the value."""
        return self.value.why

    def __str__(self) -> str:
        return str(self.value)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "at": f"{self.place.filename}:{self.place.line}",
            "why": self.why,
            "compile_ids": list(self.entries),
        }


def unguarded(target: Target, compiled: Any, run: Run) -> tuple[Unguarded, ...]:
    """``compiled``: what the program calls, which knows the filter of guards; ``run`` has the guards of its entries."""
    entries = target.entries
    if not entries:
        return ()
    frame = compiled_frame(target)
    reads = reads_of(frame, SourceTrees())
    known = {entry.key.text: entry.guards for function in run.functions for entry in function.entries}
    keep = filter_of(compiled)
    found: dict[UnguardedValue, list[str]] = {}
    for entry in entries:
        own = [guard.expression for guard in known.get(entry.compile_id, ())]
        guards = [*own, *guards_of_rests(entry)]
        filtered_by = filter_words(keep) if keep is not None else ""
        left_out, apart = left_out_of(entry.manager), entry.made.apart
        nothing = NOT_STORED if apart and not left_out else NO_GUARD
        for value in unguarded_values(reads, guards, left_out, filtered_by, nothing):
            if not apart or value.kind is not WhyUnguarded.FILTER:  # of those the report lists the guards
                found.setdefault(value, []).append(entry.compile_id)
    for value in unguarded_hooks(frame):
        found[value] = [entry.compile_id for entry in entries]
    order = {read.name: number for number, read in enumerate(reads)}
    ordered = sorted(found.items(), key=lambda one: order.get(one[0].name, len(order)))
    return tuple(Unguarded(value, tuple(ids)) for value, ids in ordered)
