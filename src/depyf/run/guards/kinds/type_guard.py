"""A guard on the class of a value.

___check_type_id(L['n'], 140565), type=<class 'int'>  ->  type_is(L['n'], 'int')
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import RECEIVER, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardFact,
    GuardKind,
    Look,
    PrintedGuard,
    Uses,
    arguments,
    operands_of,
    source_of,
    spelled,
)
from depyf.run.places.place import Place

_PRINTED = re.compile(
    r"^___check_(?:type_id|fake_script_type)\((?P<source>.*), \d+\)(?:, type=<(?:class|enum) '(?P<name>[^']+)'>)?$"
)
_NO_TENSOR = re.compile(
    r"^expected type of '(?P<name>.*?)' to be a tensor type, '? ?but found <class '(?P<found>[^']*)'>"
)
_OF_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\b")
TYPE = "type"
OF_THAT_NAME = " (another class of that name)"
"""What is said of a class that is not the expected one and has its name."""
_OF_TENSOR = "class of the tensor"
_NONE = "NoneType"


class TypeGuard(GuardKind):
    name = TYPE
    checks = ("type_is",)
    asking = frozenset(checks)
    says_all = by_class = frozenset(checks)

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        match = _PRINTED.match(guard.text)
        return [f"type_is({match['source']}, {match['name']!r})"] if match is not None and match["name"] else []

    def is_machinery(self, tree: ast.expr) -> bool:
        return _OF_MODULE.search(spelled(tree)) is not None

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        value, name = arguments(tree)[:2]
        yield GuardFact("kind", value, ast.literal_eval(name))

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        found = look.class_name(look.value(arguments(tree)[0]))
        name = self.wanted(tree, look).text
        found = found if "." in name else found.rpartition(".")[2] if "<locals>" not in found else found
        found += OF_THAT_NAME if found == name and not holds else ""
        return (self.difference(tree, look, GuardSide(found, "type")),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        source = source_of(tree)
        return Difference(
            self.name, source, "type", None, "==", self.wanted(tree, look), found, roles=look.roles(source)
        )

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        return GuardSide(str(ast.literal_eval(arguments(tree)[1])), "type")

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        match = _NO_TENSOR.match(text)
        if match is None:
            return None
        return (Difference(self.name, match["name"], _OF_TENSOR, found=GuardSide(match["found"], "type")),)

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        first = differences[0]
        if first.what != _OF_TENSOR:
            return text
        return f"the class of the tensor {first.source}" if _is_tensor(first) else f"{first.source} is a tensor"

    def stated(self, difference: Difference) -> tuple[str, str]:
        return f"type {difference.wanted.text}", f"type {difference.found.text}"

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        if difference.what != _OF_TENSOR:
            return ""
        if _is_tensor(difference):
            return f"the class of the tensor {shown(difference.source)} is not the same in every call"
        found = "None" if difference.found.text == _NONE else _one(difference.found.text)
        return f"{shown(difference.source)} is a tensor in some calls, and {found} in others"

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        if difference.what == _OF_TENSOR and _is_tensor(difference):
            return (use("parameter-or-tensor", tensor=named(difference.source)),)
        if difference.what == _OF_TENSOR:
            return class_advice(difference, "Tensor", difference.found.text)
        return class_advice(difference, difference.wanted.text, difference.found.text)


def class_wanted(expression: str) -> tuple[str, str] | None:
    """The value whose class a guard asks for, and the class; None for another guard."""
    operands = operands_of(expression, KIND.checks)
    return (spelled(operands[0]), str(ast.literal_eval(operands[1]))) if len(operands) == 2 else None


def _is_tensor(difference: Difference) -> bool:
    """Whether what was found where a tensor of one class was wanted is a tensor, of another: torch names the module of
    each class but for those of Python itself."""
    return "." in difference.found.text


def class_advice(difference: Difference, expected: str, actual: str) -> Uses:
    """The advice where a value has another class than ``expected``."""
    name = named(difference.source)
    if _NONE in (expected, actual):
        return (use("with-and-without", name=name),)
    if actual.removesuffix(OF_THAT_NAME) == expected:
        return (use("class-made-once", name=name),)
    if RECEIVER in difference.roles:
        return (use("class-of-self", name=name),)
    otherwise = f", or {_one(actual)} in every call" if actual else ""
    return (use("one-class", name=name, expected=_one(expected), otherwise=otherwise),)


def _one(kind: str) -> str:
    return f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}"


KIND = TypeGuard()
