"""Merges repeated reads of one result of a graph (generated code only).

    graph_out_0 = __compiled_fn_0(x)                graph_out_0 = __compiled_fn_0(x)
    value_1 = graph_out_0[0]                        value_1 = graph_out_0[0]
    value_2 = graph_out_0[0]                 ->
    b = graph_out_0[0]; y = f(value_1)              b = value_1; y = f(value_1)
    return g(y, value_2)                            return g(y, value_1)

What a graph returned is promised not to change.  Input and output: the Python dialect, before temporaries are released.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.ir.expr import Const, Expr, Invoke, Name, Sub, Temp, TempKey
from depyf.decompiler.ir.stmt import Assign, Body, For, Loop, Stmt, While
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.ir.walk_expr import map_expressions
from depyf.decompiler.ir.walk_stmt import walk
from depyf.safety.rewrites import step


def share_subexpressions(body: Body, promises: GeneratorContract) -> Body:
    """``body`` with one temporary for each such value, where a block binds several; loops stay as they are."""
    bound = Counter(
        target.key if isinstance(target, Temp) else target.id
        for stmt in walk(body)
        if isinstance(stmt, Assign)
        for target in stmt.targets
        if isinstance(target, (Temp, Name))
    )
    held = {
        target.key
        for stmt in walk(body)
        if isinstance(stmt, Assign) and _is_graph(stmt.value, promises)
        for target in stmt.targets
        if isinstance(target, Temp) and bound[target.key] == 1
    }
    graphs = {
        target.id
        for stmt in walk(body)
        if isinstance(stmt, Assign)
        and isinstance(stmt.value, Invoke)
        and (_is_graph(stmt.value.func, promises) or isinstance(stmt.value.func, Temp) and stmt.value.func.key in held)
        for target in stmt.targets
        if isinstance(target, Name) and bound[target.id] == 1
    }
    once = {key for key, count in bound.items() if count == 1}
    same: dict[TempKey, Temp] = {}
    again: list[Stmt] = []
    left = _Items(graphs, once, same, again).run(body) if graphs else body
    if not same and not again:
        return body

    def shared(node: Expr) -> Expr:
        return same.get(node.key, node) if isinstance(node, Temp) else node

    return tuple(map_expressions(stmt, shared) for stmt in left)


def _is_graph(value: Expr, promises: GeneratorContract) -> bool:
    return isinstance(value, Name) and bool(promises.graphs) and value.id.startswith(promises.graphs)


class _Items(Transformer):
    def __init__(
        self, graphs: set[str], once: set[TempKey | str], same: dict[TempKey, Temp], again: list[Stmt]
    ) -> None:
        self.graphs = graphs
        self.once = once
        self.same = same
        self.again = again

    def enter(self, stmt: Stmt) -> Stmt | None:
        return None if isinstance(stmt, (For, Loop, While)) else stmt

    def finish(self, done: list[Stmt]) -> Body:
        known: dict[tuple[str, int], Temp] = {}
        out: list[Stmt] = []
        for stmt in done:
            read = _item(stmt, self.graphs)
            target = stmt.targets[0] if isinstance(stmt, Assign) and len(stmt.targets) == 1 else None
            if read is not None and isinstance(target, Temp) and target.key in self.once:
                first = known.setdefault(read, target)
                if first is not target:
                    self.same[target.key] = first
                    step("read an item of a result once", stmt)
                    continue
            elif read in known and isinstance(stmt, Assign):
                stmt = replace(stmt, value=known[read])
                self.again.append(stmt)
            out.append(stmt)
        return tuple(out)


def _item(stmt: Stmt, graphs: set[str]) -> tuple[str, int] | None:
    """The variable with a graph's results and the number of the one that a statement reads."""
    value = stmt.value if isinstance(stmt, Assign) else None
    if not isinstance(value, Sub) or not isinstance(value.value, Name) or not isinstance(value.key, Const):
        return None
    number = value.key.value
    return (value.value.id, number) if value.value.id in graphs and type(number) is int else None
