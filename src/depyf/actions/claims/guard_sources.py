"""What the guards of an entry look at, for the question whether they pin a value.

Input: guards as Python.  Output: ``GuardSources``, asked by names as the program writes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from depyf.run.guards.guard_kind import sources_in, tree_of

_INNER = re.compile(r"\.(?:_modules|_parameters|_buffers|__dict__)\[(['\"])([^'\"]+)\1\]")
_SAME = frozenset(("same_value", "same_object"))
"""The checks that want a value to be one that is known, as guards are written in a dump."""
_VARIABLE = re.compile(r"^[LG]\[(['\"])(.+?)\1\]")


def spelled_plainly(name: str) -> str:
    """``L['self']._modules['fc'].weight`` as ``self.fc.weight``."""
    before, name = "", _VARIABLE.sub(r"\2", name)
    while name != before:  # what is found may be a part of the next
        before, name = name, _INNER.sub(r".\2", name)
    return name


class GuardSources:
    """The values that some guards look at."""

    def __init__(self, guards: Iterable[str]) -> None:
        self._trees = [tree for text in guards if (tree := tree_of(text)) is not None]
        self._of = [list(map(spelled_plainly, sources_in(tree))) for tree in self._trees]
        self._pinned = frozenset(name for tree in self._trees for name in _pinned_by(tree))
        self._all = frozenset(source for sources in self._of for source in sources)

    def look_at(self, name: str) -> bool:
        """Whether a guard looks at this value."""
        return name in self._all

    def cover(self, name: str) -> bool:
        """Whether a guard looks at this object, or at a part of it."""
        return name in self._all or any(one.startswith((f"{name}.", f"{name}[")) for one in self._all)

    def pin(self, name: str) -> bool:
        """Whether a guard wants this value, or what it is an item of, to be what it was."""
        return name in self._pinned or name.endswith("]") and name.rpartition("[")[0] in self._pinned

    def name(self, owner: str, attribute: str) -> bool:
        """Whether a guard on ``owner`` names ``attribute``."""
        return any(
            owner in sources and attribute in _texts(tree) for tree, sources in zip(self._trees, self._of, strict=True)
        )

    def name_any(self, attributes: Iterable[str]) -> bool:
        """Whether a guard looks at one of these attributes of anything."""
        return any(one.endswith(f".{name}") for one in self._all for name in attributes)

    def apart(self, one: str, other: str) -> bool:
        """Whether a guard wants both to be different objects: it looks at both, and at nothing that they have."""
        return any({one, other} <= set(sources) and len(sources) > 1 for sources in self._of)

    def same(self, one: str, other: str) -> bool:
        """Whether a guard wants both to be one object."""
        return any(
            {one, other} <= set(sources) and any(isinstance(node, ast.Is) for node in ast.walk(tree))
            for tree, sources in zip(self._trees, self._of, strict=True)
        )


def _pinned_by(tree: ast.expr) -> Iterator[str]:
    """The values that it compares with a constant, or whose identity it asks for."""
    while isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        tree = tree.operand
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], (ast.Eq, ast.Is, ast.IsNot)):
        yield from map(spelled_plainly, sources_in(tree.left))
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _SAME and tree.args:
        yield from map(spelled_plainly, sources_in(tree.args[0]))
    elif isinstance(tree, (ast.Name, ast.Attribute, ast.Subscript)):  # what is true or false itself
        yield from map(spelled_plainly, sources_in(tree))


def _texts(tree: ast.AST) -> Iterator[str]:
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
