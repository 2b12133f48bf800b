"""A guard that only torch can answer, and any guard that depyf does not know: shown in torch's words, marked as such.

__dtensor_spec_123 -> same_dtensor_spec(L['x'])        whatever it is -> torch_checks('...')
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.advice.source_names import named
from depyf.run.guards.class_names import classes_named
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardKind,
    Look,
    PrintedGuard,
    TorchGuard,
    asked,
    called,
    side_of,
    source_of,
    sources_in,
    tree_of,
)
from depyf.run.guards.program_words import in_program

_MADE = {
    "___check_metadata_": "same_metadata",
    "___check_opaque_guard_fn_": "same_guarded_values",
    "__dtensor_spec_": "same_dtensor_spec",
}
"""A function that torch makes for one guard, printed by its name alone -> what it asks."""
_CHECKER = re.compile(rf"({'|'.join(_MADE)})\d+")
_VERSION = re.compile(r"^___dict_version\((?P<source>.*)\) == \d+$")
_MANAGERS = frozenset({"TYPE_MISMATCH"})
"""What a manager of guards says of itself, without the values."""
_NO_ATTRIBUTE = re.compile(r"^'(?P<kind>[\w.]+)' object has no attribute '(?P<name>\w+)'$")
IN_TORCHS_WORDS = "torch's words: "
RAISED, WORDS = "raised", "words"
UNTOLD = (RAISED, WORDS)
"""What is known where torch does not name the guard: that it raised, or torch's words."""


def torch_checks(text: str, guard: TorchGuard | None = None, L: dict[str, Any] | None = None, G: Any = None) -> bool:
    """A guard that depyf cannot write as Python; the text is torch's, without addresses."""
    answer = guard.check_frame(L or {}, G) if guard is not None else None
    return True if answer is None else answer


def unchanged(value: Any, guard: TorchGuard | None = None) -> bool:
    """This dictionary was not changed since compile time."""
    return asked(guard, value)


def same_dtensor_spec(value: Any, guard: TorchGuard | None = None) -> bool:
    """Mesh, placements and sizes of this distributed tensor are as at compile time."""
    return asked(guard, value)


def same_guarded_values(value: Any, guard: TorchGuard | None = None) -> bool:
    """What the object's own guard function names is as at compile time."""
    return asked(guard, value)


class OpaqueGuard(GuardKind):
    name = "unknown"
    functions = (
        torch_checks,
        unchanged,
        same_dtensor_spec,
        same_guarded_values,
    )
    checks = (
        "torch_checks", "unchanged", "same_metadata", "same_dtensor_spec", "same_guarded_values",
    )  # fmt: skip
    asking = hooked = frozenset(checks)
    quotes = with_frame = frozenset({"torch_checks"})
    """``with_frame``: those that ask a guard about all of a frame."""
    order = 100

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        made = _CHECKER.match(guard.text) if guard.source else None
        if made is not None:
            yield f"{_MADE[made[1]]}({guard.source})"
        if (match := _VERSION.match(guard.text)) is not None:
            yield f"unchanged({match['source']})"
        if (shown := classes_named(guard.text)) != guard.text:
            yield shown
        yield guard.text

    def with_handle(self, check: str, operands: list[str], handle: str) -> list[str]:
        return [*operands, handle, "L", "G"] if check in self.with_frame else [*operands, handle]

    def fits(self, tree: ast.expr) -> bool:
        return True

    def is_machinery(self, tree: ast.expr) -> bool:
        return called(tree) in self.with_frame

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        if called(tree) in self.checks:
            return (self.difference(tree, look, GuardSide("as when it was compiled" if holds else "changed since")),)
        parts = {in_program(source): side_of(look, node) for source in sources_in(tree) if (node := tree_of(source))}
        return (
            self.difference(
                tree, look, GuardSide("; ".join(f"{name} is {s.text}" for name, s in parts.items() if s.text))
            ),
        )

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        return Difference(self.name, source_of(tree), called(tree), wanted=self.wanted(tree, look), found=found)

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        return GuardSide("as when it was compiled" if called(tree) in self.checks else in_program(ast.unparse(tree)))

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        """A difference for any message that is no expression, or that calls a function unknown to all kinds.  None for
        other messages."""
        tree = tree_of(text)
        if tree is not None and not _calls_torch(tree):
            return None
        match = _NO_ATTRIBUTE.match(text)
        if match is not None:
            kind = "None" if match["kind"] == "NoneType" else f"of class {match['kind']}"
            wanted = GuardSide(f"a value that has {match['name']}")
            return (Difference(self.name, "", RAISED, wanted=wanted, found=GuardSide(f"a value is {kind}")),)
        return (Difference(self.name, "", WORDS, wanted=GuardSide(without_addresses(text))),)

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        what = differences[0].what
        if what == RAISED:
            return "a guard looks at what is not there"
        return f"{IN_TORCHS_WORDS}{differences[0].wanted.text}" if what == WORDS else text

    def values(self, difference: Difference) -> tuple[str, str]:
        return ("", difference.found.text) if difference.what != RAISED else super().values(difference)

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        if difference.what == RAISED:
            return f"the compiled code needs {difference.wanted.text}, and in some calls {difference.found.text}"
        if difference.what == WORDS:
            return f"a guard that depyf does not know did not hold, in torch's words: {difference.wanted.text}"
        return ""

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        return named(difference.source)

    def aspect(self, difference: Difference) -> str:
        return ""


def _calls_torch(tree: ast.expr) -> bool:
    found = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = {function.id for function in found if isinstance(function, ast.Name)}
    return bool(names & _MANAGERS) or any(name.startswith("__") for name in names)


KIND = OpaqueGuard()
