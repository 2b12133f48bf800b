"""What becomes of each guard outside of the process that compiled.

Input: the guards of one compilation.  Output: ``SortedGuard``: *kept* (the package asks it), *frozen* (about code and
globals, which the package holds as they were), or *hooked* (about the identity of an object, or a state that no text
holds: a person says what is to be there).
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass

from depyf.run.guards.guard_kind import arguments, called
from depyf.run.guards.guarded_path import Path, about_code, mappings_in, path_of
from depyf.run.guards.kinds.object_guard import KIND as IDENTITIES
from depyf.run.guards.known_kinds import FROZEN_CHECKS, HOOKED_CHECKS, OF_PROCESS, READS_SIZES
from depyf.run.records import GuardRecord
from depyf.safety.unheard import parse

KEPT, FROZEN, HOOKED = "kept", "frozen", "hooked"
_IDENTITY = frozenset(IDENTITIES.checks)


@dataclass(frozen=True, slots=True)
class SortedGuard:
    """``expression``: as the package evaluates it ("" where it does not); ``hook``: the name of what a person fills
    in."""

    fate: str
    original: str
    expression: str = ""
    place: str = ""
    hook: str = ""
    about: str = ""
    """What the hook stands for."""


def sort_guard(guard: GuardRecord, slug: str, position: int, tensors: frozenset[str]) -> SortedGuard:
    """``tensors``: the globals that a graph takes as inputs.  SyntaxError where the guard is no expression."""
    text = (guard.expression or guard.text).strip()
    tree = parse(text, mode="eval").body
    place = _place(guard)
    name, given = called(tree), arguments(tree)
    first = path_of(given[0]) if given else None
    of_input = name in READS_SIZES and first is not None and first.name in tensors
    if name in FROZEN_CHECKS or about_code(tree) or (mappings_in(tree) == {"G"} and not of_input):
        return SortedGuard(FROZEN, text, place=place)
    if name in _IDENTITY:
        return SortedGuard(FROZEN, text, place=place) if first is None else _identity(guard, text, place, first, given)
    if name in HOOKED_CHECKS:
        hook = f"guard_{slug}_{position}"
        return SortedGuard(HOOKED, text, f"hooks.{hook}(L)", place, hook, f"a function of L that answers: {text}")
    return SortedGuard(KEPT, text, ast.unparse(_Without().visit(tree)), place)


def _identity(guard: GuardRecord, text: str, place: str, path: Path, given: list[ast.expr]) -> SortedGuard:
    """A module has a name by which it is found again; another object is filled in."""
    if guard.module:
        return SortedGuard(KEPT, text, f"is_module({ast.unparse(given[0])}, {guard.module!r})", place)
    what = guard.value or (ast.unparse(given[1]).strip("'\"") if len(given) > 1 else "object")
    hook = path.slug
    return SortedGuard(HOOKED, text, f"{ast.unparse(given[0])} is hooks.{hook}", place, hook, f"{path.text}: {what}")


class _Without(ast.NodeTransformer):
    """Leaves out what no package compares: dispatch keys, which depend on how torch was built."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        node.keywords = [k for k in node.keywords if k.arg != "guard" and k.arg not in OF_PROCESS]
        return node


def _place(guard: GuardRecord) -> str:
    place = guard.place
    if place is None or "/_dynamo/" in place.filename:
        return ""
    return f"{place}: {place.text or linecache.getline(place.filename, place.line).strip()}"
