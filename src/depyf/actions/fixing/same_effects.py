"""Whether a program with an edit does what it did: results, exceptions, output, messages, state, random numbers.

Input: two runs of a program in processes of ours.  Output: "" where they do the same, else what they differ in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from depyf.actions.doctor.returned_values import first_difference, first_other_leaf, until_an_error
from depyf.actions.doctor.trial import Measured
from depyf.run.run import Run

_Plain = TypeVar("_Plain")
_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class RanProgram:
    """One run: what was measured, its record, what it printed."""

    measured: Measured
    run: Run | None
    printed: bytes


def other_effect(one: RanProgram, other: RanProgram, numbers: bool = False) -> str:
    """``numbers``: a number may be a tensor without dimensions in the other."""
    if one.measured.calls is None or other.measured.calls is None:
        return "what compiled functions return cannot be recorded with this torch"
    if found := first_difference(one.measured.calls, other.measured.calls, numbers):
        return found
    if one.measured.problem != other.measured.problem:
        return f"it ends otherwise: {other.measured.problem or 'without an error'}"
    if one.printed != other.printed:
        return _other_line(one.printed, other.printed)
    state, others = one.measured.state or {}, other.measured.state or {}
    if missing := [name for name in state if name not in others]:
        return f"{missing[0]} is gone at the end"
    for name, value in state.items():
        if found := first_other_leaf(value, others[name], numbers):
            return f"{name} at the end: {found}"
    return ""


def _other_line(printed: bytes, others: bytes) -> str:
    lines, changed = printed.splitlines(), others.splitlines()
    for one, other in zip(lines, changed):
        if one != other:
            was, now = (line.decode("utf-8", "replace")[:_MOST_SHOWN] for line in (one, other))
            return f"it prints something else: {now!r} instead of {was!r}"
    return f"it prints something else: {len(changed)} lines instead of {len(lines)}"


def effects_until_it_failed(one: RanProgram, other: RanProgram) -> str:
    """The same up to where the first of both failed."""
    if one.measured.calls is None or other.measured.calls is None:
        return "what compiled functions return cannot be recorded with this torch"
    calls, others = until_an_error(one.measured.calls, other.measured.calls)
    if found := first_difference(calls, others):
        return found
    return "" if other.printed.startswith(one.printed) else _other_line(one.printed, other.printed)


def with_path(value: _Plain, path: str, instead: str) -> _Plain:
    """Plain data in which one path is another."""
    if isinstance(value, str):
        return value.replace(path, instead)  # type: ignore[return-value]
    if isinstance(value, list):
        return [with_path(part, path, instead) for part in value]  # type: ignore[return-value]
    if isinstance(value, dict):
        return {key: with_path(part, path, instead) for key, part in value.items()}  # type: ignore[return-value]
    return value
