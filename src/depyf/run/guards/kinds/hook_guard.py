"""A guard on hooks: of a module, of all modules, of tensors that are saved for the backward.

not L['self']._modules['fc']._forward_hooks        saved_tensors_hooks_are(None)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardKind,
    Look,
    PrintedGuard,
    TorchGuard,
    UnknownValueError,
    Uses,
    asked,
    called,
    source_of,
    tree_of,
)
from depyf.run.guards.kinds.length_guard import LengthGuard
from depyf.run.places.place import Place

_SAVED = re.compile(r"^torch\._functorch\.aot_autograd\.utils\.top_saved_tensors_hooks ids == (?P<ids>.*)$")
_OF_MODULE = re.compile(
    r"(?P<owner>.*)\._(?P<all>global_)?(?P<kind>(?:forward|backward)(?:_pre)?)_hooks(?P<more>_\w+)?$"
)
_SAVED_TENSORS = "saved tensors"


def saved_tensors_hooks_are(hooks: Any, guard: TorchGuard | None = None) -> bool:
    """``torch.autograd.graph.saved_tensors_hooks`` is as at compile time."""
    return asked(guard, {})


class HookGuard(GuardKind):
    name = "hooks"
    functions = (saved_tensors_hooks_are,)
    checks = ("saved_tensors_hooks_are",)
    asking = frozen = frozenset(checks)
    order = 30

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        match = _SAVED.match(guard.text)
        return [f"saved_tensors_hooks_are({without_addresses(match['ids'])})"] if match is not None else []

    def fits(self, tree: ast.expr) -> bool:
        return super().fits(tree) or (_OF_MODULE.match(source_of(tree)) is not None and _LENGTH.fits(tree))

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        if called(tree) in self.checks:
            return (self.difference(tree, look, GuardSide("as when it was compiled" if holds else "others")),)
        node = tree_of(source_of(tree))
        try:
            count = look.ask("count", look.value(node)) if node is not None else None
        except UnknownValueError:
            count = None
        return (self.difference(tree, look, UNKNOWN if count is None else GuardSide(str(count or "none"), "int")),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        source, wanted = source_of(tree), self.wanted(tree, look)
        match = _OF_MODULE.match(source)
        if match is None:
            return Difference(self.name, "", _SAVED_TENSORS, wanted=wanted, found=found)
        return Difference(self.name, "" if match["all"] else match["owner"], match["kind"], wanted=wanted, found=found)

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        if called(tree) in self.checks:
            return GuardSide("the hooks of when it was compiled")
        text = _LENGTH.wanted(tree, look).text
        return GuardSide(text if text.isdigit() and text != "0" else "none", "int")

    def differing(self, difference: Difference) -> str:
        return ""

    def subject(self, difference: Difference) -> str:
        return f"{self.about(difference, str)} differ"

    def values(self, difference: Difference) -> tuple[str, str]:
        return difference.wanted.text, difference.found.text

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        if difference.what == _SAVED_TENSORS:
            return "the hooks of saved tensors"
        owner = shown(named(difference.source)) if difference.source else "all modules"
        return f"the {difference.what.replace('_', ' ')} hooks of {owner}"

    def aspect(self, difference: Difference) -> str:
        return ""

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        return f"{self.about(difference, shown)} are not the same in every call"

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        return (use("same-hooks", hooks=self.about(difference, str)),)


_LENGTH = LengthGuard()
KIND = HookGuard()
