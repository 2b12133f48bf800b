"""What a function does with one of its values: whether the number decides a branch, bounds a loop, is an index ...

The questions:

``uses_of(source, "self.layer_idx")``
    Every place of the function at which ``self.layer_idx`` is read is the value.
``uses_of(source, "y.sum().item()", line=17, first=12)``
    Only what is evaluated on line 17 is the value, in a text whose first line is line 12 of its file (a
    ``CodeRecord.source`` with its ``CodeRecord.line``).
``uses_at(lines, 17, "y.sum().item()")``
    The same for the lines of a whole file: the innermost function around the line is read.  The
    file also says which names and attributes are lists, dicts or containers of modules.

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
from depyf.run.uses.followed import path_of
from depyf.run.uses.held_values import Held, Names
from depyf.run.uses.use_kinds import PlacedUse, ValueUse
from depyf.safety.unheard import parse

_NOT_FOUND = (PlacedUse(0, ValueUse.UNKNOWN),)
_NO_TREE = (SyntaxError, ValueError, RecursionError, MemoryError)


def uses_of(source: str, expression: str, line: int = 0, first: int = 1) -> frozenset[ValueUse]:
    """What becomes of the value of ``expression``, on ``line`` or wherever it is read, in the function ``source``.

    ``first``: the number that the first line of ``source`` has in its file, which ``line`` counts by.  Where
    ``expression`` is "" or not on the line, every number that is read out of a tensor there is followed; where none
    is, what decides a branch there."""
    return frozenset(placed.use for placed in placed_uses_of(source, expression, line, first))


def placed_uses_of(source: str, expression: str, line: int = 0, first: int = 1) -> tuple[PlacedUse, ...]:
    """As ``uses_of``, each use with its line, in the order of the text."""
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
    """As ``uses_at``, each use with its line, in the order of the text."""
    module = parsed_lines(lines)
    if module is None:
        return _NOT_FOUND
    return _followed(around_line(module, line), expression, line, held_around(module, line))


def reads_used_at(lines: Sequence[str], line: int) -> frozenset[ValueUse]:
    """How ``line`` uses the numbers that its function reads out of tensors; an empty set where none is."""
    module = parsed_lines(lines)
    if module is None:
        return frozenset()
    scope = around_line(module, line)
    reads = {node for node in ast.walk(scope) if isinstance(node, ast.expr) and _reads(node)}
    try:
        placed = uses_in(scope, reads.__contains__, held_around(module, line))
    except RecursionError:
        return frozenset()
    return frozenset(use.use for use in placed if use.line == line)


def indexed_by(source: str, expression: str) -> frozenset[str]:
    """What the value of ``expression``, or a variable that it is assigned to, is an index of in ``source``: ``cache``
    of ``cache[self.layer_idx]``; what has no name is written out."""
    module = _parsed(textwrap.dedent(source))
    if module is None:
        return frozenset()
    wanted = _expression(expression)
    names = {ast.dump(wanted)} if wanted is not None else set()
    names |= {
        ast.dump(ast.Name(target.id, ast.Load()))
        for node in ast.walk(module)
        if isinstance(node, ast.Assign) and ast.dump(node.value) in names
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    subscripts = (node for node in ast.walk(module) if isinstance(node, ast.Subscript))
    return frozenset(
        ast.unparse(node.value)
        for node in subscripts
        if any(isinstance(part, ast.expr) and ast.dump(part) in names for part in ast.walk(node.slice))
    )


def parsed_lines(lines: Sequence[str]) -> ast.Module | None:
    """The tree of a file; None where it is no Python."""
    return _parsed("".join(one if one.endswith("\n") else one + "\n" for one in lines))


@functools.lru_cache(maxsize=2)
def _parsed(source: str) -> ast.Module | None:
    try:
        return parse(source)
    except _NO_TREE:
        return None


def around_line(module: ast.Module, line: int) -> Scope:
    """The innermost function around a line."""
    scope: Scope = module
    for node in ast.walk(module):  # outer ones come first
        if isinstance(node, Function) and node.lineno <= line <= (node.end_lineno or node.lineno):
            scope = node
    return scope


def held_around(module: ast.Module, line: int) -> Names:
    """What the names of the module hold, and the attributes that the methods of the class around ``line`` set: which of
    them are lists, dicts and containers of modules."""
    held: Names = {}
    for statement in module.body:
        _hold(statement, held)
    classes = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    for method in classes[-1].body if classes else ():
        for node in ast.walk(method):
            if isinstance(node, ast.stmt):
                _hold(node, held, "self." if isinstance(method, Function) else "")
    return held


def _hold(node: ast.stmt, held: Names, begins: str = "") -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    kind = _container(value) if value is not None else None
    for target in targets:
        path = path_of(target)
        if path and path.startswith(begins) and (path not in held or kind is None):
            held[path] = Held.OTHER if kind is None else kind


def _container(node: ast.expr) -> Held | None:
    match node:
        case ast.List() | ast.Dict() | ast.Tuple() | ast.ListComp() | ast.DictComp():
            return Held.FRESH
        case ast.Call():
            name = path_of(node.func).rpartition(".")[2]
            return Held.CODES if name in known.MODULES else Held.FRESH if name in ("list", "dict", "tuple") else None
        case _:
            return None


def _followed(scope: Scope, expression: str, line: int, around: Names | None = None) -> tuple[PlacedUse, ...]:
    try:
        values = _values(scope, expression, line)
        if not values:
            return _NOT_FOUND
        return tuple(sorted(uses_in(scope, values.__contains__, around or {})))
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
    if exact or not line:
        return exact
    return {node for node in there if _reads(node)} or _tests(scope, line)


def _tests(scope: Scope, line: int) -> set[ast.expr]:
    """What decides a branch, a loop or an assertion that begins on ``line``."""
    deciding = (ast.If, ast.While, ast.IfExp, ast.Assert)
    return {node.test for node in ast.walk(scope) if isinstance(node, deciding) and node.lineno == line}


def _expression(text: str) -> ast.expr | None:
    try:
        return parse(text.strip(), mode="eval").body
    except _NO_TREE:
        return None


def is_read(expression: str) -> bool:
    """Whether an expression reads numbers out of what may be a tensor itself, not in a part of it."""
    node = _expression(expression)
    return node is not None and _reads(node)


def _reads(node: ast.expr) -> bool:
    """Whether it reads numbers out of what may be a tensor."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in known.READS
        case ast.Call(func=ast.Name(id=name)):
            return name in known.READ_BY
        case _:
            return False
