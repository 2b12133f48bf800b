"""Programs whose compiled call does something else than Python, each with the layer and the line that must be named.

A function that makes the trap returns what to compare; where it says so, the call was compiled before the trap was set.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch._inductor.decomposition as decomposition
import torch._inductor.lowering as lowering
from torch import nn

import depyf

GUARDS = "the layer is the guards"
DYNAMO = "the layer is Dynamo"
BACKEND = "the layer is the backend"
INDUCTOR = "the layer is Inductor"
AOT = "the layer is AOTAutograd"
EDIT = "the layer is the edit"


@dataclass
class Trap:
    """What ``depyf.compare`` is asked."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    layer: str
    named: tuple[str, ...] = ()
    """What else the answer says: the line, the operation, the value."""
    backends: tuple[Any, Any] | None = ("eager", "aot_eager")
    within: AbstractContextManager[Any] = field(default_factory=nullcontext)
    """What is wrong while the answer is made, as it was when the program was compiled."""
    public: str = ""
    """The report of a fault of torch, which a later torch has not: there the trap is none."""


SCALE = 2.0


def small() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


def forward_hook() -> Trap:
    model, x = small(), torch.ones(2, 4)
    compiled = torch.compile(model, backend="eager")
    compiled(x)
    model[1].register_forward_hook(lambda module, args, out: out * 2)
    return Trap(compiled, (x,), GUARDS, ("the forward hook of self[1]", "skip_nnmodule_hook_guards"))


def forward_pre_hook() -> Trap:
    model, x = small(), torch.ones(2, 4)
    compiled = torch.compile(model, backend="eager")
    compiled(x)
    model[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return Trap(compiled, (x,), GUARDS, ("the forward pre-hook of self[0]",))


def a_global_without_guard() -> Trap:
    global SCALE

    def scaled(x):
        return x * SCALE

    SCALE = 2.0
    compiled = torch.compile(scaled, backend="eager", options={"guard_filter_fn": lambda guards: [False] * len(guards)})
    compiled(torch.ones(2))
    SCALE = 3.0
    return Trap(compiled, (torch.ones(2),), GUARDS, ("SCALE",))


def an_attribute_without_guard() -> Trap:
    class Scales(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2

        def forward(self, x):
            return x * self.factor

    model = Scales()
    compiled = torch.compile(
        model, backend="eager", options={"guard_filter_fn": lambda guards: ["factor" not in g.name for g in guards]}
    )
    compiled(torch.ones(2))
    model.factor = 5
    return Trap(compiled, (torch.ones(2),), GUARDS, ("self.factor",))


def a_cell_without_guard() -> Trap:
    factor = 2

    def scaled(x):
        return x * factor

    compiled = torch.compile(scaled, backend="eager", options={"guard_filter_fn": lambda guards: [False] * len(guards)})
    compiled(torch.ones(2))
    factor = 4
    return Trap(compiled, (torch.ones(2),), GUARDS, ("factor",))


ANSWER = [1]


@torch.compiler.assume_constant_result
def answer():
    return ANSWER[0]


def a_result_that_is_assumed_constant() -> Trap:
    def added(x):
        return x + answer()

    ANSWER[0] = 1
    compiled = torch.compile(added, backend="eager")
    compiled(torch.ones(2))
    ANSWER[0] = 2
    return Trap(compiled, (torch.ones(2),), GUARDS)


class Box:
    def __init__(self, t):
        self.t = t


box = None


@torch.compiler.nested_compile_region
def region():
    return box.t + 1


def a_region_that_is_used_again() -> Trap:
    def rebound(h):
        global box
        for _ in range(2):
            box = Box(h)
            h = region()
        return h

    named = ("in region: return box.t + 1",)
    return Trap(rebound, (torch.tensor(0.0),), DYNAMO, named, public="gone in torch 2.15")


def bigger(x):
    return x + 1


@torch.compiler.substitute_in_graph(bigger)
def bigger_in_graphs(x):
    return x + 2


def a_wrong_substitute() -> Trap:
    def three_times(x):
        return bigger(x.sin()) * 3

    return Trap(three_times, (torch.ones(2),), DYNAMO, ("add",))


def turned(wrong: Callable[[Any], Any]) -> Callable[..., Any]:
    def backend(gm, inputs):
        for node in gm.graph.nodes:
            if node.target in (torch.relu, torch.nn.functional.relu) or node.name.startswith("relu"):
                node.target, node.op, node.kwargs = wrong, "call_function", {}
                node.args = node.args[:1]
        gm.recompile()
        return gm.forward

    return backend


def a_wrong_pass() -> Trap:
    def layer(x, w):
        hidden = torch.relu(x @ w)
        return hidden.sum(0)

    torch.manual_seed(0)
    args = torch.randn(3, 4), torch.randn(4, 4)
    compiled = torch.compile(layer, backend=turned(torch.sigmoid))
    compiled(*args)
    return Trap(compiled, args, BACKEND, ("hidden = torch.relu(x @ w)",), None)


class WrongSlope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.relu()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


def wrong_slope(x):
    return WrongSlope.apply(x)


def a_wrong_gradient() -> Trap:
    def layer(x):
        hidden = torch.relu(x)
        return hidden * 2

    return Trap(layer, (torch.ones(3, requires_grad=True),), "first difference: gradient of", ("torch.relu(x)",),
                ("eager", turned(wrong_slope)))  # fmt: skip


def gelu(x, w):
    hidden = x @ w
    return torch.nn.functional.gelu(hidden)


def _matrices() -> tuple[Any, Any]:
    torch.manual_seed(0)
    return torch.randn(4, 8), torch.randn(8, 8)


ERF, TANH = torch.ops.aten.erf.default, torch.ops.aten.tanh.default


def a_wrong_lowering() -> Trap:
    wrong = mock.patch.dict(lowering.lowerings, {ERF: lambda value: lowering.lowerings[TANH](value)})
    return Trap(gelu, _matrices(), INDUCTOR, ("torch.nn.functional.gelu(hidden)", "its own kernels for single operations"), None,
                wrong)  # fmt: skip


@contextmanager
def decomposed_wrongly() -> Iterator[None]:
    """torch keeps a copy of the table."""
    with mock.patch.dict(decomposition.decompositions, {ERF: torch.tanh}):
        decomposition.fast_random_decomps.cache_clear()
        yield
    decomposition.fast_random_decomps.cache_clear()


def a_wrong_decomposition() -> Trap:
    return Trap(lambda x: x.erf() + 1, (torch.randn(6),), AOT, ("x.erf() + 1",), None, decomposed_wrongly())


def _plus_one(graph: Any) -> None:
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.add.Tensor:
            node.args = (node.args[0], 7)
            return


def a_wrong_pass_of_inductor() -> Trap:
    import torch._inductor.config as config

    wrong = config.patch(post_grad_custom_post_pass=_plus_one)
    return Trap(
        lambda x: x.sin() + 1, (torch.randn(6),), INDUCTOR, ("x.sin() + 1", "post_grad_custom_post_pass"), None, wrong
    )


class Averages(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0))
        return x - self.mean


def state_that_is_not_written() -> Trap:
    def forgets(gm, inputs):
        def run(*given):
            kept = [value.detach().clone() for value in given]
            result = gm(*given)
            with torch.no_grad():
                for value, before in zip(given, kept):
                    value.copy_(before)
            return result

        return torch._dynamo.disable(run)

    model, x = Averages(), torch.ones(3, 2)
    compiled = torch.compile(model, backend=forgets)
    compiled(x)
    return Trap(compiled, (x,), BACKEND, ("self.mean",))


def a_result_that_is_an_argument() -> Trap:
    compiled = torch.compile(lambda x: x.clone(), backend=lambda gm, inputs: torch._dynamo.disable(lambda x: (x,)))
    compiled(torch.ones(3))
    return Trap(compiled, (torch.ones(3),), BACKEND, ("the result's memory",))


def output_that_is_printed_twice() -> Trap:
    def chatty(gm, inputs):
        def run(*given):
            print("run")
            return gm(*given)

        return torch._dynamo.disable(run)

    compiled = torch.compile(lambda x: x + 1, backend=chatty)
    compiled(torch.ones(3))
    return Trap(compiled, (torch.ones(3),), BACKEND, ("standard output",))


@torch.library.custom_op("depyf_wrong::doubles", mutates_args=())
def doubles(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x.clone()


@doubles.register_fake
def _(x):
    return torch.empty_like(x)


def a_write_that_is_not_declared() -> Trap:
    def uses(x):
        y = x + 1
        return doubles(y)

    return Trap(uses, (torch.ones(3),), "depyf_wrong::doubles writes to its argument x", ("return doubles(y)",))


def a_write_through_what_dropout_returns() -> Trap:
    """``dropout`` gives its argument back where it does nothing."""

    def f(x):
        y = nn.functional.dropout(x, 0.5, False)
        y += y
        return y.sum()

    named = ("x differs", "an input differs afterwards", "in f: y += y")
    compiled = torch.compile(f, backend="aot_eager")
    compiled(torch.ones(2, 2))
    return Trap(compiled, (torch.ones(2, 2),), BACKEND, named, public="pytorch#195422")


def an_iterator_that_leaves() -> Trap:
    def f(x):
        def numbers():
            yield x * 1
            return "done"

        return numbers()

    named = ("Python  : generator", "compiled: tuple_iterator")
    return Trap(f, (torch.ones(2),), DYNAMO, named, public="pytorch#198190")


def an_error_that_the_backend_does_not_raise() -> Trap:
    named = ("RuntimeError: Expected p_in", "only one of them raises an error")
    f = torch.compile(lambda x: torch.bernoulli(x))
    return Trap(f, (torch.full((3,), 2.0),), "", named, backends=None, public="pytorch#185246")


def another_error_than_python_raises() -> Trap:
    def f(x, i):
        y = x * 2
        return y.gather(0, i)

    compiled = torch.compile(f)
    compiled(torch.ones(4), torch.tensor([0, 1]))
    named = ("Python  : raises RuntimeError: index 9 is out of bounds", "gather (call_method gather) raises", INDUCTOR)
    return Trap(compiled, (torch.ones(4), torch.tensor([0, 9])), BACKEND, named, None, public="pytorch#193757")


def other_strides() -> Trap:
    def f(x):
        return nn.functional.one_hot(x.t(), 3)

    compiled, x = torch.compile(f, backend="aot_eager"), torch.zeros(3, 4, dtype=torch.int64)
    compiled(x)
    named = ("the result's strides differ", "one_hot (call_function one_hot) has other strides", AOT)
    return Trap(compiled, (x,), BACKEND, named, public="pytorch#168381")


def a_result_that_shares_no_memory() -> Trap:
    def f(x):
        return nn.functional.dropout(x, 0.0)

    named = ("the result's memory differs", "the memory of dropout (call_function dropout) is not the same", AOT,
             "aot_eager: its own")  # fmt: skip
    return Trap(torch.compile(f, backend="aot_eager"), (torch.ones(3),), BACKEND, named, public="pytorch#195422")


def a_conversion_that_is_left_out() -> Trap:
    def f(x):
        y = x.to(torch.float16).to(torch.float32)
        return y, y.sum(dim=1)

    x = torch.arange(20, dtype=torch.float32).reshape(5, 4).t() / 7.0
    named = ("(call_method to)", "in f: y = x.to(torch.float16)", "conversions between floating-point types")
    return Trap(f, (x,), INDUCTOR, named, None, public="pytorch#185337")


def a_read_after_a_later_write() -> Trap:
    def f(x):
        y = x.view(torch.int32) * 2
        y.sub_(-4)
        x[:, 2:5] = 2
        return y.view(torch.int64)

    x = torch.arange(-12, 12, dtype=torch.int64).reshape(4, 6)
    return Trap(f, (x,), INDUCTOR, ("without its own kernels",), ("eager", "inductor"), public="pytorch#198101")


def _operator(name: str, of: Callable[[Any], Any], fake: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(x: torch.Tensor) -> torch.Tensor:
        return of(x)

    run.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    made = torch.library.custom_op(f"depyf_wrong::{name}", run, mutates_args=())
    made.register_fake(lambda x: fake(x))
    return made


as_double = _operator("as_double", lambda x: x.double(), torch.empty_like)
first_row = _operator("first_row", lambda x: x[:1].clone(), torch.empty_like)
turned_over = _operator("turned_over", lambda x: x.t().contiguous().t(), lambda x: torch.empty_like(x.contiguous()))


def _on_fake(operator: Callable[..., Any], *named: str) -> Trap:
    def f(x):
        y = operator(x)
        return y * y.shape[0]

    name = f"depyf_wrong::{operator._name}"
    return Trap(f, (torch.ones(3, 4),), f"the fake kernel of {name}", ("y = operator(x)", *named))


def a_fake_kernel_of_another_type() -> Trap:
    return _on_fake(as_double, "it returns : float64[3, 4]", "fake kernel: float32[3, 4]")


def a_fake_kernel_of_other_sizes() -> Trap:
    return _on_fake(first_row, "it returns : float32[1, 4]", "fake kernel: float32[3, 4]")


def a_fake_kernel_of_other_strides() -> Trap:
    return _on_fake(turned_over, "strides (1, 3)", "strides (4, 1)")


def _edited(backend: str, pattern: str, old: str, new: str, *named: str) -> Trap:
    """A file of a dump is edited as a person would; the program runs with it in a block of ``depyf.edited``."""

    def layer(x, w):
        hidden = torch.relu(x @ w)
        return (hidden * 2).sin()

    args = _matrices()
    folder = Path(tempfile.mkdtemp())
    with depyf.prepare_debug(folder):
        torch.compile(layer, backend=backend)(*args)
    (path,) = [path for path in folder.glob(pattern) if old in path.read_text()]
    path.write_text(path.read_text().replace(old, new, 1))
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend=backend)

    @contextmanager
    def within() -> Iterator[None]:
        with depyf.edited(folder):
            compiled(*args)
            yield
        shutil.rmtree(folder)

    return Trap(compiled, args, EDIT, (f"{path}:", new, *named), ("eager", backend), within())


def an_edited_graph() -> Trap:
    line = "programs.py:", ": return (hidden * 2).sin()"
    return _edited("eager", "__compiled_fn_*.Captured_Graph.0.py", "= mul.sin()", "= mul.cos()", *line)


def an_edited_kernel() -> Trap:
    return _edited("inductor", "*.kernel_0.*.cpp", ".sin()", ".cos()", "kernel generated by Inductor")


def edited_transformed_code() -> Trap:
    return _edited("eager", "__transformed_code_*.py", "(x, w)[0]", "(x, w)[0] + 1", "transformed code")


def a_backward_hook_that_is_added() -> Trap:
    model, x = small(), torch.ones(2, 4, requires_grad=True)
    compiled = torch.compile(model, backend="aot_eager")
    compiled(x)
    model[0].register_full_backward_hook(lambda module, given, made: (given[0] * 5,))
    return Trap(compiled, (x,), GUARDS, ("the gradient of", "the backward hook of self[0]"))


def a_branch_on_identity() -> Trap:
    class Holder:
        def __init__(self):
            self.left, self.right = object(), object()
            self.current = self.left

    def chosen(holder, x):
        y = x + 1
        if holder.current is holder.left:
            return y * 2
        return y - 100

    holder = Holder()
    compiled = torch.compile(chosen, backend="eager")
    compiled(holder, torch.ones(2))
    holder.current = holder.right
    named = ("whether holder.current is holder.left (programs.py:", "with the other answer there Python does what the")
    return Trap(compiled, (holder, torch.ones(2)), GUARDS, named, public="pytorch#196173")


def a_size_without_guard() -> Trap:
    def sized(x):
        if x.shape[0] > 3:
            return x + 1
        return x - 1

    keep = {"guard_filter_fn": lambda guards: [guard.guard_type != "SHAPE_ENV" for guard in guards]}
    compiled = torch.compile(sized, backend="eager", dynamic=True, options=keep)
    compiled(torch.ones(5))
    named = ("the entry's graph has add at", "return x + 1", "and made anew sub at", "return x - 1")
    return Trap(compiled, (torch.ones(2),), GUARDS, named)


def a_mode_without_guard() -> Trap:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(6, 4)
    keep = {"guard_filter_fn": lambda guards: ["training" not in guard.name for guard in guards]}
    compiled = torch.compile(model, backend="eager", options=keep)
    compiled(x)
    model.eval()
    return Trap(compiled, (x,), GUARDS, ("1.training (batchnorm.py:", "which is False now"))


def a_guard_that_the_stance_leaves_out() -> Trap:
    def times(x, n):
        return x * n

    compiled = torch.compile(times, backend="eager", dynamic=False)
    compiled(torch.ones(2), 3)
    stance = torch.compiler.set_stance(skip_guard_eval_unsafe=True)
    return Trap(compiled, (torch.ones(2), 4), GUARDS, ("n was 3 and is 4 (programs.py:",), within=_under(stance))


@contextmanager
def _under(stance: Any) -> Iterator[None]:
    with stance:
        yield


def a_wrong_joint_pass() -> Trap:
    import torch._inductor.config as config

    def wrong(graph: Any) -> None:
        for node in graph.nodes:
            if node.target is torch.ops.aten.cos.default:
                node.target = torch.ops.aten.sin.default

    def wave(x):
        y = x.sin()
        return y * 2

    named = ("joint_custom_post_pass", "the backward of", "y = x.sin()")
    x = torch.randn(6, requires_grad=True)
    return Trap(wave, (x,), INDUCTOR, named, None, config.patch(joint_custom_post_pass=wrong))


def a_wrong_lowering_of_a_sum() -> Trap:
    summed, largest = torch.ops.aten.sum.dim_IntList, torch.ops.aten.amax.default

    def rows(x):
        y = x * 2
        return y.sum(1) + 1

    def wrong(value: Any, dims: Any, keepdim: bool = False, dtype: Any = None) -> Any:
        return lowering.lowerings[largest](value, dims, keepdim)

    within = mock.patch.dict(lowering.lowerings, {summed: wrong})
    return Trap(rows, (torch.randn(6, 8),), INDUCTOR, ("return y.sum(1) + 1", "(call_method sum)"), None, within)


TRAPS = (
    an_edited_graph, an_edited_kernel, edited_transformed_code, a_backward_hook_that_is_added, a_branch_on_identity,
    a_size_without_guard, a_mode_without_guard, a_guard_that_the_stance_leaves_out, a_wrong_joint_pass,
    a_wrong_lowering_of_a_sum,
    another_error_than_python_raises, other_strides, a_conversion_that_is_left_out,
    a_result_that_shares_no_memory,
    a_write_through_what_dropout_returns, an_iterator_that_leaves, an_error_that_the_backend_does_not_raise,
    a_read_after_a_later_write, a_fake_kernel_of_another_type, a_fake_kernel_of_other_sizes, a_fake_kernel_of_other_strides,
    forward_hook, forward_pre_hook, a_global_without_guard, an_attribute_without_guard, a_cell_without_guard,
    a_result_that_is_assumed_constant, a_region_that_is_used_again, a_wrong_substitute, a_wrong_pass, a_wrong_gradient,
    a_wrong_lowering, a_wrong_decomposition, a_wrong_pass_of_inductor, state_that_is_not_written,
    a_result_that_is_an_argument, output_that_is_printed_twice, a_write_that_is_not_declared,
)  # fmt: skip
