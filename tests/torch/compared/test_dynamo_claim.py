"""Dynamo's code is proven to do what the function does, and nothing wrong is."""

from __future__ import annotations

import abc
import collections
import math
import operator
import types

import pytest
import torch
from torch import nn

import depyf
from depyf.actions.claims.dynamo_claim import DynamoClaim, dynamo_claim
from depyf.actions.claims.pure_operations import has_no_effect
from depyf.actions.claims.terms import Operation, Term
from depyf.run.guards.guard_sources import GuardSources, known_path
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.target import find_target

pytestmark = pytest.mark.torch
SCALE = 2.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm, self.k = nn.Linear(3, 3), nn.LayerNorm(3), 2
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3)) for _ in range(2))
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.norm(self.fc(x)) * self.k * SCALE
        for block in self.blocks:
            y = y + block(y)
        return (self.drop(y) if self.training else y), x.shape[0]


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * (self.calls + 1)  # torch 2.14 returns x itself for x * 1


class Base(nn.Module):
    def forward(self, x):
        return x.sin()


class Derived(Base):
    def forward(self, x):
        return super().forward(x) + 1


def unrolled(x, n=3):
    kept = []
    for step in range(n):
        x = torch.sin(x) + step
        kept.append(x)
    return torch.stack(kept), sum(one.mean() for one in kept)


def in_place(x, y):
    first, second = x.chunk(2, -1)
    y += 1
    return {"z": torch.cat([first, second, y], -1).relu_(), "s": (y.sum(), y.mean())}


def helper(x, *, by=2, **more):
    return x * by + more.get("plus", 0)


def calls_helpers(x):
    def add(y):
        return y + x

    pairs = zip([x, x.cos()], (1, 2))
    return [add(helper(one, by=n, plus=1)) for one, n in pairs], (lambda y: y.T @ y)(x)


def unused(x):
    x.exp()
    rows, columns = x.shape
    return x.view(columns, rows).t().contiguous() if isinstance(x, torch.Tensor) and rows != columns else x


def modes(x):
    return torch.nn.functional.gelu(x, approximate="tanh").clamp(min=-1.0).to(torch.float64)


class Ordered(nn.Module):
    """Reads an OrderedDict, and asks for a mode that torch guards."""

    def __init__(self):
        super().__init__()
        self.scales = collections.OrderedDict(first=2.0, second=3.0)

    def forward(self, x):
        x = nn.functional.pad(x, (1, 1))
        for name, scale in self.scales.items():
            x = x * scale if name in self.scales else x
        return x * self.scales["first"] + self.scales.get("third", len(self.scales))


def parts_taken_late(x):
    """The graph takes all parts out where they are made."""
    parts = torch.split(x, 1, 1)
    y = parts[1].sin()
    return y + parts[-1] * parts[0]


class Scales:
    factor = 2.0


def of_a_class(x):
    return x * Scales.factor


def many_layers():
    return nn.Sequential(*(nn.Linear(2, 2) for _ in range(120)))


def claim_of(fn, *args: torch.Tensor, tamper=None, transformed=None) -> DynamoClaim:
    torch._dynamo.reset()
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = torch.compile(fn, backend=backend, dynamic=False)
    compiled(*args)
    target = find_target(compiled)
    (entry,) = cache_entries(target.function.__code__)
    (gm,) = graphs
    if tamper is not None:
        tamper(gm.graph)
    code = entry.code if transformed is None else transformed(entry.code)
    return dynamo_claim(target.function, target.bind(args, {}).arguments, code, entry.scope, gm)


PROVEN = [
    (Net(), (torch.ones(2, 3),)),
    (Net().eval(), (torch.ones(2, 3),)),
    (Derived(), (torch.ones(2),)),
    (unrolled, (torch.ones(3),)),
    (in_place, (torch.ones(2, 4), torch.ones(2, 3))),
    (calls_helpers, (torch.ones(2, 2),)),
    (unused, (torch.ones(2, 3),)),
    (modes, (torch.ones(2, 3),)),
    (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(2)), (torch.ones(1, 3, 8, 8),)),
    (nn.TransformerEncoderLayer(8, 2, 16), (torch.ones(2, 3, 8),)),
    (Ordered(), (torch.ones(2, 3),)),
    (parts_taken_late, (torch.ones(2, 3),)),
    (many_layers(), (torch.ones(1, 2),)),
]


@pytest.mark.parametrize("fn, args", PROVEN, ids=lambda one: getattr(one, "__name__", type(one).__name__))
def test_proven(fn, args):
    claim = claim_of(fn, *(arg.clone() for arg in args))
    assert claim.proven, claim.why_not


def test_said_beside_the_comparison():
    found = depyf.compare(Counted(), torch.ones(2))
    assert found.python.claim.status == "PROVEN" and found.python.claim.operations == 1
    assert "Dynamo's code: PROVEN for all calls that the guards let in: 1 operation on the same tensors" in str(found)


def test_what_no_guard_looks_at_is_named():
    assumed = depyf.compare(Net(), torch.ones(2, 3)).python.claim.assumed
    assert "the hooks of 11 modules" in assumed and "self.k" not in assumed and "SCALE" not in assumed
    filtered = torch.compile(
        Net(), backend="eager", options={"guard_filter_fn": lambda all_of: [False for _ in all_of]}
    )
    assert filtered(torch.ones(2, 3))[1] == 2
    assert "self.k" in claim_of(Net(), torch.ones(2, 3)).assumed  # no guards were given


def test_a_branch_on_a_tensor_is_not_tried():
    def branches(x):
        return x + 1 if bool((x > 0).all()) else x

    found = depyf.compare(branches, torch.ones(2))
    assert not found.python.claim.proven and "TESTED on this call" in str(found)


def test_a_size_that_is_a_symbol_is_not_tried():
    def doubled(x):
        return x * x.shape[0]

    found = depyf.compare(doubled, torch.ones(4), dynamic=True)
    assert found.python.claim.why_not == "a size is a symbol"


def first(graph, of):
    return next(node for node in graph.nodes if node.target is of or node.target == of)


def other_operator(graph):
    first(graph, operator.add).target = operator.sub


def operands_changed(graph):
    node = first(graph, operator.matmul)
    node.args = (node.args[1], node.args[0])


def other_constant(graph):
    node = first(graph, operator.mul)
    node.args = (node.args[0], 7)


def one_left_out(graph):
    node = first(graph, operator.add)
    node.replace_all_uses_with(node.args[0])
    graph.erase_node(node)


def one_more(graph):
    node = first(graph, operator.add)
    with graph.inserting_before(node):
        graph.call_method("mul_", (node.args[0], 2))


def outputs_changed(graph):
    node = next(node for node in graph.nodes if node.op == "output")
    node.args = (node.args[0][::-1],)


@pytest.mark.parametrize(
    "tamper", [other_operator, operands_changed, other_constant, one_left_out, one_more, outputs_changed]
)
def test_a_wrong_graph_is_not_proven(tamper):
    assert claim_of(calls_helpers, torch.ones(2, 2)).proven
    assert not claim_of(calls_helpers, torch.ones(2, 2), tamper=tamper).proven


def test_a_wrong_graph_of_many_layers_is_not_proven():
    """Two layers in the other order, far inside."""

    def layers_changed(graph):
        one, other = [node for node in graph.nodes if node.op == "call_function"][60:62]
        one.args, other.args = (one.args[0], *other.args[1:]), (other.args[0], *one.args[1:])

    model = many_layers()
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager")
    compiled(torch.ones(1, 2))
    (entry,) = cache_entries(find_target(compiled).function.__code__)
    assert len(entry.code.co_code) > 4000, "transformed code of this size was not tried once"
    found = claim_of(model, torch.ones(1, 2), tamper=layers_changed)
    assert not found.proven and "linear" in found.why_not


def test_an_ordered_dict_in_another_order_is_not_proven():
    def swapped(graph):
        one, other = [node for node in graph.nodes if node.target is operator.mul][:2]
        (one.args, other.args) = (one.args[0], other.args[1]), (other.args[0], one.args[1])

    found = claim_of(Ordered(), torch.ones(2, 3), tamper=swapped)
    assert not found.proven and "mul" in found.why_not


def test_other_parts_are_not_proven():
    def swapped(graph):
        one, other = [node for node in graph.nodes if node.target is operator.getitem][:2]
        (one.args, other.args) = (one.args[0], other.args[1]), (other.args[0], one.args[1])

    assert not claim_of(parts_taken_late, torch.ones(2, 3), tamper=swapped).proven


def test_an_attribute_of_a_class_is_named_by_the_class():
    assert claim_of(of_a_class, torch.ones(2)).assumed == ("Scales.factor",)


def test_wrong_code_is_not_proven():
    def changed(code: types.CodeType) -> types.CodeType:
        return code.replace(co_consts=tuple(5 if one == 1 and type(one) is int else one for one in code.co_consts))

    module = Counted()
    assert not claim_of(module, torch.ones(2), transformed=changed).proven


def test_a_write_that_is_left_out_is_not_proven():
    """The transformed code of a function that writes nothing, for one that does."""

    class Silent(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = 0

        def forward(self, x):
            return x * 1

    class Writing(Silent):
        def forward(self, x):
            self.last = 3
            return x * 1

    def judged(fn):
        graphs = []
        compiled = torch.compile(fn, backend=lambda gm, _: graphs.append(gm) or gm.forward, dynamic=False)
        compiled(torch.ones(2))
        target = find_target(compiled)
        return target, cache_entries(target.function.__code__)[0], graphs[0]

    torch._dynamo.reset()
    (_, silent, gm), (writing, own, own_gm) = judged(Silent()), judged(Writing())
    given = writing.bind((torch.ones(2),), {}).arguments
    assert dynamo_claim(writing.function, given, own.code, own.scope, own_gm).proven
    claim = dynamo_claim(writing.function, given, silent.code, silent.scope, gm)
    assert claim.why_not == "what is written to objects of the program is not shown to be the same"


class OfClass(nn.Module):
    bias = 4.0

    def forward(self, x):
        return x + self.bias


def test_an_attribute_that_the_class_has():
    """Guards look at it in the class, and that the object has none."""
    assert "self.bias" not in str(depyf.compare(OfClass(), torch.ones(2)).python.claim)
    assumed = claim_of(OfClass(), torch.ones(2)).assumed  # no guards were given
    assert {"self.bias", "'bias' is not in self"} <= {*assumed}


def test_guards_pin_what_they_look_at():
    guards = GuardSources([
        "L['self']._modules['fc'].k == 2", "L['x'] is L['y']", "same_value(G['S'], (1, 2))", "len(L['v']) == 3",
        "not hasattr(L['self'], 'z')", "type_is(L['self'].t, 'int')", "L['n'] is not None", "L['a'] == L['b']",
        "check_no_aliasing(L['x'], L['w'])", "same_value(G['__import_a_dot_b'].K, 1)",
    ])  # fmt: skip
    assert known_path("L['self'].__dict__['_modules']['fc'].k") == "L['self'].fc.k"
    assert guards.pin("L['self'].fc.k") and guards.pin("G['S'][1]") and guards.pin("a.b.K")
    of_class = GuardSources(["same_value(dict(type(L['self'].b).__mro__[1].__dict__)['k'], 4.0)"])
    assert of_class.pin("L['self'].b.k") and not of_class.pin("L['self'].b")
    for name in ("self.fc.k", "L['self'].t", "L['v']", "L['n']", "L['a']", "L['S']", "G['K']"):
        assert not guards.pin(name), name
    assert guards.look_at("L['self'].t") and not guards.look_at("L['self'].u")
    assert (
        guards.same("L['x']", "L['y']") and not guards.same("L['x']", "L['z']") and not guards.same("L['a']", "L['b']")
    )
    assert guards.apart("L['x']", "L['w']") and not guards.apart("L['a']", "L['b']")
    assert guards.name("L['self']", "z") and not guards.name("L['self']", "w")


def test_a_variable_of_another_function_is_another_one():
    """``k`` of the helper is no ``k`` of the function, whatever the guards say of that."""

    def make():
        k = 3

        def helper(x):
            return x * k

        return helper

    helper = make()

    def f(x, k):
        return helper(x) + k

    assumed = depyf.compare(f, torch.ones(2), 5).python.claim.assumed
    assert [name for name in assumed if name.endswith("helper.k")], assumed


def test_one_list_twice_is_not_two_lists():
    def one(x):
        made = [x + 1]
        return made, made

    def two(x):
        return [x + 1], [x + 1]

    assert claim_of(one, torch.ones(2)).proven

    def judged(graph):
        node = first(graph, operator.add)
        assert node is not None

    assert claim_of(two, torch.ones(2), tamper=judged).operations == 2


def test_nothing_of_the_program_runs():
    ran = []

    class Odd(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other):
            ran.append(other)
            return True

    class Lazy:
        def __iter__(self):
            ran.append("iter")
            return iter(())

        def __bool__(self):
            ran.append("bool")
            return True

    made = (number for number in range(3))
    lazy = Lazy()
    module = nn.Linear(2, 2)
    programs = [
        lambda x: x + 1 if isinstance(x, Odd) else x,
        lambda x: x + next(made),
        lambda x: x + len(list(lazy)),
        lambda x: x + 1 if lazy else x,
        lambda x: x + math.exp(x) if isinstance(module, Odd) else x,
    ]
    for program in programs:
        before = list(ran)
        graph = torch.fx.symbolic_trace(lambda x: x + 1)
        for node in graph.graph.nodes:
            node.meta["example_value"] = torch.ones(2)
        space = {**globals(), "__compiled_fn_0": None}
        code = compile("def f(x):\n    return __compiled_fn_0(x)[0]", "c.py", "exec").co_consts[0]
        dynamo_claim(program, {"x": torch.ones(2)}, code, space, graph)
        assert ran == before
    assert next(made) == 0


def test_a_function_that_is_called_like_one_of_torch_has_effects():
    mine = Operation(math.exp, (), Term(0, "x"))
    assert not has_no_effect(mine) and has_no_effect(Operation(torch.exp, (), Term(0, "x")))
    assert has_no_effect(Operation("exp", (), Term(0, "x"))) and not has_no_effect(Operation("exp_", (), Term(0, "x")))
    assert not has_no_effect(Operation(torch.rand_like, (), Term(0, "x")))
