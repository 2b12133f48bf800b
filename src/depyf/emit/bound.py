"""Names for constants that have no literal: dtypes, functions, modules, enum members, code objects, NaN.

The text shows a readable identifier; ``Emitted.consts`` tells the caller which object to put back as a constant.
Output invariant: the names depend on the objects' own names and the order of first use only, never on addresses or
on hash order, and no ``__repr__`` written in Python is run.
"""

from __future__ import annotations

import builtins
import enum
import re
import types
from collections.abc import Callable
from typing import Any

from depyf.bytecode.codeunit import CodeUnit

_HEAP_TYPE = 1 << 9
_ADDRESS = re.compile(r"\bat 0x|0x[0-9a-fA-F]{6,}")


ALONE = (BaseException, type, tuple, slice, set)
"""Builtin types whose names mean the same where the text stands alone."""


class BoundConstants:
    """Hands out one identifier per object; ``fresh`` makes an identifier that nothing else in the text uses."""

    def __init__(self, prefix: str, fresh: Callable[[str], str]) -> None:
        self.prefix = prefix
        self.fresh = fresh
        self.objects: dict[str, Any] = {}
        self._names: dict[tuple[int, bool], str] = {}

    def name(self, value: Any, in_class: bool) -> str:
        """The identifier of ``value``; in a class its ends in ``__``, which private name mangling leaves alone."""
        key = (id(value), in_class)
        found = self._names.get(key)
        if found is None:
            base = self.prefix + readable(value)
            own: str = getattr(value, "__name__", "")
            if (
                any(value is known for known in ALONE)
                or isinstance(value, types.BuiltinFunctionType)
                and getattr(builtins, own, None) is value
            ):
                base, in_class = own, False  # means the same where the text stands alone
            found = self.fresh(base + "__" if in_class else base)
            if in_class and not found.endswith("__"):
                found = self.fresh(found + "__")
            self._names[key] = found
            self.objects[found] = value  # also keeps the object, hence its id, alive
        return found


def readable(value: Any) -> str:
    """A short identifier fragment that says what ``value`` is."""
    if isinstance(value, types.ModuleType):
        text = value.__name__
    elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
        text = str(name) if module in (None, "builtins") else f"{module}.{name}"
    elif isinstance(value, CodeUnit):
        text = f"code_{value.name}"
    elif isinstance(value, types.CodeType):
        text = f"code_{value.co_name}"
    elif isinstance(value, enum.Enum):
        text = f"{type(value).__name__}.{value.name}"
    elif isinstance(value, float) and value != value:
        text = "nan"
    else:
        text = _described(value)
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:60] or "value"


def _described(value: Any) -> str:
    kind = type(value)
    name = kind.__name__
    plain = (str, bytes, int, float, complex, tuple, frozenset, set, list, dict, slice)
    if kind.__flags__ & _HEAP_TYPE or isinstance(value, plain) or kind.__dict__.get("__repr__") is None:
        return name
    try:
        text = repr(value)
    except Exception:
        return name
    if len(text) > 80 or _ADDRESS.search(text) or "\n" in text:
        return name
    return text
