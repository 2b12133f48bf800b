"""Calls that make objects, and what ``object``, ``dict``, ``OrderedDict`` and ``tuple`` do with these.

Input: a class, or a method of one of these four, with its arguments.  Output: what the call returns.  Methods that the
program's classes define are evaluated by their text, in the order in which Python calls them.
"""

from __future__ import annotations

import collections
import dataclasses
import types
from collections.abc import Callable, Mapping
from typing import Any

from depyf.actions.claims.made_objects import (
    MadeObject,
    class_of,
    classes_above,
    empty,
    has_dict,
    is_builtin_of,
    maker_of,
    set_plainly,
)
from depyf.actions.claims.object_model import ObjectModel
from depyf.actions.claims.terms import NotTriedError
from depyf.sources.live.unguarded.class_members import in_class

NEW = (object.__new__, dict.__new__, tuple.__new__)


class MadeCalls:
    """The objects that one side of the comparison makes."""

    def __init__(self, model: ObjectModel, call: Callable[[Any, tuple[Any, ...], Mapping[str, Any]], Any]) -> None:
        self._model = model
        self._call = call

    def instance(self, cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """``cls(*args, **kwargs)``.  NotTriedError for a class of which instances are not modelled."""
        maker = maker_of(cls)
        made = self.empty(cls, args) if maker is None else self._call(maker, (cls, *args), kwargs)
        if cls not in classes_above(made):
            return made
        if type(made) is not MadeObject:
            raise NotTriedError(f"a {cls.__name__} is made")
        start = in_class(made.cls, "__init__")
        if type(start) is types.FunctionType:
            self._call(start, (made, *args), kwargs)
        elif not is_builtin_of(start, made):
            raise NotTriedError(f"the __init__ of {cls.__name__}")
        elif start is not object.__init__:  # which takes what __new__ has taken
            self.of_builtin(made, start, args, kwargs)
        return made

    def empty(self, cls: Any, args: tuple[Any, ...]) -> MadeObject:
        """``object.__new__(cls, *args)``; for ``dict`` and ``tuple`` theirs."""
        parts = tuple(self._model.iterate(args[0])) if args and isinstance(cls, type) and tuple in type.mro(cls) else ()
        made: MadeObject = self._model.own(empty(cls, parts))
        return made

    def of_builtin(self, made: MadeObject, method: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """``method(made, *args)``, a method in C of one of the four.  NotTriedError for one that is not modelled."""
        of, name = method.__objclass__, method.__name__
        if of is object or name in ("__setattr__", "__getattribute__"):  # the others have those of object
            return self._of_object(made, name, args, kwargs)
        if made.parts is not None and of is tuple:
            return self._of_tuple(made.parts, name, args)
        if made.items is not None and of in (dict, collections.OrderedDict):
            return self._of_dict(made, made.items, method, args, kwargs)
        raise NotTriedError(f"{name} of a {made.cls.__name__}")

    def _of_object(self, made: MadeObject, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if name == "__init__" and not args and not kwargs:
            return None
        if name == "__setattr__" and not kwargs:
            return set_plainly(made, self._model.plain(args[0]), args[1])
        if name == "__getattribute__" and not kwargs:
            return self._model.attribute(made, self._model.plain(args[0]), plainly=True)
        raise NotTriedError(f"{name} of a {made.cls.__name__}")

    def _of_tuple(self, parts: tuple[Any, ...], name: str, args: tuple[Any, ...]) -> Any:
        if name == "__len__":
            return len(parts)
        if name == "__iter__":
            return iter(parts)
        if name == "__getitem__":
            return parts[self._model.plain(args[0])]
        raise NotTriedError(f"{name} of a tuple")

    def _of_dict(
        self, made: MadeObject, items: dict[Any, Any], method: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        name = method.__name__
        if name == "__init__":
            return self._filled(made, items, method.__objclass__, args, kwargs)
        if kwargs:
            raise NotTriedError(f"{name} of a dict with keywords")
        if name in ("__len__", "__iter__", "keys", "clear") and not args:
            return {"__len__": items.__len__, "clear": items.clear}.get(name, lambda: iter(list(items)))()
        if name in ("values", "items") and not args:
            return iter(list(items.values() if name == "values" else items.items()))
        if name not in ("__getitem__", "__setitem__", "__contains__", "get"):
            raise NotTriedError(f"{name} of a {made.cls.__name__}")
        key = self._model.plain(args[0])
        if name == "__setitem__":
            items[key] = args[1]
            return None
        if name == "__contains__":
            return key in items
        if name == "get":
            return items.get(key, args[1] if len(args) > 1 else None)
        if key not in items:
            raise NotTriedError("a key that is not there")
        return items[key]

    def _filled(
        self, made: MadeObject, items: dict[Any, Any], of: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """``dict.__init__`` puts items in itself; that of ``OrderedDict`` calls the class's ``__setitem__``."""
        given: dict[Any, Any] = {}
        if args and type(args[0]) in (dict, collections.OrderedDict):
            given = {key: self._model.item(args[0], key) for key in self._model.iterate(args[0])}
        elif args:
            pairs = (tuple(self._model.iterate(pair)) for pair in self._model.iterate(args[0]))
            given = {self._model.plain(key): value for key, value in pairs}
        for key, value in (given | dict(kwargs)).items():
            if of is dict:
                items[key] = value
            else:
                self._model.put_item(made, key, value)


def written_beside(model: ObjectModel, holder: Any, name: str, value: Any) -> None:
    """``object_setattr_ignore_descriptor`` of ``torch/_dynamo/utils.py``: into the ``__dict__`` of ``holder``."""
    if type(holder) is not MadeObject:
        return model.write(holder, name, value)
    if not has_dict(holder.cls):
        raise NotTriedError(f"a {holder.cls.__name__} has no {name}")
    holder.attributes[name] = value
    return None


def fields_of(value: Any) -> tuple[Any, ...]:
    """``dataclasses.fields``.  NotTriedError for what is no dataclass."""
    found = in_class(value if isinstance(value, type) else class_of(value), "__dataclass_fields__")
    if type(found) is not dict or any(type(one) is not dataclasses.Field for one in found.values()):
        raise NotTriedError("the fields of what is no dataclass")
    kind = dataclasses._FIELD  # type: ignore[attr-defined]
    return tuple(one for one in found.values() if one._field_type is kind)
