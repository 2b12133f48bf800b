"""More programs whose compiled call does something else than Python: guards that are missing, operators that say too
little, writes that a backend makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from tests.torch.wrong.programs import AOT, BACKEND, GUARDS, INDUCTOR, Trap
from torch import nn
from torch._inductor import decomposition
from torch._inductor.codegen import cpp


def _without(keep: Callable[..., Any], fn: Any, *args: Any, backend: Any = "eager") -> Any:
    compiled = torch.compile(fn, backend=backend, options={"guard_filter_fn": keep})
    compiled(*args)
    return compiled


def an_attribute_that_hides_a_submodule() -> Trap:
    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = nn.Linear(4, 4, bias=False)

        def forward(self, x):
            return self.sub(x)

    model, x = Wrapper(), torch.arange(4.0)
    compiled = torch.compile(model, backend="eager")
    compiled(x)
    object.__setattr__(model, "sub", nn.Linear(4, 4, bias=False))
    named = ("self.sub from L['self']._modules['sub'] (more_programs.py:", "made anew it is from L['self'].sub")
    return Trap(compiled, (x,), GUARDS, named, public="pytorch#197859")


class Doubles:
    def times(self, x):
        return x * 2.0


def nine_times(self, x):
    return x * 9.0


def the_code_of_a_bound_method() -> Trap:
    class Model:
        m = Doubles.times

    model, x = Model(), torch.arange(1.0, 4.0)
    compiled = torch.compile(lambda x: model.m(x), backend="eager")
    before = Doubles.times.__code__
    compiled(x)
    Doubles.times.__code__ = nine_times.__code__

    class Back:
        def __enter__(self):
            pass

        def __exit__(self, *_):
            Doubles.times.__code__ = before

    named = ("in times: return x * 2.0, and made anew mul at", "in nine_times: return x * 9.0")
    return Trap(compiled, (x,), GUARDS, named, within=Back(), public="pytorch#197860")


def a_method_of_tensors_in_a_closure() -> Trap:
    def make(op):
        def fn(x, y):
            return op(x, y)

        return fn

    add, mul = make(torch.Tensor.__add__), make(torch.Tensor.__mul__)
    args = torch.tensor(6.0), torch.tensor(3.0)
    torch.compile(add, backend="eager")(*args)
    named = ("the entry's graph has __add__ at", "return op(x, y), and made anew __mul__")
    return Trap(torch.compile(mul, backend="eager"), args, GUARDS, named, public="pytorch#197811")


class Adds:
    def apply(self, x):
        return x + 1


class Subtracts:
    def apply(self, x):
        return x - 1


def a_class_that_is_exchanged() -> Trap:
    policy = Adds()

    def applied(x):
        return policy.apply(x) * 2

    compiled = _without(lambda guards: [guard.guard_type != "TYPE_MATCH" for guard in guards], applied, torch.ones(3))
    policy.__class__ = Subtracts
    named = ("looks at policy (more_programs.py:", "the entry's graph has add at", "made anew sub at")
    return Trap(compiled, (torch.ones(3),), GUARDS, named)


def a_layer_that_is_added() -> Trap:
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).relu()
            return x

    torch.manual_seed(0)
    model, x = Layers(), torch.ones(2, 4)
    compiled = _without(torch.compiler.skip_guard_on_all_nn_modules_unsafe, model, x)
    model.layers.append(nn.Linear(4, 4))
    named = ("no guard of the entry looks at self.layers", "made anew linear at", "x = layer(x).relu()")
    return Trap(compiled, (x,), GUARDS, named)


SETTINGS = {"scale": 2}


def an_item_of_a_global() -> Trap:
    def scaled(x):
        return x.sin() * SETTINGS["scale"]

    SETTINGS["scale"] = 2
    compiled = _without(torch.compiler.keep_tensor_guards_unsafe, scaled, torch.ones(3), backend="aot_eager")
    SETTINGS["scale"] = 5
    named = ("SETTINGS['scale'] (more_programs.py:", "which is 5 now (the entry's graph has 2)", "keep_tensor_")
    return Trap(compiled, (torch.ones(3),), GUARDS, named)


def by_two(x, by=2):
    return x * by


def a_default_argument() -> Trap:
    by_two.__defaults__ = (2,)
    compiled = _without(torch.compiler.skip_guard_on_globals_unsafe, lambda x: by_two(x) + 1, torch.ones(3))
    by_two.__defaults__ = (7,)
    named = ("by_two.__defaults__[0] (more_programs.py:", "which is 7 now (the entry's graph has 2)")
    return Trap(compiled, (torch.ones(3),), GUARDS, named)


def a_method_that_is_replaced() -> Trap:
    class Block(nn.Module):
        def forward(self, x):
            return x * 2

    model = nn.Sequential(Block(), nn.ReLU())
    compiled = _without(torch.compiler.skip_guard_on_all_nn_modules_unsafe, model, torch.ones(3))
    Block.forward = lambda self, x: x * 5
    named = ("in forward: return x * 2, and made anew mul at", "in <lambda>: Block.forward = lambda")
    return Trap(compiled, (torch.ones(3),), GUARDS, named)


def a_parameter_that_is_frozen_no_more() -> Trap:
    model, x = nn.Linear(4, 4).requires_grad_(False), torch.ones(2, 4)
    compiled = _without(torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe, model, x, backend="aot_eager")
    model.requires_grad_(True)
    return Trap(compiled, (x,), GUARDS, ("the result.requires_grad differs", ".weight (linear.py:", "TENSOR_MATCH"))


FLAG = [True]


@torch.compiler.allow_in_graph
def picked(x):
    return x + 1 if FLAG[0] else x - 1


def a_flag_that_is_read_while_aot_traces() -> Trap:
    FLAG[0] = True
    compiled = torch.compile(lambda x: picked(x.cos()), backend="aot_eager")
    compiled(torch.ones(3))
    FLAG[0] = False
    return Trap(compiled, (torch.ones(3),), GUARDS, ("the entry's graph has add.Tensor at", "made anew sub.Tensor at"))


def a_write_that_is_doubled() -> Trap:
    def flipped(x):
        torch._foreach_add_([x], [x.flip(0)])
        return x * 2

    torch.manual_seed(0)
    named = ("in flipped: torch._foreach_add_", "use_post_grad_passes = False")
    return Trap(flipped, (torch.rand(8, 8),), INDUCTOR, named, None, public="pytorch#198033")


def a_copy_that_is_made_too_late() -> Trap:
    def copied(to, given):
        to[0:, :] = given[0:, :]
        given.add_(1)
        return given

    args = torch.zeros(3, 4), torch.arange(12.0).view(3, 4)
    named = ("an input differs afterwards", "to[0:, :] = given[0:, :]")
    return Trap(copied, args, INDUCTOR, named, None, public="pytorch#198131")


def an_argument_that_the_backend_writes_to() -> Trap:
    def backend(gm, inputs):
        def run(*given):
            result = gm(*given)
            given[0].add_(1)
            return result

        return torch._dynamo.disable(run)

    named = ("x differs", "l_x_ differs afterwards, and no operation of the graph writes to it")
    compiled = torch.compile(lambda x: x * 3, backend=backend)
    compiled(torch.ones(3))
    return Trap(compiled, (torch.ones(3),), BACKEND, named, None)


@torch.library.custom_op("depyf_wrong::tell", mutates_args=())
def tell(x: torch.Tensor) -> torch.Tensor:
    print("sum", x.sum().item())
    return x.clone()


@torch.library.custom_op("depyf_wrong::positive", mutates_args=())
def positive(x: torch.Tensor) -> torch.Tensor:
    if bool((x < 0).any()):
        raise ValueError("negative")
    return x.clone()


tell.register_fake(torch.empty_like)
positive.register_fake(torch.empty_like)


def _unused(operator: Callable[..., Any], x: Any, *named: str) -> Trap:
    def used_for_its_effect(x):
        y = x + 1
        operator(y)
        return y * 2

    compiled = torch.compile(used_for_its_effect, backend="aot_eager")
    compiled(torch.ones(3))
    return Trap(compiled, (x,), BACKEND, (*named, "in used_for_its_effect: operator(y)"))


def output_of_an_operator_that_is_dropped() -> Trap:
    return _unused(tell, torch.ones(3), "Python  : 'sum 6.0", "compiled: ''", "prints, and a schema cannot declare")


def an_error_of_an_operator_that_is_dropped() -> Trap:
    return _unused(positive, torch.full((3,), -5.0), "Python  : raises ValueError: negative", "raises an error")


LIBRARY = torch.library.Library("depyf_wrong_views", "DEF")
LIBRARY.define("flat(Tensor x) -> Tensor")
LIBRARY.impl("flat", lambda x: x.view(-1), "CompositeExplicitAutograd")
torch.library.register_fake("depyf_wrong_views::flat", lambda x: x.new_empty(x.numel()), lib=LIBRARY)


def a_view_that_is_not_declared() -> Trap:
    def written(x):
        y = torch.ops.depyf_wrong_views.flat(x)
        y.add_(1)
        return x * 2

    named = ("y = torch.ops.depyf_wrong_views.flat(x)", "they have the same memory")
    return Trap(written, (torch.ones(2, 2),), "depyf_wrong_views::flat returns memory of its argument x", named)


def a_wrong_backward_decomposition() -> Trap:
    def squashed(x, w):
        h = x @ w
        return torch.tanh(h).sum()

    class Wrong:
        def __enter__(self):
            table = {torch.ops.aten.tanh_backward.default: lambda gradient, out: gradient * (1 + out * out)}
            self.patch = mock.patch.dict(decomposition.decompositions, table)
            self.patch.start()
            decomposition.fast_random_decomps.cache_clear()

        def __exit__(self, *_):
            self.patch.stop()
            decomposition.fast_random_decomps.cache_clear()

    torch.manual_seed(0)
    args = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    named = ("gradient of h", "which the backward of tanh", "return torch.tanh(h).sum()")
    return Trap(squashed, args, AOT, named, None, Wrong())


def a_kernel_with_a_wrong_instruction() -> Trap:
    def size(x):
        y = x - 1
        return torch.abs(y) + x

    wrong = staticmethod(lambda value: f"({value} + {value})")

    class Wrong:
        def __enter__(self):
            self.patches = [mock.patch.object(of, "abs", wrong) for of in (cpp.CppOverrides, cpp.CppVecOverrides)]
            for patch in self.patches:
                patch.start()

        def __exit__(self, *_):
            for patch in self.patches:
                patch.stop()

    torch.manual_seed(0)
    named = ("return torch.abs(y) + x", "its own kernels for single operations")
    return Trap(size, (torch.randn(40),), INDUCTOR, named, None, Wrong())


def a_setting_of_the_process() -> Trap:
    def f(x):
        torch.set_default_dtype(torch.float64)
        y = torch.ones(3) * 2
        return x + y

    compiled = torch.compile(f, backend="aot_eager")
    compiled(torch.ones(3))
    torch.set_default_dtype(torch.float32)
    named = (
        "torch.get_default_dtype() differs afterwards, which set_default_dtype",
        "torch.set_default_dtype(torch.float64)\n",
    )
    return Trap(compiled, (torch.ones(3),), BACKEND, named)


def a_setting_that_torch_sets_on_its_way() -> Trap:
    def f(x):
        y = x * 2
        torch.use_deterministic_algorithms(True)
        return y + 1

    named = ("torch.are_deterministic_algorithms_enabled() differs", "from a line after", "y = x * 2")
    return Trap(f, (torch.ones(3),), AOT, named, None)


class Factor:
    by = 2


class OwnFactor(Factor):
    pass


def an_attribute_of_a_base_class() -> Trap:
    held = OwnFactor()

    def scaled(x):
        return x * held.by

    Factor.by = 2
    compiled = _without(lambda guards: ["by" not in one.name for one in guards], scaled, torch.ones(2))
    Factor.by = 7
    return Trap(compiled, (torch.ones(2),), GUARDS, ("has the constant 2, and made anew 7", "return x * held.by"))


LAYERS: list[int] = []


def the_length_of_a_global() -> Trap:
    def scaled(x):
        return x * len(LAYERS)

    LAYERS[:] = [1]
    compiled = _without(lambda guards: ["LAYERS" not in one.name for one in guards], scaled, torch.ones(2))
    LAYERS.append(2)
    return Trap(compiled, (torch.ones(2),), GUARDS, ("the global LAYERS", "return x * len(LAYERS)"))


def _by(run: Callable[..., Any], fn: Callable[..., Any], args: tuple[Any, ...], *named: str) -> Trap:
    """Compiled by a backend that runs each graph in this way."""
    compiled = torch.compile(fn, backend=lambda gm, inputs: lambda *given: run(gm, *given))
    return Trap(compiled, args, "DIFFERENT", named, None)


def results_in_another_order() -> Trap:
    def waves(x):
        s = x.sin()
        return s, x.cos()

    return _by(lambda gm, *given: gm(*given)[::-1], waves, (torch.ones(3),), "s (call_method sin)", "s = x.sin()")


def a_graph_that_runs_twice() -> Trap:
    def grows(x):
        x.add_(1)
        return x * 2

    return _by(lambda gm, *given: gm(*given) and gm(*given), grows, (torch.ones(3),), "add_", "x.add_(1)")


def numbers_of_lower_precision() -> Trap:
    def scores(x):
        h = torch.tanh(x)
        return h.softmax(-1)

    torch.manual_seed(0)
    short = lambda gm, *given: [value.bfloat16().to(value.dtype) for value in gm(*given)]
    return _by(short, scores, (torch.randn(4, 4),), "h (call_function tanh)", "h = torch.tanh(x)")


def a_result_without_its_history() -> Trap:
    def total(x, w):
        y = x @ w
        return y.sum()

    args = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    cut = lambda gm, *given: [value.detach() for value in gm(*given)]
    return _by(cut, total, args, "gradient of sum", "requires_grad=False", "return y.sum()")


def a_setting_that_the_backend_changes() -> Trap:
    def runs(gm: Any, *given: Any) -> Any:
        torch.set_float32_matmul_precision("medium")
        return gm(*given)

    named = "torch.get_float32_matmul_precision() differs afterwards, and no operation of the graph changes it"
    return _by(runs, lambda x: x.sin() + 1, (torch.ones(3),), named)


def buffers_of_which_the_backend_has_copies() -> Trap:
    def runs(gm: Any, *given: Any) -> Any:
        return gm(*(value if value.requires_grad else value.clone() for value in given))

    model = nn.BatchNorm1d(3)
    return _by(runs, model, (torch.randn(4, 3),), "an input differs afterwards, which add_", "int64[] min 1")


class _Refusing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError("no gradient of a sine here")


def refusing(x):
    return _Refusing.apply(x)


def a_backward_that_raises() -> Trap:
    def backend(gm: Any, inputs: Any) -> Any:
        for node in gm.graph.find_nodes(op="call_method", target="sin"):
            node.op, node.target = "call_function", refusing
        gm.recompile()
        return gm

    def f(x):
        y = x * 2
        return y.sin() + 1

    named = ("the backward differs", "raises RuntimeError: no gradient of a sine here",
             "the backward of sin (call_method sin) raises an error", "in f: return y.sin() + 1")  # fmt: skip
    return Trap(f, (torch.ones(3, requires_grad=True),), BACKEND, named, ("eager", backend))


_SLOPE = 2.0


def a_stale_entry_that_shows_in_gradients_alone() -> Trap:
    """The saved value of ``tanh`` is donated: such a backward runs once."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))

    def forward(x):
        y = model(x)
        return y * _SLOPE - y.detach() * (_SLOPE - 1)

    compiled = _without(lambda guards: ["_SLOPE" not in guard.name for guard in guards], forward, torch.ones(2, 4),
                        backend="inductor")  # fmt: skip
    within = mock.patch.dict(globals(), {"_SLOPE": 4.0})
    named = ("the gradient of", "Python  : ", "_SLOPE")
    return Trap(compiled, (torch.ones(2, 4),), GUARDS, named, None, within)


MORE_TRAPS = (
    an_attribute_that_hides_a_submodule, the_code_of_a_bound_method, a_method_of_tensors_in_a_closure,
    a_class_that_is_exchanged, a_layer_that_is_added, an_item_of_a_global, a_default_argument, a_method_that_is_replaced,
    a_parameter_that_is_frozen_no_more, a_flag_that_is_read_while_aot_traces, a_write_that_is_doubled,
    a_copy_that_is_made_too_late, an_argument_that_the_backend_writes_to, output_of_an_operator_that_is_dropped,
    an_error_of_an_operator_that_is_dropped, a_view_that_is_not_declared, a_wrong_backward_decomposition,
    a_kernel_with_a_wrong_instruction, a_setting_of_the_process, a_setting_that_torch_sets_on_its_way,
    an_attribute_of_a_base_class, the_length_of_a_global, results_in_another_order, a_graph_that_runs_twice,
    numbers_of_lower_precision, a_result_without_its_history, a_setting_that_the_backend_changes,
    buffers_of_which_the_backend_has_copies, a_backward_that_raises, a_stale_entry_that_shows_in_gradients_alone,
)  # fmt: skip
