"""What only a program that wrote code needs in it: variables it never reads, parameters named for nothing.

    mark = True; mark = False; x = a      ->   x = a          ``mark`` is a promised variable that nothing reads
    a  (a statement, ``a`` a parameter)   ->   (nothing)      the value that ended a statement which was run elsewhere
    with a: return b                      ->   with a: return b
    raise None                                 nothing comes there, as promised (``bytecode.unreached``)

Input and output: the Python dialect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from depyf.structure.exits import ends
from depyf.tree.expr import Const, Func, Name
from depyf.tree.exprs import children
from depyf.tree.nodes import Assign, Body, Delete, ExprStmt, Pass, Raise, Stmt, With
from depyf.tree.rewrite import bodies, walk, with_bodies


def drop_marks(body: Body, variables: Set[str], parameters: Set[str]) -> Body:
    """``body`` without them; ``variables`` are those that were promised to be looked up by nobody."""
    found = _mentions(body)
    marked = Counter(name for stmt in walk(body) if (name := _set_only(stmt)) in variables)
    unread = frozenset(name for name, count in marked.items() if found[name] == count)
    deleted = {t.id for s in walk(body) if isinstance(s, Delete) for t in s.targets if isinstance(t, Name)}
    bound = frozenset(parameters) - deleted
    return _block(body, unread, bound)


def drop_unreached(body: Body) -> Body:
    """``body`` without each ``raise None`` behind a ``with`` that is always left from inside."""
    out: list[Stmt] = []
    for stmt in body:
        if bodies(stmt):
            stmt = with_bodies(stmt, drop_unreached)
        nothing = isinstance(stmt, Raise) and isinstance(stmt.exc, Const) and stmt.exc.value is None
        if not (nothing and out and isinstance(out[-1], With) and ends(out[-1].body)):
            out.append(stmt)
    return tuple(out)


def _mentions(body: Body) -> Counter[str]:
    """How often each local variable stands in ``body``; nested functions see no local variables."""
    found: Counter[str] = Counter()
    stack: list[object] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, Name):
            found[node.id] += node.scope == "fast"
        elif isinstance(node, Func):
            stack.extend([*node.defaults, *(v for _, v in node.kwdefaults), *(v for _, v in node.annotations)])
        else:
            stack.extend(children(node))
    return found


def _set_only(stmt: Stmt) -> str:
    """The local variable that a statement sets to a constant; "" for any other statement."""
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not isinstance(stmt.value, Const):
        return ""
    target = stmt.targets[0]
    return target.id if isinstance(target, Name) and target.scope == "fast" else ""


def _block(body: Body, unread: Set[str], bound: Set[str]) -> Body:
    out: list[Stmt] = []
    for stmt in body:
        if bodies(stmt):
            stmt = with_bodies(stmt, lambda inner: _block(inner, unread, bound) or ((Pass(),) if inner else ()))
        named = stmt.value if isinstance(stmt, ExprStmt) else None
        idle = isinstance(named, Name) and named.scope == "fast" and named.id in bound
        if not idle and _set_only(stmt) not in unread:
            out.append(stmt)
    return tuple(out)
