"""Objects that the evaluated code makes itself: instances of the program's classes.

Input: a class with the arguments of its call.  Output: a ``MadeObject``, which code of the program writes and reads as
it would the instance.  Nothing of the program runs.  Instances are modelled of plain classes, with ``__slots__`` or
without, of dataclasses, of named tuples and of classes that derive from ``dict`` or ``OrderedDict``; for others there
is a ``NotTriedError``.  Sources: CPython's ``Objects/typeobject.c`` (``type_call``, ``object_new``),
``Objects/object.c`` (``_PyObject_GenericSetAttrWithDict``), ``Objects/odictobject.c``.
"""

from __future__ import annotations

import abc
import collections
import types
import typing
from dataclasses import dataclass, field
from typing import Any

from depyf.actions.claims.terms import NotTriedError
from depyf.sources.live.pure_access import classes_of, own_attributes
from depyf.sources.live.unguarded.class_members import MISSING, in_class

_HEAP = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: the class was made by a ``class`` statement."""
_CLOSED, _IMMUTABLE = 1 << 7, 1 << 8
"""``Py_TPFLAGS_DISALLOW_INSTANTIATION`` and ``Py_TPFLAGS_IMMUTABLETYPE``."""
_BASES = frozenset((object, dict, collections.OrderedDict, tuple, typing.Generic, abc.ABC))
_BUILTIN = (types.WrapperDescriptorType, types.MethodDescriptorType)
_OF_C = (*_BUILTIN, types.GetSetDescriptorType, types.MemberDescriptorType)
_EVERYWHERE = ("__dict__", "__weakref__")


@dataclass(eq=False, slots=True)
class MadeObject:
    """An instance that the evaluation made."""

    cls: type
    attributes: dict[str, Any] = field(default_factory=dict)
    """Those of its ``__dict__`` and of its slots, in the order in which they were written."""
    items: dict[Any, Any] | None = None
    """What it holds as a ``dict``."""
    parts: tuple[Any, ...] | None = None
    """What it holds as a ``tuple``."""


def class_of(value: Any) -> type:
    """The class of an object of the program, or of one that the evaluation made."""
    return value.cls if type(value) is MadeObject else type(value)


def classes_above(value: Any) -> tuple[type, ...]:
    """That class, and those it inherits from."""
    return tuple(type.mro(value.cls)) if type(value) is MadeObject else classes_of(value)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """What the object itself has; None where it can have nothing."""
    return value.attributes if type(value) is MadeObject else own_attributes(value)


def empty(cls: Any, args: tuple[Any, ...] = ()) -> MadeObject:
    """What the ``__new__`` of ``object``, ``dict`` or ``tuple`` gives for the class.  ``args``: the items of a tuple.
    NotTriedError for a class of which instances are not modelled."""
    if not isinstance(cls, type):
        raise NotTriedError("an object is made of what is no class")
    order = type.mro(cls)
    if cls in _BASES or any(one not in _BASES and not (_flags(one) & _HEAP and _is_plain(one)) for one in order):
        raise NotTriedError(f"a {cls.__name__} is made")
    if in_class(cls, "__del__") is not MISSING:
        raise NotTriedError(f"a {cls.__name__} is made, which has a __del__")
    if tuple in order:
        return MadeObject(cls, parts=args)
    return MadeObject(cls, items={} if dict in order else None)


def _is_plain(cls: type) -> bool:
    """Whether a ``class`` statement made it.  What C code makes has methods and fields in C, or may not be changed."""
    if _flags(cls) & (_CLOSED | _IMMUTABLE):
        return False
    held = type.__getattribute__(cls, "__dict__")
    if not isinstance(held.get("__new__"), (staticmethod, types.FunctionType, type(None))):
        return False
    fields = () if "__slots__" not in held else (types.MemberDescriptorType,)
    return not any(
        type(one) in _OF_C and type(one) not in fields and one.__objclass__ is cls and name not in _EVERYWHERE
        for name, one in held.items()
    )


def _flags(cls: type) -> int:
    """As ``type`` has them, whatever the metaclass says."""
    flags: int = type.__getattribute__(cls, "__flags__")
    return flags


def maker_of(cls: type) -> Any:
    """The function that ``cls(...)`` calls first: a Python function, or None for the ``__new__`` of ``object``,
    ``dict`` or ``tuple``.  NotTriedError where the metaclass makes the instances."""
    if in_class(type(cls), "__call__") is not type.__dict__["__call__"]:
        raise NotTriedError(f"the metaclass of {cls.__name__} makes its instances")
    made = in_class(cls, "__new__")
    if isinstance(made, staticmethod):
        made = made.__func__
    if isinstance(made, types.FunctionType):
        return made
    if not any(made is one for one in (object.__new__, dict.__new__, tuple.__new__)):
        raise NotTriedError(f"the __new__ of {cls.__name__}")
    return None


def is_builtin_of(function: Any, value: Any) -> bool:
    """Whether it is a method that ``object``, ``dict``, ``OrderedDict`` or ``tuple`` gives to a made object."""
    return type(value) is MadeObject and type(function) in _BUILTIN and function.__objclass__ in type.mro(value.cls)


def set_plainly(made: MadeObject, name: str, value: Any) -> None:
    """``object.__setattr__``.  NotTriedError where a descriptor of the class would take the value."""
    of_class = in_class(made.cls, name)
    slot = type(of_class) is types.MemberDescriptorType
    if of_class is not MISSING and not slot and in_class(type(of_class), "__set__") is not MISSING:
        raise NotTriedError(f"the descriptor {made.cls.__name__}.{name} is written")
    if not slot and not has_dict(made.cls):
        raise NotTriedError(f"a {made.cls.__name__} has no {name}")
    made.attributes[name] = value


def has_dict(cls: type) -> bool:
    """Whether its instances have a ``__dict__``."""
    order = type.mro(cls)
    own = [type.__getattribute__(one, "__dict__") for one in order if one not in _BASES]
    return collections.OrderedDict in order or any("__slots__" not in held or "__dict__" in held for held in own)
