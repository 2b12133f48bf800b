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
    source_of,
)
from depyf.run.records import Place

_TORCH = re.compile(r"_dynamo_dim_marking|_dynamo_\w+_indices|_indices not a subset")


class MarkGuard(GuardKind):
    name = "marks"
    checks = ("no_dynamic_marks", "marks_within")

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


KIND = MarkGuard()
