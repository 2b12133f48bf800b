"""torch's global state, as its guard compares it, in terms of Python.

Input: what torch writes down of the state, where data types are numbers and autocast is two lists over devices.  Output:
the same as Python literals.  The guard ignores the data type of a device on which autocast is off, and so does this.

    "autocast_state": {"cached_enabled": true, "dtype": [15, 5, ...], "enabled": [true, false, ...]}, "default_dtype": 6
    ->  autocast={'cpu': torch.bfloat16}, autocast_cache=True, default_dtype=torch.float32
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DTYPES = {0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
           8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16"}  # fmt: skip
"""c10's ScalarType."""
_FIRST, _LAST = ("cpu", "cuda", "mtia", "maia"), ("xpu", "ipu", "hpu", "xla", "privateuseone", "mps")
"""The devices that know autocast, in torch's order; maia came later."""


def in_words(state: Mapping[str, Any]) -> dict[str, str]:
    """name -> its value as Python, in the order of the names."""
    found: dict[str, str] = {}
    for name, value in state.items():
        if name == "default_dtype":
            found[name] = _dtype(value)
        elif name == "autocast_state" and (autocast := _autocast(value)):
            found |= autocast
        else:
            found[name] = repr(value)
    return dict(sorted(found.items()))


def _dtype(number: Any) -> str:
    return f"torch.{_DTYPES[number]}" if number in _DTYPES else repr(number)


def _autocast(state: Any) -> dict[str, str]:
    """{} where this torch writes it down otherwise."""
    try:
        enabled, dtypes, cached = list(state["enabled"]), list(state["dtype"]), state["cached_enabled"]
    except (KeyError, TypeError):
        return {}
    devices = (*_FIRST[: len(enabled) - len(_LAST)], *_LAST)
    if not len(devices) == len(enabled) == len(dtypes):
        return {}
    on = [f"{device!r}: {_dtype(dtype)}" for device, dtype, is_on in zip(devices, dtypes, enabled) if is_on]
    return {"autocast": f"{{{', '.join(on)}}}", "autocast_cache": repr(bool(cached))}
