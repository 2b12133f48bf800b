"""What a loop leaves for goes behind it, where staying inside would cost a flag.

    Loop(L): Block(B): Try: .. Loop: .. Exit(L) ..          Block(B): Loop(L): Try: .. Loop: .. Exit(L) ..
                       except: Exit(B)                 ->                     except: Exit(B)
             tail                                           tail

On the left only a flag tells the inner ``break`` that goes on with L from the way to the tail; on the right it is
falling off the end of the body, and ``break`` leads to the tail.  Input and output: the labelled dialect.
"""

from __future__ import annotations

from depyf.ir.stmt import Block, Body, Exit, Loop, Stmt, Try
from depyf.ir.walk_stmt import bodies, walk, with_bodies
from depyf.safety.depth import any_depth
from depyf.structure.exits import ends


@any_depth
def move_tails(body: Body) -> Body:
    """``body`` with the ends of such loops behind them."""
    result: list[Stmt] = []
    for stmt in body:
        if bodies(stmt):
            stmt = with_bodies(stmt, move_tails)
        result.extend(_moved(stmt) if isinstance(stmt, Loop) else (stmt,))
    return tuple(result)


def _moved(loop: Loop) -> Body:
    for at, block in enumerate(loop.body[:-1]):
        if not isinstance(block, Block) or not any(isinstance(stmt, Try) for stmt in block.body):
            continue
        tail = loop.body[at + 1 :]
        if not ends(block.body) or not ends(tail) or _leads(tail, loop.label):
            continue
        if _from_loop(block.body, loop.label) and not _from_loop(block.body, block.label):
            return (
                Block(block.label, (Loop(loop.label, (*loop.body[:at], *block.body), loop.line),), block.line),
                *tail,
            )
    return (loop,)


def _leads(body: Body, label: int) -> bool:
    return any(isinstance(stmt, Exit) and stmt.label == label for stmt in walk(body))


def _from_loop(body: Body, label: int) -> bool:
    """Whether an exit to ``label`` lies in a loop inside a ``try``."""
    return any(
        isinstance(inner, Loop) and _leads(inner.body, label)
        for stmt in walk(body)
        if isinstance(stmt, Try)
        for part in bodies(stmt)
        for inner in walk(part)
    )
