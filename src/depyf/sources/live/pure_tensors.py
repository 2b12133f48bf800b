"""Reads tensors and symbolic numbers of the program without side effects: see ``pure_access``."""

from __future__ import annotations

import contextlib
import ctypes
import math
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from depyf.sources.live.pure_access import (
    UnreadableError,
    attribute,
    class_mro,
    class_namespace,
    classes_of,
    full_name,
    is_a,
)

_BASE: Any = torch._C.TensorBase
_NOTHING = object()
_Told = TypeVar("_Told")
_NATIVE = frozenset({
    "torch._subclasses.fake_tensor.FakeTensor", "torch._subclasses.functional_tensor.FunctionalTensor",
    "torch.distributed.tensor.DTensor", "torch.distributed.tensor._api.DTensor",
})  # fmt: skip
"""torch's own classes with a ``__torch_dispatch__`` that is not asked for sizes."""
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_MOST_REPLACED = 64
"""The maximum number of replacements of a symbol by another one; torch allows no cycle."""


def is_tensor(value: Any) -> bool:
    return is_a(value, torch.Tensor)


def is_parameter(value: Any) -> bool:
    """A parameter, also one of a tensor subclass, which says so in a mark."""
    return is_a(value, torch.nn.Parameter) or (is_tensor(value) and attribute(value, "_is_param") is True)


def is_view(value: Any) -> bool:
    """Whether a tensor is a view of another one; False for anything else."""
    with torch._C.DisableTorchFunction():
        return is_tensor(value) and _asked(lambda: _BASE._base.__get__(value)) is not None


def is_inference(value: Any) -> bool:
    """Whether a tensor was made under ``torch.inference_mode``; False for anything else."""
    with torch._C.DisableTorchFunction():
        return is_tensor(value) and _asked(lambda: _BASE.is_inference(value)) is True


@dataclass(frozen=True, slots=True)
class TensorView:
    """What a tensor says of itself.  Sizes may be symbolic: give them to ``number`` and ``expression`` alone.  Even
    asking whether one is zero (``or``, ``if``, ``==``) adds a guard to the program."""

    kind: type
    dtype: Any
    size: tuple[Any, ...] | None
    """None where only the program's ``__torch_dispatch__`` knows, or nothing does."""
    stride: tuple[Any, ...] | None
    """None likewise, and for a layout that has none."""
    offset: Any
    device: Any
    layout: Any
    requires_grad: bool
    leaf: bool

    @property
    def strided(self) -> bool:
        return self.layout is torch.strided

    @property
    def symbolic(self) -> bool:
        """Whether a size, a stride or the offset is a symbol of a trace."""
        return any(is_symbolic(item) for item in (*(self.size or ()), *(self.stride or ()), self.offset))


def tensor(value: Any) -> TensorView:
    """Look at a tensor: real, fake, functional, of any class.  ``UnreadableError`` for anything else."""
    if not is_tensor(value):
        raise UnreadableError
    with torch._C.DisableTorchFunction():
        native = tells_sizes(type(value))
        layout = _asked(lambda: _BASE.layout.__get__(value)) if native else torch.strided
        size: tuple[Any, ...] | None = _asked(lambda: tuple(_BASE.size(value))) if native else _own_size(value, "_size")
        stride = None if native else _own_size(value, "_strides")
        offset: Any = 0
        if native and layout is torch.strided and size is not None:
            stride = _asked(lambda: tuple(_BASE.stride(value)))
            known = _asked(lambda: _BASE.storage_offset(value))
            offset = 0 if known is None else known
        elif not native and size is not None:
            layout = torch.jagged
        device = (
            _fake_device(value) if is_fake(value) else _asked(lambda: _BASE.device.__get__(value)) if native else None
        )
        requires_grad = bool(_BASE.requires_grad.__get__(value))
        leaf = _asked(lambda: _is_leaf(value, requires_grad)) is not False
        dtype = _BASE.dtype.__get__(value)
    return TensorView(type(value), dtype, size, stride, offset, device, layout, requires_grad, leaf)


def _asked(ask: Callable[[], _Told]) -> _Told | None:
    """What torch answers; None for what this kind of tensor does not have (a nested one has no sizes)."""
    try:
        return ask()
    except (RuntimeError, NotImplementedError, AttributeError, TypeError):
        return None


def _own_size(value: Any, name: str) -> tuple[Any, ...] | None:
    """The sizes that torch's nested tensor keeps beside what its ``__torch_dispatch__`` would say."""
    found = attribute(value, name) if full_name(type(value)) == _NESTED else None
    return tuple(found) if found is not None and type(found) in (tuple, torch.Size) else None


_NESTED = "torch.nested._internal.nested_tensor.NestedTensor"


def is_fake(value: Any) -> bool:
    return any(full_name(cls) == "torch._subclasses.fake_tensor.FakeTensor" for cls in classes_of(value))


def _fake_device(value: Any) -> Any:
    """The device that a fake tensor represents; its storage is on ``meta``."""
    return attribute(value, "_fake_device") or attribute(value, "fake_device")  # the latter is a property since 2.13


def tells_sizes(kind: type) -> bool:
    """Whether sizes, device and layout of a tensor of this class are read without a ``__torch_dispatch__`` of the
    program."""
    for cls in class_mro(kind):
        if cls is torch.Tensor:
            return True
        if full_name(cls) in _NATIVE:
            return True
        dispatch = class_namespace(cls).get("__torch_dispatch__")
        if dispatch is not None and dispatch is not torch._C._disabled_torch_dispatch_impl:
            return False
    return False


def _is_leaf(value: Any, requires_grad: bool) -> bool:
    """``is_leaf`` without the node of the graph that reading it makes for a view whose base was written since."""
    if not requires_grad:
        return True
    if not _BASE._is_view(value) or _BASE._version.__get__(value) == 0:
        return bool(_BASE.is_leaf.__get__(value))
    base = _BASE._base.__get__(value)
    if base is None or not _BASE.requires_grad.__get__(base):  # it was asked for on the view alone
        return True
    ask = getattr(torch._C._autograd, "_get_creation_meta", None)
    return ask is not None and "NO_GRAD" in str(ask(value))


def storage(value: Any) -> tuple[int, Any] | None:
    """The identity of a tensor's storage and its length in bytes, which may be symbolic; None where it has none."""
    if not is_tensor(value) or not tells_sizes(type(value)):
        return None
    with torch._C.DisableTorchFunction():
        try:
            if _BASE.layout.__get__(value) is not torch.strided:
                return None
            found = _BASE.untyped_storage(value)
            return int(found._cdata), found.nbytes()
        except (RuntimeError, NotImplementedError):  # a wrapper, or a tensor without memory
            return None


def is_symbolic(value: Any) -> bool:
    return is_a(value, *_SYMBOLIC)


def symbolic_kind(value: Any) -> str:
    """``int``, ``float`` or ``bool``: the type that a symbolic value represents."""
    return {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}[
        next(cls for cls in classes_of(value) if cls in _SYMBOLIC)
    ]


def number(value: Any) -> int | float | bool | None:
    """The number that a value is, or stood for while it was traced; None for one that is known at run time only."""
    if type(value) in (bool, int, float):
        return value  # type: ignore[no-any-return]
    if is_symbolic(value):
        return _hint(attribute(value, "node"))
    if is_a(value, int):
        return int.__int__(value)
    return float.__float__(value) if is_a(value, float) else None


def _hint(node: Any) -> int | float | bool | None:
    hint = attribute(node, "_hint", _NOTHING)
    if hint is _NOTHING:  # a node written in C: a constant, or the length that varies in a nested tensor
        hint = node.maybe_as_int() if is_a(node, torch._C._SymNode) else None
    elif hint is None:
        hint = _from_values(node)
    return hint if type(hint) in (bool, int, float) else None


def _from_values(node: Any) -> Any:
    """The hint that torch would compute when it is asked, without keeping it as torch does."""
    environment, found = attribute(node, "shape_env"), symbol_expression(node)
    for name in ("backed_var_to_val", "var_to_val"):
        values = attribute(environment, name)
        if is_a(values, dict) and hasattr(found, "xreplace"):
            found = found.xreplace(dict(values))
            break
    kind = attribute(node, "pytype")
    if getattr(found, "is_Integer", False) and kind is int:
        return int(found)
    return float(found) if getattr(found, "is_Float", False) and kind is float else None


def symbol_expression(node: Any) -> Any:
    """``node.expr`` with the replacements that torch has learned, without the marks that torch leaves when it looks
    them up."""
    found = attribute(node, "_expr")
    replacements = attribute(attribute(node, "shape_env"), "replacements")
    if not is_a(replacements, dict):
        return found
    changed = False
    for _ in range(_MOST_REPLACED):
        known = {s: replacements[s] for s in getattr(found, "free_symbols", ()) if s in replacements}
        known = {s: new for s, new in known.items() if new != s}
        if not known:
            break
        found, changed = found.xreplace(known), True
    if changed:
        from torch.fx.experimental.symbolic_shapes import safe_expand

        return safe_expand(found)
    return found


def expression(value: Any) -> str:
    """A number or a symbolic value as text: ``4``, ``s77*2``."""
    if is_symbolic(value):
        node = attribute(value, "node")
        found = symbol_expression(node)
        return str(node._graph_repr() if is_a(node, torch._C._SymNode) else node) if found is None else str(found)
    found = number(value)
    return "?" if found is None else repr(found)


def symbol_of(value: Any) -> str:
    """The name of the symbol that a value is, and nothing else; "" for an expression or a plain number."""
    found = symbol_expression(attribute(value, "node")) if is_symbolic(value) else None
    return str(found) if getattr(found, "is_Symbol", False) else ""


def referent(reference: Any) -> Any:
    """The object of torch's weak reference; None if it is gone.  Any other object is returned unchanged."""
    found = attribute(reference, "ref")
    if not is_a(found, weakref.ref):
        return reference
    value = found()
    if is_tensor(value):
        _BASE._fix_weakref(value)  # the object may be the last one for its tensor, and be given up
    return value


def module_attribute(module: Any, name: str) -> Any:
    """A parameter, buffer, submodule or plain attribute of a module; None where there is none."""
    found = attribute(module, name, _NOTHING)
    for table in ("_parameters", "_buffers", "_modules"):
        if found is _NOTHING and is_a(module, torch.nn.Module):
            held = attribute(module, table)
            found = held.get(name, _NOTHING) if is_a(held, dict) else _NOTHING
    return None if found is _NOTHING else found


@dataclass(frozen=True, slots=True)
class Elements:
    """What a small tensor holds, in order, or the range of a large one."""

    values: tuple[Any, ...] | None = None
    low: float | int | None = None
    high: float | int | None = None


def elements(value: Any, most: int) -> Elements | None:
    """The numbers in a real tensor; None where they cannot be read without changing anything.

    That is so for tensors without memory (fake, meta, freed), for memory that is shared until a write, and for lazily
    computed values (while a stream is captured).
    """

    def read() -> Elements | None:
        count = value.numel()
        if 0 < count <= most:
            return Elements(tuple(value.detach().cpu().flatten().tolist()))
        if not count or value.dtype.is_complex:
            return None
        numbers = value.detach().to("cpu", torch.float64)
        return Elements(None, numbers.min().item(), numbers.max().item())

    return _read(value, read)


def extent(value: Any) -> tuple[float, float] | None:
    """The smallest and the largest number in a real tensor, without a single negative integer among others that are
    none: that one marks what is left out (-100, -1).  None where ``elements`` says None, and where not all are
    finite."""

    def read() -> tuple[float, float] | None:
        if not value.numel() or value.dtype.is_complex:
            return None
        numbers = value.detach().to("cpu", torch.float64)
        low, high = numbers.min().item(), numbers.max().item()
        if low < 0 <= high and not value.dtype.is_floating_point:
            others = numbers[numbers != low].min().item()
            low = others if others >= 0 else low
        return (low, high) if math.isfinite(high - low) else None

    return _read(value, read)


def _read(value: Any, read: Callable[[], _Told | None]) -> _Told | None:
    """What ``read`` says of a real tensor, out of reach of the program's modes; None where it cannot be read."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or not has_memory(value):
        return None
    try:
        with out_of_reach():
            return read()
    except (RuntimeError, NotImplementedError, TypeError):
        return None


@contextlib.contextmanager
def out_of_reach() -> Iterator[None]:
    """While the block lasts, no mode sees an operation on a plain tensor, and autograd records none."""
    from torch.utils._python_dispatch import _disable_current_modes

    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield


def has_memory(value: Any) -> bool:
    """Whether all elements of a plain tensor lie in memory that can be read now without changing anything."""
    with torch._C.DisableTorchFunction():
        if _BASE.layout.__get__(value) is not torch.strided or _BASE.is_quantized.__get__(value):
            return False
        device = _BASE.device.__get__(value).type
        if (
            device == "meta"
            or torch._is_functional_tensor(value)
            or torch._C._functorch.is_functorch_wrapped_tensor(value)
        ):
            return False
        if _is_copied_when_written(value):
            return False
        if device == "cuda" and torch.cuda.is_current_stream_capturing():
            return False
        view = tensor(value)
        if view.size is None or view.stride is None or view.symbolic:
            return False
        held = _BASE.untyped_storage(value).nbytes()
        return type(held) is int and span(value)[1] <= held


def _is_copied_when_written(value: Any) -> bool:
    """Whether the tensor shares its memory until one of both is written; reading it through Python would copy it."""
    asked = getattr(torch._C, "_is_cow_tensor", None)
    try:
        return asked is not None and bool(asked(value))
    except RuntimeError:  # torch 2.15 answers for no subclass that Python dispatches
        return False


def span(value: Any) -> tuple[int, int]:
    """The bytes of its storage that a tensor lies in: the first, and the one after the last."""
    view = tensor(value)
    size, stride = ([int(number(item) or 0) for item in items or ()] for items in (view.size, view.stride))
    width = int(_BASE.element_size(value))
    start = int(number(view.offset) or 0) * width
    if not math.prod(size):
        return start, start
    return start, start + (sum((count - 1) * step for count, step in zip(size, stride)) + 1) * width


def is_lazy(value: Any) -> bool:
    """Whether a plain tensor is the conjugate or the negative of what is in its memory."""
    with torch._C.DisableTorchFunction():
        return bool(_BASE.is_conj(value) or _BASE.is_neg(value))


def memory(value: Any, start: int, end: int) -> tuple[memoryview, Any]:
    """The bytes from ``start`` to ``end`` of the storage of a tensor that ``has_memory``, and what to hold while they
    are in use: on the CPU they are the program's own, of another device a copy."""
    size = end - start
    if not size:
        return memoryview(b""), None
    with out_of_reach():
        owner = _BASE.untyped_storage(value)
        device = _BASE.device.__get__(value)
        if device.type != "cpu":
            flat = torch.empty(0, dtype=torch.uint8, device=device).set_(owner, start, (size,), (1,))
            owner, start = flat.cpu().untyped_storage(), 0
    return memoryview((ctypes.c_ubyte * size).from_address(owner.data_ptr() + start)).cast("B"), owner
