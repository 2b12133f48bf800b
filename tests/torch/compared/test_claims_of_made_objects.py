"""Dynamo's claim for functions that make objects: dataclasses, plain objects, named tuples, dictionaries with a class."""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import enum
import types
import typing

import pytest
import torch
from torch import nn

from depyf.actions.claims.dynamo_claim import DynamoClaim, dynamo_claim
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.target import find_target

pytestmark = pytest.mark.torch


@dataclasses.dataclass
class Out:
    value: torch.Tensor
    steps: int = 3
    more: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.steps += 1

    @property
    def doubled(self):
        return self.value * 2


class State:
    kind = "state"

    def __init__(self, x, scale=2):
        self.x = x
        self.scale = scale

    def moved(self, by):
        self.x = self.x + by * self.scale
        return self


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a
        self.b = a.shape[0]


class Pair(typing.NamedTuple):
    first: torch.Tensor
    second: int = 2


class Held(collections.OrderedDict):
    """As the outputs of transformers: what is put in it is an attribute, too."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


class Mapped:
    """As the configurations of transformers: a name that stands for another one."""

    def __init__(self):
        self.attribute_map = {"hidden_size": "width"}
        self.width = 3

    def __getattribute__(self, key):
        if key != "attribute_map" and key in super().__getattribute__("attribute_map"):
            key = super().__getattribute__("attribute_map")[key]
        return super().__getattribute__(key)


class Mode(enum.Enum):
    SUM = "sum"
    MEAN = "mean"


def a_dataclass(x):
    return Out(x + 1)


def used_inside(x):
    state = State(x).moved(1).moved(2)
    out = Out(state.x, more=[state.scale])
    return out.doubled + out.steps + len(out.more), State.kind == state.kind


def returned_twice(x):
    state = State(x)
    state.late = x * 2
    return state, [state], state.late


def with_slots(x):
    made = Slotted(x + 1)
    made.b += 1
    return made.a * made.b


def named_tuple(x):
    pair = Pair(x * 2, second=5)
    first, second = pair
    return first + second + pair.second + len(pair) + pair[1]


def ordered(x):
    held = Held()
    held["a"] = x + 1
    held["b"] = held.a * 2
    return held["b"] + len(held) + (1 if "c" in held else 0) + sum(held.values())


class Configured(nn.Module):
    def __init__(self, mode=Mode.SUM):
        super().__init__()
        self.config, self.mode = Mapped(), mode

    def forward(self, x):
        if hasattr(self.config, "hidden_size") and not hasattr(self.config, "depth"):
            x = x * self.config.hidden_size
        return x.sum() if self.mode == Mode.SUM else x.mean()


def imports(x):
    import math
    from collections import OrderedDict as Made

    made = Made(a=x)
    try:
        scale = math.sqrt(4.0)
    except ValueError:
        scale = 1.0
    finally:
        kinds = {int, float}
    return made["a"] * scale + (1 if int in kinds and str not in kinds else 2)


def judged(fn, *args, instead=None) -> DynamoClaim:
    """The claim of ``fn``; ``instead``: with Dynamo's code and graph of this function."""

    def compiled(one):
        graphs = []
        made = torch.compile(one, backend=lambda gm, _: graphs.append(gm) or gm.forward, dynamic=False)
        made(*args)
        target = find_target(made)
        (entry,) = cache_entries(target.function.__code__)
        (gm,) = graphs
        return target, entry, gm

    torch._dynamo.reset()
    target, entry, gm = compiled(fn)
    if instead is not None:
        _, entry, gm = compiled(instead)
    return dynamo_claim(target.function, target.bind(args, {}).arguments, entry.code, entry.scope, gm)


@pytest.mark.parametrize(
    "fn",
    [
        a_dataclass,
        used_inside,
        returned_twice,
        with_slots,
        named_tuple,
        ordered,
        Configured(),
        Configured(Mode.MEAN),
        imports,
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__),
)
def test_proven(fn):
    claim = judged(fn, torch.ones(3))
    assert claim.proven, claim.why_not


class Other(Out):
    pass


def other_class(x):
    return Other(x + 1)


def other_number(x):
    return Out(x + 1, steps=7)


def one_attribute_more(x):
    out = Out(x + 1)
    out.extra = 1
    return out


def other_list(x):
    return Out(x + 1, more=[0])


@pytest.mark.parametrize("instead", [other_class, other_number, one_attribute_more, other_list])
def test_another_object_is_not_proven(instead):
    assert judged(instead, torch.ones(3)).proven
    claim = judged(a_dataclass, torch.ones(3), instead=instead)
    assert not claim.proven and claim.why_not == "what is returned is not the same term"


def in_another_order(x):
    state = State.__new__(State)
    state.scale = 2
    state.x = x
    state.late = x * 2
    return state, [state], state.late


def two_objects(x):
    state, other = State(x), State(x)
    state.late = other.late = x * 2
    return state, [other], state.late


@pytest.mark.parametrize("instead", [in_another_order, two_objects])
def test_order_and_identity_count(instead):
    assert not judged(returned_twice, torch.ones(3), instead=instead).proven


class Closing(State):
    def __del__(self):
        pass


class Counting(type):
    def __call__(cls, *args):
        return super().__call__(*args)


class Made(State, metaclass=Counting):
    pass


class Guarded(State):
    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, value):
        self._x = value + 1


VARIABLE = contextvars.ContextVar("VARIABLE", default=1)


def a_finaliser(x):
    return Closing(x).x


def a_metaclass(x):
    return Made(x).x


def a_setter(x):
    return Guarded(x).x


def raises_inside(x):
    """Python's handler runs where the operation raises in another call."""
    try:
        y = x.view(3)
    except RuntimeError:
        y = x
    return y + 1


@pytest.mark.parametrize(
    "fn, why",
    [
        (a_finaliser, "a Closing is made, which has a __del__"),
        (a_metaclass, "the metaclass of Made makes its instances"),
        (a_setter, "the descriptor Guarded.x is written"),
        (raises_inside, "an operation on tensors in a try"),
    ],
)
def test_not_tried(fn, why):
    def graph(x):
        return (x + 1,)

    gm = torch.fx.symbolic_trace(graph)
    for node in gm.graph.nodes:
        node.meta["example_value"] = torch.ones(3)
    space = {**globals(), "__compiled_fn_0": None}
    code = compile("def f(x):\n    return __compiled_fn_0(x)[0]", "c.py", "exec").co_consts[0]
    assert isinstance(code, types.CodeType)
    assert dynamo_claim(fn, {"x": torch.ones(3)}, code, space, gm).why_not.partition(" (")[0] == why


def test_what_is_written_is_read_as_the_class_says():
    """A written attribute is asked for by the class's own ``__getattribute__``."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = Mapped()

        def forward(self, x):
            self.config.width = 5
            return x * self.config.hidden_size

    class Once(Twice):
        def forward(self, x):
            self.config.width = 5
            return x * 3

    module = Twice()
    assert judged(module, torch.ones(3)).proven
    module.config.width = 3
    other = Once()
    other.config = module.config
    assert not judged(module, torch.ones(3), instead=other).proven
