"""Evaluates one guard: whether it holds, the expected value, and the actual one.

Input: a readable guard expression and the names it may use.  Output: a ``GuardStep`` of plain text.  Values are
described, never printed whole: a tensor is its type and shape, and no address reaches the text.
"""

from __future__ import annotations

import ast
import json
import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

from depyf.run.addresses import without_addresses
from depyf.run.advice.for_guards import OF_THAT_NAME
from depyf.run.records import Place
from depyf.run.reprs import sets_in_order
from depyf.sources.live.guards import check_functions as guard_checks
from depyf.sources.live.guards.global_state import in_words
from depyf.sources.live.guards.traceless import ITEM, item, value_of
from depyf.sources.live.pure_access import attribute, class_module, class_name, length, short_name, untouched
from depyf.sources.live.pure_text import counted, describe, short, shown

NOT_THERE = "cannot be had"
"""What is said of a value that does not exist, after its name."""


@dataclass(frozen=True, slots=True)
class GuardStep:
    """A guard and how it came out for some arguments."""

    expression: str
    holds: bool
    expected: str = ""
    actual: str = ""
    place: Place | None = None
    why: str = ""
    """What torch adds to the guard's origin (a hint, duck sizing, 0/1 specialisation)."""
    agrees: bool = True
    """Whether torch's own guard, asked alone, says the same."""
    not_asked: str = ""
    """Why nothing is known of it; it counts as one that holds."""

    def __str__(self) -> str:
        if self.not_asked:
            return f"?    {self.expression}  (not asked: {self.not_asked})"
        mark = "ok  " if self.holds else "FAIL"
        values = f"  (expected {self.expected}, actual {self.actual})" if not self.holds else f"  ({self.actual})"
        return f"{mark} {self.expression}{values if self.actual else ''}"


def plain(expression: str) -> str:
    """The expression as a person would say it: ``same_value(a, b)`` is ``a == b``."""
    tree = ast.parse(expression.strip(), mode="eval").body
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "same_value":
        return f"{ast.unparse(tree.args[0])} == {ast.unparse(tree.args[1])}"
    return expression.strip()


def parsed(expression: str) -> ast.expr:
    """The tree of an expression; SyntaxError or ValueError where it is none."""
    return ast.parse(expression.strip(), mode="eval").body


def evaluate(guard: str | ast.expr, names: dict[str, Any]) -> bool:
    """Does the guard hold?  A value that is not there (no such key, attribute, ...) is one that does not fit.

    ``guard``: its expression, or the tree of that.
    """
    try:
        with untouched():
            return bool(value_of(parsed(guard) if isinstance(guard, str) else guard, {**CHECKS, **names}))
    except Exception:  # whatever the user's objects raise while being looked at
        return False


CHECKS: dict[str, Any] = {
    name: value for name, value in vars(guard_checks).items() if isinstance(value, types.FunctionType)
} | {ITEM: item, "math": math}


def values_of(guard: str | ast.expr, names: dict[str, Any], holds: bool) -> tuple[str, str]:
    """(expected, actual) of a guard, given as its expression or the tree of that, as text."""
    tree = parsed(guard) if isinstance(guard, str) else guard
    find = _finder({**CHECKS, **names})
    try:
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _CHECK_VALUES:
            return _CHECK_VALUES[tree.func.id](tree, find, holds)
        if isinstance(tree, ast.Compare):
            return _comparison(tree, find)
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not) and _is_source(tree.operand):
            return "no items", describe(find(tree.operand))  # torch's guard on an empty container
        parts = {ast.unparse(node): node for node in ast.walk(tree) if _is_source(node)}
        return ast.unparse(tree), "; ".join(f"{text} is {describe(find(node))}" for text, node in parts.items())
    except _NotThereError as missing:
        return _wanted(tree, find), str(missing)


def _wanted(tree: ast.expr, find: Callable[[ast.expr], Any]) -> str:
    """What a guard expects that finds nothing to look at."""
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "same_value":
        return describe(find(tree.args[1]))
    return ast.unparse(tree)


class _NotThereError(Exception):
    """The value a guard looks at does not exist."""


def _finder(names: dict[str, Any]) -> Callable[[ast.expr], Any]:
    def find(node: ast.expr) -> Any:
        try:
            with untouched():
                return value_of(node, names)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise _NotThereError(f"{ast.unparse(node)} {NOT_THERE} ({short(without_addresses(what))})") from None

    return find


def _is_source(node: ast.AST) -> TypeGuard[ast.expr]:
    """``L['x'].size()``: an access path that starts at the locals or globals."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
            return False
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id in ("L", "G")


def _comparison(tree: ast.Compare, find: Callable[[ast.expr], Any]) -> tuple[str, str]:
    sides = [tree.left, *tree.comparators]
    varying = [
        node
        for node in sides
        if not isinstance(node, ast.Constant) and any(isinstance(n, ast.Name) for n in ast.walk(node))
    ]
    if len(sides) == 2 and len(varying) == 1 and varying[0] is tree.left and isinstance(tree.ops[0], (ast.Eq, ast.Is)):
        return _two(find(tree.comparators[0]), find(tree.left))
    if len(sides) == 2 and len(varying) == 2 and isinstance(tree.ops[0], ast.Is):
        first, second = map(find, sides)
        shown = describe(first) if first is second else f"{describe(first)} and {describe(second)}"
        return "one and the same object", f"one object, {shown}" if first is second else f"two objects, {shown}"
    found = [f"{ast.unparse(node)} is {describe(find(node))}" for node in varying]
    return ast.unparse(tree), "; ".join(found)


def _tensor(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    arguments = [find(node) for node in tree.args]
    wanted = {keyword.arg: find(keyword.value) for keyword in tree.keywords if keyword.arg not in (None, "guard")}
    wrong = guard_checks.tensor_differences(*arguments, **wanted)
    if wrong:
        return (
            ", ".join(f"{name}={want}" for name, (want, _) in wrong.items()),
            ", ".join(f"{name}={found}" for name, (_, found) in wrong.items()),
        )
    if not holds:
        return f"dispatch keys {wanted.get('keys', '')}", f"dispatch keys {_dispatch_keys(arguments[0])}"
    return "", describe(arguments[0])


def _dispatch_keys(value: Any) -> str:
    from torch import _C

    keys = getattr(_C, "_dispatch_keys", None)
    text = str(keys(value)) if keys is not None else "unknown"
    return text.removeprefix("DispatchKeySet(").removesuffix(")")


def _type(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    wanted, found = str(find(tree.args[1])), type(find(tree.args[0]))
    full = f"{class_module(found)}.{class_name(found)}" if "." in wanted else class_name(found)
    if full == wanted and not holds:
        full += OF_THAT_NAME
    return f"type {wanted}", f"type {full}"


def _value(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    return _two(find(tree.args[1]), find(tree.args[0]))


def _two(wanted: Any, found: Any) -> tuple[str, str]:
    """Both, with their classes where values that may be equal are of two."""
    if type(found) is type(wanted) or wanted is None:
        return describe(wanted), describe(found)
    return f"{describe(wanted)} ({short_name(type(wanted))})", f"{describe(found)} ({short_name(type(found))})"


def _object(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    source = tree.args[0]
    if isinstance(source, ast.Attribute) and source.attr == "__code__":  # a function, whichever object it is
        called = describe(find(source.value))
        return (
            "the function of when it was compiled, or one of the same code",
            called if holds else f"another, {called}",
        )
    value = describe(find(source))
    return f"the {find(tree.args[1])} of when it was compiled", value if holds else f"another object, {value}"


def _items(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    value = find(tree.args[0])
    count = f" with {counted(value)}" if length(value) is not None else ""
    least = find(tree.args[2])
    known = f" ({least} or more)" if least else ""
    wanted = f"a {find(tree.args[1])} with as many items as when it was compiled{known}"
    return wanted, f"{short_name(type(value))}{count}"


def _marks(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    marks = guard_checks.marks_on(find(tree.args[0]))
    but = "".join(f", but {find(keyword.value)}" for keyword in tree.keywords)
    return f"no mark_dynamic or mark_static{but}", ", ".join(f"marked {mark}" for mark in marks) or "no marks"


def _marked(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    value, mark, wanted = (find(node) for node in tree.args)
    found = attribute(value, f"_dynamo_{mark}_indices")
    return f"marked {mark} in no other dimensions than {wanted}", f"marked in {found}" if found else "no such mark"


def _aliasing(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    names: dict[int, list[str]] = {}
    for node in tree.args:
        names.setdefault(id(find(node)), []).append(ast.unparse(node))
    same = [" is ".join(group) for group in names.values() if len(group) > 1]
    return "different tensors", "; ".join(same) or "different tensors"


def _global_state(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    wanted = {keyword.arg: ast.unparse(keyword.value) for keyword in tree.keywords if keyword.arg}
    found = in_words(global_state())
    wrong = [name for name in wanted if name in found and wanted[name] != found[name]]
    if not wrong:
        return ("" if holds else "torch's state of when it was compiled"), ("as compiled" if holds else "another state")
    return (
        ", ".join(f"{name}={wanted[name]}" for name in wrong),
        ", ".join(f"{name}={found[name]}" for name in wrong),
    )


def global_state() -> dict[str, Any]:
    """torch's global state as its guard sees it now; {} where this torch cannot tell."""
    try:
        from torch._C._dynamo.guards import GlobalStateGuard

        state = getattr(GlobalStateGuard(), "__getstate__")()  # noqa: B009 - not declared
        found = json.loads(state) if isinstance(state, str) else state
    except (ImportError, AttributeError, TypeError, ValueError):
        import torch

        return {"grad_mode": torch.is_grad_enabled()}
    return found if isinstance(found, dict) else {}


def _default_device(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    from torch.utils import _device

    return f"default device {find(tree.args[0])}", f"default device {_device.CURRENT_DEVICE}"


def _ambient(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    return "as when it was compiled", "as when it was compiled" if holds else "changed since"


def _modes(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    try:
        from torch.overrides import _get_current_function_mode_stack
    except ImportError:  # torch before 2.6
        return _ambient(tree, find, holds)
    active = ", ".join(type(mode).__name__ for mode in _get_current_function_mode_stack())
    return "the torch function modes of when it was compiled", f"active: {active}" if active else "none is active"


def _shown(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    """Both as ``repr`` shows them."""
    value = find(tree.args[0])
    return short(str(find(tree.args[1]))), short(sets_in_order(without_addresses(shown(value) or describe(value))))


def _membership(tree: ast.Call, find: Callable[[ast.expr], Any], holds: bool) -> tuple[str, str]:
    item, members = map(ast.unparse, tree.args[:2])
    is_in = find(tree.args[0]) in find(tree.args[1])
    return f"{item} {'in' if is_in == holds else 'not in'} {members}", f"{members} is {describe(find(tree.args[1]))}"


_CHECK_VALUES: dict[str, Callable[[ast.Call, Callable[[ast.expr], Any], bool], tuple[str, str]]] = {
    "check_global_state": _global_state,
    "check_no_aliasing": _aliasing,
    "check_tensor": _tensor,
    "check_torch_function_mode_stack": _modes,
    "default_device_is": _default_device,
    "marks_within": _marked,
    "no_dynamic_marks": _marks,
    "same_items": _items,
    "same_membership": _membership,
    "same_object": _object,
    "same_value": _value,
    "same_dtensor_spec": _ambient,
    "same_guarded_values": _ambient,
    "same_metadata": _ambient,
    "saved_tensors_hooks_are": _ambient,
    "shows_as": _shown,
    "torch_checks": _ambient,
    "type_is": _type,
    "unchanged": _ambient,
}
