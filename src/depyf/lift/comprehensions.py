"""A loop that only collects values is a comprehension: fold it into the expression it computes.

Before 3.12 such a loop is the body of nested code (its result is returned), from 3.12 it is inlined in the middle of
an expression; a generator expression is always nested code whose loop yields.

    push acc; iter_start; H: for item -> B, exit J;  B: x = item; if not c goto H; collect e; goto H
                                      ->  push [e for x in ... if c]; J
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.lift.block import Lifted
from depyf.lift.conditions import negate
from depyf.lift.values import IterOf
from depyf.tree.expr import Comp, Expr, Generator, Marker, YieldOf
from depyf.tree.nodes import Assign, ExprStmt

if TYPE_CHECKING:
    from depyf.lift.lifter import Lifter


class _NoMatch(Exception):
    pass


def _loop_test(block: Lifted | None) -> Marker | None:
    if block is None or not isinstance(block.cond, Marker) or block.cond.kind != "for" or block.stmts:
        return None
    return block.cond


def fold_comprehension(lifter: Lifter, name: int) -> bool:
    """Fold the loop whose exhausted exit is ``name``, if it only collects."""
    for before in lifter.preds[name]:
        header = lifter.blocks.get(before)
        test = _loop_test(header)
        if header is None or test is None or header.succs[1] != name:
            continue
        yields = lifter.unit.name == "<genexpr>"
        acc = next((i for i, value in enumerate(header.stack) if _is_acc(value)), -1)
        last_acc = max((i for i, value in enumerate(header.stack) if _is_acc(value)), default=-1)
        if last_acc < 0 and not yields:
            continue
        acc = last_acc
        outside = [p for p in lifter.preds[header.id] if not _inside(lifter, p, header)]
        if len(outside) != 1 or outside[0] not in lifter.blocks:
            continue
        parent = lifter.blocks[outside[0]]
        if parent.container != header.container or parent.cond is not None:
            continue
        try:
            members: list[int] = []
            generators, kind, key, elt = _match(lifter, header, members)
        except _NoMatch:
            continue
        source = test.detail
        if isinstance(source, Marker) and source.kind == "iter":
            if not parent.stmts or not _starts(parent.stmts[-1], source):
                continue
            parent.stmts.pop()
        comp = Comp(kind, elt, key, tuple(generators))
        if yields and last_acc < 0:
            del parent.stack[len(parent.stack) - _slots(header) :]
            parent.stmts.append(ExprStmt(Marker("genexpr", comp), header.line))
        else:
            position = acc
            del parent.stack[len(parent.stack) - _slots(header) :]
            parent.stack[position] = comp
        for member in members:
            lifter.set_succs(lifter.blocks[member], [])
        lifter.set_succs(parent, [name])
        for member in members:
            lifter.absorb(parent, member)
        return True
    return False


def _is_acc(value: Expr) -> bool:
    return isinstance(value, Marker) and value.kind == "acc"


def _slots(header: Lifted) -> int:
    top = header.stack[-1]
    return 2 if isinstance(top, Marker) and top.kind == "null" else 1


def _starts(stmt: object, marker: Marker) -> bool:
    return (
        isinstance(stmt, ExprStmt)
        and isinstance(stmt.value, Marker)
        and stmt.value.kind == "iter_start"
        and stmt.value.detail is marker
    )


def _inside(lifter: Lifter, name: int, header: Lifted) -> bool:
    """Whether a predecessor of the loop test lies in the loop: it was lifted after it."""
    return name not in lifter.blocks or name > header.id and _after(lifter, name, header.id)


def _after(lifter: Lifter, name: int, header: int) -> bool:
    order = list(lifter.blocks)
    return order.index(name) > order.index(header)


def _source(test: Marker) -> tuple[Expr, bool]:
    value = test.detail
    if isinstance(value, Marker) and value.kind == "iter" and isinstance(value.detail, IterOf):
        return value.detail.value, value.detail.is_async
    if isinstance(value, Marker):
        raise _NoMatch
    return value, False


def _match(lifter: Lifter, header: Lifted, members: list[int]) -> tuple[list[Generator], str, Expr | None, Expr]:
    """Generators, kind, key and element of the loop at ``header``; ``members`` receives its blocks."""
    test = header.cond
    assert isinstance(test, Marker)
    members.append(header.id)
    source, is_async = _source(test)
    body = lifter.blocks.get(header.succs[0])
    if body is None or not body.stmts:
        raise _NoMatch
    first = body.stmts[0]
    if not isinstance(first, Assign) or len(first.targets) != 1 or not _is_item(first.value, header):
        raise _NoMatch
    ifs: list[Expr] = []
    stmts = body.stmts[1:]
    block = body
    while True:
        if lifter.preds[block.id] != [members[-1]]:
            raise _NoMatch
        members.append(block.id)
        if not stmts and block.cond is not None and not isinstance(block.cond, Marker):
            yes, no = block.succs
            if no == header.id:
                ifs.append(block.cond)
                following = lifter.blocks.get(yes)
            elif yes == header.id:
                ifs.append(negate(block.cond))
                following = lifter.blocks.get(no)
            else:
                raise _NoMatch
            if following is None:
                raise _NoMatch
            block, stmts = following, following.stmts
            continue
        break
    generator = Generator(first.targets[0], source, tuple(ifs), is_async)
    if len(stmts) != 1 or block.cond is not None or len(block.succs) != 1:
        raise _NoMatch
    stmt = stmts[0]
    if not isinstance(stmt, ExprStmt):
        raise _NoMatch
    inner = lifter.blocks.get(block.succs[0])
    if isinstance(stmt.value, Marker) and stmt.value.kind == "iter_start" and inner is not None:
        nested = _loop_test(inner)
        if nested is None or nested.detail is not stmt.value.detail or inner.succs[1] != header.id:
            raise _NoMatch
        more, kind, key, elt = _match(lifter, inner, members)
        return [generator, *more], kind, key, elt
    if block.succs != [header.id]:
        raise _NoMatch
    if isinstance(stmt.value, Marker) and stmt.value.kind == "collect":
        kind, key, elt = stmt.value.detail
        return [generator], kind, key, elt
    if isinstance(stmt.value, YieldOf) and lifter.unit.name == "<genexpr>":
        return [generator], "generator", None, stmt.value.value
    raise _NoMatch


def _is_item(value: Expr, header: Lifted) -> bool:
    return isinstance(value, Marker) and value.kind == "item" and value.detail == header.id
