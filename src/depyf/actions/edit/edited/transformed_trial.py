"""Edited transformed code against Dynamo's, on the arguments of its first call: results, gradients, time, memory.

Input: the frame of the edited code at its first statement, and the code that Dynamo made.  Both run on copies of the
arguments, twice each, with the same random numbers, and with the same compiled graphs; what follows a graph break runs
uncompiled.  Modules among the arguments are not copied: what the calls wrote to their tensors is undone.  Output:
``EditedGraph``, plain data; None in the place of a result that neither gives.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from depyf.actions.comparing.graphs.compiled_graph import copied, steady_random_numbers
from depyf.actions.edit.edited.edit_trial import Cost, EditedGraph, apart, peak_of, wait
from depyf.safety.guarded import problem

PART = "transformed code"
"""What a row of it is called."""


def transformed_tried(
    function: str, compile_id: str, frame: types.FrameType, made: types.CodeType, edited: types.CodeType
) -> EditedGraph:
    """Run ``made``, Dynamo's code, and ``edited`` on copies of the arguments that ``frame`` got."""
    import torch

    nothing = Cost(0.0, 0)
    try:
        sides = [torch._dynamo.disable(_function(code, frame)) for code in (made, edited)]
        arguments, modules = _arguments(edited, frame)
        (first, one, _), (second, other, _) = [_called(side, arguments, modules) for side in sides]
        results, gradients = apart(first, second), apart(one, other)
        calls = [functools.partial(_called, side, arguments, modules) for side in sides]
        before, after = map(_cost, calls)  # what is compiled late has been by now
        return EditedGraph(function, compile_id, results, gradients, bool(one or other), before, after, part=PART)
    except Exception as error:  # whatever the program raises
        return EditedGraph(function, compile_id, None, None, False, nothing, nothing, problem(error), PART)


@dataclass(frozen=True, slots=True)
class _Arguments:
    positional: list[Any]
    named: dict[str, Any]


def _function(code: types.CodeType, frame: types.FrameType) -> Callable[..., Any]:
    """``code`` with the globals and the free variables of ``frame``; what it writes to them stays in it."""
    known = frame.f_locals
    cells = tuple(types.CellType(known[name]) if name in known else types.CellType() for name in code.co_freevars)
    return types.FunctionType(code, frame.f_globals, code.co_name, None, cells)


def _arguments(code: types.CodeType, frame: types.FrameType) -> tuple[_Arguments, list[Any]]:
    """What ``frame`` was called with; the modules that it can reach from there and from its free variables."""
    import torch

    known = frame.f_locals
    count, keywords = code.co_argcount, code.co_kwonlyargcount
    names = iter(code.co_varnames)
    positional = [known[next(names)] for _ in range(count)]
    named = {name: known[name] for name in [next(names) for _ in range(keywords)]}
    if code.co_flags & inspect.CO_VARARGS:
        positional += known[next(names)]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named.update(known[next(names)])
    free = [known.get(name) for name in code.co_freevars]
    shared = [frame.f_globals.get(name) for name in code.co_names]
    reached = _leaves([positional, named, free, shared])
    return _Arguments(positional, named), [value for value in reached if isinstance(value, torch.nn.Module)]


def _called(side: Callable[..., Any], given: _Arguments, modules: list[Any]) -> tuple[list[Any], list[Any], float]:
    """Results, with the arguments afterwards; gradients, for ones as those of the results; the seconds that took."""
    import torch
    from torch.utils._pytree import tree_map

    def copy(value: Any) -> Any:
        return copied((value,))[0]

    positional, named = tree_map(copy, given.positional), tree_map(copy, given.named)
    wanted = [value for value in _leaves([positional, named]) if _needs_gradient(value)]
    wanted += [value for module in modules for value in module.parameters() if value.requires_grad]
    with steady_random_numbers(), _undone(modules):
        begun = time.perf_counter()
        result = _leaves(side(*positional, **named))
        gradients: list[Any] = []
        differentiable = [value for value in result if _needs_gradient(value) and value.grad_fn is not None]
        if differentiable and wanted and torch.is_grad_enabled():
            ones = [torch.ones_like(value) for value in differentiable]
            gradients = list(torch.autograd.grad(differentiable, wanted, ones, allow_unused=True))
        wait()
        took = time.perf_counter() - begun
        return _comparable(result) + _comparable(_leaves([positional, named])), gradients, took


def _cost(call: Callable[[], tuple[list[Any], list[Any], float]]) -> Cost:
    spent: list[float] = []
    peak = peak_of(lambda: spent.append(call()[2]))
    return Cost(spent[0], peak)


def _needs_gradient(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.requires_grad


def _leaves(values: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    found: list[Any] = tree_leaves(values)
    return found


def _comparable(values: list[Any]) -> list[Any]:
    """Tensors, numbers and texts as they are, dataclasses by their fields; of any other object its type."""
    import torch

    found: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor) or type(value) in _PLAIN:
            found.append(value)
            continue
        found.append(type(value).__qualname__)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = (
                [vars(value).get(field.name) for field in dataclasses.fields(value)]
                if hasattr(value, "__dict__")
                else []
            )
            found += [
                part if isinstance(part, torch.Tensor) or type(part) in _PLAIN else None for part in _leaves(fields)
            ]
    return found


_PLAIN = (int, float, complex, bool, str, bytes, type(None))


@contextlib.contextmanager
def _undone(modules: list[Any]) -> Iterator[None]:
    """The tensors of ``modules`` have the values of before afterwards; autograd sees nothing of it."""
    import torch

    tensors = {id(value): value for module in modules for value in (*module.parameters(), *module.buffers())}
    before = [(value, value.detach().clone(), value._version) for value in tensors.values()]
    try:
        yield
    finally:
        with torch.no_grad():
            for value, kept, version in before:
                if value._version != version:
                    with torch.autograd._unsafe_preserve_version_counter(value):
                        value.copy_(kept)
