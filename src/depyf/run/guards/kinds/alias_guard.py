"""A guard on which values are one object, and which are not, and which tensors share memory.

check_no_aliasing(L['x'], L['y'])        L['x'] is L['y']        check_overlapping([...], [...])
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardFact,
    GuardKind,
    Look,
    UnknownValueError,
    Uses,
    arguments,
    called,
    is_literal,
    sources_in,
)
from depyf.run.places.place import Place

_ONE, _DIFFERENT, _MEMORY = "one object", "different objects", "shared memory"


def check_no_aliasing(*tensors: Any) -> bool:
    """No two of these tensors are the same object."""
    return len({id(tensor) for tensor in tensors}) == len(tensors)


class AliasGuard(GuardKind):
    name = "alias"
    functions = (check_no_aliasing,)
    checks = ("check_no_aliasing", "check_overlapping")
    by_class = unsaid = frozenset({"check_no_aliasing"})
    several = part_only = frozenset({"OBJECT_ALIASING", "NO_TENSOR_ALIASING", "STORAGE_OVERLAPPING"})

    def fits(self, tree: ast.expr) -> bool:
        return super().fits(tree) or _sides(tree) is not None

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        sides = _sides(tree)
        if sides is not None:
            yield GuardFact("same", *sides)

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        sides = _sides(tree)
        if sides is not None:
            return (self.difference(tree, look, _both(sides, look)),)
        if called(tree) == "check_overlapping":
            return (self.difference(tree, look, GuardSide("as when it was compiled" if holds else "changed since")),)
        names: dict[int, list[str]] = {}
        try:
            for node in arguments(tree):
                names.setdefault(id(look.value(node)), []).append(ast.unparse(node))
        except UnknownValueError:
            return (self.difference(tree, look, UNKNOWN),)
        same = [" is ".join(group) for group in names.values() if len(group) > 1]
        return (self.difference(tree, look, GuardSide("; ".join(same) or "different tensors")),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        what = _ONE if _sides(tree) else _MEMORY if called(tree) == "check_overlapping" else _DIFFERENT
        first, *others = sources_in(tree) or [""]
        return Difference(self.name, first, what, None, "is", self.wanted(tree, look), found, tuple(others))

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        if _sides(tree):
            return GuardSide("one and the same object")
        return GuardSide("as when it was compiled" if called(tree) == "check_overlapping" else "different tensors")

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        if "Duplicate tensor" not in text and "no_tensor_aliasing" not in text.lower():
            return None
        return (Difference(self.name, what=_DIFFERENT, relation="is", wanted=GuardSide("different tensors")),)

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        return text if "(" in text or " is " in text else "no two arguments are one tensor"

    def differing(self, difference: Difference) -> str:
        return ""

    def subject(self, difference: Difference) -> str:
        if difference.what == _ONE:
            return f"{named(difference.source)} and {named(difference.others[0])} are not one object"
        return "the memory that tensors share" if difference.what == _MEMORY else "two arguments are one tensor"

    def values(self, difference: Difference) -> tuple[str, str]:
        return "", difference.found.text.partition(",")[0]

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        return " and ".join(named(source) for source in (difference.source, *difference.others[:1]) if source)

    def aspect(self, difference: Difference) -> str:
        return ""

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        return () if difference.what == _MEMORY else (use("distinct-tensors"),)


def _sides(tree: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The two sides of ``a is b``, where neither is a literal."""
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or not isinstance(tree.ops[0], ast.Is):
        return None
    one, other = tree.left, tree.comparators[0]
    return None if any(is_literal(side) or ast.unparse(side) == "Ellipsis" for side in (one, other)) else (one, other)


def _both(sides: tuple[ast.expr, ast.expr], look: Look) -> GuardSide:
    try:
        first, second = (look.value(side) for side in sides)
    except UnknownValueError:
        return GuardSide("two objects")
    if first is second:
        return GuardSide(f"one object, {look.side(first).text}")
    one, two = look.side(first).text, look.side(second).text
    return GuardSide(f"two objects, {one} and {two}")


KIND = AliasGuard()
