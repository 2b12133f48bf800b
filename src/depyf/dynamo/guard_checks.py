"""The functions that readable guard expressions call, written in Python.

A guard of a ``full_code_for_*`` file reads ``check_tensor(L['a'], 'Tensor', torch.float32, size=[10], ...)``.  These
definitions say what that means.  They explain; torch's own guard manager decides (``guard_0_0.check(L)``).  Where a
check compares with an object of the process that compiled, it cannot be repeated from text and answers True.
"""

from __future__ import annotations

from typing import Any


def check_tensor(
    value: Any,
    cls: str,
    dtype: Any,
    *,
    size: list[int | None],
    stride: list[int | None],
    requires_grad: bool,
    device_index: int | None = None,
    keys: str = "",
) -> bool:
    """A tensor of class ``cls`` with this dtype, size, stride and requires_grad; None stands for "any"."""
    return (
        type(value).__name__ == cls.rpartition(".")[2]
        and value.dtype == dtype
        and value.requires_grad == requires_grad
        and value.device.index == device_index
        and len(value.shape) == len(size)
        and all(want is None or want == got for want, got in zip(size, value.shape))
        and all(want is None or want == got for want, got in zip(stride, value.stride()))
    )


def type_is(value: Any, name: str) -> bool:
    """The exact type of ``value`` has this qualified name."""
    cls = type(value)
    return name in (cls.__qualname__, f"{cls.__module__}.{cls.__qualname__}")


def same_object(value: Any, kind: str) -> bool:
    """``value`` is the very object seen at compile time; only the live guard manager knows which."""
    return type_is(value, kind)


def no_dynamic_marks(value: Any) -> bool:
    """Nobody called ``torch._dynamo.mark_dynamic``, ``mark_static`` or the like on this tensor."""
    marks = ("dynamic", "weak_dynamic", "unbacked", "strict_unbacked", "static")
    return not any(hasattr(value, f"_dynamo_{mark}_indices") for mark in marks)


def check_no_aliasing(*tensors: Any) -> bool:
    """No two of these tensors are the same object."""
    return len({id(tensor) for tensor in tensors}) == len(tensors)


def check_global_state(**state: Any) -> bool:
    """torch's global switches (grad mode, autocast, determinism, default dtype, ...) are as at compile time."""
    import torch

    return "grad_mode" not in state or bool(state["grad_mode"]) == torch.is_grad_enabled()


def check_torch_function_mode_stack() -> bool:
    """The ``TorchFunctionMode`` stack is as at compile time (known to the live guard manager only)."""
    return True


def default_device_is(device: Any) -> bool:
    """``torch.set_default_device`` is as at compile time."""
    from torch.utils import _device

    return bool(device == _device.CURRENT_DEVICE)


def saved_tensors_hooks_are(hooks: Any) -> bool:
    """``torch.autograd.graph.saved_tensors_hooks`` is as at compile time."""
    return True


def torch_checks(text: str) -> bool:
    """A guard that depyf cannot write as Python; the text is torch's, without addresses."""
    return True
