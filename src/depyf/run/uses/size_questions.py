"""What a function asks about the size of a tensor that one of its lines computes: ``if rows.numel() == 0:``.

Input: the lines of a file, and a line that assigns.  Output: ``PlacedUse``, what each such number is used for, with its
line.  A number that is no more than computed with is no question.  Besides: whether a line is in a loop that goes round
as often as a condition says, or that only calls a function.  Nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from depyf.run.uses.follow_value import Scope, uses_in
from depyf.run.uses.use_kinds import PlacedUse, ValueUse
from depyf.run.uses.value_uses import around_line, held_around, parsed_lines

_METHODS = frozenset(("numel", "nelement", "size", "__len__"))
_QUESTIONS = frozenset((ValueUse.BRANCH, ValueUse.LOOP, ValueUse.CHECK, ValueUse.REPORT))


def size_questions(lines: Sequence[str], line: int) -> tuple[PlacedUse, ...]:
    """The branches, loops and checks that the size of what ``line`` computes decides, in their order; () where the text
    is no Python, too."""
    module = parsed_lines(lines)
    if module is None:
        return ()
    scope = around_line(module, line)
    names = _assigned(scope, line)
    sizes = {node for node in ast.walk(scope) if isinstance(node, ast.expr) and _is_size(node, names)}
    if not sizes:
        return ()
    try:
        found = uses_in(scope, sizes.__contains__, held_around(module, line))
    except RecursionError:
        return ()
    return tuple(sorted(one for one in found if one.use in _QUESTIONS))


def in_while(lines: Sequence[str], line: int) -> bool:
    """Whether a ``while`` loop of the innermost function around ``line`` has it in its body; False where the text is no
    Python."""
    module = parsed_lines(lines)
    if module is None:
        return False
    loops = (node for node in ast.walk(around_line(module, line)) if isinstance(node, ast.While))
    return any(one.body[0].lineno <= line <= (one.body[-1].end_lineno or line) for one in loops)


def loop_is_call(lines: Sequence[str], line: int) -> bool | None:
    """Whether the innermost loop around ``line`` does nothing but call one function: ``x = block(x)``; None for no
    loop."""
    module = parsed_lines(lines)
    if module is None:
        return None
    around = (
        node
        for node in ast.walk(around_line(module, line))
        if isinstance(node, (ast.For, ast.While)) and node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
    )
    loop = next(iter(reversed(list(around))), None)  # outer ones come first
    if loop is None:
        return None
    made = loop.body[0]
    value = made.value if isinstance(made, (ast.Assign, ast.AugAssign, ast.Expr)) else None
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)] if value is not None else []
    return len(loop.body) == 1 and calls == [value]


def _assigned(scope: Scope, line: int) -> frozenset[str]:
    """The names that get what the line computes."""
    assigns = (
        node
        for node in ast.walk(scope)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.lineno <= line <= (node.end_lineno or node.lineno)
    )
    targets = (target for one in assigns for target in (one.targets if isinstance(one, ast.Assign) else [one.target]))
    parts = (part for target in targets for part in ast.walk(target))
    return frozenset(part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def _is_size(node: ast.expr, names: frozenset[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            return name in names and method in _METHODS
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            return name in names
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape")):
            return name in names
        case _:
            return False
