"""What a pickle says, as plain data: nothing of it is looked up, called or made.

Numbers, texts, bytes, tuples and lists stand for themselves.  Dicts and sets are kept as sequences, so that nothing of
the file is hashed or compared; an object is the name of the function that would make it, with its arguments.  They
refer to each other as the objects would: in circles, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Named:
    """An imported object: its module and its qualified name there."""

    module: str
    name: str

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class Pairs:
    """The items of a dict."""

    pairs: list[tuple[object, object]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Members:
    """The members of a set, or of a frozenset."""

    members: list[object] = field(default_factory=list)
    frozen: bool = False


@dataclass(slots=True, eq=False)
class External:
    """An object that the loader of the file must provide, under ``key``."""

    key: object


@dataclass(slots=True, eq=False)
class Called:
    """The result of a call: of a function, or of a class that makes an object.

    ``states`` are given to the object afterwards (``__setstate__`` or its ``__dict__``), then ``items`` are appended to
    it and ``pairs`` are set in it.
    """

    function: object
    arguments: object = ()
    keywords: object = None
    states: list[object] = field(default_factory=list)
    items: list[object] = field(default_factory=list)
    pairs: list[tuple[object, object]] = field(default_factory=list)

    @property
    def positional(self) -> tuple[object, ...]:
        """The arguments; none where what is given for them is no tuple, as in a damaged file."""
        return self.arguments if isinstance(self.arguments, tuple) else ()

    @property
    def name(self) -> str:
        """The last part of the name of the class or function; empty where it is no plain name."""
        return self.function.name.rpartition(".")[2] if isinstance(self.function, Named) else ""


def fields(value: object) -> dict[str, object]:
    """The attributes that are set in an object, or the items of a dict, by those of their names that are texts."""
    return {
        key: item
        for source in (_states(value) if isinstance(value, Called) else [value])
        if isinstance(source, Pairs)
        for key, item in source.pairs
        if type(key) is str
    }


def _states(value: Called) -> Iterator[object]:
    """What is given to an object; with slots that is a pair of its ``__dict__`` and them."""
    for state in value.states:
        if type(state) is tuple and len(state) == 2 and all(isinstance(one, (Pairs, type(None))) for one in state):
            yield from (one for one in state if one is not None)
        else:
            yield state


def inside(value: object) -> Iterator[tuple[object, object]]:
    """The parts of an object, each with its name or index, in the order of the file."""
    if isinstance(value, (tuple, list)):
        yield from enumerate(value)
    elif isinstance(value, Members):
        yield from enumerate(value.members)
    elif isinstance(value, External):
        yield "key", value.key
    elif isinstance(value, Pairs):
        yield from _of_pairs(value.pairs)
    elif isinstance(value, Called):
        if not isinstance(value.function, Named):
            yield "function", value.function
        yield from enumerate(value.positional)
        if value.keywords is not None:
            yield "keywords", value.keywords
        for state in _states(value):
            yield from _of_pairs(state.pairs) if isinstance(state, Pairs) else (("state", state),)
        yield from enumerate(value.items)
        yield from _of_pairs(value.pairs)


def _of_pairs(pairs: list[tuple[object, object]]) -> Iterator[tuple[object, object]]:
    for key, item in pairs:
        if type(key) in (str, int):
            yield key, item
        else:
            yield "key", key
            yield "value", item
