"""A guard on a plain value: a number, a text, None, a flag, or what has a repr that is no Python.

L['n'] == 3  ->  same_value(L['n'], 3)        L['flag'] == True  ->  L['flag'] is True
L['e'] == <Color.RED: 1>  ->  shows_as(L['e'], '<Color.RED: 1>')
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from depyf.run.addresses import has_identity, without_addresses
from depyf.run.advice.registry import use
from depyf.run.advice.source_names import is_global, named
from depyf.run.guards.class_names import classes_named
from depyf.run.guards.difference import INNER, INTEGERS, MODULE, OPTIMIZER, OPTION, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardFact,
    GuardKind,
    Look,
    PrintedGuard,
    Uses,
    arguments,
    called,
    is_literal,
    literal_side,
    side_of,
    spelled,
    tree_of,
)
from depyf.run.guards.kinds.type_guard import class_advice
from depyf.run.places.place import Place
from depyf.run.reprs import sets_in_order

_BOOL = re.compile(r"^(?P<source>.*) == (?P<value>True|False)$", re.S)
_FLAGS = ("True", "False")


def same_value(value: Any, expected: Any) -> bool:
    """``value == expected``, and of exactly the same type: ``True`` and ``1.0`` are not ``1``."""
    return type(value) is type(expected) and bool(value == expected)


class ValueGuard(GuardKind):
    name = "value"
    functions = (same_value,)
    checks = ("same_value", "shows_as")
    asking = frozenset({"shows_as"})
    quotes = hooked = frozenset({"shows_as"})
    says_all = frozenset({"same_value"})
    order = 50

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        if guard.kind in ("TRUE_MATCH", "FALSE_MATCH"):
            # torch's text says ``==``, and its guard wants this very object: ``1`` is not ``True`` to it
            match = _BOOL.match(guard.text)
            if match is not None and not has_identity(guard.text):
                yield f"{match['source']} is {match['value']}"
        if guard.kind != "EQUALS_MATCH":
            return
        shown = classes_named(guard.text)  # and it wants the very type: ``True`` and ``1.0`` are not ``1`` to it
        tree = tree_of(shown)
        if isinstance(tree, ast.Compare) and [type(sign) for sign in tree.ops] == [ast.Eq] and not has_identity(shown):
            yield f"same_value({spelled(tree.left)}, {spelled(tree.comparators[0])})"
        left, middle, right = guard.text.partition(" == ")
        if middle and tree_of(left) is not None:
            yield f"shows_as({left}, {sets_in_order(without_addresses(right))!r})"

    def fits(self, tree: ast.expr) -> bool:
        return super().fits(tree) or _compared(tree) is not None

    def plain(self, tree: ast.expr) -> str:
        if called(tree) != "same_value":
            return ""
        value, wanted = arguments(tree)
        return f"{spelled(value)} == {spelled(wanted)}"

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        value, wanted = _sides(tree)
        compared = isinstance(tree, ast.Compare) and not isinstance(tree.ops[0], ast.IsNot)
        if called(tree) == "same_value" or (compared and is_singleton(wanted)):
            yield GuardFact("value", value, spelled(wanted))

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        value, _ = _sides(tree)
        found = side_of(look, value)
        if called(tree) == "shows_as":
            text = look.ask("shown", look.value(value))
            found = GuardSide(text or found.text, found.kind)
        return (self.difference(tree, look, found),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        value, _ = _sides(tree)
        source = spelled(value)
        relation = "is not" if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.IsNot) else "=="
        wanted = self.wanted(tree, look)
        return Difference(self.name, source, "", None, relation, wanted, found, roles=look.roles(source))

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        _, wanted = _sides(tree)
        if called(tree) == "shows_as":
            return look.ask("shortened", str(ast.literal_eval(wanted)))  # type: ignore[no-any-return]
        if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.IsNot):
            return GuardSide("something else than None")
        known = side_of(look, wanted)
        return known if known.text else literal_side(wanted)

    def stated(self, difference: Difference) -> tuple[str, str]:
        """The wanted and the found value, with their classes where equal values may be of two classes."""
        wanted, found = difference.wanted, difference.found
        if not _of_two_classes(difference) or wanted.kind == "NoneType":
            return wanted.text, found.text
        return f"{wanted.text} ({wanted.kind})", f"{found.text} ({found.kind})"

    def values(self, difference: Difference) -> tuple[str, str]:
        return difference.wanted.text, difference.found.text

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        wanted, found = difference.wanted, difference.found
        name, roles = named(difference.source), difference.roles
        if _of_two_classes(difference):
            return class_advice(difference, wanted.kind, found.kind)
        if OPTIMIZER in roles:
            return (use("optimizer-state"),)
        if MODULE in roles and difference.source.endswith(".training") and wanted.text in _FLAGS:
            return (use("train-and-eval"),)
        if wanted.text == "None" or difference.relation == "is not":
            return (use("with-and-without", name=name),)
        if wanted.text in _FLAGS:
            return (use("one-flag", name=name),)
        if wanted.kind not in ("int", "float"):
            return (use("one-value", name=name),)
        dynamic = use("compile-dynamic")
        symbol = (dynamic,) if wanted.kind == "float" else ()  # integers of globals and of modules become none
        if is_global(difference.source):
            return (use("global-as-tensor", name=name), use("global-as-argument", name=name), *symbol)
        if OPTION in roles:
            return (*_option_advice(difference), *symbol)
        if MODULE in roles:
            kept = use("tensor-in-module", name=name)
            return (use("unspecialised-int", name=name), kept) if wanted.kind in INTEGERS else (kept, *symbol)
        if INNER in roles:
            return (dynamic,)
        return dynamic, use("tensor-in-object" if "." in name else "number-as-tensor", name=name)

    def fixed(self, difference: Difference) -> tuple[str, str] | None:
        same = not difference.found.kind or difference.found.kind == "int"
        argument = difference.source.startswith("L[") and MODULE not in difference.roles
        return (
            (difference.source, difference.wanted.text) if same and argument and difference.wanted.is_integer else None
        )


def _option_advice(difference: Difference) -> Uses:
    """An option of an optimizer: a scheduler fills a learning rate that is a tensor, and puts floats in the place of
    other options."""
    name, by = named(difference.source), difference.set_by
    if by and not difference.source.endswith("['lr']"):
        return (use("no-momentum-cycle", name=name, scheduler=by),)
    return (use("tensor-learning-rate", name=name),)


def is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _of_two_classes(difference: Difference) -> bool:
    wanted, found = difference.wanted, difference.found
    return bool(wanted.kind and found.kind) and wanted.kind != found.kind and difference.relation == "=="


def _compared(tree: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Both sides of ``value == literal`` or ``value is None``; None where the value is computed."""
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return None
    left, right = tree.left, tree.comparators[0]
    if not isinstance(tree.ops[0], (ast.Eq, ast.Is, ast.IsNot)) or is_literal(left) or not _is_value(left):
        return None
    return (left, right) if is_literal(right) or spelled(right) == "Ellipsis" or called(right) == "float" else None


def _is_value(node: ast.expr) -> bool:
    """Whether it is a variable, with its attributes and items: nothing is called or computed."""
    return not any(isinstance(part, (ast.Call, ast.BinOp, ast.BoolOp, ast.IfExp)) for part in ast.walk(node))


def _sides(tree: ast.expr) -> tuple[ast.expr, ast.expr]:
    compared = _compared(tree)
    if compared is not None:
        return compared
    found = arguments(tree)
    return found[0], found[-1]


KIND = ValueGuard()
