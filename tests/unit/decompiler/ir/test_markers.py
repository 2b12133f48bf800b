"""The markers are a closed set, and each has its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest

from depyf.decompiler.ir import markers
from depyf.decompiler.ir.markers import AnyMarker, Marker, Unfinished, place_of

KINDS: tuple[type[Marker], ...] = get_args(AnyMarker)


def leaves(kind: type[Marker]) -> Iterator[type[Marker]]:
    below = kind.__subclasses__()
    for inner in below:
        yield from leaves(inner)
    if not below:
        yield kind


def test_the_set_is_closed() -> None:
    # a class with slots is made twice; the module has the second one
    made = {getattr(markers, kind.__name__) for kind in leaves(Marker)}
    assert made == set(KINDS)
    assert len(KINDS) == len(made)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_place(kind: type[Marker]) -> None:
    assert place_of(object.__new__(kind))
    assert kind.__module__ == markers.__name__


def test_another_class_has_no_place() -> None:
    class Stray(Marker):
        __slots__ = ()

    with pytest.raises(AssertionError, match="no marker"):
        place_of(Stray())


def test_operands_are_pending_in_operations_only() -> None:
    pending = {kind.__name__ for kind in KINDS if issubclass(kind, Unfinished)}
    assert pending == {"ToAwait", "CompToAwait", "ToDelegate", "Conversion", "Intrinsic", "ExceptTest"}
