"""``depyf.compare`` finds planted differences, and finds none where there is none."""

from __future__ import annotations

import pytest
import torch

import depyf
from depyf.actions.comparing.graphs.reference import is_rounding
from depyf.sources.live.origins.probes import around, operations

pytestmark = pytest.mark.torch


def net(x, w1, w2):
    h = torch.tanh(x @ w1)
    h = torch.relu(h @ w2)
    return torch.sigmoid(h).sum()


def inputs():
    torch.manual_seed(0)
    return torch.randn(4, 8), torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)


def replaces(name, by, compile_graph):
    """A backend whose pass is wrong: it exchanges one function for another."""

    def backend(gm, example_inputs):
        for node in gm.graph.nodes:
            if node.op == "call_function" and getattr(node.target, "__name__", "") == name:
                node.target = by
        gm.recompile()
        return compile_graph(gm, example_inputs)

    return backend


def eagerly(gm, example_inputs):
    return gm.forward


def with_inductor(gm, example_inputs):
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(gm, example_inputs)


class WrongSlope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 0.5


def wrong_slope(x):
    return WrongSlope.apply(x)


def test_same_on_eager_and_inductor():
    result = depyf.compare(net, *inputs())
    assert result and result.first is None, str(result)
    assert "the same" in str(result)


@pytest.mark.parametrize("compile_graph", [eagerly, with_inductor])
def test_wrong_pass(compile_graph):
    result = depyf.compare(
        net, *inputs(), backends=("eager", replaces("relu", torch.nn.functional.silu, compile_graph))
    )
    assert not result
    assert result.first.node.name.startswith(("h", "relu")) and not result.first.gradient
    assert "h = torch.relu(h @ w2)" in result.first.node.place
    assert result.first.difference.expected.low == 0.0 and result.first.difference.got.low < 0.0
    assert "DIFFERENT" in str(result)


@pytest.mark.parametrize(
    "where, layer", (("lowering", "Inductor"), ("decomposition", "AOTAutograd: its graphs differ once"))
)
def test_the_layer_below_dynamo(where, layer, monkeypatch):
    """``erf`` is made a ``tanh`` in one of Inductor's tables."""
    import torch._inductor.decomposition as decomposition
    import torch._inductor.lowering as lowering

    erf, tanh = torch.ops.aten.erf.default, torch.ops.aten.tanh.default
    if where == "lowering":
        monkeypatch.setitem(lowering.lowerings, erf, lambda value: lowering.lowerings[tanh](value))
    else:
        monkeypatch.setitem(decomposition.decompositions, erf, torch.tanh)
        decomposition.fast_random_decomps.cache_clear()
    result = depyf.compare(lambda x: x.erf() * 2, torch.randn(8))
    assert f"the layer is {layer}" in str(result) and result.first.node.name == "erf"
    assert depyf.compare(lambda x: x.tanh(), torch.randn(8)).first is None


def test_wrong_gradient():
    result = depyf.compare(net, *inputs(), backends=("eager", replaces("tanh", wrong_slope, eagerly)))
    assert result.first.gradient
    assert "h = torch.tanh(x @ w1)" in result.first.node.place
    assert "gradient of" in str(result)
    (user,) = result.first.used_by
    assert user.operation == "call_function tanh" and "h = torch.tanh(x @ w1)" in user.place
    assert f"which the backward of {user.name} (call_function tanh) computes" in str(result)


def test_half_precision_overflow():
    def overflows(x):
        return (x * x) / 300

    result = depyf.compare(overflows, torch.full((8,), 600.0, dtype=torch.float16))
    assert result.first.difference.expected.infs == 8 and result.first.difference.got.infs == 0


def test_graph_breaks_mutation_and_dropout():
    def step(x, w):
        x.add_(1)
        h = torch.dropout(x @ w, 0.5, True)
        print("break")
        return h * 2

    x, w, _ = inputs()
    before = x.clone()
    result = depyf.compare(step, x, w)
    assert result, str(result)
    assert len(result.graphs) == 2
    assert "in step: return h * 2)" in str(result), "the name that the program has, not that of the rest"
    assert torch.equal(x, before), "the program's own inputs are as before"


def test_compiled_function_and_two_backends_needed():
    assert depyf.compare(torch.compile(net, backend="eager"), *inputs(), backends=("eager", "aot_eager"))
    with pytest.raises(depyf.DepyfError, match="give two"):
        depyf.compare(net, *inputs(), backends=("eager",))


class Deep(torch.nn.Module):
    """Twelve narrow transformer layers; ``at`` one of them, ``bug`` is applied to what its network gives."""

    def __init__(self, bug=lambda h: h, at=7):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0) for _ in range(12))
        self.bug, self.at = bug, at

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number == self.at:
                x = self.bug(x)
            x = torch.tanh(x)
        return x


def half(h):
    return ((h.half() * 300) * 300 / 90000).float()  # the planted overflow


def nth(name, number, by):
    """A backend whose pass is wrong at one place of many."""

    def backend(gm, example_inputs):
        found = [node for node in gm.graph.nodes if getattr(node.target, "__name__", "") == name]
        backend.changed = backend.changed or found[number].name
        next(node for node in gm.graph.nodes if node.name == backend.changed).target = by
        gm.recompile()
        return gm.forward

    backend.changed = ""
    return backend


@pytest.mark.parametrize("by, gradient", [(torch.sin, False), (wrong_slope, True)])
def test_one_wrong_node_deep_in_a_transformer(by, gradient):
    wrong = nth("tanh", 8, by)
    result = depyf.compare(Deep(), torch.randn(3, 2, 8), backends=("eager", wrong))
    assert result.first.gradient == gradient
    named = result.first.used_by[0] if gradient else result.first.node
    assert named.name == wrong.changed and named.operation.startswith("call_function")
    assert "x = torch.tanh(x)" in named.place


def test_overflow_that_a_fused_backend_does_not_have():
    result = depyf.compare(Deep(half), torch.randn(3, 2, 8), backends=("eager", "inductor"))
    assert "# the planted overflow" in result.first.node.place and result.first.layer.startswith("Inductor: ")
    assert result.first.difference.expected.infs and not result.first.difference.got.infs


def test_a_few_operations_around_one_have_their_own_inputs():
    def chain(x, y):
        for number in range(40):
            x = x + number if number != 20 else x * y
        return x

    gm, values = torch.fx.symbolic_trace(chain), {}
    x, y = torch.ones(3), torch.full((3,), 2.0)
    for node, value in zip(gm.graph.nodes, [x, y]):
        values[node.name] = value
    for node in operations(gm):
        values[node.name] = node.target(*(values[one.name] if hasattr(one, "name") else one for one in node.args))
    part, inputs = around(gm, "mul", values)
    names = [node.name for node in operations(part)]
    assert len(names) == 25 and names[12] == "mul" and len(inputs) == 2
    assert torch.equal(part(*inputs)[0], values[names[-1]]) and len(part(*inputs)) == 1
    first, _ = around(gm, operations(gm)[0].name, values)
    assert len(operations(first)) == 13


def attention(x, w, bias):
    keys = x @ w + bias
    return torch.softmax(x @ keys.transpose(-1, -2), -1) @ x


def softmax_over_rows(x, dim):
    return torch.softmax(x, -2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rounding_is_no_difference(dtype):
    """The gradient of a bias that is the same in each row of a softmax is zero but for rounding."""
    torch.manual_seed(0)
    x, w, bias = torch.randn(5, 16, dtype=dtype), torch.randn(16, 16, dtype=dtype), torch.randn(16, dtype=dtype)
    w.requires_grad_()
    bias.requires_grad_()
    result = depyf.compare(attention, x, w, bias)
    assert result, str(result)
    wrong = depyf.compare(
        attention, x, w, bias, backends=("eager", replaces("softmax", softmax_over_rows, with_inductor))
    )
    assert not wrong and "softmax" in str(wrong.first.node.operation)


@pytest.mark.parametrize(
    "count, farther, rounding", [(256, 6, True), (256, 10, False), (1024, 3, True), (1024, 6, False)]
)
def test_how_much_farther_from_the_exact_value_is_rounding(count, farther, rounding):
    exact = torch.ones(count, dtype=torch.float64)
    error = 1e-6 * torch.randn(count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = [(exact + times * error).float() for times in (1, farther)]
    assert is_rounding(*values, exact, [exact]) is rounding


def test_what_is_left_where_the_digits_have_cancelled_out():
    """Of numbers around 1: the value is 1e-9, and the first backend has no digit of it right.  The second may be as far
    as numbers around 1 are rounded.  A value with digits is no such case."""
    noise = torch.randn(1024, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    around = [torch.ones(8, dtype=torch.float64)]
    exact = torch.full((1024,), 1e-9, dtype=torch.float64)
    values = [(exact + size * noise).float() for size in (2e-9, 3e-7, 3e-5)]
    assert is_rounding(values[0], values[1], exact, around)
    assert not is_rounding(values[0], values[2], exact, around)
    known = torch.full((1024,), 1e-6, dtype=torch.float64)
    assert not is_rounding((known * (1 + 1e-6 * noise)).float(), (known * 1.2).float(), known, around)


def test_rounding_that_a_deep_network_amplifies():
    """A normalization over a few values makes an error of 4 % of rounding.  The second backend may be as wrong, and no
    more; where the first one is half wrong nothing is known of the second."""
    noise = torch.randn(2, 1024, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    exact = torch.ones(1024, dtype=torch.float64)
    first, second = ((exact + 0.04 * one).float() for one in noise)
    assert is_rounding(first, second, exact, [exact])
    assert not is_rounding(first, (exact + 0.4 * noise[1]).float(), exact, [exact])
    assert not is_rounding(*((exact + 0.5 * one).float() for one in noise), exact, [exact])


def test_a_small_wrong_gradient_is_no_rounding():
    def slopes(x, w):
        return torch.tanh(x @ w) * 1e-6 + x

    x, w, _ = inputs()
    result = depyf.compare(slopes, x, w, backends=("eager", replaces("tanh", wrong_slope, eagerly)))
    assert not result and result.first.gradient


def test_with_explicit_tolerances_nothing_is_put_down_to_rounding():
    torch.manual_seed(0)
    x, w, bias = torch.randn(5, 16), torch.randn(16, 16, requires_grad=True), torch.randn(16, requires_grad=True)
    assert not depyf.compare(attention, x, w, bias, rtol=1e-9, atol=0.0)


def aot_backend(edit):
    """AOTAutograd, whose forward graph ``edit`` changes."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def changed(gm, inputs):
        edit(gm)
        gm.recompile()
        return make_boxed_func(gm.forward)

    def wrong_pass(gm, inputs):
        return aot_autograd(fw_compiler=changed, bw_compiler=lambda g, i: make_boxed_func(g.forward))(gm, inputs)

    return wrong_pass


def test_a_value_that_is_wrong_in_gradients_only():
    """Rounded to bfloat16 in between, it hides in the sums of the results; the gradients tell, and it is the node to name."""

    def rounded(gm):
        aten = torch.ops.aten
        for node in [node for node in gm.graph.nodes if node.target is aten.tanh.default]:
            with gm.graph.inserting_after(node):
                low = gm.graph.call_function(aten._to_copy.default, (node,), {"dtype": torch.bfloat16})
            with gm.graph.inserting_after(low):
                back = gm.graph.call_function(aten._to_copy.default, (low,), {"dtype": torch.float32})
            node.replace_all_uses_with(back, delete_user_cb=lambda user, low=low: user is not low)

    def layer(x, w):
        return torch.tanh(x @ w).sum() + 1e5

    x, w = torch.randn(4, 8), torch.randn(8, 8, requires_grad=True)
    found = depyf.compare(layer, x, w, backends=("eager", aot_backend(rounded)))
    assert not found and found.first.node.name.startswith("tanh") and not found.first.gradient, found


def test_a_wrong_boolean_is_named():
    def turned(gm):
        for node in gm.graph.nodes:
            if node.target is torch.ops.aten.gt.Scalar:
                node.target = torch.ops.aten.lt.Scalar

    def masks(x):
        return x.topk(2), x > 0, torch.sin(x)

    found = depyf.compare(masks, torch.randn(4, 5), backends=("eager", aot_backend(turned)))
    assert not found and found.first.node.operation == "call_function gt" and found.first.difference.wrong == 20, found
    assert depyf.compare(masks, torch.randn(4, 5))


def test_results_of_another_kind_or_number():
    def none_for_the_last(gm, inputs):
        return lambda *args: (*gm(*args)[:-1], None)

    def one_less(gm, inputs):
        return lambda *args: gm(*args)[:-1]

    def two(x):
        return torch.sin(x), torch.cos(x)

    found = depyf.compare(two, torch.ones(2), backends=("eager", none_for_the_last))
    assert not found and "one of them is no tensor" in str(found) and "None" in str(found)
    found = depyf.compare(two, torch.ones(2), backends=("eager", one_less))
    assert not found and "not as many results" in str(found) and "1 results" in str(found)


@torch.library.custom_op("depyf_test::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    x.mul_(factor)
    return x + 1


@scaled.register_fake
def _(x, factor):
    return torch.empty_like(x)


@torch.library.custom_op("depyf_test::bump", mutates_args=("xs",))
def bump(xs: list[torch.Tensor], by: torch.Tensor) -> None:
    xs[0].add_(1)
    by.zero_()


@torch.library.custom_op("depyf_test::declared", mutates_args=("x",))
def declared(x: torch.Tensor) -> None:
    x.add_(1)


class Scales(torch.nn.Module):
    def forward(self, x):
        return scaled(x, 2.0)


class UsesScales(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scales()

    def forward(self, x):
        y = x.sin()
        return self.inner(y) + y


def bumps(x):
    y, z = x.clone(), x.clone()
    bump([y, x.clone()], z)
    return y + z


class WritesInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return scaled(gradient * 3, 2.0)


@pytest.mark.parametrize(
    "program, operator, argument, module",
    [
        (UsesScales(), "depyf_test::scaled", "x", "inner"),
        (bumps, "depyf_test::bump", "by", ""),
        (lambda x: WritesInBackward.apply(x), "depyf_test::scaled", "x", None),
    ],
    ids=["in a module", "beside what is declared", "in the backward"],
)
def test_write_that_is_not_declared(program, operator, argument, module):
    found = depyf.compare(program, torch.ones(3, requires_grad=module is None), backends=("eager", "eager"))
    assert not found and found.first.writes == (operator, argument)
    assert f"{operator} writes to its argument {argument}" in str(found) and "AN UNDECLARED WRITE" in str(found)
    assert f'mutates_args=("{argument}",)' in str(found) and "  before: " in str(found) and "  after : " in str(found)
    assert (None if found.first.node is None else found.first.node.module) == module
    assert "UNDECLARED" in found._repr_html_() and "mutates_args" in found._repr_html_()


def test_write_that_is_declared():
    def program(x):
        y = x.clone()
        declared(y)
        return y * 2

    assert depyf.compare(program, torch.ones(3), backends=("eager", "eager"))


def test_a_backend_that_loses_the_gradient():
    def detaches(gm, inputs):
        return lambda *given: [value.detach() for value in gm.forward(*given)]

    def f(x, w):
        y = x @ w
        return y.sum()

    args = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    result = depyf.compare(torch.compile(f, backend=detaches), *args)
    assert not result and result.first is not None, str(result)
    assert "gradient of sum" in str(result) and "requires_grad=False" in str(result)
    assert "return y.sum()" in str(result)


def test_memory_that_shows_in_nothing_the_call_leaves():
    def f(x):
        y = torch.nn.functional.dropout(x, 0.0)  # Python returns x, and AOTAutograd a copy
        torch._dynamo.graph_break()
        return y + 1

    result = depyf.compare(f, torch.ones(3), backend="aot_eager")
    assert result and "graph 1 (1 operation, from" in str(result) and "is not the same" not in str(result)


def test_gradients_that_all_cancel_out():
    """Those of the sum of a softmax, and of what a normalization makes: nothing but rounding, whatever the backend."""
    torch.manual_seed(0)
    layer, norm = torch.nn.Linear(64, 64), torch.nn.LayerNorm(64)

    def attention(x):
        h = layer(x).sin().cos()
        return torch.softmax(h @ h.t(), -1).sum()

    def normalized(x):
        return norm(layer(x)).sum()

    for fn in (attention, normalized):
        result = depyf.compare(fn, torch.randn(16, 64), backend="inductor")
        assert result, result


class Once(torch.autograd.Function):
    """As torch's own code is once a backward of it ran: it has no other run, as it gives away what it has saved."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        if torch._C._autograd._get_current_graph_task_keep_graph():
            raise RuntimeError("compiled with non-empty donated buffers")
        return gradient * ctx.saved_tensors[0].cos() * SLOPE


SLOPE = 1.0


def runs_once(gm, inputs):
    return lambda *given: (Once.apply(given[0]),)


def test_gradients_of_saved_values_that_are_donated(monkeypatch):
    """Such a backward runs once, and is compared: the line that counts gradients is true."""

    def f(x):
        return x.sin()

    result = depyf.compare(f, torch.ones(3, requires_grad=True), backend=runs_once)
    assert result and ", 1 gradient)" in str(result) and "not compared" not in str(result)
    monkeypatch.setitem(globals(), "SLOPE", 3.0)
    assert "the gradient of x differs" in str(depyf.compare(f, torch.ones(3, requires_grad=True), backend=runs_once))


def test_gradients_that_cannot_be_compared():
    """The backward runs through what the program has computed, so it must keep that."""
    history = torch.ones(3, requires_grad=True).exp()

    def f(x):
        return (x * history).sin()

    def backend(gm, inputs):
        return lambda *given: (Once.apply(given[0] * given[1]),)

    result = depyf.compare(f, torch.ones(3, requires_grad=True), backend=backend)
    assert "not compared: gradients: the backward, which keeps a graph of the program, raises" in str(result)
    assert "gradient)" not in str(result) and "the backward differs" not in str(result)


def test_the_backward_keeps_what_the_program_has_computed():
    weight = torch.ones(3, requires_grad=True)
    history = weight.exp()

    def f(x):
        return x * history.tanh().sin()

    assert depyf.compare(f, torch.ones(3), backend="aot_eager")
    history.sum().backward()
    assert weight.grad.isfinite().all()


def test_the_backward_keeps_what_a_tensor_that_is_not_kept_was_computed_from():
    weight = torch.ones(3, requires_grad=True)
    history = weight.exp().to_sparse()

    @torch._dynamo.disable
    def dense():
        return history.to_dense()

    def f(x):
        return (dense() * x * weight).sin()

    assert "cannot be put back" in str(depyf.compare(f, torch.ones(3), backend="eager"))
    history.to_dense().sum().backward()
    assert weight.grad.isfinite().all()
