"""Operators that write to an argument, or return a view of one, and do not say so: a wrong schema.

Input: a captured graph and its inputs.  Output: the first such operator, with its argument before and after.  The graph
is run once more, eagerly, and each tensor that such an operator is given is compared with what it was; operators of
torch's own are trusted.  A compiler believes the declaration: it reorders calls, reuses memory and keeps copies by it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from depyf.sources.live.state.kept_tensors import keepable
from depyf.sources.live.tensors import TensorDifference, difference

_OF_TORCH = ("aten", "prims", "prim", "inductor", "_c10d_functional")


@dataclass(frozen=True, slots=True)
class UndeclaredWrite:
    """``operator`` (``lib::scale``) changed its ``argument``."""

    operator: str
    argument: str
    node: Any
    """The node of the graph; None where its backward does it."""
    difference: TensorDifference
    alias: bool = False
    """Whether it only returns memory of the argument."""


def has_custom_operators(gm: Any) -> bool:
    """Whether the graph, or one in it, calls an operator that is not torch's own."""
    targets = [node.target for part in gm.modules() for node in getattr(getattr(part, "graph", None), "nodes", ())]
    return any(is_custom(target) for target in targets)


def is_custom(target: Any) -> bool:
    import torch

    if isinstance(target, torch._ops.OpOverloadPacket):
        return any(is_custom(getattr(target, name)) for name in target.overloads())
    return isinstance(target, torch._ops.OpOverload) and target.namespace not in _OF_TORCH


def undeclared_write(gm: Any, inputs: tuple[Any, ...]) -> UndeclaredWrite | None:
    """The first undeclared write when ``gm`` (a copy that may be interpreted) runs forward and backward on ``inputs``
    (copies); None for none."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    found: list[UndeclaredWrite] = []
    running: list[Any] = [None]

    class Watching(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if found or not is_custom(func):
                return func(*args, **kwargs)
            before = [(name, value, value.detach().clone()) for name, value in _unwritten(func, args, kwargs)]
            result = func(*args, **kwargs)
            shared = _shared(func, args, kwargs, result)
            if shared is not None:
                found.append(UndeclaredWrite(func._schema.name, shared[0], running[0], shared[1], alias=True))
                return result
            for name, value, kept in before:
                apart = difference(kept, value, 0.0, 0.0)
                if apart is not None:
                    found.append(UndeclaredWrite(func._schema.name, name, running[0], apart))
                    break
            return result

    class Running(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            running[0] = n
            return super().run_node(n)

    with contextlib.suppress(Exception), Watching():  # an operator of the program may raise what it likes
        results = Running(gm).run(*inputs)
        running[0] = None
        wanted = [value for value in inputs if isinstance(value, torch.Tensor) and value.requires_grad]
        flat = results if isinstance(results, (tuple, list)) else [results]
        outputs = [value for value in flat if isinstance(value, torch.Tensor) and value.requires_grad]
        if torch.is_grad_enabled() and wanted and outputs and not found:
            torch.autograd.grad(outputs, wanted, [torch.ones_like(value) for value in outputs], allow_unused=True)
    return found[0] if found else None


def _shared(func: Any, args: Any, kwargs: Any, result: Any) -> tuple[str, TensorDifference] | None:
    """The first argument whose memory a result has, where the schema declares none for either."""
    schema = func._schema
    if any(one.alias_info is not None for one in (*schema.arguments, *schema.returns)):
        return None
    made = {value.untyped_storage()._cdata: value for _, value in _tensors("", result) if _has_memory(value)}
    for name, value in _unwritten(func, args, kwargs):
        if _has_memory(value) and (other := made.get(value.untyped_storage()._cdata)) is not None:
            sizes = [f"{str(one.dtype).removeprefix('torch.')}{list(one.shape)}" for one in (value, other)]
            return name, TensorDifference(sizes[0], sizes[1], 0, (), (0.0, 0.0), "they have the same memory")
    return None


def _has_memory(value: Any) -> bool:
    return keepable(value) and value.numel() > 0


def _unwritten(func: Any, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """The tensors among the arguments that ``func`` does not declare to write to, with the names of the arguments."""
    declared = func._schema.arguments
    given = {argument.name: value for argument, value in zip(declared, args)} | dict(kwargs)
    kept = [a.name for a in declared if a.name in given and not (a.alias_info is not None and a.alias_info.is_write)]
    return [found for name in kept for found in _tensors(name, given[name])]


def _tensors(name: str, value: Any) -> list[tuple[str, Any]]:
    import torch

    if isinstance(value, (list, tuple)):
        return [found for position, item in enumerate(value) for found in _tensors(f"{name}[{position}]", item)]
    return [(name, value)] if isinstance(value, torch.Tensor) else []
