"""What two runs of a call left, side by side: results, and the state that the call can reach.

Input: the values of a run.  Output: ``Image``, a tree that no later write changes, and ``Apart`` for the first values
of two images that are not the same.  Tensors are compared within the tolerance of ``tensors.py``; an object that was
there before the run equals itself; new objects are compared by their attributes.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import hashlib
import pickle
import struct
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.run.program_calls.checked_calls import NOT_THE_SAME
from depyf.sources.live.pure_access import (
    SCALARS,
    class_module,
    class_namespace,
    classes_of,
    full_name,
    is_a,
    literal,
    own_attributes,
    untouched,
)
from depyf.sources.live.pure_tensors import is_tensor
from depyf.sources.live.state.kept import ABSENT, Kept, KeptBy, KeptDict, KeptSlots, named_members
from depyf.sources.live.state.kept_tensors import keepable, shown_in
from depyf.sources.live.state.reached import WARNED, ReachedState, shown
from depyf.sources.live.tensors import (
    OTHER_STRIDES,
    TensorDifference,
    difference,
    relative_tolerance,
    statistics,
    strides_that_count,
)

_DEEPEST = 40
MEMORY = "'s memory"
ORDER = "'s order of keys"
REPEATED = "'s elements in memory"
"""Of an expanded tensor a write to one element is one to others."""
TYPE = "'s class"
STRIDES = "'s strides"
"""Whether ``view`` of it works, and what ``as_strided`` gives, depends on them."""
_OURS = ("_dynamo_", "__compiled_fn", "__resume_at", "__import_", "__builtins_dict__", "_is_torch_compile")
"""What torch itself writes among the program's attributes and globals."""


@dataclass(slots=True)
class Image:
    """A snapshot of a value: its kind, and its content or its parts."""

    kind: str
    value: Any = None
    parts: list[tuple[str, Image]] = field(default_factory=list)

    @property
    def text(self) -> str:
        if self.kind == "tensor":
            if self.value.numel() == 1 and not self.value.is_complex():
                return f"{self.value.item()!r} ({str(self.value.dtype).removeprefix('torch.')})"
            return str(statistics(self.value))
        if self.kind == "scalar":
            return repr(self.value)[:200]
        if self.kind in ("known", "opaque", "state", "order"):
            return str(self.value)
        return f"a {self.kind} of {len(self.parts)}"


_AMPLIFIED = 100.0
"""How many tolerances of one operation the rounding of a whole call may come to; a tenth of the value at most."""


@dataclass(frozen=True, slots=True)
class NumbersApart:
    """How far finite numbers of two tensors are apart."""

    farthest: float
    largest: float
    """The largest number of the first tensor, without its sign."""
    rms_apart: float
    rms: float
    """The root mean squares of the difference and of the first tensor."""
    tolerance: float
    """The relative one of its type."""
    shape: tuple[int, ...] = ()
    around: float = 0.0
    """The largest number of all tensors of its kind: of the results, of the state, or of the gradients."""

    @property
    def cancelled_out(self) -> bool:
        """Whether it is as small as the rounding of the numbers around: the digits of its own numbers have cancelled
        out, as in a mean of what a normalization made, and in a gradient that is zero."""
        return self.rms_apart <= self.tolerance * self.around

    @property
    def rounding(self) -> bool:
        """Whether sums in another order can make that difference."""
        return self.farthest <= min(_AMPLIFIED * self.tolerance, 0.1) * self.largest


@dataclass(frozen=True, slots=True)
class Apart:
    """A value of the program that is not the same after two runs."""

    path: str
    first: str
    second: str
    reason: str
    numbers: NumbersApart | None = None
    """Of two tensors of one shape, of finite floating-point numbers."""
    one_is_nan: bool = False
    """NaN is on one side, and all numbers of the other are finite: other random numbers do not explain that."""

    @property
    def rounding(self) -> bool:
        """Whether it is a difference that sums in another order can make."""
        return self.numbers is not None and self.numbers.rounding


class Images:
    """Makes snapshots after one run.  ``known``: the objects from before it; ``memory``: their storages, by C++
    address."""

    def __init__(self, known: dict[int, str], memory: dict[int, str] | None = None) -> None:
        self._known = known
        self._memory = None if memory is None else dict(memory)
        self._met: dict[int, str] = {}
        self._alive: list[Any] = []

    def of(self, value: Any, path: str, depth: int = 0) -> Image:
        import torch

        if value is ABSENT:
            return Image("opaque", "nothing")
        if type(value) in SCALARS:
            return Image("scalar", value)
        if is_tensor(value):
            return self._tensor(value, path)
        if literal(value):
            return Image("opaque", literal(value))
        if class_module(type(value)) == "numpy" and hasattr(value, "dtype") and value.dtype.kind in "biufc":
            made = torch.from_numpy(np_copy(value))
            self._alive.append(made)  # its memory has an address that no other one is to get
            return self._tensor(made, path, full_name(type(value)))
        if id(value) in self._known and not is_a(value, tuple, frozenset):
            return Image("known", self._known[id(value)])
        if id(value) in self._met:
            return Image("known", self._met[id(value)])
        if depth > _DEEPEST:
            return Image("opaque", full_name(type(value)))
        self._met[id(value)] = path
        self._alive.append(value)
        kind = _kind(type(value))
        if type(value) in (slice, range):
            return Image("opaque", repr(value)[:200])
        if type(value) is types.FunctionType:
            code = value.__code__
            return Image("opaque", f"{kind} {value.__qualname__} of line {code.co_firstlineno}")
        if is_a(value, type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, enum.Enum):
            return Image("opaque", f"{kind} {getattr(value, '__qualname__', None) or value!r}")
        parts = [
            (name, self.of(part, shown(path + name), depth + 1))
            for name, part in _parts(value)
            if not name.startswith(tuple(f".{mark}" for mark in _OURS))
        ]
        return Image(kind, None, parts) if parts or is_a(value, dict, list, tuple, set) else Image("opaque", kind)

    def _tensor(self, value: Any, path: str, kind: str = "") -> Image:
        """``kind``: the class of an array or a number of numpy's, of which ``value`` is a copy."""
        with untouched():
            if not keepable(value):
                try:
                    return Image(
                        "tensor", value.detach().to_dense().clone(), [("", Image("opaque", full_name(type(value))))]
                    )
                except Exception:
                    return Image("opaque", full_name(type(value)))
            copy = value.detach().clone()
            kind = kind or ("torch.Tensor" if self._memory is None else full_name(type(value)))
            parts = [(TYPE, Image("opaque", kind)), (".requires_grad", Image("scalar", value.requires_grad))]
            if self._memory is not None and value.numel():
                repeated = any(step == 0 and size > 1 for step, size in zip(value.stride(), value.shape))
                parts.append((REPEATED, Image("opaque", "one place for several" if repeated else "a place for each")))
                parts.append((MEMORY, Image("opaque", self._memory.setdefault(value.untyped_storage()._cdata, path))))
                parts.append((STRIDES, Image("opaque", f"{strides_that_count(value)}")))
            return Image("tensor", copy, parts)


def _kind(cls: type) -> str:
    """The name of a class; without its module where the class was made by the call, and is in none."""
    module = sys.modules.get(class_module(cls))
    return full_name(cls) if vars(module or object).get(cls.__name__) is cls else cls.__name__


def np_copy(value: Any) -> Any:
    """An array of numpy's, or a number of it as an array, with memory that torch can share."""
    import numpy

    return numpy.array(value, copy=True)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if is_a(value, dict):
        of: Any = collections.OrderedDict if is_a(value, collections.OrderedDict) else dict
        for number, (key, part) in enumerate(of.items(value)):
            yield (f"[{key!r}]" if type(key) in SCALARS else f"[key {number}]"), part
    elif is_a(value, list, tuple, collections.deque):
        kind: Any = next(k for k in (list, tuple, collections.deque) if is_a(value, k))
        yield from ((f"[{number}]", part) for number, part in enumerate(kind.__iter__(value)))
    elif is_a(value, set, frozenset):
        members = set(value) if is_a(value, set) else frozenset(value)
        yield from ((f"{{{name}}}", item) for name, item in named_members(members))
    own = own_attributes(value)
    if own is not None and not callable(value):
        yield from ((f".{name}", part) for name, part in list(own.items()) if type(name) is str)
    if any("__slots__" in class_namespace(cls) for cls in classes_of(value)):
        slots = KeptSlots(value, "")
        yield from ((name, part) for name, part in slots.before if part is not ABSENT)


def state_images(state: ReachedState, images: Images) -> dict[str, Image]:
    """What a run has changed of the kept state: path -> what is there now."""
    found: dict[str, Image] = {}
    with untouched():
        for record in (*state.records, *state.numbers):
            if record.is_quiet or not record.changed():
                continue
            before = dict(record.before)
            now = dict(record.now())
            found |= _order(record, now)
            for name in (*now, *(name for name in before if name not in now)):
                part = now.get(name, ABSENT)
                if not name.lstrip(".").startswith((*_OURS, WARNED)) and part is not before.get(name, ABSENT):
                    path = shown(f"{record.path}{name}")
                    found[path] = _plain(record, part) or images.of(part, path)
        written = {storage.value._cdata for storage in state.storages if storage.changed()}
        for tensor in state.tensors:
            if tensor.storage._cdata in written or tensor.moved:
                found[tensor.path] = images.of(tensor.value, tensor.path)
            if tensor.value.is_leaf and tensor.leaf and tensor.value.grad is not tensor.grad:
                path = f"{tensor.path}.grad"
                grad = tensor.value.grad
                found[path] = Image("opaque", "nothing") if grad is None else images.of(grad, path)
            if tensor.value.requires_grad != tensor.requires:
                found[f"{tensor.path}.requires_grad"] = Image("scalar", tensor.value.requires_grad)
    return found


def _order(record: Kept, parts: Iterable[str]) -> dict[str, Image]:
    """The order of a dict's keys, as a part of it."""
    if not isinstance(record, KeptDict) or record.attributes:
        return {}
    return {f"{shown(record.path)}{ORDER}": Image("order", _keys(parts))}


def _keys(names: Iterable[str]) -> str:
    return ", ".join(name[1:-1] for name in names)


def _plain(record: Kept, part: Any) -> Image | None:
    """What a kept part is like that is no value of the program: the state of random numbers, of an iterator."""
    if not isinstance(record, KeptBy):
        return None
    if type(part) in (tuple, dict) or is_tensor(part):
        data = part.numpy().tobytes() if is_tensor(part) else pickle.dumps(part)
        return Image("state", f"state {hashlib.sha256(data).hexdigest()[:8]}")
    return None


def before_images(state: ReachedState, paths: set[str]) -> dict[str, Image]:
    """What was at these paths before: for a path that only one of two runs has changed."""
    images = Images(state.known)
    found: dict[str, Image] = {}
    for record in (*state.records, *state.numbers):
        found |= {path: image for path, image in _order(record, dict(record.before)).items() if path in paths}
        for name, part in record.before:
            path = shown(f"{record.path}{name}")
            if path in paths and (path not in found or isinstance(record, KeptBy)):  # not which object it is
                found[path] = _plain(record, part) or images.of(part, path)
    kept = {storage.value._cdata: storage.before[0][1] for storage in state.storages}
    for tensor in state.tensors:
        if tensor.path in paths:
            found[tensor.path] = Image("tensor", shown_in(kept[tensor.storage._cdata], tensor.alias),
                                       [(".requires_grad", Image("scalar", tensor.requires))])  # fmt: skip
        if f"{tensor.path}.grad" in paths:
            found[f"{tensor.path}.grad"] = (
                Image("opaque", "nothing") if tensor.grad is None else images.of(tensor.grad, tensor.path)
            )
        if f"{tensor.path}.requires_grad" in paths:
            found[f"{tensor.path}.requires_grad"] = Image("scalar", tensor.requires)
    return found


def memory_of(state: ReachedState, copies: Mapping[str, Any]) -> dict[int, str]:
    """The storages of the tensors that were there before a run, and of the copies made for it, with their names."""
    found = {tensor.storage._cdata: tensor.path for tensor in reversed(state.tensors)}
    return found | {tensor.untyped_storage()._cdata: path for path, tensor in copies.items()}


def differences(
    first: Image, second: Image, path: str, rtol: float | None = None, atol: float | None = None
) -> Iterator[Apart]:
    """The differences between two snapshots, in order."""
    if first.kind != second.kind:
        known = "known" in (first.kind, second.kind) and "opaque" not in (first.kind, second.kind)
        yield Apart(path, first.text, second.text, "not the same object" if known else "not of the same kind")
    elif first.kind == "tensor":
        apart = difference(first.value, second.value, rtol, atol)
        if apart is not None:
            yield _of_tensors(path, first, second, apart)
            return
        others = dict(second.parts)
        for name, part in first.parts:  # what is left after one of them is a consequence
            if name in others and part.value != others[name].value:
                said = [f"that of {at.value}" if name == MEMORY else str(at.value) for at in (part, others[name])]
                yield Apart(path + name, said[0], said[1], OTHER_STRIDES if name == STRIDES else NOT_THE_SAME)
                return
    elif first.kind == "scalar":
        one, other = first.value, second.value
        if type(one) is not type(other) or not (one == other or (one != one and other != other)):
            if not (type(one) is type(other) is float and _is_close(one, other)):
                yield Apart(path, first.text, second.text, NOT_THE_SAME)
    elif first.kind in ("known", "opaque", "state", "order"):
        if first.value != second.value:
            yield Apart(path, first.text, second.text, "not the same object" if first.kind == "known" else NOT_THE_SAME)
    else:
        one, other = dict(first.parts), dict(second.parts)
        nothing = Image("opaque", "nothing")
        for name in (*one, *(name for name in other if name not in one)):
            part, with_part = one.get(name, nothing), other.get(name, nothing)
            yield from differences(part, with_part, shown(path + name), rtol, atol)
        keys, theirs = ([name for name in parts if name.startswith("[")] for parts in (one, other))
        if keys != theirs and sorted(keys) == sorted(theirs):
            yield Apart(path + ORDER, _keys(keys), _keys(theirs), NOT_THE_SAME)


def _is_close(one: float, other: float) -> bool:
    """Within the precision of float32 where both may have been read out of such tensors, else of float64."""
    short, relative = struct.Struct("f"), 1e-9
    with contextlib.suppress(OverflowError):  # too large for float32
        if all(short.unpack(short.pack(value))[0] == value for value in (one, other)):
            relative = 1e-6
    return abs(one - other) <= relative * max(abs(one), abs(other))


def _of_tensors(path: str, first: Image, second: Image, apart: TensorDifference) -> Apart:
    one, other = first.value, second.value
    reason = "" if one.numel() == 1 and other.numel() == 1 and apart.wrong else apart.reason
    numbers = _numbers_apart(one, other) if apart.wrong else None
    return Apart(path, first.text, second.text, reason, numbers, _one_is_nan(one, other))


def _one_is_nan(one: Any, other: Any) -> bool:
    import torch

    if not one.is_floating_point() or not other.is_floating_point():
        return False
    return any(
        bool(torch.isnan(these).any()) and bool(torch.isfinite(those).all())
        for these, those in ((one, other), (other, one))
    )


def _numbers_apart(one: Any, other: Any) -> NumbersApart | None:
    import torch

    if not one.is_floating_point() or not bool(torch.isfinite(one).all()) or not bool(torch.isfinite(other).all()):
        return None
    first = one.to(torch.float64)
    apart = first - other.to(one.device, torch.float64)
    farthest, tolerance = float(apart.abs().max()), relative_tolerance(one.dtype)
    return NumbersApart(
        farthest, largest(one), _root_mean_square(apart), _root_mean_square(first), tolerance, tuple(one.shape)
    )


def _root_mean_square(values: Any) -> float:
    return float(values.square().mean().sqrt())


def largest(tensor: Any) -> float:
    """The largest finite number of a tensor, without its sign."""
    import torch

    if not tensor.is_floating_point() or not tensor.numel():
        return 0.0
    return float(tensor.detach().to(torch.float64).abs().nan_to_num(0.0, 0.0, 0.0).max())


def largest_in(image: Image) -> float:
    """The largest number of all tensors in a snapshot."""
    if image.kind == "tensor":
        return largest(image.value)
    return max((largest_in(part) for _, part in image.parts), default=0.0)
