"""``depyf.compare(model, ..., reference=other)``: where a model first computes something else than another one.

Both are called once, as Python, with copies of the same arguments and the same random numbers.  What each operation and
each module returns is recorded with its module path.  Two models with modules of the same paths are compared value by
value along these paths.  Other models, and functions, are compared by what they compute: the last value that both have
is found, and what follows it is where they part (``value_traces.py``).
"""

from __future__ import annotations

import contextlib
import copy
import linecache
import os
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from depyf.actions.comparing.graphs.compiled_graph import copied, is_tensor
from depyf.actions.comparing.value_traces import (
    OUTPUT,
    RESULT,
    Comparing,
    ModelDifference,
    ModelStep,
    ValueTrace,
    tensors_apart,
)
from depyf.sources.live.caches.own_stance import own_stance
from depyf.sources.live.tensors import gradients_of


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """What ``depyf.compare(..., reference=...)`` found; true where every value that both have is the same."""

    names: tuple[str, str]
    """Of the model and of the reference."""
    compared: int
    """How many values were compared."""
    first: ModelDifference | None

    def __bool__(self) -> bool:
        return self.first is None and self.compared > 0

    @property
    def headline(self) -> str:
        model, reference = self.names
        if not self.compared:
            return f"{model} against the reference {reference}: no tensor came of one of them, so nothing was compared"
        outcome = "the same" if self else "DIFFERENT"
        several = "value" if self.compared == 1 else "values"
        return f"{model} against the reference {reference}: {self.compared} {several} compared: {outcome}"

    def __str__(self) -> str:
        found = [] if self.first is None else self.first.lines()
        return "\n".join([self.headline, *(f"  {line}" for line in found)])

    def __repr__(self) -> str:
        return f"<depyf.compare: {self.headline}{'; print() shows where' if self.first is not None else ''}>"

    def _repr_html_(self) -> str:
        from depyf.actions.comparing.comparison_html import model_html

        return model_html(self)


def against_model(
    model: Any, reference: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rtol: float | None, atol: float | None
) -> ModelComparison:
    """See ``depyf.compare``."""
    wanted, made = _traced(reference, args, kwargs), _traced(model, args, kwargs)
    compare = Comparing(wanted, made, rtol, atol)
    if not wanted.values or not made.values:
        return ModelComparison((_name(model), _name(reference)), 0, None)
    first = compare.first() or compare.gradients()
    if first is not None:
        first = _with_weights(first, model, reference)
    return ModelComparison((_name(model), _name(reference)), compare.compared, first)


def _with_weights(found: ModelDifference, model: Any, reference: Any) -> ModelDifference:
    """The difference with the differing parameters and buffers of its module."""
    if found.reference is None:
        return found
    sides = [_weights(side, path) for side, path in ((model, found.step.path), (reference, found.reference.path))]
    apart = [
        (name, different)
        for name, value in sides[0].items()
        if name in sides[1] and (different := tensors_apart(sides[1][name], value, None, None)) is not None
    ]
    return replace(found, weights=tuple(apart))


def _weights(model: Any, path: str) -> dict[str, Any]:
    import torch

    if not isinstance(model, torch.nn.Module):
        return {}
    try:
        module = _uncompiled(model).get_submodule(path)
    except AttributeError:
        return {}
    own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    return {name: value.detach() for name, value in own}


def _uncompiled(model: Any) -> Any:
    return getattr(model, "_orig_mod", None) or getattr(model, "_torchdynamo_orig_callable", None) or model


def _name(model: Any) -> str:
    found = _uncompiled(model)
    return str(getattr(found, "__qualname__", None) or type(found).__qualname__)


def _traced(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ValueTrace:
    """Call ``model`` once, as Python, and keep what it computes, backward included."""
    import torch
    from torch.utils import _pytree

    trace, plain = ValueTrace(), _uncompiled(model)
    own_args, own_kwargs = _own((args, kwargs))
    with torch.random.fork_rng(), own_stance("force_eager"):  # both begin from the program's random numbers
        with recording(plain, trace) as record:
            result = plain(*own_args, **own_kwargs)
            record(RESULT, result)
        named = dict(plain.named_parameters()) if isinstance(plain, torch.nn.Module) else {}
        leaves = enumerate(_pytree.tree_leaves((own_args, own_kwargs)), 1)
        named = {**{f"argument {number}": value for number, value in leaves}, **named}
        nodes = [value.grad_fn for value in named.values() if is_tensor(value) and value.grad_fn is not None]
        trace.gradients, _ = gradients_of(_pytree.tree_leaves(result), named, nodes)
    return trace


def _own(values: Any) -> Any:
    """A copy of the arguments with separate tensors and caches; what cannot be copied is shared."""
    import torch
    from torch.utils import _pytree

    try:
        return copy.deepcopy(values)
    except Exception:  # a tensor with a history, an object that refuses
        return _pytree.tree_map(lambda value: copied((value,))[0] if isinstance(value, torch.Tensor) else value, values)


_OF_ITSELF = object()


@contextlib.contextmanager
def recording(model: Any, trace: ValueTrace) -> Iterator[Callable[[str, Any], None]]:
    """Hooks on each module, and a mode that sees each operation; both are gone afterwards."""
    import torch
    from torch.overrides import TorchFunctionMode

    inside: list[tuple[str, int]] = [("", 0)]
    calls: Counter[str] = Counter()
    done: Counter[tuple[str, int, str]] = Counter()

    copying = [False]
    made_by: dict[int, int] = {}
    alive: list[Any] = []
    """The tensors, so that no other one gets their ids."""

    def record(operation: str, value: Any, place: str = "", given: Any = _OF_ITSELF) -> None:
        given = value if given is _OF_ITSELF else given
        copying[0] = True
        try:
            tensors = tensors_in(value)
        finally:
            copying[0] = False
        if not tensors:
            return
        path, call = inside[-1]
        key = (path, call, operation)
        depends = {found for leaf in leaves_of(given) if (found := made_by.get(id(leaf))) is not None}
        trace.add(ModelStep(path, operation, place), (*key, done[key]), tensors, sorted(depends))
        done[key] += 1
        for leaf in leaves_of(value):
            made_by[id(leaf)] = len(trace.steps) - 1
            alive.append(leaf)

    class OperationsSeen(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            name = "" if copying[0] else operation_name(func)
            if name:
                record(name, result, _place(sys._getframe(1)), (args, kwargs))
            return result

    def enter(path: str) -> Callable[..., None]:
        def before(module: Any, given: Any) -> None:
            inside.append((path, calls[path]))
            calls[path] += 1

        return before

    def leave(module: Any, given: Any, result: Any) -> None:
        if len(inside) > 1:
            record(OUTPUT, result)
            inside.pop()

    handles = []
    if isinstance(model, torch.nn.Module):
        for path, module in model.named_modules():
            handles += [module.register_forward_pre_hook(enter(path)), module.register_forward_hook(leave)]
    try:
        with OperationsSeen():
            yield record
    finally:
        for handle in handles:
            handle.remove()


def tensors_in(value: Any) -> list[Any]:
    """Copies of the tensors in a value, in order."""
    return [leaf.detach().clone() for leaf in leaves_of(value)]


def leaves_of(value: Any) -> list[Any]:
    """The tensors themselves."""
    import torch
    from torch.utils import _pytree

    leaves = (leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor))
    return [leaf for leaf in leaves if leaf.layout is torch.strided]


_SAME_NAMES = {"radd": "add", "rmul": "mul", "iadd": "add", "imul": "mul", "truediv": "div", "itruediv": "div",
               "sub": "sub", "rmatmul": "matmul", "getitem": "getitem"}  # fmt: skip


def operation_name(func: Any) -> str:
    """``linear``, ``add``: the same for a function, a method and an operator; "" for what only reads a property."""
    name = str(getattr(func, "__name__", ""))
    if name in ("__get__", "__set__", "__len__", "__setitem__", "__repr__", "__format__", "__bool__"):
        return ""
    plain = name.strip("_")
    return _SAME_NAMES.get(plain, plain)


def _place(frame: types.FrameType | None) -> str:
    """The innermost line of the program in the calls that lead to ``frame``."""
    import torch

    libraries = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    while frame is not None and frame.f_code.co_filename.startswith(libraries):
        frame = frame.f_back
    if frame is None:
        return ""
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).strip()
    return f"{file}:{line} in {frame.f_code.co_name}" + (f": {text}" if text else "")
