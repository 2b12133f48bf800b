"""Rebuilding statements: order of the visits, sharing, any depth."""

from __future__ import annotations

from depyf.decompiler.bytecode.codeunit import CodeUnit, codes, nested_units, units
from depyf.decompiler.ir.expr import Const, Name
from depyf.decompiler.ir.stmt import (
    Block,
    Body,
    Break,
    ExceptClause,
    ExprStmt,
    For,
    If,
    Match,
    MatchAs,
    MatchCase,
    PassStmt,
    Stmt,
    Try,
)
from depyf.decompiler.ir.transformer import Transformer, map_lists, map_statements
from depyf.decompiler.ir.walk_stmt import close_blocks, open_blocks, walk

A, B, C, D, E, F = (ExprStmt(Const(letter)) for letter in "abcdef")
TEST = Name("test", "fast")


class Order(Transformer):
    def __init__(self) -> None:
        self.seen: list[object] = []

    def enter(self, stmt: Stmt) -> Stmt | None:
        self.seen.append(("enter", type(stmt).__name__))
        return None if isinstance(stmt, For) else stmt

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        self.seen.append(
            stmt.value.value if isinstance(stmt, ExprStmt) and isinstance(stmt.value, Const) else type(stmt).__name__
        )
        done.append(stmt)


def test_statements_are_visited_in_their_order_and_what_does_not_change_is_shared() -> None:
    body: Body = (Try((A,), (ExceptClause(None, None, (B,)),), (C,), (D,)), For(TEST, TEST, (E,)), F)
    order = Order()
    assert order.run(body) is body
    assert order.seen == [("enter", "Try"), "a", "b", "c", "d", "Try", ("enter", "For"), "For", "f"]


def test_a_change_rebuilds_only_what_is_around_it() -> None:
    same = If(TEST, (A,), (B,))
    case = MatchCase(MatchAs(None, None), None, (C,))
    body: Body = (same, Match(TEST, (case, MatchCase(MatchAs(None, None), None, (D,)))))
    made = map_statements(body, lambda stmt: PassStmt() if stmt is D else stmt)
    assert made[0] is same
    changed = made[1]
    assert (
        isinstance(changed, Match)
        and changed.cases[0].body is case.body
        and isinstance(changed.cases[1].body[0], PassStmt)
    )


def test_a_list_that_becomes_empty_gets_a_pass_where_the_rewrite_asks_for_it() -> None:
    class Nothing(Transformer):
        fills = True

        def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
            if not isinstance(stmt, ExprStmt):
                done.append(stmt)

    made = Nothing().run((A, If(TEST, (B,), ())))
    assert len(made) == 1 and isinstance(made[0], If) and isinstance(made[0].body[0], PassStmt) and made[0].orelse == ()


def test_depth_takes_no_stack() -> None:
    body: Body = (A,)
    for _ in range(50_000):
        body = (If(TEST, body, ()), B)
    made = map_lists(body, lambda done: (*done, Break()))
    assert sum(isinstance(stmt, Break) for stmt in walk(made)) == 50_001
    inner: Body = (A, B)
    for label in range(50_000):
        inner = (Block(label, inner), C)
    around, found = open_blocks(inner)
    assert len(around) == 50_000 and found == (A, B)
    assert open_blocks(close_blocks(around, (D,)))[1] == (D,)


def test_nested_code_is_walked_outer_first() -> None:
    code = compile("def f():\n  def g(): pass\n  return lambda: 0\nclass K:\n  def h(self): pass", "x", "exec")
    assert [inner.co_name for inner in codes(code)] == ["<module>", "f", "g", "<lambda>", "K", "h"]
    unit = CodeUnit.from_code(code)
    assert [inner.name for inner in units(unit)] == [inner.co_name for inner in codes(code)]
    assert [inner.name for inner in nested_units(unit)] == ["f", "K"]
