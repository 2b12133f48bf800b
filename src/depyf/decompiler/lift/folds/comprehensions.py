"""Folds loops that only collect values into comprehensions.

Before 3.12 such a loop is the body of nested code (its result is returned), from 3.12 it is inlined in the middle of
an expression; a generator expression is always nested code whose loop yields.

    push acc; iter_start; H: for item -> B, exit J;  B: x = item; if not c goto H; collect e; goto H
                                      ->  push [e for x in ... if c]; J
"""

from __future__ import annotations

from depyf.decompiler.ir.expr import BoolOf, Comp, Const, Display, Expr, Generator, Star, Temp, YieldOf
from depyf.decompiler.ir.markers import (
    Accumulator,
    Collect,
    FoldedGenerator,
    ForTest,
    IteratorStart,
    LoopItem,
    LoopIterator,
    Marker,
    NullSlot,
    SavedLocal,
)
from depyf.decompiler.ir.stmt import Assign, ExprStmt, Stmt
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.lifted_graph import LiftedGraph
from depyf.decompiler.lift.negation import negate
from depyf.safety.depth import any_depth

_Parts = tuple[list[Generator], Expr | None, Expr]


class _NoMatch(Exception):
    pass


def _loop_test(block: Lifted | None) -> ForTest | None:
    if block is None or not isinstance(block.cond, ForTest) or block.stmts:
        return None
    return block.cond


def fold_comprehension(lifted: LiftedGraph, name: int) -> bool:
    """Fold the loop whose exhausted exit is ``name``, if it only collects."""
    for before in lifted.preds[name]:
        header = lifted.blocks.get(before)
        test = _loop_test(header)
        if header is None or test is None or header.succs[1] != name:
            continue
        acc = max((i for i, value in enumerate(header.stack) if is_acc(value)), default=-1)
        if acc < 0 and lifted.name != "<genexpr>":
            continue
        outside = [p for p in lifted.preds[header.id] if not _inside(lifted, p, header)]
        if len(outside) != 1 or outside[0] not in lifted.blocks:
            continue
        parent = lifted.blocks[outside[0]]
        if parent.container != header.container or parent.cond is not None:
            continue
        try:
            members: list[int] = []
            generators, key, elt = _match(lifted, header, members)
        except _NoMatch:
            continue
        source = test.iterator
        if isinstance(source, LoopIterator):
            if not parent.stmts or not _starts(parent.stmts[-1], source):
                continue
            parent.stmts.pop()
        into = header.stack[acc] if acc >= 0 else None
        kind = into.kind if isinstance(into, Accumulator) else "generator"
        comp = Comp(kind, elt, key if kind == "dict" else None, tuple(generators), None, _cleared(header.stack, acc))
        lifted.comprehensions[header.id] = comp
        del parent.stack[len(parent.stack) - _slots(header) :]
        if into is None:
            parent.stmts.append(ExprStmt(FoldedGenerator(comp), header.line))
        else:
            parent.stack[acc] = comp
        for member in members:
            lifted.set_succs(lifted.blocks[member], [])
        lifted.set_succs(parent, [name])
        for member in members:
            lifted.absorb(parent, member)
        return True
    return False


def is_acc(value: Expr) -> bool:
    """Whether a value on the stack is the container that a comprehension fills."""
    return isinstance(value, Accumulator)


def _cleared(stack: list[Expr], acc: int) -> tuple[str, ...]:
    """The variables saved for the comprehension whose result is built at ``acc``."""
    names: list[str] = []
    for below in reversed(stack[: max(acc, 0)]):
        if not isinstance(below, SavedLocal):
            break
        names.append(below.name)
    return tuple(names)


def _slots(header: Lifted) -> int:
    top = header.stack[-1]
    return 2 if isinstance(top, NullSlot) else 1


def _starts(stmt: object, iterator: LoopIterator) -> bool:
    return isinstance(stmt, ExprStmt) and isinstance(stmt.value, IteratorStart) and stmt.value.iterator is iterator


def _inside(lifted: LiftedGraph, name: int, header: Lifted) -> bool:
    """Whether a predecessor of the loop test lies in the loop: it was lifted after it."""
    return name not in lifted.blocks or name > header.id and _after(lifted, name, header.id)


def _after(lifted: LiftedGraph, name: int, header: int) -> bool:
    order = list(lifted.blocks)
    return order.index(name) > order.index(header)


def _source(test: ForTest) -> tuple[Expr, bool]:
    value = test.iterator
    if isinstance(value, LoopIterator):
        return value.value, value.is_async
    if isinstance(value, Marker):
        raise _NoMatch
    return value, False


@any_depth
def _match(lifted: LiftedGraph, header: Lifted, members: list[int]) -> _Parts:
    """Generators, key and element of the loop at ``header``; ``members`` receives its blocks."""
    test = header.cond
    assert isinstance(test, ForTest)
    members.append(header.id)
    source, is_async = _source(test)
    block = lifted.blocks.get(header.succs[0])
    if block is None or not block.stmts:
        raise _NoMatch
    first = block.stmts[0]
    if lifted.name == "<genexpr>" and _passes_on(first) and block.succs == [header.id] and len(block.stmts) == 1:
        members.append(block.id)
        return [], None, Star(source)
    if not isinstance(first, Assign) or len(first.targets) != 1 or not _is_item(first.value, header):
        raise _NoMatch
    generators = [Generator(first.targets[0], source, (), is_async)]
    stmts = block.stmts[1:]
    while True:
        if set(lifted.preds[block.id]) != {members[-1]}:
            raise _NoMatch
        members.append(block.id)
        while stmts and isinstance(shortcut := stmts[0], Assign):
            generators.append(_single(shortcut))
            stmts = stmts[1:]
        if stmts or block.cond is None:
            break
        test_passed, following = _filter(block, header)
        generators[-1] = _filtered(generators[-1], test_passed)
        if following == header.id:
            return _nothing(generators)
        inside = lifted.blocks.get(following)
        if inside is None:
            raise _NoMatch
        block, stmts = inside, list(inside.stmts)
    if not stmts and block.succs == [header.id]:
        return _nothing(generators)
    if len(stmts) != 1 or block.cond is not None or len(block.succs) != 1 or not isinstance(stmts[0], ExprStmt):
        raise _NoMatch
    value = stmts[0].value
    inner = lifted.blocks.get(block.succs[0])
    if isinstance(value, IteratorStart) and inner is not None:
        nested = _loop_test(inner)
        if nested is None or nested.iterator is not value.iterator or inner.succs[1] != header.id:
            raise _NoMatch
        more, key, elt = _match(lifted, inner, members)
        return [*generators, *more], key, elt
    if block.succs != [header.id]:
        raise _NoMatch
    if isinstance(value, Collect):
        return generators, value.key, value.value
    if isinstance(value, YieldOf) and lifted.name == "<genexpr>":
        return generators, None, value.value
    raise _NoMatch


def _passes_on(stmt: Stmt) -> bool:
    """Whether a statement yields the item of a loop as it is: the loop of ``(*x for x in y)`` has no target (3.15+)."""
    value = stmt.value if isinstance(stmt, ExprStmt) else None
    return isinstance(value, YieldOf) and isinstance(value.value, LoopItem)


def _filtered(generator: Generator, test: Expr) -> Generator:
    return Generator(generator.target, generator.iter, (*generator.ifs, test), generator.is_async)


def _nothing(generators: list[Generator]) -> _Parts:
    """``e for x in y if False``: the compiler leaves out what is never reached, the element among it."""
    return [*generators[:-1], _filtered(generators[-1], Const(False))], Const(None), Const(None)


def _single(stmt: Assign) -> Generator:
    """``for y in [value]``, which the compiler (3.9+) turns into ``y = value`` anywhere but in the outermost loop."""
    if len(stmt.targets) != 1 or isinstance(stmt.value, Marker) or isinstance(stmt.targets[0], Temp):
        raise _NoMatch
    return Generator(stmt.targets[0], Display("list", (stmt.value,)), ())


def _filter(block: Lifted, header: Lifted) -> tuple[Expr, int]:
    """The condition under which control stays in the iteration, and the block that comes next then."""
    if block.cond is None or isinstance(block.cond, Marker):
        raise _NoMatch
    yes, no = block.succs
    if yes == no != header.id:
        return BoolOf("or", (block.cond, Const(True))), yes
    if no == header.id:
        return block.cond, yes
    if yes == header.id:
        return negate(block.cond), no
    raise _NoMatch


def _is_item(value: Expr, header: Lifted) -> bool:
    return isinstance(value, LoopItem) and value.head == header.id
