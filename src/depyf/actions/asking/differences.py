"""Everything that differs between a call and the cache entries that it does not fit, as text.

Input: the guards of each entry, asked for the call.  Output: ``Refusal`` records, the nearest entry first, and their
lines: what is alike is folded, so that twenty parameters that changed in one way take three lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from depyf.run.guards.known_kinds import SAYS_ALL, differing, plain, subject
from depyf.run.places.place import Place
from depyf.safety.escape import cut, cut_around
from depyf.sources.live.guards.guard_values import GuardStep
from depyf.sources.reports.guards.guard_remarks import program_place

_MOST_ALIKE = 3
"""So many guards of one kind are shown each for itself."""
_NAMES = 6
_LONGEST = 100
_CALLS = 6
"""So many lines that led to one are shown."""


@dataclass(frozen=True, slots=True)
class FailedGuard:
    """A guard of an entry that fails for the call."""

    step: GuardStep
    advice: str
    """What would make one compilation serve both values; "" where no rule is known."""
    callers: tuple[Place, ...] = ()
    """The lines that led to that of the guard, the outermost first, where the entry's graphs tell them."""

    def __repr__(self) -> str:
        return cut(self.lines(set())[0], 200)

    @property
    def subject(self) -> str:
        """What differs, as the user writes it: ``x differs``, ``len(self.parts) differs``."""
        return subject(self.step.differences)

    @property
    def kind(self) -> tuple[object, ...]:
        """The key by which failed guards are grouped: the check and the wanted and found value, or for one property
        such as a size, the property alone."""
        found = self.step.differences
        if len(found) == 1 and found[0].what and found[0].source:  # size 0 of a tensor
            return self.check, found[0].kind, found[0].what, found[0].index
        return self.check, self.step.expected, self.step.actual

    @property
    def check(self) -> str:
        """The function that the guard calls; "" for a comparison."""
        called = self.step.expression.partition("(")[0]
        return called if called.isidentifier() else ""

    @property
    def about(self) -> str:
        """The name of the value that differs; ``subject`` where it says more."""
        return differing(self.step.differences)

    @property
    def place(self) -> Place | None:
        """The line of the program that the guard comes from; None where it comes from torch itself."""
        return program_place(self.step.place)

    def lines(self, told: set[str]) -> list[str]:
        """The lines about this guard.  ``told``: the advice that earlier lines contain; this guard's is added to it."""
        lines = [f"{self.subject}: expected {self.step.expected}, actual {self.step.actual}"]
        if self.check not in SAYS_ALL:
            shown = plain(self.step.expression)
            lines.append(f"  guard   {shown if len(shown) <= _LONGEST else shown.partition('(')[0] + '(...)'}")
        if self.place is not None:
            text = cut_around(self.place.text, _LONGEST, self.about, self.about.rpartition(".")[2])
            lines.append(f"  line    {self.place}" + (f": {text}" if text else ""))
        lines += [f"          from {call}: {cut(call.text, _LONGEST)}" for call in reversed(self.callers[-_CALLS:])]
        if len(self.callers) > _CALLS:
            lines.append(f"          and {len(self.callers) - _CALLS} more calls around it")
        if self.advice and self.advice not in told:
            told.add(self.advice)
            lines.append(f"  advice  {self.advice}")
        return lines

    def to_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "guard": plain(self.step.expression),
            "expected": self.step.expected,
            "actual": self.step.actual,
            "from": str(self.place) if self.place is not None else "",
            "called_from": [str(call) for call in self.callers],
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True)
class Refusal:
    """A cache entry that would not run, and every guard that says so."""

    compile_id: str
    differences: tuple[FailedGuard, ...] = ()
    """The one that torch meets first is the first."""
    because: str = ""
    """Where it is not a guard that stands in the way."""
    not_asked: tuple[GuardStep, ...] = ()
    """Guards of which nothing is known: the value they look into differs already, or only the whole check tells."""

    def __repr__(self) -> str:
        first = f" {self.differences[0]!r}" if len(self.differences) == 1 else ""
        return f"<{self.head}{first}>"

    @property
    def guard(self) -> GuardStep | None:
        """The guard at which torch stops."""
        return self.differences[0].step if self.differences else None

    @property
    def advice(self) -> str:
        """How the recompilation could be avoided, where a rule is known; else ""."""
        return next((difference.advice for difference in self.differences if difference.advice), "")

    @property
    def head(self) -> str:
        if not self.differences:
            return f"{self.compile_id} does not run: {self.because}"
        number = len(self.differences)
        return (
            f"{self.compile_id} does not run: {number} guards fail"
            if number > 1
            else f"{self.compile_id} does not run:"
        )

    def lines(self, told: set[str] | None = None) -> list[str]:
        """The lines about this entry.  ``told``: the advice that earlier lines contain; more is added to it."""
        told = set() if told is None else told
        if len(self.differences) == 1:
            first, *rest = self.differences[0].lines(told)
            return [f"{self.head} {first}", *("  " + line for line in rest), *self._not_asked()]
        lines = [self.head]
        for shown, others in self.alike():
            lines += ["  " + line for difference in shown for line in difference.lines(told)]
            if others:
                names = list(dict.fromkeys(difference.about for difference in others))
                lines.append(f"  {len(others)} more of this kind: {_listed(names)}")
        return lines + self._not_asked()

    def alike(self) -> list[tuple[list[FailedGuard], list[FailedGuard]]]:
        """The failed guards in groups of one kind, each split into those shown in full and those only named."""
        groups: dict[tuple[object, ...], list[FailedGuard]] = {}
        for difference in self.differences:
            groups.setdefault(difference.kind, []).append(difference)
        cut = {kind: len(group) if len(group) <= _MOST_ALIKE else 1 for kind, group in groups.items()}
        return [(group[: cut[kind]], group[cut[kind] :]) for kind, group in groups.items()]

    @property
    def unknown(self) -> str:
        """The sentence that says how many guards were not evaluated, and why."""
        counts = Counter(step.not_asked for step in self.not_asked)
        return "; ".join(f"{n} guard{'' if n == 1 else 's'} ({why})" for why, n in counts.items())

    def _not_asked(self) -> list[str]:
        return [f"  not asked: {self.unknown}"] if self.not_asked else []

    def to_json(self) -> dict[str, Any]:
        if not self.differences:
            return {"compile_id": self.compile_id, "because": self.because}
        first = self.differences[0].to_json()
        return {
            "compile_id": self.compile_id,
            **{name: value for name, value in first.items() if name != "subject"},
            "advice": self.advice,
            "differences": [difference.to_json() for difference in self.differences],
            "not_asked": [{"guard": plain(step.expression), "because": step.not_asked} for step in self.not_asked],
        }


def nearest_first(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """``refusals`` sorted by the number of failing guards, then in torch's order.  Entries without a failing guard come
    last."""
    return tuple(sorted(refusals, key=lambda refusal: (not refusal.differences, len(refusal.differences))))


def refusal_lines(refusals: tuple[Refusal, ...]) -> list[str]:
    """The lines about all ``refusals``.  An entry that fails by the same guards as an earlier one takes one line."""
    lines: list[str] = []
    told: set[str] = set()
    groups: dict[tuple[Any, ...], list[Refusal]] = {}
    for refusal in refusals:
        groups.setdefault(_signature(refusal), []).append(refusal)
    for group in groups.values():
        lines += group[0].lines(told)
        if len(group) > 1:
            lines.append(_the_same(group[0], group[1:]))
    return lines


def _signature(refusal: Refusal) -> tuple[Any, ...]:
    return refusal.because, tuple((difference.subject, difference.check) for difference in refusal.differences)


def _the_same(first: Refusal, others: list[Refusal]) -> str:
    ids = _listed([refusal.compile_id for refusal in others], 9)
    if not first.differences:
        return f"{ids}: the same"
    told = []
    for number, difference in enumerate(first.differences):
        wanted = [refusal.differences[number].step.expected for refusal in others]
        if set(wanted) != {difference.step.expected}:
            told.append(f"{difference.about} expected {_listed(wanted, 9)}")
    return f"{ids}: the same" + (f"; {'; '.join(told[:_MOST_ALIKE])}" if told else "")


def _listed(names: list[str], most: int = _NAMES) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
