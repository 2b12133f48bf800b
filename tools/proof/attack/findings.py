"""What an attack found, counted, and shown as a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from depyf.decompiler.verify.assumptions import (
    CAUGHT_NOTE,
    CYCLE_NOTE,
    END_ORDER_NOTE,
    FORGOTTEN_NOTE,
    LEFT_NOTE,
    RAISED_NOTE,
    SEED_NOTE,
)


@dataclass
class Findings:
    """The outcome of the mutants of one version."""

    version: str
    mutants: int = 0
    rejected: int = 0
    accepted: int = 0
    runs: int = 0
    assumed: Counter[str] = field(default_factory=Counter)
    """Accepted mutants that do something else where a verdict names the assumption it made: by its text."""
    reordered: list[str] = field(default_factory=list)
    """Accepted mutants in which objects end in another order, with no operation in between, and no verdict says so."""
    unexplained: list[str] = field(default_factory=list)
    """Accepted mutants that do something else, and no verdict says a word of it."""

    def row(self) -> str:
        return (
            f"{self.version:>7}  {self.mutants:7}  {self.rejected:8}  {self.accepted:8}  {self.runs:6}"
            f"  {sum(self.assumed.values()):8}  {len(self.reordered):9}  {len(self.unexplained):11}"
        )


HEADER = "version  mutants  rejected  accepted    runs   assumed  reordered  unexplained"


def report(found: list[Findings], orders: bool = True) -> int:
    """Print what was found; the exit status is 1 if something is unexplained."""
    for findings in found:
        for text in findings.unexplained + (findings.reordered if orders else []):
            print(f"--- Python {findings.version}\n{text}\n")
    print(HEADER)
    for findings in found:
        print(findings.row())
    names: Counter[str] = Counter()
    for findings in found:
        names.update(findings.assumed)
    for name, number in names.most_common():
        print(f"{number:6}  assumed: {name}")
    return 1 if any(findings.unexplained or findings.reordered for findings in found) else 0


LIFETIMES = frozenset({END_ORDER_NOTE, CAUGHT_NOTE, FORGOTTEN_NOTE, RAISED_NOTE, CYCLE_NOTE, LEFT_NOTE})
"""Assumptions about nothing but when objects end."""


def explained(reasons: list[str], runs: list[tuple[int, list[str], list[str]]]) -> bool:
    """Whether what the verdicts assume is about the difference of all these runs: one about the ends of objects explains no other."""
    parts = {part for reason in reasons for part in reason.split("; ")} - {"", SEED_NOTE}
    if not parts:
        return False
    if parts <= {END_ORDER_NOTE}:
        return all(only_reordered(left, right) for _, left, right in runs)
    if parts <= LIFETIMES:
        return all(without_ends(left) == without_ends(right) for _, left, right in runs)
    return True


def without_ends(events: list[str]) -> list[str]:
    return [event for event in events if not event.startswith("end ")]


def only_reordered(left: list[str], right: list[str]) -> bool:
    """Whether two runs differ in nothing but the order of objects that end between two other events."""
    return _grouped(left) == _grouped(right)


def _grouped(events: list[str]) -> list[list[str]]:
    groups: list[list[str]] = []
    for event in events:
        if event.startswith("end ") and groups and groups[-1][0].startswith("end "):
            groups[-1] = sorted([*groups[-1], event])
        else:
            groups.append([event])
    return groups


def first_difference(left: list[str], right: list[str]) -> str:
    """The events around the place where two runs part."""
    at = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))
    same = [f"    {event}" for event in left[max(0, at - 3) : at]]
    return "\n".join([*same, f"  - {'  '.join(left[at : at + 4])}", f"  + {'  '.join(right[at : at + 4])}"])
