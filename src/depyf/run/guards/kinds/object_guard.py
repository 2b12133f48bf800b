"""A guard that a value is the very object of when it was compiled.

___check_obj_id(L['f'], 140565), type=<class 'module'>  ->  same_object(L['f'], 'module')
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
    side_of,
    source_of,
    spelled,
)
from depyf.run.places.place import Place

_PRINTED = re.compile(r"^_{2,3}check_obj_id\((?P<source>.*?), (?P<id>\d+)\)(?:, type=(?P<shown>.*))?$", re.S)
_SHOWN = (
    (re.compile(r"<(?:class|enum) '(?P<kind>[^']+)'>"), ""),
    (re.compile(r"<code object "), "code"),
    (re.compile(r"<module '"), "module"),
    (re.compile(r"<function "), "function"),
    (re.compile(r"<bound method "), "method"),
    (re.compile(r"<built-in (?:function|method) "), "builtin_function_or_method"),
    (re.compile(r"<(?P<kind>[\w.]+) object at "), ""),
    (re.compile(r"<(?P<kind>\w+)\.\w+: .*>"), ""),
)
"""How an object's repr begins -> its class; torch 2.9 and 2.10 print the object itself as the type."""
_GONE = re.compile(r"^Cache line invalidated because (?P<what>.+) got deallocated")
SINGLETONS = {id(value): repr(value) for value in (None, True, False, Ellipsis)}
"""Objects that an id alone names, in the process that compiled."""
IDENTITY = "identity"
_CODE = "code"
_ALIVE = "alive"


class ObjectGuard(GuardKind):
    name = "object"
    checks = ("same_object",)
    asking = by_class = hooked = frozenset(checks)

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        match = _PRINTED.match(guard.text)
        if match is None:
            return []
        if int(match["id"]) in SINGLETONS:  # torch before 2.8 says no more than the id
            return [f"{match['source']} is {SINGLETONS[int(match['id'])]}"]
        found = ((name, pattern.match(match["shown"] or "")) for pattern, name in _SHOWN)
        name = next((name or m["kind"] for name, m in found if m is not None), "object")
        return [f"same_object({match['source']}, {name!r})"]

    def is_machinery(self, tree: ast.expr) -> bool:
        return True

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        yield GuardFact("hook", arguments(tree)[0])

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        value = arguments(tree)[0]
        if isinstance(value, ast.Attribute) and value.attr == "__code__":  # a function, whichever object it is
            found = side_of(look, value.value)
            other = "another"
        else:
            found, other = side_of(look, value), "another object"
        if found.text and not holds:
            found = GuardSide(f"{other}, {found.text}", found.kind)
        return (self.difference(tree, look, found),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        source = source_of(tree)
        what = _CODE if source.endswith(".__code__") else IDENTITY
        return Difference(self.name, source, what, None, "is", self.wanted(tree, look), found, roles=look.roles(source))

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        value, kind = arguments(tree)[:2]
        if isinstance(value, ast.Attribute) and value.attr == "__code__":
            return GuardSide("the function of when it was compiled, or one of the same code", "function")
        name = str(ast.literal_eval(kind))
        return GuardSide(f"the {name} of when it was compiled", name)

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        match = _GONE.match(text)
        if match is None:
            return None
        return (Difference(self.name, match["what"], _ALIVE, None, "is", found=GuardSide("the object is gone")),)

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        first = differences[0]
        return f"{named(first.source)} is the object of when it was compiled" if first.what == _ALIVE else text

    def values(self, difference: Difference) -> tuple[str, str]:
        """("", a description of the object found): the guard itself names the wanted object."""
        return "", difference.found.text.partition(", ")[2] or difference.found.text

    def aspect(self, difference: Difference) -> str:
        return IDENTITY

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        if difference.what == _ALIVE:
            return f"the object that {shown(self.about(difference, shown))} was is gone"
        return ""

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        if difference.what == IDENTITY and RECEIVER in difference.roles:
            return (use("each-receiver", name=named(difference.source)),)
        return (use({_ALIVE: "keep-the-object", _CODE: "one-function"}.get(difference.what, "one-object")),)


def object_wanted(expression: str) -> tuple[str, str] | None:
    """The value whose identity a guard asks for, and what torch says that the object is; None for another guard."""
    operands = operands_of(expression, KIND.checks)
    return (spelled(operands[0]), str(ast.literal_eval(operands[1]))) if len(operands) == 2 else None


KIND = ObjectGuard()
