"""What becomes of a function whose text loses statements: the statements that go with them, and where ``pass`` stands.

Input: the tree of a function, and which of its statements and expressions are not the program's.
Output: ``DroppedStatements``.
An ``if`` that has nothing left goes where its test does nothing; so does an assignment to a variable that only went to
what is left out.  Another block that has nothing left becomes ``pass``: a header never stands alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(slots=True)
class DroppedStatements:
    """The statements to remove, and the first statement of each block that this empties."""

    statements: set[ast.stmt] = field(default_factory=set)
    emptied: set[ast.stmt] = field(default_factory=set)


def left_out(
    function: ast.FunctionDef, unwanted: Callable[[ast.stmt], bool], is_constant: Callable[[ast.expr], bool]
) -> DroppedStatements:
    """The statements of ``function`` to remove.  ``unwanted`` selects them.  ``is_constant``: an expression without
    effects whose truth value is known."""
    found = DroppedStatements()
    while _more(function, found, unwanted, is_constant):
        pass
    for node in _kept(function, found):
        for block in _blocks(node):
            if all(statement in found.statements for statement in block):
                found.emptied.add(block[0])
    return found


def _more(
    function: ast.FunctionDef,
    found: DroppedStatements,
    unwanted: Callable[[ast.stmt], bool],
    is_constant: Callable[[ast.expr], bool],
) -> bool:
    """Whether there was another statement to leave out."""
    kept = _kept(function, found)
    read = {node.id for node in kept if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    went = {part.id for gone in found.statements for part in ast.walk(gone) if isinstance(part, ast.Name)}
    quiet = _Quiet(function, is_constant)
    before = len(found.statements)
    for node in kept:
        if not isinstance(node, ast.stmt) or node is function:
            continue
        if (
            unwanted(node)
            or (isinstance(node, ast.If) and _is_empty(node, found) and quiet.test(node.test))
            or ((name := _assigned(node)) in went - read and name not in quiet.declared and quiet.value(node))
        ):
            found.statements.add(node)
    return len(found.statements) > before


def _kept(function: ast.FunctionDef, found: DroppedStatements) -> list[ast.AST]:
    """``function`` and what it holds, without the statements that go."""
    kept: list[ast.AST] = []
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        if node not in found.statements:
            kept.append(node)
            waiting += ast.iter_child_nodes(node)
    return kept


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks = [getattr(node, name, None) for name in _BLOCKS]
    return [block for block in blocks if isinstance(block, list) and block]


def _is_empty(node: ast.If, found: DroppedStatements) -> bool:
    return all(statement in found.statements for statement in [*node.body, *node.orelse])


def _assigned(node: ast.stmt) -> str:
    """The variable, where that is all that the statement assigns to."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


class _Quiet:
    """Which expressions of a function do nothing when they are evaluated."""

    def __init__(self, function: ast.FunctionDef, is_constant: Callable[[ast.expr], bool]) -> None:
        self.is_constant = is_constant
        nodes = list(ast.walk(function))
        self.declared = {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
        bound = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
        bound += [node.arg for node in nodes if isinstance(node, ast.arg)]
        constant = [_assigned(node) for node in nodes if isinstance(node, ast.Assign) and self._fixed(node.value)]
        self.constants = {name for name in constant if bound.count(name) == constant.count(name)}
        """Variables that never hold a value of the program."""

    def _fixed(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) or self.is_constant(node)

    def value(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.Assign) and (isinstance(node.value, ast.Name) or self._fixed(node.value))

    def test(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            return all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops) and all(
                isinstance(part, ast.Name) or self._fixed(part) for part in parts
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.test(node.operand)
        return self._fixed(node) or (isinstance(node, ast.Name) and node.id in self.constants)
