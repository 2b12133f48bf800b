"""Whether a program with an edit does what it did: results, exceptions, output, messages, state, random numbers.

Input: two runs of a program in processes of ours.  Output: "" where they do the same, else what they differ in.
Numbers that are printed, logged or kept and that differ between two runs of the program as it is, such as seconds, are
no part of what it does: ``Unsteady`` has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from depyf.actions.doctor.returned_values import first_difference, first_other_leaf, until_an_error
from depyf.actions.doctor.trial import Measured
from depyf.run.run import Run

_Plain = TypeVar("_Plain")
_MOST_SHOWN = 60
_TOLERANCE = 1e-5
"""Of numbers with a decimal point in lines: what is compiled otherwise may be rounded otherwise."""
_FEWEST_DIGITS = 4
"""Of a number with as many digits the last one may differ by one."""


@dataclass(frozen=True, slots=True)
class RanProgram:
    """One run of the program: its measurements, its record and its output."""

    measured: Measured
    run: Run | None
    printed: bytes


@dataclass(frozen=True, slots=True)
class Unsteady:
    """What differs between two runs of the program as it is, and is not compared."""

    numbers: frozenset[tuple[str, int]] = frozenset()
    """In lines with that text between their numbers, the number of that index."""
    variables: frozenset[str] = frozenset()
    """Variables of the program that keep numbers."""

    @property
    def words(self) -> tuple[str, ...]:
        """The differences in words, each once."""
        found: dict[str, list[str]] = {}
        for shape, index in sorted(self.numbers):
            found.setdefault(shape.strip()[:_MOST_SHOWN], []).append(str(index + 1))
        lines = [f"number {' and '.join(which)} in {shape!r}" for shape, which in found.items()]
        return (*lines, *sorted(self.variables))


def unsteady(one: RanProgram, other: RanProgram) -> Unsteady:
    """What differs between two runs of the unchanged program."""
    numbers: set[tuple[str, int]] = set()
    said = [(_lines(one, name), _lines(other, name)) for name in (MESSAGES, WRITTEN)]
    for lines, others in ((_printed(one), _printed(other)), *said):
        for line, changed in zip(lines, others):
            if _shape(line) == _shape(changed):
                pairs = enumerate(zip(_NUMBER.findall(line), _NUMBER.findall(changed)))
                numbers |= {(_shape(line), index) for index, (was, now) in pairs if was != now}
    state, others_state = one.measured.state or {}, other.measured.state or {}
    names = {name for name in state if name in others_state and _other_numbers(state[name], others_state[name])}
    return Unsteady(frozenset(numbers), frozenset(names))


_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_PADDED = re.compile(rf"( ?) *{_NUMBER.pattern}( ?) *")
MESSAGES = "the messages that are logged"
WRITTEN = "what is written to standard error"


def _shape(line: str) -> str:
    """The text with 0 for each number; a number may be padded to a width."""
    return _PADDED.sub(r"\g<1>0\2", line)


def _printed(ran: RanProgram) -> list[str]:
    return ran.printed.decode("utf-8", "replace").splitlines()


def _lines(ran: RanProgram, name: str) -> list[str]:
    return [str(line) for line in (ran.measured.state or {}).get(name, [])]


def _other_numbers(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether both are as many plain numbers, and others."""
    plain = len(values) == len(others) and all(type(one) in (int, float) for one in (*values, *others))
    return plain and bool(first_other_leaf(list(values), list(others)))


def other_effect(
    one: RanProgram, other: RanProgram, numbers: bool = False, but: Unsteady = Unsteady(), more: bool = False
) -> str:
    """The first difference in the effects of two runs; "" for none.  ``numbers``: a tensor without dimensions equals
    its number.  ``but``: what is not compared.  ``more``: compiled functions may return further values."""
    if one.measured.calls is None or other.measured.calls is None:
        return "what compiled functions return cannot be recorded with this torch"
    mended = other.measured.totals.errors < one.measured.totals.errors
    if found := first_difference(one.measured.calls, other.measured.calls, numbers, mended, more):
        return found
    if one.measured.problem != other.measured.problem:
        return f"it ends otherwise: {other.measured.problem or 'without an error'}"
    if found := other_line(_printed(one), _printed(other), but):
        return f"it prints something else: {found}"
    for name, does in ((MESSAGES, "logs"), (WRITTEN, "writes to standard error")):
        if found := other_line(_lines(one, name), _lines(other, name), but):
            return f"it {does} something else: {found}"
    return _other_state(one.measured.state or {}, other.measured.state or {}, numbers, but)


def _other_state(state: Mapping[str, Any], others: Mapping[str, Any], numbers: bool, but: Unsteady) -> str:
    if missing := [name for name in state if name not in others and name not in but.variables]:
        return f"{missing[0]} is gone at the end"
    for name, value in state.items():
        if name in (MESSAGES, WRITTEN) or name in but.variables:
            continue
        if found := first_other_leaf(value, others[name], numbers):
            return f"{name} at the end: {found}"
    return ""


def other_line(lines: Sequence[str], others: Sequence[str], but: Unsteady = Unsteady()) -> str:
    """The first line of ``others`` that differs; "" for none.  Numbers may differ by rounding."""
    for one, other in zip(lines, others):
        if not _same_line(_steady(one, but), _steady(other, but)):
            return f"{other[:_MOST_SHOWN]!r} instead of {one[:_MOST_SHOWN]!r}"
    return "" if len(lines) == len(others) else f"{len(others)} lines instead of {len(lines)}"


def _same_line(parts: Sequence[str], others: Sequence[str]) -> bool:
    return len(parts) == len(others) and parts[0] == others[0] and all(map(_same_number, parts[1:], others[1:]))


def _same_number(one: str, other: str) -> bool:
    """Whether two texts are equal, or equal numbers up to rounding; integers must be equal."""
    if one == other or "." not in one or "." not in other:
        return one == other
    value, changed = Decimal(one), Decimal(other)
    exponent = max(int(number.as_tuple().exponent) for number in (value, changed))
    digits = min(len(number.as_tuple().digits) for number in (value, changed))
    last = Decimal(1).scaleb(exponent) if digits >= _FEWEST_DIGITS else Decimal(0)
    return abs(value - changed) <= max(last, Decimal(_TOLERANCE) * max(value, changed))


def _steady(line: str, but: Unsteady) -> tuple[str, ...]:
    """The text between the numbers of a line, and the numbers that are compared."""
    shape = _shape(line)
    found = _NUMBER.findall(line)
    return (shape, *(number for index, number in enumerate(found) if (shape, index) not in but.numbers))


def effects_until_it_failed(one: RanProgram, other: RanProgram) -> str:
    """The first difference in the effects of two runs before the first of both failed; "" for none."""
    if one.measured.calls is None or other.measured.calls is None:
        return "what compiled functions return cannot be recorded with this torch"
    calls, others = until_an_error(one.measured.calls, other.measured.calls)
    if found := first_difference(calls, others):
        return found
    lines = _printed(one)
    return other_line(lines, _printed(other)[: len(lines)])


def with_path(value: _Plain, path: str, instead: str) -> _Plain:
    """A copy of plain data with ``path`` replaced by ``instead`` in all texts."""
    if isinstance(value, str):
        return value.replace(path, instead)  # type: ignore[return-value]
    if isinstance(value, list):
        return [with_path(part, path, instead) for part in value]  # type: ignore[return-value]
    if isinstance(value, dict):
        return {key: with_path(part, path, instead) for key, part in value.items()}  # type: ignore[return-value]
    return value
