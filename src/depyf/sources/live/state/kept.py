"""What one mutable object of the program holds, kept so that it can be put back.

Input: the object.  Each class keeps one kind: ``now()`` is what it holds (a tuple of parts with their names),
``changed()`` says whether that is no longer what was kept, ``put_back()`` writes the kept parts into the very same
object.  Nothing is written where nothing changed.  The methods of the builtin classes are called, never those of the
program's subclasses.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from depyf.sources.live.pure_access import class_namespace, classes_of

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "nothing"})()
Parts = tuple[tuple[str, Any], ...]
"""(how the part is written after the name of its owner, the part)."""


_PLAIN_KEYS = (str, int, bool, float, bytes)


class Kept:
    """An object and its content at the time of creation."""

    __slots__ = ("before", "path", "value")

    def __init__(self, value: Any, path: str) -> None:
        self.value = value
        self.path = path
        self.before = self.now()

    @property
    def is_quiet(self) -> bool:
        """Whether it is put back and not compared: what Python itself remembers, such as the warnings it has shown."""
        return False

    def now(self) -> Parts:
        """The current content.  NotImplementedError in this base class."""
        raise NotImplementedError

    def write(self, parts: Parts) -> None:
        """Replace the content of the object by ``parts``.  NotImplementedError in this base class."""
        raise NotImplementedError

    def changed(self) -> bool:
        found = self.now()
        return len(found) != len(self.before) or any(
            name != kept or part is not value for (name, part), (kept, value) in zip(found, self.before)
        )

    def put_back(self) -> None:
        if self.changed():
            self.write(self.before)


class KeptDict(Kept):
    """A dict, or the ``__dict__`` of an object: the order of the keys counts."""

    __slots__ = ("attributes", "keys", "kind", "quiet")

    def __init__(self, value: Any, path: str, *, attributes: bool = False, quiet: bool = False) -> None:
        self.attributes, self.quiet = attributes, quiet
        ordered = collections.OrderedDict in classes_of(value)
        self.kind: Any = collections.OrderedDict if ordered else dict  # it keeps another order than dict
        self.keys: list[Any] = list(self.kind.keys(value))
        super().__init__(value, path)

    @property
    def is_quiet(self) -> bool:
        return self.quiet

    def now(self) -> Parts:
        return tuple((self._name(key, n), part) for n, (key, part) in enumerate(self.kind.items(self.value)))

    def _name(self, key: Any, number: int) -> str:
        if self.attributes and type(key) is str:
            return f".{key}"
        return f"[{key!r}]" if type(key) in _PLAIN_KEYS else f"[key {number}]"

    def changed(self) -> bool:
        keys = list(self.kind.keys(self.value))
        if len(keys) != len(self.keys) or not all(map(_one_key, keys, self.keys)):
            return True
        return any(part is not kept for part, (_, kept) in zip(self.kind.values(self.value), self.before))

    def write(self, parts: Parts) -> None:
        self.kind.clear(self.value)
        for key, (_, part) in zip(self.keys, parts):
            self.kind.__setitem__(self.value, key, part)


def _one_key(one: Any, other: Any) -> bool:
    """Whether two keys are one object, or two texts or numbers alike: to ask others would run code of the program."""
    return one is other or (type(one) is type(other) and type(one) in _PLAIN_KEYS and bool(one == other))


class KeptNames(Kept):
    """Some names of a namespace: the globals that a function can read or write."""

    __slots__ = ("names", "shown")

    def __init__(self, value: Any, path: str, names: Iterable[str], shown: Callable[[str], str] = str) -> None:
        self.names = sorted(names)
        self.shown = shown
        super().__init__(value, path)

    def now(self) -> Parts:
        return tuple((self.shown(name), dict.get(self.value, name, ABSENT)) for name in self.names)

    def write(self, parts: Parts) -> None:
        for name, (_, part) in zip(self.names, parts):
            if part is not ABSENT:
                dict.__setitem__(self.value, name, part)
            elif dict.__contains__(self.value, name):
                dict.__delitem__(self.value, name)


class KeptItems(Kept):
    """A list, a deque, a set or a bytearray."""

    __slots__ = ("kind",)

    def __init__(self, value: Any, path: str, kind: Any) -> None:
        self.kind = kind
        super().__init__(value, path)

    def now(self) -> Parts:
        if self.kind is set:
            return tuple((f"{{{name}}}", part) for name, part in named_members(set(self.value)))
        if self.kind is bytearray:
            return (("", bytes(self.value)),)
        return tuple((f"[{number}]", part) for number, part in enumerate(self.kind.__iter__(self.value)))

    def changed(self) -> bool:
        if self.kind is bytearray:
            return bool(self.now() != self.before)
        return super().changed()

    def write(self, parts: Parts) -> None:
        if self.kind is bytearray:
            self.value[:] = parts[0][1]
            return
        self.kind.clear(self.value)
        for _, part in parts:
            (set.add if self.kind is set else self.kind.append)(self.value, part)


def named_members(members: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The members of a set with names: texts and numbers, in a fixed order, have their own; others have numbers."""
    plain = [one for one in members if type(one) in _PLAIN_KEYS]
    yield from ((repr(one), one) for one in sorted(plain, key=repr))
    yield from ((str(number), one) for number, one in enumerate(one for one in members if type(one) not in _PLAIN_KEYS))


class KeptCell(Kept):
    """A variable that functions share."""

    __slots__ = ()

    def now(self) -> Parts:
        try:
            return (("", self.value.cell_contents),)
        except ValueError:
            return (("", ABSENT),)

    def write(self, parts: Parts) -> None:
        if parts[0][1] is ABSENT:
            del self.value.cell_contents
        else:
            self.value.cell_contents = parts[0][1]


class KeptSlots(Kept):
    """The ``__slots__`` of an object."""

    __slots__ = ()

    @staticmethod
    def of(value: Any) -> dict[str, Any]:
        """The slots of ``value``: name -> descriptor."""
        return {
            name: found
            for cls in reversed(classes_of(value))
            for name, found in class_namespace(cls).items()
            if type(found) is types.MemberDescriptorType and "__slots__" in class_namespace(cls)
        }

    def now(self) -> Parts:
        return tuple((f".{name}", _slot(found, self.value)) for name, found in self.of(self.value).items())

    def write(self, parts: Parts) -> None:
        for found, (_, part) in zip(self.of(self.value).values(), parts):
            if part is not ABSENT:
                found.__set__(self.value, part)
            elif _slot(found, self.value) is not ABSENT:
                found.__delete__(self.value)


def _slot(descriptor: Any, value: Any) -> Any:
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return ABSENT


_OF_CLASSES = ("__dict__", "__weakref__", "__doc__", "__abstractmethods__", "_abc_impl", "__annotations__",
               "__annotations_cache__", "__annotate_func__", "__static_attributes__", "__firstlineno__")  # fmt: skip


class KeptClass(Kept):
    """The attributes of a class of the program."""

    __slots__ = ()

    def now(self) -> Parts:
        found = sorted(class_namespace(self.value).items())
        return tuple((f".{name}", part) for name, part in found if name not in _OF_CLASSES)

    def write(self, parts: Parts) -> None:
        kept = dict(parts)
        for name, part in self.now():
            if name not in kept:
                type.__delattr__(self.value, name[1:])
            elif kept[name] is part:
                del kept[name]
        for name, part in kept.items():
            type.__setattr__(self.value, name[1:], part)


class KeptFunction(Kept):
    """The defaults of a function."""

    __slots__ = ()

    def now(self) -> Parts:
        defaults = self.value.__defaults__ or ()
        own = (".__defaults__", self.value.__defaults__), (".__kwdefaults__", self.value.__kwdefaults__)
        return (*own, *((f".__defaults__[{number}]", default) for number, default in enumerate(defaults)))

    def write(self, parts: Parts) -> None:
        self.value.__defaults__ = parts[0][1]
        self.value.__kwdefaults__ = parts[1][1]


class KeptBy(Kept):
    """An object with functions that get and set its state, such as a random generator or a list iterator."""

    __slots__ = ("get", "put", "quiet", "same")

    def __init__(
        self,
        value: Any,
        path: str,
        get: Callable[[Any], Any],
        put: Callable[[Any, Any], Any],
        same: Any = None,
        *,
        quiet: bool = False,
    ) -> None:
        self.get, self.put, self.quiet = get, put, quiet
        self.same: Callable[[Any, Any], bool] = same or (lambda one, other: bool(one == other))
        super().__init__(value, path)

    @property
    def is_quiet(self) -> bool:
        return self.quiet

    def now(self) -> Parts:
        return (("", self.get(self.value)),)

    def changed(self) -> bool:
        return not self.same(self.now()[0][1], self.before[0][1])

    def write(self, parts: Parts) -> None:
        self.put(self.value, parts[0][1])
