"""What classes of the compiled build have in the place of what ``dataclasses`` gives them; and the same of this build's."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import depyf.native
from depyf.decompiler.ir.expr import Bin, Cmp, Const, Name
from depyf.decompiler.ir.stmt import Assign, If, Return
from depyf.native import describe, replace


class Pair:
    """As ``tools/native/native_sources.py`` writes a dataclass."""

    left: int
    right: str

    def __init__(self, left: int, right: str = "r") -> None:
        self.left = left
        self.right = right


class Own:
    value: int

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "own"


describe(Pair, (("left", "int"), ("right", "str")), True, True, [])
describe(Own, (("value", "int"),), False, False, ["__repr__"])


def test_described_class_is_a_dataclass() -> None:
    pair = Pair(1)
    assert [(field.name, field.type) for field in dataclasses.fields(pair)] == [("left", "int"), ("right", "str")]  # type: ignore[arg-type]
    assert repr(pair) == "Pair(left=1, right='r')"
    assert pair == Pair(1, "r") != Pair(2)
    assert len({pair, Pair(1), Pair(2)}) == 2
    assert replace(pair, right="x") == Pair(1, "x")
    assert pickle.loads(pickle.dumps(pair)) == copy.deepcopy(pair) == pair
    match pair:
        case Pair(1, name):
            assert name == "r"


def test_what_the_class_defines_stays() -> None:
    assert repr(Own(1)) == "own"
    assert Own(1) != Own(1)
    assert len({Own(1), Own(1)}) == 2


def test_nodes_are_the_same_on_both_builds() -> None:
    name = Name("x", "fast")
    assert repr(name) == "Name(id='x', scope='fast')"
    assert name != Name("x", "fast"), "a node used twice is one value"
    assert [field.type for field in dataclasses.fields(Const)] == ["Any"]
    assert [field.type for field in dataclasses.fields(Bin)] == ["str", "Expr", "Expr"]
    assert replace(Cmp(name, ("<",), (name,)), turned=True).turned
    copied = pickle.loads(pickle.dumps(If(name, (Assign((name,), Const(1)),), (Return(name),), 3)))
    assert repr(copied) == repr(If(name, (Assign((name,), Const(1)),), (Return(name),), 3))


def test_build_is_named() -> None:
    assert depyf.native.build() in ("pure", "compiled")
