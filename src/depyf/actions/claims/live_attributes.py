"""What ``value.name`` is, for live objects, by the rules of ``object.__getattribute__`` and of ``nn.Module``.

Input: an object, a name, and what the call has written so far.  Output: the value, or what has to be called to get it.
Nothing of the program runs.  Sources: CPython's ``Objects/object.c`` (``_PyObject_GenericGetAttrWithDict``),
``torch/nn/modules/module.py`` (``__getattr__``, ``_call_impl``).
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

from depyf.actions.claims.terms import NotTriedError
from depyf.sources.live.pure_access import classes_of, own_attributes
from depyf.sources.live.unguarded.class_members import MISSING, in_class, runs_forward

_STATES = ("_parameters", "_buffers", "_modules")
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


def found(value: Any, name: str) -> tuple[Any, bool]:
    """The attribute ``name`` of ``value``, and whether the object itself has it, so that the program may rebind it.
    NotTriedError where reading it would run code that is not modelled."""
    if type(value) is types.ModuleType:
        if name == "__getattribute__":
            return BoundCall(value, types.ModuleType.__getattribute__), False
        if name not in value.__dict__:
            raise NotTriedError(f"module {value.__name__} has no {name}")
        return value.__dict__[name], True
    if isinstance(value, SuperView):
        first = value.first
        cls = first if isinstance(first, type) else classes_of(first)[0]
        return _bound(in_class(cls, name, value.cls), first), False
    if isinstance(value, type):
        return _of_class(value, name), False
    if type(value) is types.FunctionType:
        if name not in value.__dict__:
            raise NotTriedError(f"an attribute of a function: {name}")
        return value.__dict__[name], True
    return _of_object(value, name)


def _of_class(cls: type, name: str) -> Any:
    plain = in_class(cls, name)
    if name == "__name__":
        return cls.__name__
    if plain is MISSING or in_class(type(cls), name) is not MISSING and type(cls) is not type:
        raise NotTriedError(f"the attribute {name} of a class")
    if isinstance(plain, staticmethod):
        return plain.__func__
    if isinstance(plain, classmethod):
        return BoundCall(cls, plain.__func__)
    return plain


def _of_object(value: Any, name: str) -> tuple[Any, bool]:
    cls = type(value)
    plain: Any = in_class(cls, "__getattribute__")
    if plain not in (vars(object)["__getattribute__"], vars(types.ModuleType)["__getattribute__"]):
        raise NotTriedError(f"{cls.__name__} has a __getattribute__ of its own")
    of_class = in_class(cls, name)
    if isinstance(of_class, property):
        return Getter(of_class.fget, (value,)), False
    if isinstance(of_class, types.MemberDescriptorType):
        return of_class.__get__(value, cls), True
    if of_class is not MISSING and in_class(type(of_class), "__set__") is not MISSING and name != "__dict__":
        raise NotTriedError(f"the descriptor {cls.__name__}.{name}")
    own = own_attributes(value)
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
        raise NotTriedError(f"{cls.__name__} has no {name}")
    import torch

    if fallback is in_class(torch.nn.Module, "__getattr__"):
        for state in _STATES:
            if name in own.get(state, {}):
                return own[state][name], True
        raise NotTriedError(f"{cls.__name__} has no {name}")
    return Getter(fallback, (value, name)), False


def _bound(of_class: Any, value: Any) -> Any:
    if of_class is MISSING:
        raise NotTriedError("super() has no such attribute")
    if isinstance(of_class, staticmethod):
        return of_class.__func__
    if isinstance(of_class, classmethod):
        return BoundCall(value if isinstance(value, type) else type(value), of_class.__func__)
    if type(of_class) is types.FunctionType:
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
