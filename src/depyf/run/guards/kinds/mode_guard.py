"""What is active around a call: modes of torch functions, the default device, functorch's transforms, forward-mode
derivatives.

check_torch_function_mode_stack()        utils_device.CURRENT_DEVICE == device(type='cuda')  ->  default_device_is(...)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from depyf.run.advice.registry import use
from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardKind,
    Look,
    PrintedGuard,
    TorchGuard,
    UnknownValueError,
    Uses,
    arguments,
    asked,
    called,
)
from depyf.run.places.place import Place

_DEVICE = re.compile(r"^utils_device\.CURRENT_DEVICE == (?P<device>.*)$")
_MODES, _DEFAULT, _TRANSFORMS, _LEVEL = "modes", "default device", "transforms", "forward-mode level"
_TRANSFORM = "torch._functorch.pyfunctorch.compare_functorch_state"
_CURRENT_LEVEL = "torch.autograd.forward_ad._current_level"
_SUBJECTS = {
    _MODES: "other torch function modes are active",
    _DEFAULT: "the default device changed",
    _TRANSFORMS: "other functorch transforms (vmap, grad) are active",
    _LEVEL: "the level of forward-mode derivatives changed",
}


def check_torch_function_mode_stack(guard: TorchGuard | None = None) -> bool:
    """The ``TorchFunctionMode`` stack is as at compile time."""
    return asked(guard, {})


class ModeGuard(GuardKind):
    name = "modes"
    functions = (check_torch_function_mode_stack,)
    checks = ("check_torch_function_mode_stack", "default_device_is")
    asking = frozen = frozenset({"check_torch_function_mode_stack"})

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        if guard.text == "___check_torch_function_mode_stack()":
            yield "check_torch_function_mode_stack()"
        if (match := _DEVICE.match(guard.text)) is not None:
            yield f"default_device_is({match['device']})"

    def fits(self, tree: ast.expr) -> bool:
        return super().fits(tree) or _state(tree) in (_TRANSFORMS, _LEVEL)

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        return (self.difference(tree, look, self._found(tree, look, holds)),)

    def _found(self, tree: ast.expr, look: Look, holds: bool) -> GuardSide:
        what = _state(tree)
        try:
            if what == _MODES:
                active = ", ".join(look.ask("function_modes"))
                return GuardSide(f"active: {active}" if active else "none is active")
            if what == _DEFAULT:
                return GuardSide(f"default device {look.ask('default_device')}")
            if what == _LEVEL:
                return look.side(look.ask("of_torch", "autograd.forward_ad._current_level"))
        except UnknownValueError:
            return UNKNOWN
        return GuardSide("as when it was compiled" if holds else "changed since")

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        return Difference(self.name, "", _state(tree), wanted=self.wanted(tree, look), found=found)

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        what = _state(tree)
        if what == _MODES:
            return GuardSide("the torch function modes of when it was compiled")
        if what == _DEFAULT:
            return GuardSide(f"default device {_device(arguments(tree)[0])}")
        return GuardSide(
            ast.unparse(tree.comparators[0]) if isinstance(tree, ast.Compare) else "as when it was compiled"
        )

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        return text

    def differing(self, difference: Difference) -> str:
        return ""

    def subject(self, difference: Difference) -> str:
        return _SUBJECTS[difference.what]

    def values(self, difference: Difference) -> tuple[str, str]:
        return difference.wanted.text if difference.found.text else "", difference.found.text

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        return {_MODES: "the torch function modes", _DEFAULT: "the default device"}.get(
            difference.what, difference.what
        )

    def aspect(self, difference: Difference) -> str:
        return ""

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        return (
            _SUBJECTS[difference.what]
            .replace("are active", "are active in some calls")
            .replace("changed", "is not the same in every call")
        )

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        return (use("one-mode"),) if difference.what in (_MODES, _DEFAULT) else ()


def _state(tree: ast.expr) -> str:
    """Which part of what is active the guard is on; "" for another guard."""
    name = called(tree)
    if name:
        return {"check_torch_function_mode_stack": _MODES, "default_device_is": _DEFAULT}.get(name, "")
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == _TRANSFORM:
        return _TRANSFORMS
    return _LEVEL if isinstance(tree, ast.Compare) and ast.unparse(tree.left) == _CURRENT_LEVEL else ""


def _device(node: ast.expr) -> str:
    """``torch.device(type='cuda', index=0)`` is ``cuda:0``."""
    if not isinstance(node, ast.Call):
        return ast.unparse(node)
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return ":".join(str(part.value) for part in given if isinstance(part, ast.Constant))


KIND = ModeGuard()
