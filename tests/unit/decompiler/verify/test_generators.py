"""Generators without the wrapper that 3.12+ puts around them: no source lets ``StopIteration`` out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.verify import Status, verify
from foreign import compiled_text, walk

TEXT = "def f(t):\n    yield t()\n"


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_missing_wrapper(version: str) -> None:
    good = next(unit for unit in walk(compiled_text(version, TEXT)) if unit.name == "f")
    bare = replace(good, exctable=b"")
    assert verify(good, good)[0].status is Status.IDENTICAL
    assert not verify(bare, good)[0].proven
    assert not verify(good, bare)[0].proven


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_wrapper_around_a_function(version: str) -> None:
    """The same handler in a function that is no generator is a handler like any other."""
    wrapped = next(unit for unit in walk(compiled_text(version, TEXT)) if unit.name == "f")
    flags = wrapped.flags & ~0x20
    assert not verify(replace(wrapped, flags=flags), replace(wrapped, flags=flags, exctable=b""))[0].proven
