"""Programs that compile something, run it, and return every number it produced.

Each takes ``compiled(fn_or_module)`` (``torch.compile`` with the options under test) and returns a list of tensors
and plain values.  They are deterministic: the same call returns the same bits.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

Compile = Callable[[Any], Any]
Program = Callable[[Compile], list[Any]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def toy_function(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def _toy(compiled: Compile, grad: bool, sizes: tuple[int, ...] = (10,)) -> list[Any]:
    fn = compiled(toy_function)
    out: list[Any] = []
    generator = torch.Generator().manual_seed(0)
    for size in sizes:
        for sign in (1, -1):
            a = torch.randn(size, generator=generator, requires_grad=False).requires_grad_(grad)
            b = (torch.rand(size, generator=generator) * sign).requires_grad_(grad)
            y = fn(a, b)
            out.append(y.detach())
            if grad:
                y.sum().backward()
                out += [a.grad, b.grad]
    return out


@program
def toy(compiled):
    return _toy(compiled, grad=False)


@program
def toy_grad(compiled):
    return _toy(compiled, grad=True)


@program
def toy_recompiled(compiled):
    return _toy(compiled, grad=True, sizes=(10, 12, 7))


@program
def prints(compiled):
    def f(x):
        y = x.sin()
        print("between", y.shape)
        z = y + x
        print("and again")
        return z.cos()

    return [compiled(f)(torch.linspace(0, 1, 5))]


@program
def no_graph_with_cells(compiled):
    """Compiles without a graph, and makes closures."""

    def f(n):
        def g(k):
            return n + k

        h = lambda: g(1) * n
        return g, h

    fn = compiled(f)
    g, h = fn(3)
    return [g(4), h()]


@program
def closure_over_graph(compiled):
    scale = torch.tensor([2.0])
    offset = 1.5

    def f(x):
        y = x * scale

        def inner(z):
            return z + y + offset

        print("break")
        return inner(x).sum() + inner(y).sum()

    return [compiled(f)(torch.arange(4.0))]


@program
def cells_across_break(compiled):
    """A resume function with free variables, and a cell that both sides write."""

    def f(x):
        total = x.sum()

        def add(value):
            nonlocal total
            total = total + value
            return total

        add(x.max())
        print("break")
        add(x.min())
        return total, add

    total, add = compiled(f)(torch.arange(4.0))
    return [total, add(torch.tensor(10.0))]


@program
def lambda_function(compiled):
    return [compiled(lambda x, y=2: x * y + 1)(torch.ones(3))]


@program
def nested_function(compiled):
    def outer(k):
        def inner(x):
            return x * k

        return inner

    return [compiled(outer(3))(torch.ones(3)), compiled(outer(4))(torch.ones(3))]


class Holder:
    def __init__(self):
        self.weight = torch.full((3,), 2.0)
        self.calls = 0

    def method(self, x, *args, flip=False, **kwargs):
        self.calls += 1
        y = x * self.weight
        if flip:
            y = y.flip(0)
        print("break", len(args), sorted(kwargs))
        return y + sum(args) + kwargs.get("extra", 0)


@program
def bound_method(compiled):
    holder = Holder()
    fn = compiled(holder.method)
    return [fn(torch.arange(3.0)), fn(torch.arange(3.0), 1, 2, flip=True, extra=5), holder.calls]


@program
def consumes_generator(compiled):
    def items(x):
        for i in range(3):
            yield x + i

    def f(x):
        total = torch.zeros_like(x)
        for item in items(x):
            total = total + item * item
        return total, list(items(x.sum()))

    first, rest = compiled(f)(torch.arange(3.0))
    return [first, *rest]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad + 0.25


@program
def autograd_function(compiled):
    x = torch.arange(3.0, requires_grad=True)
    y = compiled(lambda t: Square.apply(t).sin().sum())(x)
    y.backward()
    return [y.detach(), x.grad]


class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        with torch.no_grad():
            self.linear.weight.copy_(torch.arange(9.0).view(3, 3) / 9)
            self.linear.bias.zero_()

    def forward(self, x):
        return self.linear(x).relu()


@program
def module_with_hooks(compiled):
    model = Hooked()
    model.linear.register_forward_hook(lambda module, args, out: out + 1)
    model.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    fn = compiled(model)
    x = torch.arange(6.0).view(2, 3)
    y = fn(x)
    y.sum().backward()
    return [y.detach(), model.linear.weight.grad, model.linear.bias.grad]


@program
def with_and_try(compiled):
    def f(x):
        try:
            with torch.no_grad():
                y = x * 2
            z = {"k": [y, x + 1]}
        finally:
            w = x - 1
        if x.sum() > 0:
            raise ValueError(f"positive {len(z)}")
        return w + z["k"][0]

    fn = compiled(f)
    out = [fn(-torch.ones(2))]
    with contextlib.suppress(ValueError):
        fn(torch.ones(2))
        out.append("not raised")
    return out


@program
def mutates_and_aliases(compiled):
    def f(state, x):
        state["seen"].append(x.shape[0])
        state["last"] = x + 1
        x.add_(1)
        print("break")
        state["seen"].append(len(state))
        return x.view(-1), state["last"]

    state: dict[str, Any] = {"seen": []}
    x = torch.zeros(2, 2)
    a, b = compiled(f)(state, x)
    a.mul_(3)
    return [a, b, x, state["seen"], state["last"]]


@program
def loops_and_defaults(compiled):
    def f(x, n=3, *rest, scale=1.0, **options):
        for i in range(n):
            x = x + i * scale
        for r in rest:
            x = x * r
        return x if options.get("keep") else x.sum()

    fn = compiled(f)
    return [fn(torch.ones(2)), fn(torch.ones(2), 2, 3, 4, scale=0.5, keep=True)]


@program
def partial_and_kwargs(compiled):
    def f(x, y, *, z):
        return (x @ y) * z

    fn = functools.partial(compiled(f), z=2.0)
    return [fn(torch.eye(2), torch.ones(2, 2))]


@program
def raises(compiled):
    def f(x):
        y = x + 1
        if y.sum() > 100:
            raise KeyError("too large")
        return y

    fn = compiled(f)
    out = [fn(torch.ones(2))]
    try:
        fn(torch.full((2,), 100.0))
    except KeyError as error:
        out.append(str(error))
    return out


@program
def break_in_loop(compiled):
    """Dynamo cannot resume here: the frame is skipped and runs eagerly."""

    def f(x):
        for i in range(3):
            x = x + 1
            print("in loop", i)
        return x

    return [compiled(f)(torch.zeros(2))]


def same(first: Any, second: Any) -> bool:
    """Bit-equal, through containers; NaN equals NaN."""
    if isinstance(first, torch.Tensor):
        return (
            isinstance(second, torch.Tensor)
            and first.dtype == second.dtype
            and first.shape == second.shape
            and first.stride() == second.stride()
            and torch.equal(
                first.detach().contiguous().view(torch.uint8), second.detach().contiguous().view(torch.uint8)
            )
            if first.dim()
            else torch.equal(first.detach(), second.detach())
        )
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second))
    return type(first) is type(second) and first == second
