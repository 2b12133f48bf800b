"""Runs graphs: results, gradients, and what became of the inputs."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Container
from typing import Any

import torch


def run(
    graph: Callable[..., Any],
    inputs: list[Any],
    ambient: Callable[[], Any],
    targets: Callable[[list[Any], list[Any]], list[Any]] = lambda arguments, outputs: outputs,
    computed: Container[int] = range(1 << 30),
) -> dict[str, Any]:
    """Call ``graph`` and differentiate what it computes; ``targets`` chooses from arguments and outputs; ``computed``:
    positions of the inputs that are no leaves."""
    before = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
    held = constants(graph)
    held_before = {name: value.clone() for name, value in held.items()}
    arguments = [new if i in computed else old for i, (old, new) in enumerate(zip(inputs, as_arguments(inputs)))]
    with ambient():
        outputs = flat(graph(*arguments))
    leaves = [value for value in inputs if isinstance(value, torch.Tensor) and value.requires_grad]
    found = [t for t in targets(arguments, outputs) if isinstance(t, torch.Tensor)]
    # a view made under no_grad of what requires a gradient says so too, but no gradient goes through it
    wanted = [t for t in found if t.grad_fn is not None or any(t is leaf for leaf in leaves)]
    cotangents = [cotangent(target, number) for number, target in enumerate(wanted)]
    left = iter(derivatives(wanted, leaves, cotangents) if wanted and leaves else ())
    return {
        "outputs": outputs,
        "inputs before": before,
        "inputs afterwards": arguments,
        "constants before": held_before,
        "constants afterwards": held,
        "gradients": [next(left, None) if getattr(v, "requires_grad", False) else None for v in inputs],
        "cotangents": cotangents,
    }


def constants(graph: Any) -> dict[str, torch.Tensor]:
    """The program's tensors that a graph holds itself, by name: it may write to them."""
    module = getattr(graph, "_orig_mod", graph)
    modules = module.named_modules() if isinstance(module, torch.nn.Module) else ()
    items = [(f"{path}.{name}".lstrip("."), value) for path, one in modules for name, value in vars(one).items()]
    return {name: value for name, value in items if isinstance(value, torch.Tensor)}


def derivatives(wanted: list[Any], leaves: list[Any], cotangents: list[Any]) -> tuple[Any, ...]:
    """The gradients of ``leaves``.  NoDerivative where an operator on the way has none."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = tuple(torch.autograd.grad(wanted, leaves, cotangents, allow_unused=True))
        except RuntimeError as error:  # NotImplementedError is one, too
            if "derivative for " in str(error) or "no autograd formula" in str(error):
                raise NoDerivative(str(error).partition("\n")[0]) from error
            raise
    for warning in heard:
        if "autograd kernel was not registered" in str(warning.message):
            raise NoDerivative(str(warning.message).partition(" to the ")[0])
    return found


class NoDerivative(Exception):
    """An operator of the graph cannot be differentiated; the message says which."""


def as_arguments(values: list[Any]) -> list[Any]:
    """Inputs that can be written to: not leaves, as in the program where they were computed before.  Views of one
    storage are that still."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    owners = [tensor.untyped_storage().data_ptr() for tensor in tensors]
    storages: dict[int, torch.Tensor] = {}
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            owner = value.untyped_storage().data_ptr()
            copied = value.clone()
            if owner and owners.count(owner) > 1 and not value.requires_grad:
                length = value.untyped_storage().nbytes() // value.element_size()
                storage = storages.setdefault(owner, value.as_strided((length,), (1,), 0).clone())
                value = storage.as_strided(value.size(), value.stride(), value.storage_offset())
            elif copied.stride() == value.stride():
                value = copied
        found.append(value)
    return found


class WritableProxy(torch.fx.Proxy):  # type: ignore[misc]
    """A value that is traced, which may be written to in place."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})


class BodyTracer(torch.fx.Tracer):  # type: ignore[misc]
    def proxy(self, node: torch.fx.Node) -> torch.fx.Proxy:
        return WritableProxy(node, self)


def traced(body: Callable[..., Any]) -> Any:
    """The body of an operator that wants a torch.fx.GraphModule."""
    tracer = BodyTracer()
    graph = tracer.trace(body)
    return torch.fx.GraphModule(tracer.root, graph)


def missing(operators: tuple[str, ...]) -> list[str]:
    """The operators (``library.name``) that nothing has registered in this process."""
    pairs = [operator.split(".") for operator in operators]
    return [f"torch.ops.{space}.{name}" for space, name in pairs if not hasattr(getattr(torch.ops, space), name)]


def flat(value: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dictionaries."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (tuple, list)) else [value]


def cotangent(target: torch.Tensor, number: int) -> torch.Tensor:
    """The gradient that arrives at an output: random, the same in each run."""
    generator = torch.Generator().manual_seed(number)
    kind = torch.complex128 if target.dtype.is_complex else torch.float64
    values = torch.randn(target.shape, generator=generator, dtype=kind)
    return torch.empty_like(target).copy_(values)


def run_aot(
    forward: Callable[..., Any],
    inputs: list[Any],
    front: int,
    backward: Callable[..., Any] | None = None,
    saved: tuple[str, ...] = (),
    wanted: tuple[str, ...] = (),
    cotangents: tuple[torch.Tensor, ...] = (),
) -> dict[str, Any]:
    """AOTAutograd's graphs, called as its runtime calls them.

    The forward returns ``front`` results and then what it saves; the backward takes the saved values by name, and the
    gradients that arrive in place of its ``tangents_N``.
    """
    arguments = as_arguments([value.detach() if isinstance(value, torch.Tensor) else value for value in inputs])
    with torch.no_grad():
        results = list(forward(*arguments))
        grads: list[Any] = []
        if backward is not None:
            known = dict(zip(saved, results[front:]))
            left = iter(cotangents)
            grads = list(backward(*[next(left) if name.startswith("tangents_") else known[name] for name in wanted]))
    return {"results": results[:front], "inputs afterwards": arguments, "gradients": grads[: len(inputs)]}


def laid_out(values: torch.Tensor, stride: tuple[int, ...] | None) -> torch.Tensor:
    """``values`` with the strides that the backward graph was compiled for; None stands for the usual ones."""
    if stride is None or values.stride() == stride:
        return values.contiguous() if stride is None else values
    return torch.empty_strided(values.shape, stride, dtype=values.dtype, device=values.device).copy_(values)
