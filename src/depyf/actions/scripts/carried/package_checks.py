"""What the guards call.  Each is complete as Python: no object of the process that compiled is asked."""

from __future__ import annotations

import sys
from typing import Any

import torch


def check_tensor(
    value: Any,
    cls: str,
    dtype: Any,
    *,
    size: list[int | None],
    stride: list[int | None],
    requires_grad: bool,
    device_index: int | None = None,
) -> bool:
    """A tensor of this class, dtype and layout; None in ``size`` or ``stride`` is any."""
    return (
        isinstance(value, torch.Tensor)
        and type(value).__name__ == cls.rpartition(".")[2]
        and value.dtype == dtype
        and value.requires_grad == requires_grad
        and value.device.index == device_index
        and value.dim() == len(size)
        and all(want is None or want == got for want, got in zip(size, value.size()))
        and all(want is None or want == got for want, got in zip(stride, value.stride()))
    )


def type_is(value: Any, name: str) -> bool:
    """The type of ``value`` has this qualified name; a class of a main program may now be one of a module."""
    kind = type(value)
    known = kind.__qualname__, f"{kind.__module__}.{kind.__qualname__}"
    return name in known or name.removeprefix("__main__.") == kind.__qualname__


def same_items(value: Any, kind: str, guarded: int) -> bool:
    """A ``kind`` with at least as many items."""
    return (not kind or type_is(value, kind)) and len(value) >= guarded


def is_module(value: Any, name: str) -> bool:
    """The module of this name."""
    return value is sys.modules.get(name)


def marks_on(value: Any) -> list[str]:
    """The marks of ``torch._dynamo.mark_dynamic`` and its like on a tensor."""
    marks = ("dynamic", "weak_dynamic", "unbacked", "strict_unbacked", "static")
    return [mark for mark in marks if getattr(value, f"_dynamo_{mark}_indices", None) is not None]


def no_dynamic_marks(value: Any, but: str = "") -> bool:
    """No marks but these."""
    return not set(marks_on(value)) - set(but.split(", "))


def marks_within(value: Any, mark: str, dimensions: set[int]) -> bool:
    """The mark is on these dimensions only."""
    return set(getattr(value, f"_dynamo_{mark}_indices", ())) <= dimensions


def check_overlapping(overlapping: list[Any], non_overlapping: list[Any]) -> bool:
    """Each of the tensors ``overlapping`` shares memory with another one of them, none of the others with any."""
    tensors = [*overlapping, *non_overlapping]
    return all(any(_share(a, b) for b in overlapping if b is not a) for a in overlapping) and not any(
        _share(a, b) for a in non_overlapping for b in tensors if b is not a
    )


def _share(one: Any, two: Any) -> bool:
    if one.untyped_storage().data_ptr() != two.untyped_storage().data_ptr():
        return False
    (start, end), (other, last) = _span(one), _span(two)
    return start < last and other < end


def _span(tensor: Any) -> tuple[int, int]:
    reach = (
        sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride())) + 1 if tensor.numel() else 0
    )
    start = tensor.storage_offset() * tensor.element_size()
    return start, start + reach * tensor.element_size()


def check_global_state(*, grad_mode: bool, default_dtype: Any = None, autocast: Any = None, **state: Any) -> bool:
    """Grad mode, default dtype, autocast and determinism are as at compile time; not compared: threads and TF32."""
    deterministic = state.get("deterministic_algorithms")
    return (
        torch.is_grad_enabled() == grad_mode
        and (default_dtype is None or torch.get_default_dtype() == default_dtype)
        and (deterministic is None or torch.are_deterministic_algorithms_enabled() == deterministic)
        and (autocast is None or all(torch.is_autocast_enabled(device) for device in autocast))
        and (bool(autocast) or not torch.is_autocast_enabled("cpu"))
    )


def default_device_is(device: Any) -> bool:
    """``torch.set_default_device`` is as at compile time."""
    return bool(torch.get_default_device() == torch.device(device or "cpu"))


def from_numpy(array: Any) -> Any:
    """The tensor over a numpy array's memory, which the graph takes instead of the array."""
    return torch.as_tensor(array)


def as_tensor(value: Any) -> Any:
    """The tensor that the graph takes instead of a Python number, in that number's precision."""
    wide = {float: torch.float64, int: torch.int64}.get(type(value))
    return torch.as_tensor(value, dtype=wide) if wide is not None else torch.as_tensor(value)
