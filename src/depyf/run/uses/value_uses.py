"""What a function does with one of its values: whether the number decides a branch, bounds a loop, is an index ...

The questions:

``uses_of(source, "self.layer_idx")``
    Every place of the function at which ``self.layer_idx`` is read is the value.
``uses_of(source, "y.sum().item()", line=17, first=12)``
    Only what is evaluated on line 17 is the value, in a text whose first line is line 12 of its file (a
    ``CodeRecord.source`` with its ``CodeRecord.line``).
``uses_at(lines, 17, "y.sum().item()")``
    The same for the lines of a whole file: the innermost function around the line is read.

Input: source text that need not stand alone (it may be indented, as a method is).  Output: a set of ``ValueUse``; the
``placed_`` twins say the lines, too (in the numbering of the file).  An empty set: nothing is done with the value.
RETURNED: what the caller does with it is not known here.  ``{ValueUse.UNKNOWN}``: the text is no Python, or the value
is not in it.  Nothing is raised, nothing is run; torch is not needed.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Sequence

from depyf.run.uses import known_calls as known
from depyf.run.uses.follow_value import Function, Scope, uses_in
from depyf.run.uses.use_kinds import PlacedUse, ValueUse

_NOT_FOUND = (PlacedUse(0, ValueUse.UNKNOWN),)
_NO_TREE = (SyntaxError, ValueError, RecursionError, MemoryError)


def uses_of(source: str, expression: str, line: int = 0, first: int = 1) -> frozenset[ValueUse]:
    """What becomes of the value of ``expression``, on ``line`` or wherever it is read, in the function ``source``.

    ``first``: the number that the first line of ``source`` has in its file, which ``line`` counts by.  Where
    ``expression`` is "" or not on the line, every number that is read out of a tensor there is followed."""
    return frozenset(placed.use for placed in placed_uses_of(source, expression, line, first))


def placed_uses_of(source: str, expression: str, line: int = 0, first: int = 1) -> tuple[PlacedUse, ...]:
    """The same with the lines, in their order."""
    module = _parsed(textwrap.dedent(source))
    if module is None:
        return _NOT_FOUND
    body = module.body
    scope: Scope = body[0] if len(body) == 1 and isinstance(body[0], Function) else module
    found = _followed(scope, expression, line - first + 1 if line else 0)
    return tuple(PlacedUse(use.line + first - 1 if use.line else 0, use.use) for use in found)


def uses_at(lines: Sequence[str], line: int, expression: str = "") -> frozenset[ValueUse]:
    """What becomes of the value of ``expression`` on ``line`` of a file with these lines."""
    return frozenset(placed.use for placed in placed_uses_at(lines, line, expression))


def placed_uses_at(lines: Sequence[str], line: int, expression: str = "") -> tuple[PlacedUse, ...]:
    """The same with the lines, in their order."""
    module = _parsed("".join(one if one.endswith("\n") else one + "\n" for one in lines))
    if module is None:
        return _NOT_FOUND
    return _followed(_around(module, line), expression, line)


@functools.lru_cache(maxsize=2)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except _NO_TREE:
        return None


def _around(module: ast.Module, line: int) -> Scope:
    """The innermost function around a line."""
    scope: Scope = module
    for node in ast.walk(module):  # outer ones come first
        if isinstance(node, Function) and node.lineno <= line <= (node.end_lineno or node.lineno):
            scope = node
    return scope


def _followed(scope: Scope, expression: str, line: int) -> tuple[PlacedUse, ...]:
    try:
        values = _values(scope, expression, line)
        if not values:
            return _NOT_FOUND
        return tuple(sorted(uses_in(scope, values.__contains__)))
    except RecursionError:
        return _NOT_FOUND


def _values(scope: Scope, expression: str, line: int) -> set[ast.expr]:
    """The nodes that are the value."""
    there = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.expr) and (not line or node.lineno <= line <= (node.end_lineno or node.lineno))
    ]
    wanted = _expression(expression)
    shape = ast.dump(wanted) if wanted is not None else ""
    exact = {node for node in there if type(node) is type(wanted) and ast.dump(node) == shape}
    return exact or ({node for node in there if _reads(node)} if line else set())


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except _NO_TREE:
        return None


def _reads(node: ast.expr) -> bool:
    """Whether it reads numbers out of what may be a tensor."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in known.READS
        case ast.Call(func=ast.Name(id=name)):
            return name in known.READ_BY
        case _:
            return False
