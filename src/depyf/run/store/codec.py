"""Records to JSON values and back, by the types of their fields.

Input of ``plain``: a frozen dataclass whose fields are texts, numbers, truth values, enums, None, tuples of these, and
such dataclasses.  Output: dictionaries and lists for ``json``; a field that has its default is left out.  Input of
``made``: what anybody may have written.  Output invariant: each field has the type that its class says; fields that the
class does not have are ignored, so that a newer depyf's files can be read; a field with ``earlier`` in its metadata is
also read under that name of an earlier depyf.  ``NotThat`` says where a value is of another type.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import types
import typing
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
Plain = Callable[[Any], Any]
Made = Callable[[Any, str], Any]


class NotThat(ValueError):
    """A stored value that does not have the type of its field."""


@dataclasses.dataclass(frozen=True, slots=True)
class Coding:
    """How values of one type are written and read.  ``to_plain`` is None where the value is written as it is."""

    to_plain: Plain | None
    to_made: Made


def plain(record: Any) -> dict[str, Any]:
    """The fields of ``record`` as JSON values."""
    coding = coding_of(typing.cast(Hashable, type(record)))
    assert coding.to_plain is not None
    found: dict[str, Any] = coding.to_plain(record)
    return found


def made(kind: type[Record], value: Any, where: str) -> Record:
    """The record of class ``kind`` in ``value``; NotThat, which begins with ``where``, where there is none."""
    found: Record = coding_of(typing.cast(Hashable, kind)).to_made(value, where)
    return found


@functools.cache
def coding_of(hint: Hashable) -> Coding:
    """The coding of a type; TypeError for one that a record must not have."""
    if hint is float:
        return Coding(None, _number)
    if hint in _SIMPLE:
        return Coding(None, functools.partial(_simple, _SIMPLE[hint]))
    if hint is Any:
        return Coding(None, lambda value, where: value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return Coding(lambda value: value.value, functools.partial(_member, hint))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _of_record(hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _of_union(tuple(part for part in parts if part is not type(None)), type(None) in parts)
    if origin is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        return _of_items(coding_of(parts[0]))
    if origin is tuple:
        return _of_fixed([coding_of(part) for part in parts])
    if origin is dict and parts[0] is str:
        return _of_table(coding_of(parts[1]))
    raise TypeError(f"{hint!r} is no type of a field of a record")


_SIMPLE: dict[Any, tuple[str, tuple[type, ...]]] = {
    str: ("a text", (str,)), int: ("a whole number", (int,)), bool: ("true or false", (bool,)),
    float: ("a number", (float, int)),
}  # fmt: skip


def _simple(wanted: tuple[str, tuple[type, ...]], value: Any, where: str) -> Any:
    what, kinds = wanted
    if type(value) not in kinds:
        raise NotThat(f"{where} is not {what}")
    return value


def _number(value: Any, where: str) -> float:
    try:
        return float(_simple(_SIMPLE[float], value, where))
    except OverflowError:
        raise NotThat(f"{where} is not a number of ordinary size") from None


def _member(kind: type[enum.Enum], value: Any, where: str) -> enum.Enum:
    try:
        return kind(value)
    except ValueError:
        raise NotThat(f"{where} is none of {', '.join(str(member.value) for member in kind)}") from None


@dataclasses.dataclass(frozen=True, slots=True)
class StoredField:
    """A field of a record, as it is stored in JSON."""

    name: str
    key: str
    """What it is called in JSON: the ``as`` of its metadata, where its name is a word of Python's or says too
    little."""
    hint: Any
    """Its type."""
    default: Any
    """``dataclasses.MISSING``: it is always written."""


@functools.cache
def stored_fields(kind: type) -> tuple[StoredField, ...]:
    """The fields of a record that are written, in their order."""
    hints = get_type_hints(kind)
    found = []
    for field in dataclasses.fields(kind):
        if field.metadata.get("stored", True):
            factory = field.default_factory
            default = factory() if factory is not dataclasses.MISSING else field.default
            found.append(StoredField(field.name, field.metadata.get("as", field.name), hints[field.name], default))
    return tuple(found)


def _of_record(kind: type) -> Coding:
    fields = [(field.name, field.key, field.default, coding_of(field.hint)) for field in stored_fields(kind)]
    elsewhere = {
        field.name: "" if get_type_hints(kind)[field.name] is str else ()
        for field in dataclasses.fields(kind)
        if not field.metadata.get("stored", True) and field.default is field.default_factory is dataclasses.MISSING
    }
    earlier = {
        field.metadata["earlier"]: field.metadata.get("as", field.name)
        for field in dataclasses.fields(kind)
        if "earlier" in field.metadata
    }
    required = frozenset(key for _, key, default, _ in fields if default is dataclasses.MISSING)

    values_of = operator.attrgetter(*(name for name, *_ in fields), "__class__")  # of several names it gives a tuple
    written = [(key, default, coding.to_plain) for _, key, default, coding in fields]

    def to_plain(record: Any) -> dict[str, Any]:
        page = {}
        for value, (key, default, write) in zip(values_of(record), written):
            if value is default or value == default:
                continue
            page[key] = value if write is None else write(value)
        return page

    def to_made(value: Any, where: str) -> Any:
        if type(value) is not dict:
            raise NotThat(f"{where} is not an object")
        if not earlier.keys().isdisjoint(value):
            value = {earlier.get(key, key): item for key, item in value.items()}
        missing = required - value.keys()
        if missing:
            raise NotThat(f"{where} has no {min(missing)!r}")
        return kind(**elsewhere, **{
            name: coding.to_made(value[key], f"{where}.{key}") for name, key, _, coding in fields if key in value
        })  # fmt: skip

    return Coding(to_plain, to_made)


def _of_union(parts: tuple[Any, ...], none: bool) -> Coding:
    """One type or None; or several simple types, which JSON keeps apart."""
    if len(parts) == 1:
        inner = coding_of(parts[0])
        write = inner.to_plain
        return Coding(
            None if write is None else lambda value: None if value is None else write(value),
            lambda value, where: None if value is None and none else inner.to_made(value, where),
        )
    names = " or ".join(_SIMPLE[part][0] for part in parts)
    kinds = tuple(kind for part in parts for kind in _SIMPLE[part][1])

    def to_made(value: Any, where: str) -> Any:
        return None if value is None and none else _simple((names, kinds), value, where)

    return Coding(None, to_made)


def _list(value: Any, where: str) -> list[Any]:
    if type(value) is not list:
        raise NotThat(f"{where} is not a list")
    return value


def _of_items(inner: Coding) -> Coding:
    write = inner.to_plain
    return Coding(
        list if write is None else lambda value: [write(item) for item in value],
        lambda value, where: tuple([
            inner.to_made(item, f"{where}[{number}]") for number, item in enumerate(_list(value, where))
        ]),
    )  # fmt: skip


def _of_fixed(parts: list[Coding]) -> Coding:
    def to_plain(value: Any) -> list[Any]:
        return [item if part.to_plain is None else part.to_plain(item) for item, part in zip(value, parts)]

    def to_made(value: Any, where: str) -> tuple[Any, ...]:
        if len(_list(value, where)) != len(parts):
            raise NotThat(f"{where} is not a list of {len(parts)}")
        return tuple(part.to_made(item, f"{where}[{number}]") for number, (item, part) in enumerate(zip(value, parts)))

    return Coding(to_plain, to_made)


def _of_table(inner: Coding) -> Coding:
    write = inner.to_plain

    def to_made(value: Any, where: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise NotThat(f"{where} is not an object")
        return {name: inner.to_made(item, f"{where}.{name}") for name, item in value.items()}

    return Coding(dict if write is None else lambda value: {name: write(item) for name, item in value.items()}, to_made)
