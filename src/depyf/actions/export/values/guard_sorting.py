"""What becomes of each guard outside of the process that compiled.

Input: the guards of one compilation.  Output: ``SortedGuard``: *kept* (the package asks it), *frozen* (about code and
globals, which the package holds as they were), or *hooked* (about the identity of an object, or a state that no text
holds: a person says what is to be there).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from depyf.actions.export.values.guarded_path import Path, about_code, mappings_in, path_of

KEPT, FROZEN, HOOKED = "kept", "frozen", "hooked"
_UNTOLD = frozenset(
    "torch_checks same_membership unchanged same_metadata same_dtensor_spec same_guarded_values shows_as".split()
)
"""Checks whose answer only torch's own guard knows."""
_STATE = frozenset({"check_torch_function_mode_stack", "saved_tensors_hooks_are"})
_SIMPLE = re.compile(r"module ([\w.]+)")


@dataclass(frozen=True, slots=True)
class SortedGuard:
    """``expression``: as the package evaluates it ("" where it does not); ``hook``: the name of what a person fills in."""

    fate: str
    original: str
    expression: str = ""
    place: str = ""
    hook: str = ""
    about: str = ""
    """What the hook stands for."""


def sort_guard(guard: dict[str, Any], slug: str, position: int, tensors: frozenset[str]) -> SortedGuard:
    """``tensors``: the globals that a graph takes as inputs.  SyntaxError where the guard is no expression."""
    text = str(guard.get("expression", "")).strip()
    tree = ast.parse(text, mode="eval").body
    place = _place(guard)
    name, call = _called(tree)
    mappings = mappings_in(tree)
    first = path_of(call.args[0]) if call is not None and call.args else None
    if name in _STATE or name == "torch_checks" and about_code(tree):
        return SortedGuard(FROZEN, text, place=place)
    if mappings == {"G"} and not (name == "check_tensor" and first is not None and first.name in tensors):
        return SortedGuard(FROZEN, text, place=place)
    if about_code(tree) or (name == "same_object" and first is None):
        return SortedGuard(FROZEN, text, place=place)
    if name in _UNTOLD:
        hook = f"guard_{slug}_{position}"
        return SortedGuard(HOOKED, text, f"hooks.{hook}(L)", place, hook, f"a function of L that answers: {text}")
    if name == "same_object" and first is not None and call is not None:
        return _identity(guard, text, place, first, call)
    return SortedGuard(KEPT, text, ast.unparse(_Without().visit(tree)), place)


def _identity(guard: dict[str, Any], text: str, place: str, path: Path, call: ast.Call) -> SortedGuard:
    """A module has a name by which it is found again; another object is filled in."""
    what = str(guard.get("value", "")) or (ast.unparse(call.args[1]).strip("'\"") if len(call.args) > 1 else "object")
    if (match := _SIMPLE.fullmatch(what)) is not None:
        return SortedGuard(KEPT, text, f"is_module({ast.unparse(call.args[0])}, {match[1]!r})", place)
    hook = path.slug
    return SortedGuard(
        HOOKED, text, f"{ast.unparse(call.args[0])} is hooks.{hook}", place, hook, f"{path.text}: {what}"
    )


def _called(tree: ast.expr) -> tuple[str, ast.Call | None]:
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return tree.func.id, tree
    return "", None


class _Without(ast.NodeTransformer):
    """Leaves out what no package compares: dispatch keys, which depend on how torch was built."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        node.keywords = [k for k in node.keywords if k.arg not in ("keys", "guard")]
        return node


def _place(guard: dict[str, Any]) -> str:
    at, line = str(guard.get("at", "")), str(guard.get("line", ""))
    return f"{at}: {line}" if at and "/_dynamo/" not in at else ""
