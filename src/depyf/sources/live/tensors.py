"""Two tensors side by side: are they the same within tolerance, and what are they like?

Input: what two backends computed for the same thing.  Output: ``None`` or a frozen ``Difference`` of plain numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_RTOL = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-2, "bfloat16": 3e-2, "complex64": 1e-4, "complex128": 1e-7}
"""Relative tolerances that different orders of summation stay within, on real models, and planted bugs do not."""

OTHER_MEMORY = "the numbers are the same; what is written to a tensor shows in those that share its memory"
OTHER_STRIDES = "the numbers are the same; view() may work on one of them and raise an error on the other"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a tensor holds: shape, dtype, range and mean of the finite values, and how many are not finite."""

    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    mean: float
    nans: int
    infs: int

    def __str__(self) -> str:
        odd = (f", {self.nans} NaN" if self.nans else "") + (f", {self.infs} inf" if self.infs else "")
        return f"{self.dtype}{list(self.shape)} min {self.low:.6g} max {self.high:.6g} mean {self.mean:.6g}{odd}"


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """Where two values differ most, and both values' statistics."""

    expected: Statistics | str
    got: Statistics | str
    """A text for a value that is no tensor."""
    wrong: int
    """How many elements are beyond tolerance; 0 where shapes or kinds differ."""
    index: tuple[int, ...]
    worst: tuple[float, float]
    """The expected and the other value at ``index``, where they are farthest apart."""
    reason: str


def relative_tolerance(dtype: Any) -> float:
    """The default relative tolerance for a dtype; 0 for integers and booleans."""
    return _RTOL.get(str(dtype).removeprefix("torch."), 0.0)


def statistics(value: Any) -> Statistics:
    """The statistics of a tensor."""
    import torch

    plain = value.detach()
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    wide = plain.to(torch.float64)
    finite = wide[torch.isfinite(wide)]
    low, high, mean = (
        (float(finite.min()), float(finite.max()), float(finite.mean())) if finite.numel() else (0.0, 0.0, 0.0)
    )
    name = str(value.dtype).removeprefix("torch.")
    nans, infs = int(torch.isnan(wide).sum()), int(torch.isinf(wide).sum())
    return Statistics(tuple(value.shape), name, low, high, mean, nans, infs)


def difference(expected: Any, got: Any, rtol: float | None, atol: float | None) -> TensorDifference | None:
    """None where the two are the same: exactly for integers and booleans, NaN like NaN, else within tolerance.

    ``rtol`` is relative to each element plus the tensor's mean magnitude, so that sums that cancel are not measured
    against nothing; None means a default by dtype.
    """
    import torch

    if not isinstance(expected, torch.Tensor) or not isinstance(got, torch.Tensor):
        return _difference_of_kind(expected, got)
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return TensorDifference(statistics(expected), statistics(got), 0, (), (0.0, 0.0), "shape or dtype differs")
    if expected.numel() == 0:
        return None
    relative = relative_tolerance(expected.dtype) if rtol is None else rtol
    first, second = (_wide(expected), _wide(got).to(expected.device))
    finite = torch.isfinite(first)
    scale = first[finite].abs().mean() if bool(finite.any()) else torch.zeros((), dtype=torch.float64)
    allowed = relative * (first.abs().nan_to_num(0.0, 0.0, 0.0) + scale) + (atol or 0.0)
    same = (first == second) | (torch.isnan(first) & torch.isnan(second))
    apart = (first - second).abs()
    bad = ~same & ~(apart <= allowed)
    if not bool(bad.any()):
        return None
    badness = torch.where(bad, apart.nan_to_num(float("inf")), torch.full_like(apart, -1.0))
    position = int(badness.flatten().argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(position), first.shape))
    worst = (float(first.flatten()[position]), float(second.flatten()[position]))
    count = int(bad.sum())
    reason = f"{count} of {expected.numel()} elements differ beyond tolerance"
    return TensorDifference(statistics(expected), statistics(got), count, index, worst, reason)


def strides_that_count(value: Any) -> tuple[int, ...] | None:
    """The strides of a tensor's dimensions of more than one element, on which views of it depend; None for a tensor
    without strides."""
    import torch

    if value.layout is not torch.strided or value.is_nested:
        return None
    return tuple(step for step, size in zip(value.stride(), value.shape) if size > 1) if value.numel() else ()


@dataclass(frozen=True, slots=True)
class BackwardError:
    """What a backward raised."""

    error: Exception
    keeps: bool
    """Whether it was asked to keep the graph."""


def gradients_of(
    results: Sequence[Any], wanted: Mapping[str, Any], histories: Sequence[Any] | None
) -> tuple[dict[str, Any], BackwardError | None]:
    """The gradients of the tensors ``wanted``, for made-up gradients of ``results`` (the same for results of the same
    shapes); None for a tensor that gets none.  {} where no result has a gradient, and with what was raised where the
    backward fails.

    ``histories``: nodes of autograd that the program has made.  A backward that runs through one of them keeps the
    graph for the program, which compiled code may refuse.  None where not all of them are known: then each does.
    """
    import torch

    outputs = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]
    inputs = {name: value for name, value in wanted.items() if isinstance(value, torch.Tensor) and value.requires_grad}
    if not outputs or not inputs or not torch.is_grad_enabled():
        return {}, None
    torch.manual_seed(1)
    tangents = [torch.randn(value.shape, dtype=torch.float64).to(value) for value in outputs]
    kept = histories is None or _runs_through(outputs, histories)
    try:
        found = torch.autograd.grad(outputs, list(inputs.values()), tangents, retain_graph=kept, allow_unused=True)
    except Exception as error:
        return {}, BackwardError(error, kept)
    return dict(zip(inputs, found)), None


def _runs_through(outputs: Sequence[Any], histories: Sequence[Any]) -> bool:
    """Whether the backward of ``outputs`` comes to one of the nodes ``histories``."""
    ends = set(histories)
    todo = [value.grad_fn for value in outputs if ends and value.grad_fn is not None]
    seen = set(todo)
    while todo:
        node = todo.pop()
        if node in ends:
            return True
        more = [before for before, _ in node.next_functions if before is not None and before not in seen]
        seen.update(more)
        todo += more
    return False


def _difference_of_kind(expected: Any, got: Any) -> TensorDifference | None:
    """For two values that are not both tensors; a gradient that is None is one of zeros."""
    import torch

    kinds = [isinstance(value, torch.Tensor) for value in (expected, got)]
    if any(kinds):
        tensor, other = (expected, got) if kinds[0] else (got, expected)
        same = other is None and not bool(tensor.detach().ne(0).any())
    else:
        same = expected is got or type(expected) is not type(got) or bool(expected == got)
    if same:
        return None
    said = [statistics(value) if kind else f"{value!r}" for value, kind in zip((expected, got), kinds)]
    return TensorDifference(
        said[0], said[1], 0, (), (0.0, 0.0), "one of them is no tensor" if any(kinds) else "not the same"
    )


def _wide(value: Any) -> Any:
    import torch

    plain = value.detach()
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    return plain.to(torch.float64)
