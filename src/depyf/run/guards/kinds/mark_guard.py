"""A guard on the marks of ``torch._dynamo.mark_dynamic`` and its like on a tensor.

no_dynamic_marks(L['x'])        marks_within(L['x'], 'dynamic', {0})
"""

from __future__ import annotations

import ast
import re

from depyf.run.advice.registry import use
from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardKind,
    Look,
    UnknownValueError,
    Uses,
    arguments,
    called,
    keywords,
    operands_of,
    source_of,
)
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord

_MARKS = re.compile(r"^hasattr\((?P<source>.*), '_dynamo_\w+_indices'\) == False$")
_MARKED = re.compile(
    r"^\(*(?:getattr\((?P<source>.*), '_dynamo_(?P<mark>\w+)_indices', set\(\)\)"
    r"|(?P<older>.*)\._dynamo_(?P<other>\w+)_indices)"
    r"\.issubset\((?P<indices>\{[\d, ]*\})\)+ if hasattr\(.*\) else True\)$"
)
_TORCH = re.compile(r"_dynamo_dim_marking|_dynamo_\w+_indices|_indices not a subset")


class MarkGuard(GuardKind):
    name = "marks"
    checks = ("no_dynamic_marks", "marks_within")
    by_class = unsaid = asks_attributes = frozenset(checks)

    def joined(self, records: list[GuardRecord]) -> list[GuardRecord]:
        return _merged(records)

    def is_machinery(self, tree: ast.expr) -> bool:
        return called(tree) == "no_dynamic_marks"

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        value = arguments(tree)[0]
        try:
            if called(tree) == "marks_within":
                _, mark, _ = (look.value(node) for node in arguments(tree))
                found = look.ask("marked_dimensions", look.value(value), mark)
                return (self.difference(tree, look, GuardSide(f"marked in {found}" if found else "no such mark")),)
            marks = look.ask("marks_on", look.value(value))
        except UnknownValueError:
            return (self.difference(tree, look, UNKNOWN),)
        return (self.difference(tree, look, GuardSide(", ".join(f"marked {mark}" for mark in marks) or "no marks")),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        return Difference(self.name, source_of(tree), "marks", wanted=self.wanted(tree, look), found=found)

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        if called(tree) == "marks_within":
            mark, dimensions = arguments(tree)[1:3]
            return GuardSide(f"marked {ast.literal_eval(mark)} in no other dimensions than {ast.unparse(dimensions)}")
        but = "".join(f", but {ast.literal_eval(node)}" for name, node in keywords(tree).items() if name == "but")
        return GuardSide(f"no mark_dynamic or mark_static{but}")

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        if _TORCH.search(text) is None:
            return None
        return (Difference(self.name, what="marks", wanted=GuardSide("the marks of when it was compiled")),)

    def stated(self, difference: Difference) -> tuple[str, str]:
        return difference.wanted.text, difference.found.text

    def values(self, difference: Difference) -> tuple[str, str]:
        return "", difference.found.text

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        return (use("mark-alike"),)


def _merged(records: list[GuardRecord]) -> list[GuardRecord]:
    """The run of guards "this tensor carries no mark_dynamic/mark_static" of one tensor becomes one record; a mark that
    it carried when it was compiled has one of its own, and may be there."""
    merged: list[GuardRecord] = []
    marked: dict[str, list[str]] = {}
    for record in records:
        if "_indices" not in record.expression:
            merged.append(record)
            continue
        found = _MARKED.match(record.expression)
        if found is not None:
            source, mark = found["source"] or found["older"], found["mark"] or found["other"]
            marked.setdefault(source, []).append(mark)
            merged.append(_shown_as(record, f"marks_within({source}, {mark!r}, {found['indices']})"))
            continue
        match = _MARKS.match(record.expression)
        if match is None:
            merged.append(record)
            continue
        expression = f"no_dynamic_marks({match['source']})"
        if merged and merged[-1].expression == expression:
            last = merged[-1]
            merged[-1] = _shown_as(last, expression, f"{last.text}; {record.text}")
        else:
            merged.append(_shown_as(record, expression))
    if not marked:
        return merged
    return [_but_for(record, marked) for record in merged]


def _but_for(record: GuardRecord, marked: dict[str, list[str]]) -> GuardRecord:
    """``no_dynamic_marks(x)`` of a tensor that was marked: it speaks of the other marks."""
    operands = operands_of(record.expression, ("no_dynamic_marks",))
    source = ast.unparse(operands[0]) if operands else ""
    if source not in marked:
        return record
    return _shown_as(record, f"no_dynamic_marks({source}, but={', '.join(marked[source])!r})")


def _shown_as(record: GuardRecord, expression: str, text: str = "") -> GuardRecord:
    """Not ``dataclasses.replace``: who steps into a dispatcher would step through that."""
    return GuardRecord(record.kind, text or record.text, expression, record.source, record.place, record.why)


def on_marks(expression: str) -> bool:
    """Whether a guard is on the marks of a tensor, in our words or in torch's."""
    return "_dynamo_" in expression or bool(operands_of(expression, KIND.checks))


KIND = MarkGuard()
