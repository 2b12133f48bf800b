"""``depyf.compare(model, ..., reference=other)`` on planted differences: module path, operation, both lines, weights."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional

import depyf

pytestmark = pytest.mark.torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.drop = torch.nn.LayerNorm(8), torch.nn.Dropout(0.5)
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
        self.act = functional.gelu

    def forward(self, x):
        hidden = self.act(self.up(self.norm(x)))
        return x + self.drop(self.down(hidden))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x):
        for block in self.h:
            x = block(x)
        return {"mean": x.mean(-1), "name": "net"}


@pytest.fixture
def pair():
    torch.manual_seed(0)
    model = Net()
    return model, copy.deepcopy(model), torch.randn(2, 8)


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_the_same(pair):
    """With dropout: both draw the same numbers, and the program's are not disturbed; nothing stays on the models."""
    model, other, x = pair
    state = torch.get_rng_state()
    found = depyf.compare(torch.compile(model), x, reference=other)
    assert found and found.first is None and found.compared > 10, str(found)
    assert str(found) == f"Net against the reference Net: {found.compared} values compared: the same"
    assert torch.equal(torch.get_rng_state(), state) and hooks(model) == hooks(other) == 0
    assert "the same" in found._repr_html_() and len(repr(found)) < 150


def test_a_weight(pair):
    model, other, x = pair
    with torch.no_grad():
        other.h[1].down.weight[3, 2] += 1
    found = depyf.compare(model, x, reference=other)
    assert not found and (found.first.step.path, found.first.step.operation) == ("h.1.down", "linear")
    assert [name for name, _ in found.first.weights] == ["weight"]
    assert "  its weight differs: 1 of 128 elements differ beyond tolerance" in str(found)
    assert f"model     from {__file__}:" in str(found) and "self.drop(self.down(hidden))" in str(found)
    page = found._repr_html_()
    assert "h.1.down" in page and "self.drop(self.down(hidden))" in page and page.count("<div") == page.count("</div>")


def test_another_operation(pair):
    model, other, x = pair
    other.h[1].act = torch.relu
    found = depyf.compare(model, x, reference=other)
    assert "first difference: gelu in module h.1, where the reference has relu in module h.1" in str(found)
    assert "it shows in" in str(found) and str(found.first.last_common) == "the output of module h.1.up"


def test_another_variant_of_an_operation(pair):
    model, other, x = pair
    other.h[2].act = lambda value: functional.gelu(value, approximate="tanh") * 1.01
    found = depyf.compare(model, x, reference=other).first
    assert str(found.step) == "gelu in module h.2" and "approximate" in found.reference.place


def test_another_way_to_the_same(pair):
    """What is computed otherwise and comes to the same is no difference, nor is what a module returns besides."""
    model, other, x = pair
    other.h[1].act = lambda value: 0.5 * value * (1 + torch.erf(value / 2**0.5))
    assert depyf.compare(model, x, reference=other)
    halves = depyf.compare(copy.deepcopy(model).bfloat16(), x.bfloat16(), reference=lambda y: model(y.float()))
    assert halves, str(halves)


class Renamed(torch.nn.Module):
    """The same network, written anew: other names, other operations."""

    def __init__(self, net, epsilon=1e-5):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.ModuleList([b.norm, b.up, b.down]) for b in net.h])
        self.epsilon = epsilon

    def forward(self, x):
        for number, (norm, up, down) in enumerate(self.layers):
            epsilon = self.epsilon if number == 1 else 1e-5
            y = functional.layer_norm(x, (8,), norm.weight, norm.bias, epsilon)  # the planted difference
            y = torch.matmul(y, up.weight.T) + up.bias
            x = down(0.5 * y * (1 + torch.erf(y / 2**0.5))) + x
        return x.sum(-1) / 8


def test_other_structure(pair):
    model, _, x = pair
    model.eval()
    assert depyf.compare(Renamed(model), x, reference=model)
    found = depyf.compare(Renamed(model, 0.5), x, reference=model)
    assert not found and "# the planted difference" in found.first.step.place
    assert found.first.reference.operation == "layer_norm" and str(found.first.last_common) == "add"


def test_functions_and_arguments(pair):
    """Each has arguments of its own: the first one does not see what the other wrote into them."""

    def one(x, cache):
        cache.append(x.sin())
        return x.add_(1).relu() * len(cache)

    def other(x, cache):
        cache.append(x.sin())
        return (x.add_(1) * 1.5).relu() * len(cache)

    x, cache = torch.ones(3), []
    assert depyf.compare(one, x, cache, reference=one) and cache == [] and torch.equal(x, torch.ones(3))
    assert not depyf.compare(one, x, cache, reference=other)
    with_history = (x.clone().requires_grad_() * 2,)
    assert depyf.compare(lambda y: y * 2, *with_history, reference=lambda y: y + y)
    nothing = depyf.compare(lambda y: None, x, reference=lambda y: None)
    assert not nothing and "nothing was compared" in str(nothing)


def test_an_error_of_the_model_is_the_program_s(pair):
    model, _, x = pair

    def broken(y):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        depyf.compare(model, x, reference=broken)
    assert hooks(model) == 0


class Halved(torch.autograd.Function):
    """The same value; half of the gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2


def test_gradients(pair):
    """A backward that is wrong where all values are right; the gradients of the program stay as they are."""
    model, other, x = pair
    model.h[1].act = lambda value: Halved.apply(functional.gelu(value))
    found = depyf.compare(model, x, reference=other)
    assert not found and found.first.difference is not None
    assert str(found.first.step) == "the gradient of bias in module h.1.up"
    assert "first difference: the gradient of bias in module h.1.up" in str(found) and "elements differ" in str(found)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert "the gradient of bias" in found._repr_html_()
    with torch.no_grad():
        assert depyf.compare(model, x, reference=other), "there are none to compare"


def test_gradient_that_does_not_flow():
    x = torch.randn(3, requires_grad=True)
    found = depyf.compare(lambda x: (x.detach() * 2) + 0 * x, x, reference=lambda x: x * 2)
    assert not found and str(found.first.step) == "the gradient of argument 1"
    assert x.grad is None


class Summed(torch.nn.Module):
    """Sums up step by step, in one of two ways."""

    def __init__(self, loop=False, offset=0.0, last=torch.relu):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
        self.loop, self.offset, self.last = loop, offset, last

    def forward(self, x):
        y = self.first(x)
        if self.loop:
            total, sums = torch.zeros(x.shape[0]), []
            for i in range(4):
                total = total + y[:, i]
                sums.append(total)
            y = torch.stack(sums, 1)
        else:
            y = torch.cumsum(y, 1)
        if self.offset:
            y = y + self.offset  # an offset
        return self.head(self.last(y))  # the last one


@pytest.mark.parametrize(
    "offset, last, own, other",
    (
        (0.5, torch.relu, "relu", "add"),
        (0.0, torch.nn.functional.gelu, "relu", "gelu"),
    ),
)
def test_what_agrees_in_value_is_no_difference(offset, last, own, other):
    x = torch.randn(3, 4)
    assert depyf.compare(Summed(), x, reference=Summed(loop=True))
    found = depyf.compare(Summed(), x, reference=Summed(True, offset, last))
    assert not found and f"first difference: {own}, where the reference has {other}" in str(found)
    assert str(found.first.last_common) == "cumsum"
    places = dict(found.first.places())
    assert ("# an offset" if offset else "# the last one") in places["reference"]
