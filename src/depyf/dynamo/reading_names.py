"""The last two steps of ``reading``: put values used once where they are used, and give the others names.

Input: statements in which every effect is an assignment to a placeholder ``%n``.  Output invariant: no placeholder is
left, and the order of effects is unchanged.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

WEAK = "~"
"""Marks a hint that any real name replaces."""
TEMPORARY = re.compile(r"^(?:~|(?:__temp_|tmp_|value_)\d+$)")
_WIDTH = 100
_SHORT = 40


def inline_once(body: list[ast.stmt], where: dict[int, str], graphs: set[str]) -> list[ast.stmt]:
    """Move each value that is used exactly once into its use, where nothing with an effect lies between."""
    uses = Counter(n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return _block(body, uses, where)


def _block(body: list[ast.stmt], uses: Counter[str], where: dict[int, str]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If):
            statement.body = _block(statement.body, uses, where)
            statement.orelse = _block(statement.orelse, uses, where)
        elif isinstance(statement, (ast.With, ast.For)):
            statement.body = _block(statement.body, uses, where)
        name = placeholder(statement)
        if name is not None and isinstance(statement, ast.Assign) and not uses[name]:
            if not _effects(statement.value):
                continue
            dropped = ast.Expr(statement.value)
            where[id(dropped)] = where.get(id(statement), "")
            statement = dropped
        while out and (previous := placeholder(out[-1])) is not None and uses[previous] == 1:
            value = out[-1].value  # type: ignore[attr-defined]
            if not _replace_first(statement, previous, value):
                break
            place = where.get(id(out[-1]), "")
            where[id(statement)] = where.get(id(statement), "") or place
            out.pop()
        out.append(statement)
    return out


def placeholder(statement: ast.stmt) -> str | None:
    """The placeholder that ``statement`` defines."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        return name if name.startswith("%") else None
    return None


def _effects(node: ast.expr) -> bool:
    return any(
        not isinstance(n, (ast.Name, ast.Constant, ast.List, ast.Tuple, ast.expr_context)) for n in ast.walk(node)
    )


def _head(statement: ast.stmt) -> list[tuple[ast.AST, str]]:
    """The expressions a statement evaluates itself, in order: (owner, field)."""
    match statement:
        case ast.Assign(targets=[ast.Subscript() as target]):
            return [(statement, "value"), (target, "value"), (target, "slice")]
        case ast.Assign(targets=[ast.Attribute() as target]):
            return [(statement, "value"), (target, "value")]
        case ast.Assign() | ast.Expr() | ast.Return():
            return [(statement, "value")]
        case ast.Raise():
            return [(statement, "exc"), (statement, "cause")]
        case ast.If():
            return [(statement, "test")]
        case ast.For():
            return [(statement, "iter")]
        case ast.With(items=[item]):
            return [(item, "context_expr")]
        case _:
            return []


def _replace_first(statement: ast.stmt, name: str, value: ast.expr) -> bool:
    """Put ``value`` in place of ``name`` where that is the first thing with an effect in ``statement``."""
    for owner, field in _head(statement):
        part = getattr(owner, field)
        if part is None:
            continue
        for node, parent, slot, index in _in_order(part, owner, field):
            if isinstance(node, ast.Name) and node.id == name:
                length = len(ast.unparse(value))
                if length > _SHORT and len(ast.unparse(statement)) + length > _WIDTH:
                    return False
                if index is None:
                    setattr(parent, slot, value)
                else:
                    getattr(parent, slot)[index] = value
                return True
            if not isinstance(node, (ast.Name, ast.Constant, ast.List, ast.Tuple, ast.Starred, ast.keyword)):
                return False
    return False


def _in_order(
    node: ast.AST, parent: ast.AST, slot: str, index: int | None = None
) -> Iterator[tuple[ast.AST, ast.AST, str, int | None]]:
    """The nodes of an expression in the order of their evaluation: operands before the operation."""
    fields: tuple[str, ...]
    match node:
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            fields = ()
        case ast.Call():
            fields = ("func", "args", "keywords")
        case _:
            fields = node._fields
    for field in fields:
        child = getattr(node, field, None)
        if isinstance(child, list):
            for position, item in enumerate(child):
                if isinstance(item, ast.AST):
                    yield from _in_order(item, node, field, position)
        elif isinstance(child, ast.AST) and not isinstance(child, (ast.expr_context, ast.operator, ast.unaryop)):
            yield from _in_order(child, node, field)
    yield node, parent, slot, index


def name_values(body: list[ast.stmt], hints: dict[str, str], taken: set[str]) -> None:
    """Replace the placeholders that are left by names: those Dynamo or the user gave, else ``value``, ``value_1``..."""
    names: dict[str, str] = {}
    used = set(taken)
    for statement in body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Name) or not node.id.startswith("%"):
                continue
            if node.id not in names:
                hint = hints.get(node.id, "").lstrip(WEAK)
                base = hint if hint and not TEMPORARY.match(hint) else "value"
                name, number = base, 0
                while name in used:
                    number += 1
                    name = f"{base}_{number}"
                used.add(name)
                names[node.id] = name
            node.id = names[node.id]
