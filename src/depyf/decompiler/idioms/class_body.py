"""Removes what the compiler adds at the start of every class body, and the return at its end.

Input and output: the Python dialect.  What the user assigns to the same names further inside stays:

    __module__ = __name__; __qualname__ = "C"; __firstlineno__ = 1      (the line: 3.13+)
    ...
    return

Its stores at the end are gone already (``cfg/undo/class_ends.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

from depyf.decompiler.ir.expr import CellOf, Const, Name, Temp, Walrus
from depyf.decompiler.ir.markers import LocalsDict
from depyf.decompiler.ir.stmt import Assign, Body, For, If, Match, Return, Stmt, Try, While
from depyf.safety.depth import any_depth


def class_body(body: Body, notes_line: bool) -> Body:
    """``body`` without the compiler's statements; flags of the decompiler may be set before them.

    ``notes_line`` says that the compiler stores the line of the class; else such a store is the program's.
    """
    stmts = [stmt for stmt in body if not _is_end(stmt)]
    flags = list(takewhile(_sets_flag, stmts))
    del stmts[: len(flags)]
    seen: set[str] = set() if notes_line else {"__firstlineno__"}
    while stmts and (name := _in_front(stmts[0])) and name not in seen:
        seen.add(name)
        del stmts[0]
    return (*flags, *stmts)


def _sets_flag(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Const) and isinstance(stmt.targets[0], Temp)


def ends_outside(body: Body, annotates: Callable[[Stmt], object]) -> Body:
    """The compiler's own statements at the end after the statement in whose last arm they are.

    Where the other arms leave, only one goes on to the end of the class: ``if a: raise b`` / ``else: c`` and the end.
    ``annotates`` tells the function of the annotations, which is one of these statements.
    """
    kept, tail = _without_end(body, lambda stmt: bool(_is_end(stmt) or annotates(stmt)))
    return (*kept, *tail)


@any_depth
def _without_end(body: Body, ours: Callable[[Stmt], bool]) -> tuple[Body, Body]:
    at = len(body)
    while at and ours(body[at - 1]):
        at -= 1
    if at < len(body) or not body:
        return body[:at], body[at:]
    last = body[-1]
    if isinstance(last, Match):
        arms = [_without_end(case.body, ours) for case in last.cases]
        cases = tuple(replace(case, body=kept) for case, (kept, _) in zip(last.cases, arms, strict=True))
        changed: Stmt = replace(last, cases=cases)
    elif isinstance(last, If):
        arms = [_without_end(last.body, ours), _without_end(last.orelse, ours)]
        changed = replace(last, body=arms[0][0], orelse=arms[1][0])
    elif isinstance(last, (Try, For, While)):
        arms = [_without_end(last.orelse, ours)]
        changed = replace(last, orelse=arms[0][0])
    else:
        return body, ()
    tails = [tail for _, tail in arms if tail]
    return ((*body[:-1], changed), tails[0]) if len(tails) == 1 else (body, ())


def _is_end(stmt: Stmt) -> bool:
    if not isinstance(stmt, Return):
        return False
    value = stmt.value
    return value is None or isinstance(value, (CellOf, Walrus)) or isinstance(value, Const) and value.value is None


def _in_front(stmt: Stmt) -> str:
    """The name that the compiler stores to in front of the class body, "" if this is no such statement."""
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not isinstance(stmt.targets[0], Name):
        return ""
    name, value = stmt.targets[0].id, stmt.value
    ours = {
        "__module__": isinstance(value, Name) and value.id == "__name__",
        "__qualname__": isinstance(value, Const) and isinstance(value.value, str),
        "__firstlineno__": isinstance(value, Const) and isinstance(value.value, int),
        "__type_params__": isinstance(value, Name) and value.id == ".type_params",
        "__classdict__": isinstance(value, LocalsDict),
    }
    return name if ours.get(name) else ""
