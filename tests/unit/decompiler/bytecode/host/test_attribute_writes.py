"""Attributes that a function writes, in functions inside of it, too."""

from __future__ import annotations

from depyf.decompiler.bytecode.host.attribute_writes import written_attributes


def writes(a, b):
    a.one = b.not_written
    a.counted += 1
    del b.gone
    local = a.read

    def inner():
        b.inside = local

    return inner


def test_names() -> None:
    assert written_attributes(writes.__code__) == {"one", "counted", "gone", "inside"}


def test_many_names() -> None:
    """An argument of more than a byte."""
    space: dict = {}
    exec("def f(a):\n" + "\n".join(f"    a.x{n}" for n in range(300)) + "\n    a.last = 1", space)
    assert written_attributes(space["f"].__code__) == {"last"}
