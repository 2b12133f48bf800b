"""Which variables of a function are computed from what one of its lines evaluates.

Input: the source of a function, the line, and the number of its first line in the file.  Output: names.  All
assignments count, whichever branch they are in: a name too many is possible, one too few only where a value goes
through an attribute or an item.  Nothing is raised, nothing is run.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Sequence

from depyf.run.uses.value_uses import around_line, parsed_lines
from depyf.safety.unheard import parse

_NO_TREE = (SyntaxError, ValueError, RecursionError, MemoryError)


@functools.lru_cache(maxsize=64)
def computed_from(source: str, line: int, first: int) -> frozenset[str]:
    """The variables that ``line`` assigns, and those that are computed from them."""
    try:
        module = parse(textwrap.dedent(source))
    except _NO_TREE:
        return frozenset()
    at = line - first + 1
    assigned = [
        (node, _stored(node), _loaded(node))
        for node in ast.walk(module)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr))
    ]
    found = {name for node, stored, _ in assigned if node.lineno <= at <= (node.end_lineno or at) for name in stored}
    known = 0
    while len(found) > known:
        known = len(found)
        found |= {name for _, stored, loaded in assigned if loaded & found for name in stored}
    return frozenset(found)


def made_by(lines: Sequence[str], line: int) -> frozenset[str]:
    """The last names of the functions whose results ``line``, a line of a file, reads, directly or through variables of
    its function that are assigned once."""
    module = parsed_lines(lines)
    if module is None:
        return frozenset()
    scope = around_line(module, line)
    given: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                given.setdefault(target.id, []).append(node.value)
    reading = [node for node in ast.walk(scope) if isinstance(node, ast.expr) and node.lineno == line]
    read = {node.id for node in reading if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    once = [value for name in read for value in given.get(name, ()) if len(given[name]) == 1]
    calls = [node for node in (*once, *reading) if isinstance(node, ast.Call)]
    return frozenset(
        call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        for call in calls
        if isinstance(call.func, (ast.Attribute, ast.Name))
    )


def _stored(node: ast.AST) -> frozenset[str]:
    return frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


def _loaded(node: ast.AST) -> frozenset[str]:
    augmented = _stored(node) if isinstance(node, ast.AugAssign) else frozenset()
    return augmented | {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
