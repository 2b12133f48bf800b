"""What two programs compute, value by value, and the first that counts: what agrees in value is no difference, however
it was computed.

Input: ``ValueTrace`` records of two runs: operations in order, values, and what each was made of.  Output:
``ModelDifference``.  A value of the one that the other has, too, is common.  From the first output that differs the way
leads back over the operations whose values are not common; the first of these is the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from depyf.sources.live.tensors import TensorDifference, difference, relative_tolerance

RESULT = "the result"
OUTPUT = "the output of module"


@dataclass(frozen=True, slots=True)
class ModelStep:
    """Something that a model computed: an operation in a module, or what a module returned."""

    path: str
    """The module that it is computed in, as ``named_modules`` says it; "" for the model itself."""
    operation: str
    place: str
    """``file:line in function: code`` of the program."""

    def __str__(self) -> str:
        if self.operation == OUTPUT:
            return f"{OUTPUT} {self.path}" if self.path else "the output of the model"
        return f"{self.operation} in module {self.path}" if self.path else self.operation

    @property
    def placed(self) -> str:
        return f"{self}, {self.place}" if self.place else str(self)


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """The first value of a model that is not the reference's."""

    step: ModelStep
    reference: ModelStep | None
    """What the reference computes there; None where it has come to its end."""
    difference: TensorDifference | None
    """None where the two are different operations, so that their values are not comparable."""
    last_common: ModelStep | None
    """The last value before it that both have; None where there is none."""
    weights: tuple[tuple[str, TensorDifference], ...] = ()
    """Parameters and buffers of the module that differ from those of the reference."""
    other_operations: tuple[ModelStep | None, ModelStep | None] = (None, None)
    """Between ``last_common`` and ``step``: the first operation that only the model has, and that only the reference
    has."""

    @property
    def headline(self) -> str:
        own, others = self.other_operations
        if own is not None and others is not None:
            return f"first difference: {own}, where the reference has {others}"
        if own is not None or others is not None:
            return (
                f"first difference: {own or others}, which only the {'model' if own is not None else 'reference'} has"
            )
        return f"first difference: {self.step}"

    def places(self) -> list[tuple[str, str]]:
        """The lines of the model and of the reference where the difference is."""
        own, others = self.other_operations
        steps = (own, others) if own is not None or others is not None else (self.step, self.reference)
        return [
            (side, step.place) for side, step in zip(("model", "reference"), steps) if step is not None and step.place
        ]

    @property
    def shows_in(self) -> str:
        """Where the values begin to differ, as a sentence, if other operations differ before that; else ""."""
        return f"it shows in {self.step.placed}" if any(self.other_operations) else ""

    def lines(self) -> list[str]:
        apart = self.difference
        lines = [self.headline, *(f"{side:9} from {place}" for side, place in self.places())]
        if self.reference is not None and apart is None:
            lines.append(f"where the reference has {self.reference.placed}")
        lines += [self.shows_in] if self.shows_in else []
        if apart is not None:
            lines += [f"reference: {apart.expected}", f"model    : {apart.got}", apart.reason]
            if apart.wrong:
                lines.append(
                    f"farthest apart at {list(apart.index)}: {apart.worst[0]:.8g} against {apart.worst[1]:.8g}"
                )
        lines += [f"its {name} differs: {weight.reason}" for name, weight in self.weights]
        if self.last_common is not None:
            lines.append(f"the last that is the same: {self.last_common}")
        return lines


@dataclass
class ValueTrace:
    """The values that one program computed, in order."""

    steps: list[ModelStep] = field(default_factory=list)
    keys: list[tuple[str, int, str, int]] = field(default_factory=list)
    """(module path, which call of it, operation, which of these in the call)."""
    values: list[Any] = field(default_factory=list)
    depends: list[tuple[int, ...]] = field(default_factory=list)
    """The numbers of the steps whose values a step was made of."""
    gradients: dict[str, Any] = field(default_factory=dict)
    """Of parameters, by their path, and of arguments."""

    def add(self, step: ModelStep, key: tuple[str, int, str, int], values: list[Any], depends: Sequence[int]) -> None:
        self.steps.append(step)
        self.keys.append(key)
        self.values.append(values)
        self.depends.append(tuple(depends))


@dataclass
class Comparing:
    """Two traces side by side."""

    wanted: ValueTrace
    made: ValueTrace
    rtol: float | None
    atol: float | None
    compared: int = 0

    def first(self) -> ModelDifference | None:
        """The first difference that counts; None where the results are the same, and all outputs of modules with a
        namesake that come before."""
        position = {key: number for number, key in enumerate(self.wanted.keys)}
        end = self._first_output(position)
        if end is None:
            return None
        own = self._common(self.made, end[0], self.wanted, end[1])
        other = self._common(self.wanted, end[1], self.made, end[0])
        return self._of_ends(end, own, other)

    def _first_output(self, position: dict[tuple[str, int, str, int], int]) -> tuple[int, int] | None:
        """The numbers of the first output that differs, in the model and in the reference.  Outputs of modules count
        where most modules have a namesake that does the same."""
        shared = 2 * sum(key in position for key in self.made.keys) > len(self.made.keys)
        for number, key in enumerate(self.made.keys[:-1]):
            at = position.get(key)
            if not shared or at is None or self.made.steps[number].operation != OUTPUT:
                continue
            self.compared += 1
            if self._outputs_apart(at, number) is not None:
                return number, at
        last = len(self.made.values) - 1, len(self.wanted.values) - 1
        self.compared += 1
        return last if self._apart(self.wanted.values[-1], self.made.values[-1]) is not None else None

    def _outputs_apart(self, at: int, number: int) -> TensorDifference | None:
        """A module that returns more than the other (its attention weights, say) is no difference."""
        one, other = self.wanted.values[at], self.made.values[number]
        shared = min(len(one), len(other))
        return self._apart(one[:shared], other[:shared])

    def _common(self, one: ValueTrace, end: int, other: ValueTrace, at: int) -> set[int]:
        """The steps of ``one`` before ``end`` whose values ``other`` has before ``at``; namesakes are asked first."""
        by_shape: dict[object, list[int]] = {}
        for number in range(at):
            by_shape.setdefault(_shapes(other.values[number]), []).append(number)
        position = {key: number for number, key in enumerate(other.keys[:at])}
        common: set[int] = set()
        for number in range(end):
            alike = by_shape.get(_shapes(one.values[number]), [])
            namesake = position.get(one.keys[number], -1)
            for known in sorted(alike, key=lambda known: (known != namesake, known)):
                self.compared += 1
                if self._apart(other.values[known], one.values[number]) is None:
                    common.add(number)
                    break
        return common

    def _of_ends(self, end: tuple[int, int], own: set[int], other: set[int]) -> ModelDifference:
        first, base = _back(self.made, end[0], own)
        second, _ = _back(self.wanted, end[1], other)
        step, reference = self.made.steps[first], self.wanted.steps[second]
        common = self.made.steps[base] if base is not None else None
        one, two = self.wanted.values[second], self.made.values[first]
        if step.operation == reference.operation and _shapes(one) == _shapes(two):
            apart = self._apart(one, two)
            if apart is not None:
                return ModelDifference(step, reference, apart, common)
        shown = self.made.steps[end[0]], self.wanted.steps[end[1]]
        apart = self._apart(self.wanted.values[end[1]], self.made.values[end[0]])
        return ModelDifference(*shown, apart, common, other_operations=(
            step if first != end[0] else None, reference if second != end[1] else None))  # fmt: skip

    def gradients(self) -> ModelDifference | None:
        """The first gradient that differs, from the last layer to the first, as a backward computes them; None for
        none."""
        for name in reversed([name for name in self.made.gradients if name in self.wanted.gradients]):
            self.compared += 1
            apart = tensors_apart(self.wanted.gradients[name], self.made.gradients[name], self.rtol, self.atol)
            if apart is not None:
                path, _, last = name.rpartition(".")
                step = ModelStep(path, f"the gradient of {last}", "")
                return ModelDifference(step, step, apart, None)
        return None

    def _apart(self, one: Any, other: Any) -> TensorDifference | None:
        if len(one) != len(other):
            counts = (f"{len(one)} tensors", f"{len(other)} tensors")
            return TensorDifference(*counts, 0, (), (0.0, 0.0), "not as many values")
        found = (tensors_apart(expected, got, self.rtol, self.atol) for expected, got in zip(one, other))
        return next((apart for apart in found if apart is not None), None)


def _back(trace: ValueTrace, end: int, common: set[int]) -> tuple[int, int | None]:
    """The first of the steps that lead to ``end`` over values that are not common, and the last common step that it is
    made of."""
    met, queue = {end}, [end]
    while queue:
        for before in trace.depends[queue.pop()]:
            if before not in met and before not in common:
                met.add(before)
                queue.append(before)
    first = min(met)
    bases = [before for before in trace.depends[first] if before in common]
    return first, max(bases, default=max((known for known in common if known < first), default=None))


def _shapes(value: Any) -> tuple[Any, ...]:
    return tuple(part.shape for part in value)


def tensors_apart(expected: Any, got: Any, rtol: float | None, atol: float | None) -> TensorDifference | None:
    """As ``difference``, but two floating-point types are compared in the shorter one, with its tolerance."""
    if expected is None or got is None:
        return difference(expected, got, rtol, atol)
    if expected.dtype != got.dtype and expected.is_floating_point() and got.is_floating_point():
        shorter = max(expected.dtype, got.dtype, key=relative_tolerance)
        expected, got = expected.to(shorter), got.to(shorter)
    apart = difference(expected, got, rtol, atol)
    if apart is not None and apart.wrong and rtol is None and atol is None and _noise(expected, got):
        return None
    return apart


_OUTLIER = 4.0
"""How many tolerances single elements may be apart where all in all the tensors are as close as rounding leaves
them."""


def _noise(expected: Any, got: Any) -> bool:
    import torch

    if not expected.is_floating_point() or not bool(torch.isfinite(expected).all() and torch.isfinite(got).all()):
        return False
    tolerance = relative_tolerance(expected.dtype)
    wide = expected.double()
    apart = wide - got.to(expected.device).double()
    return (
        bool(apart.norm() <= tolerance * wide.norm()) and difference(expected, got, _OUTLIER * tolerance, None) is None
    )
