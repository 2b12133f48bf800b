"""``depyf.compare(model, ..., reference=other)``: where a model first computes something else than another one.

Both are called once, as Python, with copies of the same arguments and the same random numbers.  What each operation and
each module returns is recorded with its module path.  Two models with modules of the same paths are compared value by
value along these paths.  Other models, and functions, are compared by what they compute: the last value that both have
is found, and what follows it is where they part.
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
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.actions.comparing.compiled_graph import copied
from depyf.sources.live.caches.own_stance import own_stance
from depyf.sources.live.tensors import TensorDifference, difference, gradients_of, relative_tolerance

RESULT = "the result"
_OUTPUT = "the output of module"


@dataclass(frozen=True, slots=True)
class ModelStep:
    """Something that a model computed: an operation in a module, or what a module returned."""

    path: str
    """The module that it is computed in, as ``named_modules`` says it; "" for the model itself."""
    operation: str
    place: str
    """``file:line in function: code`` of the program."""

    def __str__(self) -> str:
        if self.operation == _OUTPUT:
            return f"{_OUTPUT} {self.path}" if self.path else "the output of the model"
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
        """Where the values differ, if that is after the difference itself."""
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


@dataclass
class Trace:
    """What one model computed, in order."""

    steps: list[ModelStep] = field(default_factory=list)
    keys: list[tuple[str, int, str, int]] = field(default_factory=list)
    """(module path, which call of it, operation, which of these in the call)."""
    values: list[Any] = field(default_factory=list)
    gradients: dict[str, Any] = field(default_factory=dict)
    """Of parameters, by their path, and of arguments."""


def against_model(
    model: Any, reference: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rtol: float | None, atol: float | None
) -> ModelComparison:
    """See ``depyf.compare``."""
    wanted, made = _traced(reference, args, kwargs), _traced(model, args, kwargs)
    compare = Comparing(wanted, made, rtol, atol)
    if not wanted.values or not made.values:
        return ModelComparison((_name(model), _name(reference)), 0, None)
    first = compare.along_paths() if _same_paths(wanted, made) else compare.by_values()
    first = first or compare.gradients()
    if first is not None:
        first = _with_weights(first, model, reference)
    return ModelComparison((_name(model), _name(reference)), compare.compared, first)


def _same_paths(wanted: Trace, made: Trace) -> bool:
    """Whether most of the modules that the model calls have a namesake in the reference that does the same."""
    keys = set(wanted.keys)
    inner = [key in keys for key in made.keys]
    return 2 * sum(inner) > len(inner)


@dataclass
class Comparing:
    wanted: Trace
    made: Trace
    rtol: float | None
    atol: float | None
    compared: int = 0

    def along_paths(self) -> ModelDifference | None:
        """The first module whose output differs, and the first operation that does since the last output that is the
        same: what is computed in another way and comes to the same is no difference."""
        position = {key: number for number, key in enumerate(self.wanted.keys)}
        same = -1
        for number, key in enumerate(self.made.keys):
            at = position.get(key)
            if at is None or self.made.steps[number].operation not in (_OUTPUT, RESULT):
                continue
            self.compared += 1
            if self._outputs_apart(at, number) is not None:
                return self._between(position, same, number)
            same = number
        return None

    def _outputs_apart(self, at: int, number: int) -> TensorDifference | None:
        """As for other values; a module that returns more than the other (its attention weights, say) is no
        difference."""
        one, other = self.wanted.values[at], self.made.values[number]
        shared = min(len(one), len(other)) if self.made.steps[number].operation == _OUTPUT else None
        return self._apart(one[:shared], other[:shared])

    def _between(self, position: dict[tuple[str, int, str, int], int], same: int, end: int) -> ModelDifference:
        """The first difference after step ``same``, an output that is the same, up to ``end``, one that is not."""
        known, last = set(self.made.keys), same
        reached = position[self.made.keys[same]] if same >= 0 else -1
        for number in range(same + 1, end + 1):
            at = position.get(self.made.keys[number])
            if at is None:
                continue
            self.compared += 1
            apart = self._apart(self.wanted.values[at], self.made.values[number])
            if apart is None:
                last, reached = number, at
            elif number == end or not self._rejoins(position, number, end):
                own = (n for n in range(last + 1, number) if self.made.keys[n] not in position)
                others = (n for n in range(reached + 1, at) if self.wanted.keys[n] not in known)
                only = _first(self.made, own), _first(self.wanted, others)
                common = self.made.steps[last] if last >= 0 else None
                steps = self.made.steps[number], self.wanted.steps[at]
                return ModelDifference(*steps, apart, common, other_operations=only)
        raise AssertionError("the output differs")

    def _rejoins(self, position: dict[tuple[str, int, str, int], int], number: int, end: int) -> bool:
        """Whether the next operation that both have computes the same again, so that the layout alone was another."""
        for later in range(number + 1, end):
            at = position.get(self.made.keys[later])
            if at is not None:
                return self._apart(self.wanted.values[at], self.made.values[later]) is None
        return False

    def by_values(self) -> ModelDifference | None:
        """Each value of the model is looked for among those of the reference, in order; what follows the last one
        found, if the results differ, is where the two part."""
        apart = self._apart(self.wanted.values[-1], self.made.values[-1])
        self.compared = 1
        if apart is None:
            return None
        start, last = 0, -1
        for number, value in enumerate(self.made.values[:-1]):
            for at in range(start, len(self.wanted.values) - 1):
                if self._may_be(self.wanted.values[at], value):
                    self.compared += 1
                    if self._apart(self.wanted.values[at], value) is None:
                        start, last = at + 1, number
                        break
        common = self.made.steps[last] if last >= 0 else None
        if common is not None:  # what only returns it again, a module say, is no step further
            kept = self.made.values[last]
            start = self._after(self.wanted, start, kept)
            last = self._after(self.made, last + 1, kept) - 1
        step = self.made.steps[last + 1]
        other = self.wanted.steps[start] if start < len(self.wanted.steps) else None
        comparable = self._may_be(self.wanted.values[start], self.made.values[last + 1]) if other is not None else False
        if other is not None and comparable and _same_operation(other, step):
            apart = self._apart(self.wanted.values[start], self.made.values[last + 1])
            return ModelDifference(step, other, apart, common)
        return ModelDifference(step, other, apart if step.operation == RESULT else None, common)

    def gradients(self) -> ModelDifference | None:
        """Those of the same name, from the last layer to the first, as a backward computes them."""
        for name in reversed([name for name in self.made.gradients if name in self.wanted.gradients]):
            self.compared += 1
            apart = _difference(self.wanted.gradients[name], self.made.gradients[name], self.rtol, self.atol)
            if apart is not None:
                path, _, last = name.rpartition(".")
                step = ModelStep(path, f"the gradient of {last}", "")
                return ModelDifference(step, step, apart, None)
        return None

    def _after(self, trace: Trace, start: int, value: Any) -> int:
        """The number of the first step from ``start`` on that computes another value."""
        while start < len(trace.values) - 1 and self._may_be(trace.values[start], value):
            if self._apart(trace.values[start], value) is not None:
                break
            start += 1
        return start

    def _may_be(self, one: Any, other: Any) -> bool:
        return [value.shape for value in one] == [value.shape for value in other]

    def _apart(self, one: Any, other: Any) -> TensorDifference | None:
        if len(one) != len(other):
            counts = (f"{len(one)} tensors", f"{len(other)} tensors")
            return TensorDifference(*counts, 0, (), (0.0, 0.0), "not as many values")
        found = (_difference(expected, got, self.rtol, self.atol) for expected, got in zip(one, other))
        return next((apart for apart in found if apart is not None), None)


def _difference(expected: Any, got: Any, rtol: float | None, atol: float | None) -> TensorDifference | None:
    """As ``difference``; two floating point types are compared in the shorter one, at its tolerance."""
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


def _first(trace: Trace, numbers: Iterator[int]) -> ModelStep | None:
    return next((trace.steps[number] for number in numbers), None)


def _same_operation(one: ModelStep, other: ModelStep) -> bool:
    return one.operation == other.operation


def _with_weights(found: ModelDifference, model: Any, reference: Any) -> ModelDifference:
    """With the parameters and buffers that differ of the module where the difference is."""
    if found.reference is None:
        return found
    sides = [_weights(side, path) for side, path in ((model, found.step.path), (reference, found.reference.path))]
    apart = [
        (name, different)
        for name, value in sides[0].items()
        if name in sides[1] and (different := _difference(sides[1][name], value, None, None)) is not None
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


def _traced(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trace:
    """Call ``model`` once, as Python, and keep what it computes, backward included."""
    import torch
    from torch.utils import _pytree

    trace, plain = Trace(), _uncompiled(model)
    own_args, own_kwargs = _own((args, kwargs))
    with torch.random.fork_rng(), own_stance("force_eager"):  # both begin from the program's random numbers
        with recording(plain, trace) as record:
            result = plain(*own_args, **own_kwargs)
            record(RESULT, result)
        named = dict(plain.named_parameters()) if isinstance(plain, torch.nn.Module) else {}
        leaves = enumerate(_pytree.tree_leaves((own_args, own_kwargs)), 1)
        named = {**{f"argument {number}": value for number, value in leaves}, **named}
        trace.gradients = gradients_of(_pytree.tree_leaves(result), named)
    return trace


def _own(values: Any) -> Any:
    """The same arguments, their tensors and caches separate; what cannot be copied is shared."""
    import torch
    from torch.utils import _pytree

    try:
        return copy.deepcopy(values)
    except Exception:  # a tensor with a history, an object that refuses
        return _pytree.tree_map(lambda value: copied((value,))[0] if isinstance(value, torch.Tensor) else value, values)


@contextlib.contextmanager
def recording(model: Any, trace: Trace) -> Iterator[Callable[[str, Any], None]]:
    """Hooks on each module, and a mode that sees each operation; both are gone afterwards."""
    import torch
    from torch.overrides import TorchFunctionMode

    inside: list[tuple[str, int]] = [("", 0)]
    calls: Counter[str] = Counter()
    done: Counter[tuple[str, int, str]] = Counter()

    copying = [False]

    def record(operation: str, value: Any, place: str = "") -> None:
        copying[0] = True
        try:
            tensors = tensors_in(value)
        finally:
            copying[0] = False
        if not tensors:
            return
        path, call = inside[-1]
        key = (path, call, operation)
        trace.keys.append((*key, done[key]))
        done[key] += 1
        trace.steps.append(ModelStep(path, operation, place))
        trace.values.append(tensors)

    class OperationsSeen(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            name = "" if copying[0] else operation_name(func)
            if name:
                record(name, result, _place(sys._getframe(1)))
            return result

    def enter(path: str) -> Callable[..., None]:
        def before(module: Any, given: Any) -> None:
            inside.append((path, calls[path]))
            calls[path] += 1

        return before

    def leave(module: Any, given: Any, result: Any) -> None:
        if len(inside) > 1:
            record(_OUTPUT, result)
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
    import torch
    from torch.utils import _pytree

    leaves = [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    return [leaf.detach().clone() for leaf in leaves if leaf.layout is torch.strided]


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
