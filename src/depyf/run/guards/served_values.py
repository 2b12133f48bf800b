"""The values that an artefact of ``torch.compiler.precompile`` serves alone: torch's *will not generalise*.

Input: a function whose entries an artefact has.  Output: one record for each argument that a guard fixes in an entry,
where no other entry asks something else of it; with a call of a value that none of them serves.  The rule is that of
``_wont_generalize`` in torch's ``_dynamo/precompile_package.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from depyf.run.guards.broken_guards import BrokenGuards, Way, other_value
from depyf.run.guards.guard_kind import tree_of
from depyf.run.guards.guarded_path import Path, path_of
from depyf.run.guards.known_kinds import facts_in
from depyf.run.made import Made
from depyf.run.records import EntryRecord, FunctionRecord, GuardRecord

RAISES = "the artefact serves no other value, and raises PrecompileError"


@dataclass(frozen=True, slots=True)
class ServedValue:
    """An argument of which only these values are served."""

    record: GuardRecord
    """The guard of the first entry."""
    said: str
    """``n == 2``, or ``mode == 'sum' or mode == 'mean'``."""
    ways: tuple[Way, ...]
    """A call with another value, where one is known."""

    @property
    def name(self) -> str:
        """The argument."""
        return next(wanted_values(self.record.expression))[0]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        place = self.record.place
        ways = [list(way.lines) for way in self.ways]
        return {"values": self.said, "from": "" if place is None else str(place), "raises": ways}


def served_values(function: FunctionRecord) -> tuple[ServedValue, ...]:
    """What the artefact of ``function`` serves alone, in the order of its guards; () where there is no artefact."""
    captured = [entry for entry in function.entries if is_stored(entry)]
    fixed: dict[str, list[tuple[EntryRecord, GuardRecord, str]]] = {}
    free: set[str] = set()
    for entry in captured:
        here: dict[str, tuple[EntryRecord, GuardRecord, str]] = {}
        for guard in entry.guards:
            for name, value in wanted_values(guard.expression):
                here.setdefault(name, (entry, guard, value))
        for name, found in here.items():
            fixed.setdefault(name, []).append(found)
        free.update(name for guard in (*entry.guards, *entry.left_out) for name in _names(guard) if name not in here)
    return tuple(_served(function, name, found) for name, found in fixed.items() if name not in free)


def is_stored(entry: EntryRecord) -> bool:
    """Whether an artefact has the entry: one that a capture makes, or the one that it was loaded from."""
    return (entry.captured or entry.made is Made.PRECOMPILED) and not entry.failed


def _served(function: FunctionRecord, name: str, found: Sequence[tuple[EntryRecord, GuardRecord, str]]) -> ServedValue:
    entry, first, _ = found[0]
    broken = BrokenGuards(function, entry)
    other = other_value([value for _, _, value in found])
    said = " or ".join(dict.fromkeys(broken.said(guard) for _, guard, _ in found))
    way = broken.changed(Path("L", name, ()), other) if other else Way()
    return ServedValue(first, said, (way,) if way.call else ())


def wanted_values(expression: str) -> Iterator[tuple[str, str]]:
    """The argument that a guard wants to be one value, and the value as Python text."""
    for fact in facts_in(expression):
        path = path_of(fact.node)
        if fact.name == "value" and path is not None and _is_argument(path):
            yield path.name, str(fact.value)


def _names(guard: GuardRecord) -> set[str]:
    """The arguments that a guard looks at themselves, and not at something in them."""
    tree = tree_of(guard.expression)
    paths = {path_of(node) for node in _largest(tree)} if tree is not None else set()
    return {path.name for path in paths if path is not None and _is_argument(path)}


def _largest(node: ast.AST) -> Iterator[ast.expr]:
    """The paths in an expression, and none of their parts."""
    if isinstance(node, ast.expr) and path_of(node) is not None:
        yield node
        return
    for inner in ast.iter_child_nodes(node):
        yield from _largest(inner)


def _is_argument(path: Path) -> bool:
    return path.mapping == "L" and not path.steps and path.name.isidentifier() and not path.name.startswith("___")
