"""What ``value.name`` is, for live objects, by the rules of ``object.__getattribute__`` and of ``nn.Module``.

Input: an object, a name, and what the call has written so far.  Output: the value, or what has to be called to get it.
Nothing of the program runs.  Sources: CPython's ``Objects/object.c`` (``_PyObject_GenericGetAttrWithDict``),
``torch/nn/modules/module.py`` (``__getattr__``, ``_call_impl``).
"""

from __future__ import annotations

import collections
import types
from dataclasses import dataclass
from typing import Any

from depyf.actions.claims.made_objects import MadeObject, attributes_of, class_of, is_builtin_of
from depyf.actions.claims.terms import NoAttributeError, NotTriedError
from depyf.sources.live.pure_access import cell_contents, own_attributes
from depyf.sources.live.unguarded.class_members import MISSING, in_class, runs_forward

_STATES = ("_parameters", "_buffers", "_modules")
_OF_TYPES = ("__mro__", "__name__", "__qualname__", "__module__")
"""Of a class, and not changed by its metaclass where that is how ``type`` has them."""
_OF_FUNCTIONS = ("__closure__", "__code__", "__defaults__", "__name__", "__qualname__", "__module__")
_FIELD_OF_TUPLE: type = type(vars(collections.namedtuple("_", "x"))["x"])
_PLAIN_GETTERS = tuple(vars(one).get("__getattribute__") for one in (object, dict, collections.OrderedDict, tuple))
"""All are ``PyObject_GenericGetAttr``."""
OWN_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = (
    "_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class BoundCall:
    """A function with its first argument."""

    first: Any
    function: Any


@dataclass(frozen=True, slots=True, eq=False)
class Getter:
    """A getter function to be called with the object, such as that of a property."""

    function: Any
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SuperView:
    """``super(cls, first)``."""

    cls: type
    first: Any


def found(value: Any, name: str, plainly: bool = False) -> tuple[Any, bool]:
    """The attribute ``name`` of ``value``, and whether the object itself has it, so that the program may rebind it.
    ``plainly``: as ``object.__getattribute__`` finds it, whatever its class defines.  NotTriedError where reading it
    would run code that is not modelled."""
    if type(value) is types.ModuleType:
        if name == "__getattribute__":
            return BoundCall(value, types.ModuleType.__getattribute__), False
        if name not in value.__dict__:
            raise NotTriedError(f"module {value.__name__} has no {name}")
        return value.__dict__[name], True
    if isinstance(value, SuperView):
        first = value.first
        cls = first if isinstance(first, type) else class_of(first)
        return _bound(in_class(cls, name, value.cls), first), False
    if isinstance(value, type):
        return _of_class(value, name), False
    if type(value) is types.FunctionType:
        if name in _OF_FUNCTIONS:
            return getattr(value, name), False
        if name not in value.__dict__:
            raise NotTriedError(f"an attribute of a function: {name}")
        return value.__dict__[name], True
    if type(value) is types.CellType and name == "cell_contents":
        held = cell_contents(value, MISSING)
        if held is MISSING:
            raise NotTriedError("an empty cell")
        return held, True
    return _of_object(value, name, plainly)


def _of_class(cls: type, name: str) -> Any:
    """As ``type.__getattribute__`` finds it: a data descriptor of the metaclass goes before what the class has."""
    meta = in_class(type(cls), name)
    if in_class(type(cls), "__getattribute__") is not type.__dict__["__getattribute__"]:
        raise NotTriedError("a metaclass with another __getattribute__")
    if meta is not MISSING and in_class(type(meta), "__set__") is not MISSING:
        if name not in _OF_TYPES or meta is not type.__dict__[name]:
            raise NotTriedError(f"the attribute {name} of a class")
        return type.__getattribute__(cls, name)
    plain = in_class(cls, name)
    if plain is MISSING:
        raise NotTriedError(f"the attribute {name} of a class")
    if isinstance(plain, staticmethod):
        return plain.__func__
    if isinstance(plain, classmethod):
        return BoundCall(cls, plain.__func__)
    return plain


def _of_object(value: Any, name: str, plainly: bool) -> tuple[Any, bool]:
    cls = class_of(value)
    plain: Any = in_class(cls, "__getattribute__")
    if type(plain) is types.FunctionType and not plainly:
        return Getter(plain, (value, name)), False
    if type(plain) is not types.FunctionType and plain not in (
        *_PLAIN_GETTERS,
        vars(types.ModuleType)["__getattribute__"],
    ):
        raise NotTriedError(f"{cls.__name__} has a __getattribute__ of its own")
    of_class = in_class(cls, name)
    if isinstance(of_class, property):
        return Getter(of_class.fget, (value,)), False
    own = attributes_of(value)
    if isinstance(of_class, types.MemberDescriptorType) and type(value) is MadeObject:
        if name not in value.attributes:
            raise NotTriedError(f"{cls.__name__} has no {name}")
        return value.attributes[name], True
    if isinstance(of_class, types.MemberDescriptorType):
        return of_class.__get__(value, cls), True
    if type(of_class) is _FIELD_OF_TUPLE:
        parts = value.parts or () if type(value) is MadeObject else tuple(tuple.__iter__(value))
        return parts[_position(of_class)], True
    known = name == "__dict__" or of_class is vars(object)["__class__"]
    if of_class is not MISSING and in_class(type(of_class), "__set__") is not MISSING and not known:
        raise NotTriedError(f"the descriptor {cls.__name__}.{name}")
    if name == "__dict__" and own is not None:
        return own, False
    if name == "__class__":
        return cls, False
    if name == "__getattribute__":
        return BoundCall(value, plain), False
    if own is not None and name in own:
        return own[name], True
    if of_class is not MISSING:
        return _bound(of_class, value), False
    fallback = in_class(cls, "__getattr__")
    if fallback is MISSING or own is None:
        raise NoAttributeError(f"{cls.__name__} has no {name}")
    import torch

    if fallback is in_class(torch.nn.Module, "__getattr__"):
        for state in _STATES:
            if name in own.get(state, {}):
                return own[state][name], True
        raise NotTriedError(f"{cls.__name__} has no {name}")
    return Getter(fallback, (value, name)), False


def _position(field_of_tuple: Any) -> int:
    """Of a field of a named tuple."""
    position: int = field_of_tuple.__reduce__()[1][0]
    return position


def _bound(of_class: Any, value: Any) -> Any:
    if of_class is MISSING:
        raise NotTriedError("super() has no such attribute")
    if isinstance(of_class, staticmethod):
        return of_class.__func__
    if isinstance(of_class, classmethod):
        return BoundCall(value if isinstance(value, type) else class_of(value), of_class.__func__)
    plain = of_class is object.__getattribute__ or of_class is object.__setattr__
    if type(of_class) is types.FunctionType or plain or is_builtin_of(of_class, value):
        return BoundCall(value, of_class)
    if in_class(type(of_class), "__get__") is not MISSING:
        raise NotTriedError(f"a descriptor that is a {type(of_class).__name__}")
    return of_class


def check_no_hooks(module: Any) -> None:
    """NotTriedError where a call of ``module`` runs something besides its ``forward``."""
    import torch

    own = own_attributes(module) or {}
    inner = torch.nn.modules.module
    if any(own.get(name) for name in OWN_HOOKS) or any(getattr(inner, name, None) for name in _GLOBAL_HOOKS):
        raise NotTriedError("a hook of a module")
    if own.get("_compiled_call_impl") is not None or "forward" in own:
        raise NotTriedError("a module that is called in another way")
    if not runs_forward(module):
        raise NotTriedError(f"{type(module).__name__} has a __call__ of its own")
