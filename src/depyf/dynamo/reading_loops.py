"""Loops as a person writes them, before ``reading`` follows the code.

Input and output: statements of one function.  A loop that keeps values below its iterator has no ``for`` in Python;
the exact text then asks a ``for`` with an immediate ``break`` for one item at a time:

    while True:                                              for item in items:
        more = True                                              BODY
        for item in items: break               ->            REST
        else: more = False
        if more: BODY
        else: REST; break            (or return)
"""

from __future__ import annotations

import ast


def simple_loops(body: list[ast.stmt]) -> list[ast.stmt]:
    """``body`` with every loop of that shape as a ``for``; other statements are kept as they are."""
    out: list[ast.stmt] = []
    for statement in body:
        for field in ("body", "orelse"):
            inner = getattr(statement, field, None)
            if inner and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                setattr(statement, field, simple_loops(inner))
        found = _one_item_at_a_time(statement)
        out += found if found is not None else [statement]
    return out


def _one_item_at_a_time(statement: ast.stmt) -> list[ast.stmt] | None:
    match statement:
        case ast.While(
            test=ast.Constant(value=True),
            body=[
                ast.Assign(targets=[ast.Name(id=flag)], value=ast.Constant(value=True)),
                ast.For(target=target, iter=items, body=[ast.Break()], orelse=[off]) as loop,
                ast.If(test=ast.Name(id=asked), body=again, orelse=[*rest, (ast.Break() | ast.Return()) as end]),
            ],
            orelse=[],
        ) if flag == asked and ast.unparse(off) == f"{flag} = False":
            if leaves_early(again) or any(isinstance(n, (ast.Break, ast.Continue)) for s in rest for n in ast.walk(s)):
                return None
            simple = ast.For(target=target, iter=items, body=again, orelse=[], lineno=loop.lineno)
            return [simple, *rest, end] if isinstance(end, ast.Return) else [simple, *rest]
    return None


def leaves_early(body: list[ast.stmt]) -> bool:
    """Does ``body`` leave the loop around it, or its function?"""
    return any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for s in body for n in ast.walk(s))


def exposed(body: list[ast.stmt]) -> set[str]:
    """The variables that ``body`` reads before it binds them."""
    found: set[str] = set()
    bound: set[str] = set()
    for statement in body:
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
        found |= {n.id for n in names if isinstance(n.ctx, ast.Load)} - bound
        if isinstance(statement, ast.Assign):
            bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return found


def carried(loop: ast.For, after: set[str], before: set[str]) -> set[str]:
    """The variables that ``loop`` hands from one turn to the next, or to what follows it.

    ``before`` are those bound when it starts, ``after`` those that the rest of the function reads.
    """
    stored = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored & (before | after)
