"""A value that waits in a temporary for the variable it is stored to is stored at once (generated code only).

    value_0 = f(x); del tmp; out = value_0          ->   out = f(x); del tmp

Dynamo deletes variables between the computation of a value and its use.  Input and output: the Python dialect, before
temporaries are released.  Only ``del`` of other variables may stand in between, so no operation changes its place.  The
proof has the last word.
"""

from __future__ import annotations

from collections import Counter

from depyf.tree.expr import Name, Temp
from depyf.tree.exprs import walk_all
from depyf.tree.nodes import Assign, Body, Delete, Stmt
from depyf.tree.rewrite import bodies, with_bodies


def store_at_once(body: Body) -> Body:
    """``body`` with such temporaries gone."""
    mentions = Counter(node.key for node in walk_all(body) if isinstance(node, Temp))
    return _block(body, mentions)


def _block(body: Body, mentions: Counter[int]) -> Body:
    out: list[Stmt] = []
    for stmt in body:
        if bodies(stmt):
            stmt = with_bodies(stmt, lambda inner: _block(inner, mentions))
        waiting = stmt.value if isinstance(stmt, Assign) else None
        if isinstance(stmt, Assign) and isinstance(waiting, Temp) and mentions[waiting.key] == 2:  # bound, and here
            at = len(out) - 1
            while at >= 0 and _deletes_variables(out[at]):
                at -= 1
            before = out[at] if at >= 0 else None
            if isinstance(before, Assign) and _is(before.targets, waiting) and _may_join(stmt, out[at + 1 :]):
                out[at] = Assign(stmt.targets, before.value, before.line)
                continue
        out.append(stmt)
    return tuple(out)


def _deletes_variables(stmt: Stmt) -> bool:
    return isinstance(stmt, Delete) and all(isinstance(t, Name) and t.scope == "fast" for t in stmt.targets)


def _is(targets: tuple[object, ...], temp: Temp) -> bool:
    return len(targets) == 1 and isinstance(targets[0], Temp) and targets[0].key == temp.key


def _may_join(stmt: Assign, between: list[Stmt]) -> bool:
    """Whether the store can be made before the deletions ``between``."""
    target = stmt.targets[0]
    if len(stmt.targets) != 1 or not isinstance(target, Name) or target.scope != "fast":
        return False
    deleted = {t.id for d in between if isinstance(d, Delete) for t in d.targets if isinstance(t, Name)}
    return target.id not in deleted
