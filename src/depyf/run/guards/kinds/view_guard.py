"""A guard on the tensor of which an argument is a view.

L['G']._base.stride()[0] == 9 * L['G']._base.size()[1]        check_tensor(L['G']._base, ...)
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import GuardKind, Look, UnknownValueError, Uses
from depyf.run.places.place import Place

_VIEW, _OWN = "a view of another tensor", "no view"


class ViewGuard(GuardKind):
    name = "view"
    order = -10

    def fits(self, tree: ast.expr) -> bool:
        return _owner(tree) is not None

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        """The difference; () where the value in the call is a view as well: then something about its base differs."""
        owner = _owner(tree)
        if owner is None or holds:
            return ()
        try:
            if look.ask("is_view", look.value(owner)):
                return ()
        except UnknownValueError:
            return (self.difference(tree, look, UNKNOWN),)
        return (self.difference(tree, look, GuardSide(_OWN)),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        owner = _owner(tree)
        source = ast.unparse(owner) if owner is not None else ""
        return Difference(self.name, source, "view", wanted=GuardSide(_VIEW), found=found, roles=look.roles(source))

    def aspect(self, difference: Difference) -> str:
        return "view"

    def values(self, difference: Difference) -> tuple[str, str]:
        return difference.wanted.text if difference.found.text else "", difference.found.text

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        return f"{named(differences[0].source)} is a view"

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        return f"{shown(named(difference.source))} is a view of another tensor in some calls, and not in others"

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        return (use("view-or-not", tensor=named(difference.source)),)


def _owner(tree: ast.expr) -> ast.expr | None:
    """The tensor whose base the guard looks at."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "_base")
    return next((node.value for node in found), None)


KIND = ViewGuard()
