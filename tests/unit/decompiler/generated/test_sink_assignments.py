"""Values that lie on the stack while generated code branches: assigned in both branches, they stand after the ``if``."""

from __future__ import annotations

from depyf.decompiler.generated.sink_assignments import sink_assignments
from depyf.decompiler.ir.expr import Const, Name, Temp
from depyf.decompiler.ir.stmt import Assign, ExprStmt, If, PassStmt, Return


def give(key, value):
    return Assign((Temp(key),), value)


def name(text):
    return Name(text, "global")


def test_shared():
    one = If(name("c"), (ExprStmt(name("a")), give(0, name("f"))), (give(0, name("f")),))
    branch, behind = sink_assignments((one,))
    assert len(branch.body) == 1 and branch.orelse == ()
    assert isinstance(behind, Assign) and behind.value.id == "f"
    both = If(name("c"), (give(0, name("f")),), (give(0, name("f")),))
    branch, behind = sink_assignments((both,))
    assert isinstance(branch.body[0], PassStmt) and branch.orelse == ()


def test_not_shared():
    for body, orelse in (
        ((give(0, name("f")),), (give(0, name("g")),)),
        ((give(0, name("f")),), (give(1, name("f")),)),
        ((give(0, Const(1)),), (give(0, Const(True)),)),
        ((give(0, name("f")), Return(Const(1))), (give(0, name("f")),)),
        ((give(0, name("f")),), ()),
    ):
        (found,) = sink_assignments((If(name("c"), body, orelse),))
        assert (found.body, found.orelse) == (body, orelse)


def test_overwritten():
    call = ExprStmt(name("a"))
    found = sink_assignments((give(0, Const(None)), call, give(0, name("x"))))
    assert found[0] is call and len(found) == 2
    for kept in (
        (give(0, Const(None)), ExprStmt(Temp(0)), give(0, name("x"))),
        (give(0, Const(None)), give(0, Temp(0))),
        (give(0, name("f")), give(0, name("x"))),
        (give(0, Const(None)), If(name("c"), (give(0, name("x")),), ()), ExprStmt(Temp(0))),
    ):
        assert len(sink_assignments(kept)) == len(kept)
