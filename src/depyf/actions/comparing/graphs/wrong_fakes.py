"""Custom operators whose fake kernel says something else than what the operator returns.

Input: a captured graph and its inputs.  Output: the first such operator, with what it returns and what its fake kernel
says.  The graph is run once more, eagerly, and each result is held against the example that Dynamo has kept of it,
which the fake kernel made.  Sizes that only the values decide are not compared.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from depyf.actions.comparing.graphs.undeclared_writes import is_custom
from depyf.sources.live.origins.probes import clean_copy
from depyf.sources.live.tensors import TensorDifference


@dataclass(frozen=True, slots=True)
class WrongFake:
    """``operator`` (``lib::rows``) is not what its fake kernel says."""

    operator: str
    node: Any
    difference: TensorDifference


def wrong_fake(gm: Any, inputs: tuple[Any, ...]) -> WrongFake | None:
    """The first operator with a wrong fake kernel when a copy of ``gm`` runs on ``inputs`` (copies), with its node in
    ``gm``; None for none."""
    import torch

    kept = {node.name: node for node in gm.graph.nodes}
    found: list[WrongFake] = []

    class WithFakes(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            if not found and n.op == "call_function" and is_custom(n.target):
                apart = _apart(value, kept[n.name].meta.get("example_value"))
                if apart is not None:
                    found.append(WrongFake(_name(n.target), kept[n.name], apart))
            return value

    with contextlib.suppress(Exception):  # what follows a wrong result may well fail
        WithFakes(clean_copy(gm)).run(*inputs)
    return found[0] if found else None


def _apart(value: Any, fake: Any) -> TensorDifference | None:
    import torch

    if isinstance(value, (list, tuple)) and isinstance(fake, (list, tuple)):
        if len(value) != len(fake):
            return _difference(f"{len(value)} results", f"{len(fake)} results")
        return next((one for pair in zip(value, fake) if (one := _apart(*pair)) is not None), None)
    if not isinstance(value, torch.Tensor) or not isinstance(fake, torch.Tensor):
        return None
    if value.dtype != fake.dtype or value.device != fake.device or len(value.shape) != len(fake.shape):
        return _difference(_shown(value), _shown(fake))
    sizes = list(zip(value.shape, fake.shape))
    if any(type(said) is int and size != said for size, said in sizes):
        return _difference(_shown(value), _shown(fake))
    if value.layout is torch.strided and fake.layout is torch.strided and value.numel():
        strides = zip(value.shape, value.stride(), fake.stride())
        if any(size > 1 and type(said) is int and stride != said for size, stride, said in strides):
            return _difference(f"{_shown(value)}, strides {_tuple(value.stride())}", f"strides {_tuple(fake.stride())}")
    return None


def _difference(returned: str, said: str) -> TensorDifference:
    return TensorDifference(returned, said, 0, (), (0.0, 0.0), "not what the fake kernel says")


def _shown(tensor: Any) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} on {tensor.device}"


def _tuple(numbers: Any) -> str:
    return f"({', '.join(map(str, numbers))})"


def _name(target: Any) -> str:
    """``lib::rows``, of an overload or of all of them."""
    import torch

    if isinstance(target, torch._ops.OpOverload):
        return str(target._schema.name)
    return str(getattr(target, "_qualified_op_name", target))
