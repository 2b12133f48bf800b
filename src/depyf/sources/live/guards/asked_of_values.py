"""What kinds of guards ask of values and of torch: the functions that ``Look.ask`` calls.

Input: the name of a function, values of the program.  Output: plain data, read without running code of the program.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.guards.difference import GuardSide
from depyf.run.reprs import sets_in_order
from depyf.sources.live.guards import check_functions
from depyf.sources.live.pure_access import attribute, length, short_name
from depyf.sources.live.pure_tensors import is_inference, is_view
from depyf.sources.live.pure_text import counted, describe, short, shown


def ask(name: str, *arguments: Any, **named: Any) -> Any:
    """The result of the function ``name`` of this module; KeyError where there is none."""
    return _FUNCTIONS[name](*arguments, **named)


def dispatch_keys(value: Any) -> str:
    """The dispatch keys of a tensor, in the modes of the caller."""
    from torch import _C

    keys = getattr(_C, "_dispatch_keys", None)
    text = str(keys(value)) if keys is not None else "unknown"
    return text.removeprefix("DispatchKeySet(").removesuffix(")")


def global_state() -> dict[str, Any]:
    """torch's global state as its guard sees it now; {} where this torch cannot tell."""
    try:
        from torch._C._dynamo.guards import GlobalStateGuard

        state = getattr(GlobalStateGuard(), "__getstate__")()  # noqa: B009 - not declared
        found = json.loads(state) if isinstance(state, str) else state
    except (ImportError, AttributeError, TypeError, ValueError):
        import torch

        return {"grad_mode": torch.is_grad_enabled()}
    return found if isinstance(found, dict) else {}


def function_modes() -> list[str]:
    """The classes of the torch function modes that are active, the outermost first."""
    from torch.overrides import _get_current_function_mode_stack

    return [type(mode).__name__ for mode in _get_current_function_mode_stack()]


def of_torch(name: str) -> Any:
    """The object below ``torch`` with this dotted name; AttributeError for none."""
    import torch

    return operator.attrgetter(name)(torch)


def as_shown(value: Any) -> str:
    """A description of ``value`` that is the same in every run, and runs no code of the program."""
    return short(sets_in_order(without_addresses(shown(value) or describe(value))))


def items_of(value: Any) -> str:
    """``dict with 2 items``."""
    return short_name(type(value)) + (f" with {counted(value)}" if length(value) is not None else "")


def marked_dimensions(value: Any, mark: str) -> Any:
    return attribute(value, f"_dynamo_{mark}_indices")


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "count": length,
    "default_device": functools.partial(of_torch, "utils._device.CURRENT_DEVICE"),
    "dispatch_keys": dispatch_keys,
    "function_modes": function_modes,
    "global_state": global_state,
    "is_inference": is_inference,
    "is_view": is_view,
    "items_of": items_of,
    "marked_dimensions": marked_dimensions,
    "marks_on": check_functions.marks_on,
    "of_torch": of_torch,
    "shortened": lambda text: GuardSide(short(text)),
    "shown": as_shown,
    "tensor_differences": check_functions.tensor_differences,
}
