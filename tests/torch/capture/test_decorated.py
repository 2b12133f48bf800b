"""A decorator's inner function is named with the function that it decorates."""

from __future__ import annotations

import functools
import types

import pytest
import torch
from dumps import qualified

import depyf
from depyf.sources.live.decorated import stands_for

pytestmark = pytest.mark.torch


def twice(func):
    @functools.wraps(func)
    def wrapper(self, *args, **kwargs):
        return func(self, *args, **kwargs) * 2

    return wrapper


def loose(func):
    @functools.wraps(func)
    def inner(*args, **kwargs):
        return func(*args, **kwargs)

    return inner


def unnamed(func):
    def hidden(x):
        return func(x) + 1

    return hidden


class First(torch.nn.Module):
    @twice
    def forward(self, x):
        return x.sin()


class Second(First):
    @loose
    @twice
    def forward(self, x):
        torch._dynamo.graph_break()
        return x.cos()


@loose
def plain(x):
    return x + 1


@unnamed
def nameless(x):
    return x.tan()


def index_of(folder, *compiled):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        for made in compiled:
            torch.compile(made, backend="eager")(torch.ones(2))
    return (folder / "index.md").read_text()


def test_methods_and_functions(tmp_path):
    text = index_of(tmp_path, First(), plain, nameless)
    line = First.forward.__wrapped__.__code__.co_firstlineno
    wrapper, inner = First.forward, plain
    assert (
        f"`First.forward` ({__file__}:{line}), in its decorator's `{qualified(wrapper)}` ({__file__}:{twice.__code__.co_firstlineno + 1})"
        in text
    )
    assert "`plain` (" in text and f"in its decorator's `{qualified(inner)}`" in text
    page = (tmp_path / "full_code_for_wrapper_0.py").read_text()
    assert page.startswith(f'"""What runs when {qualified(wrapper)} (') and ", the decorated First.forward (" in page
    line = next(line for line in text.splitlines() if "hidden`" in line)
    assert "decorator" not in line


def test_two_decorators(tmp_path):
    text = index_of(tmp_path, Second())
    assert "`Second.forward` (" in text and f"in its decorator's `{qualified(plain)}`" in text


def test_only_what_a_call_finds():
    """Another object's cells, or a function that is not where its name says, prove nothing."""
    made = loose(plain.__wrapped__)
    assert stands_for(made.__code__, made.__closure__, {"args": (torch.ones(2),), "kwargs": {}}) is None
    assert stands_for(plain.__code__, plain.__closure__, {"args": (1,), "kwargs": {}}).function == "plain"
    other = First.forward
    assert stands_for(other.__code__, other.__closure__, {"self": 3}) is None
    assert stands_for(other.__code__, None, {"self": First()}) is None
    assert stands_for(other.__code__, other.__closure__, {"self": First()}).function == "First.forward"


class Converting:
    """An object between the wrapper and what it wraps, as accelerate has one."""

    def __init__(self, forward):
        self.model_forward = forward
        functools.update_wrapper(self, forward)

    def __call__(self, *args, **kwargs):
        return self.model_forward(*args, **kwargs).float()


def converted(forward):
    made = Converting(forward)

    def forward(*args, **kwargs):
        return made(*args, **kwargs)

    forward.__wrapped__ = made
    return forward


def test_a_wrapper_of_one_module_is_called_by_the_module(tmp_path):
    """As accelerate wraps models for mixed precision: with the function of the class, and with a bound method."""

    class Plain(torch.nn.Module):
        def forward(self, x):
            return x.sin()

    class Inherits(Plain):
        pass

    first, second = Plain(), Inherits()
    first.forward = types.MethodType(converted(Plain.forward), first)
    second.forward = converted(second.forward)
    for module in (first, second):
        name = type(module).__qualname__ + ".forward"
        text = index_of(tmp_path / name, module)
        assert f"`{name}` (" in text and f"in its decorator's `{qualified(converted(plain))}`" in text


def test_a_closure_of_the_program_keeps_its_name(tmp_path):
    module = First()
    forward = module.forward

    def step(x):
        return forward(x) + 1

    assert "decorator" not in index_of(tmp_path, step)


def test_an_optimizer_is_called_by_its_class(tmp_path):
    """AdamW inherits step() from Adam."""
    layer = torch.nn.Linear(3, 1)
    layer(torch.ones(2, 3)).sum().backward()
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(torch.optim.AdamW(layer.parameters()).step, backend="eager")()
    page = (tmp_path / "index.md").read_text()
    assert "AdamW.step" in page and "Adam.step" not in page
    with depyf.prepare_debug(str(tmp_path / "both")):
        torch.compile(torch.optim.Adam(layer.parameters()).step, backend="eager")()
        torch.compile(torch.optim.AdamW(layer.parameters()).step, backend="eager")()
    assert "Adam.step / AdamW.step" in (tmp_path / "both" / "index.md").read_text()
