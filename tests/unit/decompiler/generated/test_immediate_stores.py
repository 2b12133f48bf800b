"""Variables that exchange their values, in code that a program wrote."""

from __future__ import annotations

import pytest

from depyf.decompiler.generated.immediate_stores import exchange
from depyf.decompiler.ir.expr import Attr, Display, Name, Temp, Walrus
from depyf.decompiler.ir.stmt import Assign, ExprStmt

A, B, C = (Name(name, "fast") for name in "abc")
KEPT = Temp(7)


def test_two_variables_exchange_their_values():
    (stmt,) = exchange((Assign((KEPT,), A), Assign((A,), Attr(C, "x")), Assign((B,), KEPT)))
    assert isinstance(stmt, Assign)
    target, value = stmt.targets[0], stmt.value
    assert isinstance(target, Display) and isinstance(value, Display)
    assert target.elts == (A, B) and value.elts[1] is A and isinstance(value.elts[0], Attr)


@pytest.mark.parametrize(
    "body",
    [
        (Assign((KEPT,), A), Assign((B,), Attr(C, "x")), Assign((A,), KEPT)),  # nothing is exchanged
        (Assign((KEPT,), A), Assign((A,), Attr(C, "x")), Assign((B,), KEPT), ExprStmt(KEPT)),  # it is read again
        (Assign((KEPT,), A), Assign((A,), Walrus(A, C)), Assign((B,), KEPT)),
        (Assign((KEPT,), A), Assign((A,), C), ExprStmt(C), Assign((B,), KEPT)),
        (Assign((KEPT,), Name("a", "global")), Assign((Name("a", "global"),), C), Assign((B,), KEPT)),
    ],
)
def test_other_statements_stay(body):
    assert exchange(body) == body
