"""Functions that do nothing, as generated code calls them."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.host.idle_calls import does_nothing


async def waits():
    return None


def takes(x=None):
    return None


def yields():
    return
    yield


def says():
    print()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: None, True),
        (lambda: 1, False),
        (takes, False),
        (waits, False),
        (yields, False),
        (says, False),
        (print, False),
        (None, False),
        (type("C", (), {"__call__": lambda self: None})(), False),
    ],
)
def test_does_nothing(value, expected):
    assert does_nothing(value) is expected
