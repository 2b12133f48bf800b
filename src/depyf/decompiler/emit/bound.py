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
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.emit.naming import Names

_HEAP_TYPE = 1 << 9
_ADDRESS = re.compile(r"\bat 0x|0x[0-9a-fA-F]{6,}")


ALONE = (BaseException, AssertionError, type, tuple, slice, set, dict)
"""Builtin types whose names mean the same in any module."""


class BoundConstants:
    """Gives each object one identifier that nothing else in the text uses.

    A builtin keeps its name unless a variable has that name; ``builtins`` are those that the original looks up, too.
    """

    def __init__(self, prefix: str, names: Names) -> None:
        self.prefix = prefix
        self.fresh = names.fresh
        self.names = names
        self.objects: dict[str, Any] = {}
        self.builtins: dict[str, Any] = {}
        self.renamed: dict[str, str] = {}  # other names of builtins, with their own
        self._names: dict[tuple[int, bool], str] = {}

    def name(self, value: Any, in_class: bool) -> str:
        """The identifier of ``value``.  Inside a class it ends in ``__``: such a private name is not mangled."""
        key = (id(value), in_class)
        found = self._names.get(key)
        if found is None:
            own = builtin_name(value)
            if own and own not in self.names.variables:  # means the same where the text stands alone
                found = own
                self.names.taken.add(own)
                if own in self.names.looked_up:
                    self._names[key] = own
                    self.builtins[own] = value
                    return own
            else:
                base = own or self.prefix + readable(value)
                found = self.fresh(base + "__" if in_class else base)
                if in_class and not found.endswith("__"):
                    found = self.fresh(found + "__")
                if own:
                    self.renamed[found] = own
            self._names[key] = found
            self.objects[found] = value  # also keeps the object, hence its id, alive
        return found


def builtin_name(value: Any) -> str:
    """The name of a builtin, "" for any other object."""
    own = getattr(value, "__name__", "") if isinstance(value, (types.BuiltinFunctionType, type)) else ""
    known = any(value is one for one in ALONE) or isinstance(value, types.BuiltinFunctionType)
    return own if known and type(own) is str and getattr(builtins, own, None) is value else ""


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
