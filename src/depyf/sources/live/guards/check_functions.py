"""The functions that readable guard expressions call, written in Python.

A guard of a ``full_code_for_*`` file reads ``check_tensor(L['a'], 'Tensor', torch.float32, size=[10], ...)``.  These
definitions say what that means.  Where a check compares with an object or a state of the process that compiled, text
cannot hold it: such a check takes ``guard``, torch's own guard (``guard_0_0[7]``: the seventh of that entry), and asks
it. In any other process that one answers None, and the check says what the text alone can say.
"""

from __future__ import annotations

import builtins
import operator
import sys
import types
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.guards.guard_kind import TorchGuard, asked
from depyf.run.guards.known_kinds import FUNCTIONS
from depyf.run.plain_guard_checks import (
    dataclass_fields as dataclass_fields,
)
from depyf.run.plain_guard_checks import (
    is_nan as is_nan,
)
from depyf.run.plain_guard_checks import (
    iterator_count as iterator_count,
)
from depyf.run.plain_guard_checks import (
    iterator_item as iterator_item,
)
from depyf.run.plain_guard_checks import (
    iterator_length as iterator_length,
)
from depyf.run.plain_guard_checks import (
    iterator_range as iterator_range,
)
from depyf.run.plain_guard_checks import (
    reversed_length as reversed_length,
)
from depyf.run.plain_guard_checks import (
    reversed_list as reversed_list,
)
from depyf.run.reprs import sets_in_order
from depyf.sources.live.pure_access import attribute, class_module, class_name, in_classes, is_a, length, short_name
from depyf.sources.live.pure_text import shown


def tensor_differences(
    value: Any,
    cls: str,
    dtype: Any,
    *,
    size: list[int | None],
    stride: list[int | None],
    requires_grad: bool,
    device_index: int | None = None,
    keys: str = "",
) -> dict[str, tuple[Any, Any]]:
    """What is not as ``check_tensor`` wants it: name -> (wanted, found)."""
    if not in_classes(type(value), "TensorBase"):
        return {"type": (cls, short_name(type(value)))}
    from depyf.sources.live.pure_tensors import number, tensor

    view = tensor(value)
    found = {
        "type": (cls.rpartition(".")[2], short_name(view.kind)),
        "dtype": (dtype, view.dtype),
        "requires_grad": (requires_grad, view.requires_grad),
    }
    if view.size is not None:
        found["dimensions"] = (len(size), len(view.size))
    if view.device is not None:
        found["device_index"] = (device_index, view.device.index)
        device = next((name for name in _DEVICES if name in keys.split(", ")), "")
        if device:
            found["device"] = (_DEVICES[device], view.device.type)
    wrong = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
    if "dimensions" not in wrong:
        for what, wanted, actual in (("size", size, view.size), ("stride", stride, view.stride)):
            for index, (want, got) in enumerate(zip(wanted, map(number, actual or ()))):
                if want is not None and want != got:
                    wrong[f"{what}[{index}]"] = (want, got)
    return wrong


_DEVICES = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta", "XPU": "xpu", "MPS": "mps"}


def check_tensor(value: Any, cls: str, dtype: Any, *, guard: TorchGuard | None = None, **wanted: Any) -> bool:
    """A tensor of class ``cls`` with this dtype, ``size``, ``stride``, ``requires_grad`` and device; None: any.

    ``keys`` (dispatch keys, which also depend on the mode the caller is in) are compared by ``guard`` only.
    """
    return not tensor_differences(value, cls, dtype, **wanted) and asked(guard, value, True)


def type_is(value: Any, name: str, guard: TorchGuard | None = None) -> bool:
    """The type of ``value`` is the very class of this qualified name."""
    return asked(guard, value, _is_called(type(value), name))


def _is_called(cls: type, name: str) -> bool:
    return name in (class_name(cls), f"{class_module(cls)}.{class_name(cls)}")


def same_object(value: Any, kind: str, guard: TorchGuard | None = None) -> bool:
    """``value`` is the very object seen at compile time, a ``kind`` or the class ``kind`` itself (``object`` where
    torch did not say)."""
    fits = kind == "object" or type_is(value, kind) or (is_a(value, type) and _is_called(value, kind))
    return asked(guard, value, fits)


def same_items(value: Any, kind: str, guarded: int) -> bool:
    """``value`` is exactly a ``kind`` with as many items as at compile time; at least ``guarded`` (torch knows)."""
    return (not kind or type_is(value, kind)) and (length(value) or 0) >= guarded


def marks_on(value: Any) -> list[str]:
    """The marks of ``torch._dynamo.mark_dynamic`` and its like on a tensor."""
    marks = ("dynamic", "weak_dynamic", "unbacked", "strict_unbacked", "static")
    return [mark for mark in marks if attribute(value, f"_dynamo_{mark}_indices") is not None]


def no_dynamic_marks(value: Any, but: str = "") -> bool:
    """Neither ``torch._dynamo.mark_dynamic`` nor ``mark_static`` nor the like was called on this tensor; ``but``: the
    marks that it had when it was compiled (``marks_within`` looks at them)."""
    return not set(marks_on(value)) - set(but.split(", "))


def marks_within(value: Any, mark: str, dimensions: set[int]) -> bool:
    """``torch._dynamo.mark_dynamic`` (or the ``mark`` like it) was called for no other dimensions of this tensor."""
    found: set[int] = attribute(value, f"_dynamo_{mark}_indices", set())
    return found <= dimensions


def check_global_state(guard: TorchGuard | None = None, /, **state: Any) -> bool:
    """torch's global switches (grad mode, autocast, determinism, default dtype, ...) are as at compile time."""
    import torch

    return asked(guard, {}, "grad_mode" not in state or bool(state["grad_mode"]) == torch.is_grad_enabled())


def default_device_is(device: Any) -> bool:
    """``torch.set_default_device`` is as at compile time."""
    from torch.utils import _device

    return bool(device == _device.CURRENT_DEVICE)


def shows_as(value: Any, text: str, guard: TorchGuard | None = None) -> bool:
    """``value`` equals one whose repr is ``text``, which is no Python."""
    found = shown(value)  # "" where only a method of the program could tell
    return asked(guard, value, not found or sets_in_order(without_addresses(found)) == text)


def same_metadata(value: Any, guard: TorchGuard | None = None) -> bool:
    """What ``__tensor_flatten__`` says about this tensor subclass, apart from its tensors, is as at compile time."""
    return asked(guard, value, attribute(value, "__tensor_flatten__") is not None)


def check_overlapping(overlapping: list[Any], non_overlapping: list[Any]) -> bool:
    """Each of the tensors ``overlapping`` shares memory with another one of them, none of the others with any."""
    overlapped = [any(_share(one, two) for two in overlapping if two is not one) for one in overlapping]
    tensors = [*overlapping, *non_overlapping]
    return all(overlapped) and not any(_share(one, two) for one in non_overlapping for two in tensors if two is not one)


def _share(one: Any, two: Any) -> bool:
    """Whether two tensors have bytes in common; interleaved ones count as having some."""
    from depyf.sources.live.pure_tensors import span, storage

    owners = storage(one), storage(two)
    if owners[0] is None or owners[1] is None or owners[0][0] != owners[1][0]:
        return False
    (start, end), (other_start, other_end) = span(one), span(two)
    return start < other_end and other_start < end


def from_numpy(array: Any) -> Any:
    """The tensor over a numpy array's memory, which the graph takes instead of the array."""
    import torch

    return torch.as_tensor(array)


def as_tensor(value: Any) -> Any:
    """The tensor that the graph takes instead of a Python number, in that number's precision."""
    import torch

    wide = {float: torch.float64, int: torch.int64}.get(type(value))
    return torch.as_tensor(value, dtype=wide) if wide is not None else torch.as_tensor(value)


def class_named(name: str) -> Any:
    """The class of this full name, from a module that is imported.  LookupError where there is none."""
    module, _, rest = name.rpartition(".")
    if not module:  # of the interpreter: `function`, `mappingproxy`
        known = (kind for kind in vars(types).values() if isinstance(kind, type) and kind.__name__ == name)
        if (kind := next(known, vars(builtins).get(name))) is None:
            raise LookupError(name)
        return kind
    while module and module not in sys.modules:
        module, _, part = module.rpartition(".")
        rest = f"{part}.{rest}"
    try:
        return operator.attrgetter(rest)(sys.modules[module])
    except AttributeError:
        raise LookupError(name) from None


def torch_function_mode(index: int) -> Any:
    """The ``TorchFunctionMode`` at this place of the stack of active ones, from the bottom."""
    from torch.overrides import _get_current_function_mode_stack

    return _get_current_function_mode_stack()[index]


def current_stream(device: Any) -> Any:
    """The stream that work on ``device`` goes to now."""
    import torch

    return torch.get_device_module(device).current_stream(device)


for _check in FUNCTIONS:  # those that need nothing of this module stand with their kinds
    globals()[_check.__name__] = _check
