"""A reference in double precision, to distinguish rounding errors from real differences.

Where terms cancel, every backend's result is rounding alone (the gradient of a bias before a softmax is zero), and no
relative tolerance fits.  Such values are the same if the second backend's is about as close to the one in double
precision as the first backend's; torch's own accuracy check does the same (``torch/_dynamo/utils.py``, ``same``).
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

from depyf.actions.comparing.graphs.compiled_graph import node_values
from depyf.sources.live.origins.probes import clean_copy, operations
from depyf.sources.live.state.kept_tensors import shared_memory
from depyf.sources.live.tensors import relative_tolerance

_AS_CLOSE = 4.0
"""How much farther from the exact value the second backend may be than the first."""
_FEW, _AS_CLOSE_FEW = 500, 8.0
"""The same for so many numbers at most: their errors say less about what is usual (torch's check has these numbers)."""
_LOST = 0.01
"""The share of a value that the first backend's error is where the digits of the value have cancelled out, as in the
mean of what a normalization has made."""
_AMPLIFIED = 0.1
"""The share of a value that the first backend's error counts as rounding up to, whatever is around: in training mode a
normalization over a few values amplifies it.  (torch's check of models has no such bound.)"""
_SHARE = 0.25
"""The share of what conversions round that may be the rounding of other operations."""
_ROUNDING = 10.0
"""Up to how many tolerances, of the largest value around, the first backend's error counts as rounding."""


class DoubleReference:
    """The values of a graph in double precision, which are computed when they are asked for.

    ``run``: what is compared of a graph, on the inputs in double precision; ``gradients``: whether these are gradients,
    for made-up gradients of the results, whose numbers are about 1.
    """

    def __init__(
        self, gm: Any, inputs: tuple[Any, ...], run: Callable[[Any], list[Any]], gradients: bool = False
    ) -> None:
        self._gm = gm
        self._inputs = inputs
        self._run = run
        self._given = 1.0 if gradients else 0.0

    def explains(self, expected: list[Any], got: list[Any], position: int, coarse: float) -> bool:
        """Whether the values at ``position`` differ by rounding only; ``coarse`` as for ``is_rounding``."""
        one, other, exact = expected[position], got[position], self._exact
        if len(exact) != len(expected) or not is_rounding(one, other, exact[position], exact, coarse, self._given):
            return False
        converted = self._converted
        return len(converted) != len(exact) or not conversion_is_lost(one, other, exact[position], converted[position])

    @functools.cached_property
    def _exact(self) -> list[Any]:
        with contextlib.suppress(Exception):  # an operation without a kernel for float64: then nothing is rounding
            return self._run(in_double(self._gm))
        return []

    @functools.cached_property
    def _converted(self) -> list[Any]:
        """The same, but for what the program's own conversions round; [] where there are none."""
        with contextlib.suppress(Exception):
            conversions = conversions_in(self._gm, self._inputs)
            return self._run(in_double(self._gm, conversions)) if conversions else []
        return []


def in_double(gm: Any, conversions: Mapping[str, tuple[Any, str]] | None = None) -> Any:
    """A copy of a captured graph that computes in float64 wherever ``gm`` computes in a shorter floating point type.
    Of ``conversions`` each still rounds its argument as its type does."""
    import torch

    made = clean_copy(copy.deepcopy(gm).double())
    nodes = {node.name: node for node in made.graph.nodes}
    for node in made.graph.nodes:
        if conversions is not None and node.name in conversions:
            dtype, of = conversions[node.name]
            node.op, node.target, node.args, node.kwargs = "call_function", _rounded, (nodes[of], str(dtype)), {}
            continue
        node.args = torch.fx.node.map_aggregate(node.args, _longer)
        node.kwargs = torch.fx.node.map_aggregate(node.kwargs, _longer)
        if node.op == "call_method" and node.target in ("float", "half", "bfloat16"):
            node.target = "double"
    made.recompile()
    return made


def conversions_in(gm: Any, inputs: tuple[Any, ...]) -> dict[str, tuple[Any, str]]:
    """The operations that do nothing but convert their argument to a type of fewer digits: the name of each -> that
    type, and the name of the argument."""
    import torch

    values = node_values(gm, inputs) | dict(zip((n.name for n in gm.graph.nodes if n.op == "placeholder"), inputs))
    found = {}
    for node in operations(gm):
        value = values.get(node.name)
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.dtype.itemsize >= 4:
            continue
        for argument in node.all_input_nodes[:1]:
            of = values.get(argument.name)
            if isinstance(of, torch.Tensor) and of.dtype.itemsize > value.dtype.itemsize and of.shape == value.shape:
                if torch.equal(of.to(value.dtype), value):
                    found[node.name] = (value.dtype, argument.name)
    return found


def _rounded(value: Any, dtype: str) -> Any:
    import torch

    return value.to(getattr(torch, dtype.removeprefix("torch."))).to(value.dtype)


def conversion_is_lost(expected: Any, got: Any, exact: Any, converted: Any) -> bool:
    """Whether ``got`` is computed as if the program's conversions were not there (``exact``), and ``expected`` as if
    nothing but these did round (``converted``): the difference is the program's rounding, and one of them leaves it
    out."""
    of_conversions = size_of(exact - converted)
    left = (size_of(expected.detach().double() - converted), size_of(got.detach().double() - exact))
    return of_conversions > 0 and max(left) < _SHARE * of_conversions


def doubled(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """``values`` with floating-point tensors converted to float64; ``requires_grad`` and shared memory are kept."""
    import torch

    together = shared_memory(values)
    memory: dict[tuple[int, Any], Any] = {}

    def in_double(value: Any) -> Any:
        if not (isinstance(value, torch.Tensor) and value.is_floating_point()):
            return value
        if id(value) not in together:
            return value.detach().double().requires_grad_(value.requires_grad)
        storage = value.untyped_storage()
        key = (storage._cdata, value.dtype)
        if key not in memory:
            memory[key] = torch.empty(0, dtype=value.dtype, device=value.device).set_(storage).double()
        return memory[key].as_strided(value.size(), value.stride(), value.storage_offset())

    return tuple(map(in_double, values))


def coarsest(gm: Any) -> float:
    """The largest tolerance of the types that a graph names: under ``autocast``, and between two conversions, results
    in float32 are rounded as those types are."""
    import torch

    found = [0.0]

    def take(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            found.append(relative_tolerance(value))
        return value

    for module in gm.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            torch.fx.node.map_aggregate((node.args, node.kwargs), take)
            if node.op == "call_method" and node.target in ("half", "bfloat16"):
                take(getattr(torch, node.target))
    return max(found)


def is_rounding(
    expected: Any, got: Any, exact: Any, around: list[Any], coarse: float = 0.0, given: float = 0.0
) -> bool:
    """Whether two tensors differ by rounding only, given the exact one and the ``around`` values computed with it;
    ``coarse``: the tolerance of what they are computed with, if that is larger than that of their type; ``given``: the
    size of what they are computed from."""
    import torch

    if not isinstance(exact, torch.Tensor) or exact.shape != expected.shape or not expected.is_floating_point():
        return False
    tolerance = max(relative_tolerance(expected.dtype), coarse)
    scale = max((size_of(value) for value in around), default=0.0)
    noise = size_of(expected.detach().double() - exact)
    if scale < noise:  # all of them have cancelled out: the numbers that did are among what the graph is given
        scale = given
    farther = _AS_CLOSE_FEW if exact.numel() <= _FEW else _AS_CLOSE
    allowed = farther * noise
    if noise >= _LOST * size_of(exact):  # hardly a digit is right: nothing but rounding is left of larger numbers
        allowed = max(allowed, _ROUNDING * torch.finfo(expected.dtype).eps * min(scale, 1.0))
    known = noise <= max(_ROUNDING * tolerance * scale, _AMPLIFIED * size_of(exact))
    return known and size_of(got.detach().double() - exact) <= allowed


def _longer(value: Any) -> Any:
    import torch

    return torch.float64 if value in (torch.float32, torch.float16, torch.bfloat16) else value


def size_of(value: Any) -> float:
    """Root mean square of a tensor of numbers; 0 for anything else."""
    import torch

    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return 0.0
    return float(value.detach().double().square().mean().sqrt())
