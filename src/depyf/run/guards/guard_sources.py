"""What the guards of an entry look at, for the question whether they pin a value.

Input: guards as Python.  Output: ``GuardSources``, asked by names as the program writes them.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator

from depyf.run.global_names import IMPORTED, imported_module
from depyf.run.guards.guard_kind import sources_in, tree_of

_INNER = re.compile(r"\.(?:_modules|_parameters|_buffers|__dict__)\[(['\"])([^'\"]+)\1\]")
_SAME = frozenset(("same_value", "same_object"))
"""The checks that want a value to be one that is known, as guards are written in a dump."""
_VARIABLE = re.compile(r"^[LG]\[(['\"])(.+?)\1\]")
_OF_MODULE = re.compile(rf"^G\[(['\"])({IMPORTED}\w+)\1\]")


def known_path(name: str) -> str:
    """The canonical spelling of an access path: ``L['self'].fc.weight`` for ``L['self']._modules['fc'].weight``.
    ``L`` are the local variables, ``G`` the globals of the function's module; globals of another module begin with
    its name."""
    before, name = "", _OF_MODULE.sub(lambda found: imported_module(found[2]), name)
    while name != before:  # what is found may be a part of the next
        before, name = name, _INNER.sub(r".\2", name)
    return name


def spelled_plainly(path: str) -> str:
    """An access path as the program writes it: ``self.fc.weight``."""
    return _VARIABLE.sub(r"\2", path)


def read_guard(text: str) -> ast.expr | None:
    """The syntax tree of a guard, with attributes found in a class written as attributes of the object: Dynamo reads
    ``dict(type(x).__dict__)['k']``.  None where it is no expression."""
    tree = tree_of(text)
    if tree is None or "__dict__)" not in text:
        return tree
    made: ast.expr = _OfClass().visit(copy.deepcopy(tree))
    return made


class _OfClass(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Subscript(
                ast.Call(ast.Name("dict"), [ast.Attribute(ast.Call(ast.Name("type"), [value]), "__dict__")]),
                ast.Constant(str(name)),
            ) | ast.Subscript(
                ast.Call(
                    ast.Name("dict"),
                    [
                        ast.Attribute(
                            ast.Subscript(ast.Attribute(ast.Call(ast.Name("type"), [value]), "__mro__")), "__dict__"
                        )
                    ],
                ),
                ast.Constant(str(name)),
            ):
                return ast.Attribute(value, name, ast.Load())
        return node


class GuardSources:
    """The access paths that a set of guards reads."""

    def __init__(self, guards: Iterable[str]) -> None:
        self._trees = [tree for text in guards if (tree := read_guard(text)) is not None]
        self._of = [list(map(known_path, sources_in(tree))) for tree in self._trees]
        self._pinned = frozenset(name for tree in self._trees for name in _pinned_by(tree))
        self._all = frozenset(source for sources in self._of for source in sources)

    def look_at(self, name: str) -> bool:
        """Whether a guard reads the value at the path ``name``."""
        return name in self._all

    def pin(self, name: str) -> bool:
        """Whether a guard fixes this value, or the tuple that contains it, to its value at compile time."""
        return name in self._pinned or name.endswith("]") and name.rpartition("[")[0] in self._pinned

    def name(self, owner: str, attribute: str) -> bool:
        """Whether a guard on ``owner`` names ``attribute``."""
        return any(
            (owner in sources or f"{owner}.__dict__" in sources) and attribute in _texts(tree)
            for tree, sources in zip(self._trees, self._of, strict=True)
        )

    def name_any(self, attributes: Iterable[str]) -> bool:
        """Whether a guard looks at one of these attributes of anything."""
        return any(one.endswith(f".{name}") for one in self._all for name in attributes)

    def apart(self, one: str, other: str) -> bool:
        """Whether a guard checks that both paths lead to different objects."""
        return any(
            {one, other} <= set(sources) and _called(tree) == "check_no_aliasing"
            for tree, sources in zip(self._trees, self._of, strict=True)
        )

    def same(self, one: str, other: str) -> bool:
        """Whether a guard checks that both paths lead to one object."""
        return any(
            {one, other} <= set(sources) and isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Is)
            for tree, sources in zip(self._trees, self._of, strict=True)
        )


def _called(tree: ast.expr) -> str:
    return tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""


def _pinned_by(tree: ast.expr) -> Iterator[str]:
    """The value that it compares with a constant, as a whole: ``len(x) == 3`` says nothing of what is in ``x``."""
    read: ast.expr | None = None
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], (ast.Eq, ast.Is)):
        read = tree.left if _is_constant(tree.comparators[0]) else None
    elif _called(tree) in _SAME and isinstance(tree, ast.Call) and tree.args:
        read = tree.args[0]
    if read is not None and sources_in(read) == [ast.unparse(read)]:
        yield known_path(ast.unparse(read))


def _is_constant(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _texts(tree: ast.AST) -> Iterator[str]:
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
