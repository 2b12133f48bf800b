"""A guard on what a dictionary, a set or an object has: a key, a member, an attribute, or the order of its keys.

'k' not in L['d']        hasattr(L['x'], 'k')        list(dict.keys(L['d'])) == ['a', 'b']        same_membership(1,
L['s'])
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardFact,
    GuardKind,
    Look,
    MissingError,
    PrintedGuard,
    TorchGuard,
    UnknownValueError,
    Uses,
    arguments,
    asked,
    called,
    is_literal,
    literal_side,
    side_of,
    source_of,
    tree_of,
)
from depyf.run.places.place import Place

_KEY_ERROR = re.compile(r"^(?:KeyError|AttributeError|IndexError) on (?P<source>.*)$", re.S)
_OWN_KEYS = re.compile(r"list\((?P<source>.*)\.keys\(\)\) == (?P<keys>\[.*\])", re.S)
KEYS, MEMBER, ATTRIBUTE, THERE = "keys", "member", "attribute", "there"


def same_membership(item: Any, members: Any, guard: TorchGuard | None = None) -> bool:
    """``item`` is in this set if it was there at compile time, and only then; torch does not say which."""
    return asked(guard, members)


class KeysGuard(GuardKind):
    name = "keys"
    functions = (same_membership,)
    checks = ("same_membership",)
    asking = hooked = frozenset({"same_membership"})
    contents = frozenset({"DICT_CONTAINS", "SET_CONTAINS"})
    order = 40

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        if guard.kind == "MAPPING_KEYS_MATCH" and (found := _OWN_KEYS.fullmatch(guard.text)) is not None:
            yield f"list({found['source']}) == {found['keys']}"  # a mappingproxy, which ``dict.keys`` does not take
        if guard.kind == "SET_CONTAINS" and not guard.has("SET_NOT_CONTAINS"):
            # torch 2.9 to 2.12 print ``item in members`` and ``item not in members`` the same
            tree = tree_of(guard.text)
            if isinstance(tree, ast.Call) and len(tree.args) == 2:
                members, item = map(ast.unparse, tree.args)
                yield f"same_membership({item}, {members})"
            elif isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.In):
                yield f"same_membership({ast.unparse(tree.left)}, {ast.unparse(tree.comparators[0])})"

    def fits(self, tree: ast.expr) -> bool:
        return _member(tree) is not None or _asks_for_keys(tree) or _attribute(tree) is not None

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        if called(tree) != "same_value":
            return
        listed, wanted = _keys(tree), arguments(tree)[1]
        if not isinstance(wanted, ast.Constant) or not isinstance(wanted.value, str):
            return
        if isinstance(listed, ast.Subscript) and isinstance(listed.slice, ast.Constant):
            keys = arguments(listed.value)
            inner = keys[0] if keys else None
            if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "dict.keys" and len(inner.args) == 1:
                yield GuardFact("key", inner.args[0], (listed.slice.value, wanted.value))

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        member = _member(tree)
        if member is not None:
            found = side_of(look, member[1])
            return (self._of_member(tree, look, found, holds),)
        attribute = _attribute(tree)
        if attribute is not None:
            there = attribute[2] == holds
            return (
                self.difference(
                    tree, look, GuardSide("it is there" if there else "it is not there", missing=not there)
                ),
            )
        return (self.difference(tree, look, side_of(look, _keys(tree))),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        if _member(tree) is not None:
            return self._of_member(tree, look, found, holds=False)
        source, wanted = source_of(tree), self.wanted(tree, look)
        attribute = _attribute(tree)
        if attribute is not None:
            return Difference(self.name, f"{source}.{attribute[1]}", ATTRIBUTE, wanted=wanted, found=found)
        return Difference(self.name, source, KEYS, wanted=wanted, found=found, roles=look.roles(source))

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        attribute = _attribute(tree)
        if attribute is not None:
            return GuardSide("it is there" if attribute[2] else "it is not there", missing=not attribute[2])
        return literal_side(tree.comparators[0] if isinstance(tree, ast.Compare) else arguments(tree)[1])

    def _of_member(self, tree: ast.expr, look: Look, found: GuardSide, holds: bool) -> Difference:
        item, members, relation = _member(tree) or (tree, tree, "in")
        if not relation:
            try:
                inside = look.value(item) in look.value(members)
                relation = "in" if inside == holds else "not in"
            except (UnknownValueError, MissingError, TypeError):
                relation = "in"
        source = ast.unparse(members)
        wanted = GuardSide(f"{ast.unparse(item)} {relation} {named(source)}")
        said = GuardSide(f"{named(source)} is {found.text}" if found.text else "", found.kind)
        return Difference(self.name, source, MEMBER, None, relation, wanted, said, (ast.unparse(item),))

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        match = _KEY_ERROR.match(text)
        if match is None:
            return None
        sides = GuardSide("it is there"), GuardSide("it is not there", missing=True)
        return (Difference(self.name, match["source"], THERE, None, "==", *sides),)

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        return f"{named(differences[0].source)} is there" if differences[0].what == THERE else text

    def values(self, difference: Difference) -> tuple[str, str]:
        """The wanted and the found keys; "" where the guard itself says what is wanted."""
        if difference.what == KEYS:
            return difference.wanted.text, difference.found.text
        return "", ""

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        if difference.what == MEMBER:
            return (
                f"{shown(named(difference.source))} has {shown(difference.others[0])} in some calls, and not in others"
            )
        if difference.what in (THERE, ATTRIBUTE):
            return f"{shown(named(difference.source))} is there in some calls, and not in others"
        return ""

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        if difference.what == MEMBER:
            return f"{difference.others[0]} in {named(difference.source)}"
        return f"the keys of {named(difference.source)}" if difference.what == KEYS else named(difference.source)

    def aspect(self, difference: Difference) -> str:
        return ""

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        if difference.what == KEYS:
            return (use("same-keys"),)
        owner = named(difference.source)
        name = f"{difference.others[0]} of {owner}" if difference.what == MEMBER else owner
        return (use("always-there", name=name),)


def _member(tree: ast.expr) -> tuple[ast.expr, ast.expr, str] | None:
    """``item``, ``members`` and ``in`` or ``not in``; "" where torch does not say which."""
    if called(tree) == "same_membership":
        item, members = arguments(tree)[:2]
        return item, members, ""
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], (ast.In, ast.NotIn)):
        return tree.left, tree.comparators[0], "in" if isinstance(tree.ops[0], ast.In) else "not in"
    return None


def _attribute(tree: ast.expr) -> tuple[ast.expr, str, bool] | None:
    """The value, the attribute and the answer in ``hasattr(x, 'k')``, ``not hasattr(x, 'k')`` and ``hasattr(x, 'k') ==
    False``."""
    wanted = True
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        tree, wanted = tree.operand, False
    elif isinstance(tree, ast.Compare) and isinstance(answer := tree.comparators[0], ast.Constant):
        tree, wanted = tree.left, bool(answer.value)
    found = arguments(tree)
    if called(tree) != "hasattr" or len(found) != 2 or not is_literal(found[1]):
        return None
    return found[0], str(ast.literal_eval(found[1])), wanted


def _keys(tree: ast.expr) -> ast.expr:
    if called(tree) == "same_value":
        return arguments(tree)[0]
    return tree.left if isinstance(tree, ast.Compare) else tree


def _asks_for_keys(tree: ast.expr) -> bool:
    """``list(dict.keys(x))``, or one of these keys, is to be this."""
    side = _keys(tree)
    if side is tree:
        return False
    side = side.value if isinstance(side, ast.Subscript) else side
    return called(side) == "list"


KIND = KeysGuard()
