"""A guard on how many items a container holds.

len(L['x']) == 3        not L['x']        iterator_length(L['x']) == 3        same_items(L['x'], 'dict', 2)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import KEYWORDS, OPTIMIZER, POSITIONAL, UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardFact,
    GuardKind,
    Look,
    UnknownValueError,
    Uses,
    arguments,
    called,
    literal_side,
    source_of,
    tree_of,
)
from depyf.run.guards.kinds.type_guard import TYPE
from depyf.run.places.place import Place

_FOUND = re.compile(r"^len\((?P<source>.*)\) != (?P<count>\d+)$")
_ARGUMENTS = {POSITIONAL: "as many positional arguments", KEYWORDS: "the same keyword arguments"}
"""The arguments of a call beyond the named parameters."""
_COUNTING = ("len", "iterator_length", "reversed_length")
DICT_ITEMS = "DICT_ITEMS"
"""Our name for what a manager of dictionaries checks itself, without a leaf guard: exact type and number of items."""
NO_ITEMS = "no items"
LENGTH = "length"
ITEMS = "items"


class LengthGuard(GuardKind):
    name = "length"
    checks = ("same_items",)
    part_only = frozenset({DICT_ITEMS})
    order = 40

    def fits(self, tree: ast.expr) -> bool:
        return super().fits(tree) or _measured(tree) is not None

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        measured = _measured(tree)
        if measured is None:
            value, kind, least = arguments(tree)[:3]
            if ast.literal_eval(kind):
                yield GuardFact("kind", value, ast.literal_eval(kind))
            yield GuardFact("length", value, ast.literal_eval(least))
        elif called(measured[0]) == "len" and measured[1] is not None:
            yield GuardFact("length", arguments(measured[0])[0], ast.literal_eval(measured[1]))

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        measured = _measured(tree)
        if measured is None:
            value = look.value(arguments(tree)[0])
            if (other := self._other_class(tree, value, look)) is not None:
                return (other,)
            return (self.difference(tree, look, GuardSide(look.ask("items_of", value), "items")),)
        counted, _ = measured
        try:
            found = look.ask("measured", counted)
        except UnknownValueError:
            found = UNKNOWN
        return (self.difference(tree, look, found),)

    def _other_class(self, tree: ast.expr, value: Any, look: Look) -> Difference | None:
        """The class of the value, if another class than the one with that many items."""
        kind = ast.literal_eval(arguments(tree)[1])
        name = look.class_name(value)
        if not kind or not name or name.rpartition(".")[2] == kind.rpartition(".")[2]:
            return None
        sides = GuardSide(kind, "type"), GuardSide(name.rpartition(".")[2], "type")
        source = source_of(tree)
        return Difference(TYPE, source, TYPE, None, "==", *sides, roles=look.roles(source))

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        source = source_of(tree)
        what = LENGTH if _measured(tree) is not None else ITEMS
        roles = look.roles(source)
        return Difference(self.name, source, what, None, "==", self.wanted(tree, look), found, roles=roles)

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        measured = _measured(tree)
        if measured is not None:
            return GuardSide(NO_ITEMS, "int") if measured[1] is None else literal_side(measured[1])
        kind, least = (ast.literal_eval(node) for node in arguments(tree)[1:3])
        known = f" ({least} or more)" if least else ""
        return GuardSide(f"a {kind} with as many items as when it was compiled{known}")

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        """The differences in torch's message ``len(x) != 3``.  Its number is the wanted length, that at compile
        time."""
        match = _FOUND.match(text)
        tree = tree_of(f"len({match['source']}) == {match['count']}") if match is not None else None
        return self.differences(tree, look, holds=False) if tree is not None else None

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        match = _FOUND.match(text)
        return f"len({match['source']}) == {match['count']}" if match is not None else text

    def differing(self, difference: Difference) -> str:
        empty = difference.wanted.text == NO_ITEMS
        return named(difference.source) if empty else self.about(difference)

    def about(self, difference: Difference, shown: Callable[[str], str] = str) -> str:
        name = named(difference.source)
        return name if name.startswith("len(") else f"len({name})"

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        """Why code was compiled again, where one of the lengths is 0; "" for other lengths."""
        before, now = _items(difference.wanted.text), _items(difference.found.text)
        if NO_ITEMS not in (before, now) or not now:
            return ""
        return f"{shown(named(difference.source).removeprefix('len(').removesuffix(')'))} had {before} and has {now}"

    def aspect(self, difference: Difference) -> str:
        return ""

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        if OPTIMIZER in difference.roles:
            return (use("optimizer-state"),)
        what = next((_ARGUMENTS[role] for role in difference.roles if role in _ARGUMENTS), "")
        return (use("same-arguments", what=what),) if what else (use("one-length", name=self.about(difference)),)


def _items(text: str) -> str:
    """A number of items in words; "" where ``text`` is none."""
    if text in ("0", NO_ITEMS):
        return NO_ITEMS
    return f"{text} item{'' if text == '1' else 's'}" if text.isdecimal() else ""


def items_text(source: str, kind: str, items: int) -> str:
    """The guard that a manager of dictionaries is, apart from its leaves; ``items``: how many of them are guarded."""
    return f"same_items({source}, {kind!r}, {items})"


def _measured(tree: ast.expr) -> tuple[ast.expr, ast.expr | None] | None:
    """What is counted, and the number that is wanted, which is None for an empty container."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not) and not isinstance(tree.operand, ast.Call):
        if isinstance(tree.operand, (ast.Name, ast.Attribute, ast.Subscript)):  # torch's guard on an empty container
            return tree.operand, None
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq):
        if called(tree.left) in _COUNTING and isinstance(tree.comparators[0], ast.Constant):
            return tree.left, tree.comparators[0]
    return None


KIND = LengthGuard()
