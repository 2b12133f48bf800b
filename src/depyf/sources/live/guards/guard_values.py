"""Evaluates one guard: whether it holds, what it wants, and what there is.

Input: a readable guard expression and the names it may use.  Output: a ``GuardStep`` of plain data.  Values are
described, never printed whole: a tensor is its type and shape, and no address reaches the text.
"""

from __future__ import annotations

import ast
import math
import types
from dataclasses import dataclass
from typing import Any

from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.guard_kind import NOT_THERE, Look, MissingError
from depyf.run.guards.known_kinds import differences_of, stated
from depyf.run.guards.program_words import in_program
from depyf.run.places.place import Place
from depyf.safety.unheard import parse
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.guards import check_functions as guard_checks
from depyf.sources.live.guards.asked_of_values import ask
from depyf.sources.live.guards.traceless import ITEM, item, value_of
from depyf.sources.live.pure_access import class_module, class_name, short_name, untouched
from depyf.sources.live.pure_text import describe


@dataclass(frozen=True, slots=True)
class GuardStep:
    """A guard and how it came out for some arguments."""

    expression: str
    holds: bool
    differences: tuple[Difference, ...] = ()
    """What it wants and what there is."""
    place: Place | None = None
    why: str = ""
    """What torch adds to the guard's origin (a hint, duck sizing, 0/1 specialisation)."""
    agrees: bool = True
    """Whether torch's own guard, asked alone, says the same."""
    not_asked: str = ""
    """Why nothing is known of it; it counts as one that holds."""

    @property
    def expected(self) -> str:
        return stated(self.differences)[0]

    @property
    def actual(self) -> str:
        return stated(self.differences)[1]

    @property
    def missing(self) -> bool:
        """Whether what it looks at is not there."""
        return any(difference.found.missing for difference in self.differences)

    def __str__(self) -> str:
        if self.not_asked:
            return f"?    {self.expression}  (not asked: {self.not_asked})"
        mark = "ok  " if self.holds else "FAIL"
        wanted, found = stated(self.differences)
        values = f"  (expected {wanted}, actual {found})" if not self.holds else f"  ({found})"
        return f"{mark} {self.expression}{values if found else ''}"


def parsed(expression: str) -> ast.expr:
    """The tree of an expression; SyntaxError or ValueError where it is none."""
    return parse(expression.strip(), mode="eval").body


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


def found_by(
    guard: str | ast.expr, names: dict[str, Any], holds: bool, call: CallValues | None = None
) -> tuple[Difference, ...]:
    """What a guard (an expression, or its tree) wants, and the values of the call.  ``call``: the call, for what its
    values are to the program."""
    look: Look = LiveLook(names, call or CallValues())
    return differences_of(parsed(guard) if isinstance(guard, str) else guard, look, holds)


class LiveLook:
    """The values that guards find in a frame, evaluated as torch's guards evaluate them."""

    def __init__(self, names: dict[str, Any], call: CallValues) -> None:
        self._names = {**CHECKS, **names}
        self._call = call

    def value(self, node: ast.expr) -> Any:
        try:
            with untouched():
                return value_of(node, self._names)
        except Exception as error:
            raise MissingError(self._missing(node, error)) from None

    def side(self, value: Any) -> GuardSide:
        return GuardSide(describe(value), short_name(type(value)))

    def class_name(self, value: Any) -> str:
        kind = type(value)
        return f"{class_module(kind)}.{class_name(kind)}"

    def roles(self, source: str) -> tuple[str, ...]:
        return self._call.roles(source)

    def ask(self, name: str, *arguments: Any, **named: Any) -> Any:
        if name == "measured":
            return self.side(self.value(*arguments))
        return ask(name, *arguments, **named)

    def _missing(self, node: ast.expr, error: Exception) -> str:
        """That a value is not there, and where the way to it ends."""
        owner = node
        while isinstance(owner, (ast.Attribute, ast.Subscript, ast.Call)):
            owner = owner.func if isinstance(owner, ast.Call) else owner.value
            try:
                with untouched():
                    found = value_of(owner, self._names)
            except Exception:
                continue
            if found is None:
                return f"{in_program(ast.unparse(owner))} is None"
            break
        return f"{in_program(ast.unparse(node))} {NOT_THERE} ({type(error).__name__})"
