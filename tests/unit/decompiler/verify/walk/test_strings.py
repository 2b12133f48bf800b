"""``BUILD_STRING`` joins strings; given anything else it raises, also where nothing reads the result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.assumptions import PLAIN_NOTE
from foreign import compiled_text, walk
from tools.env.interpreters import VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_part_that_is_no_string(version: str) -> None:
    unit = function(version, "def f(y):\n    f'y:{y}'\n")
    assert verify(unit, unit)[0].proven
    for other in (None, 3, b"y:"):
        changed = replace(unit, consts=tuple(other if const == "y:" else const for const in unit.consts))
        assert not verify(unit, changed)[0].proven
        assert not verify(changed, unit)[0].proven


@pytest.mark.parametrize("version", VERSIONS)
def test_parts_in_one_another(version: str) -> None:
    nested = function(version, "def f(y, z):\n    return f'a{f\"b{y}\"}'\n")
    flat = function(version, "def f(y, z):\n    return f'ab{y}'\n")
    assert verify(nested, flat)[0].proven


@pytest.mark.parametrize("version", VERSIONS)
def test_a_part_that_lives_longer(version: str) -> None:
    """What ``y`` formats to may be an object of a subclass: in the one it ends before ``z`` is formatted, in the other after."""
    nested = function(version, "def f(y, z):\n    return f'a{f\"b{y}\"}{z}'\n")
    flat = function(version, "def f(y, z):\n    return f'ab{y}{z}'\n")
    assert not verify(nested, flat)[0].proven
    assert verify(nested, flat, lifetimes=False)[0].proven


NOT_THE_SAME = {
    "formatted again": ("f'{y}'", "f'{f\"{y}\"}'"),
    "a part formatted again": ("f'a{y}{z}'", "f'a{f\"{y}\"}{z}'"),
    "formatted again after a conversion": ("f'{y!s}'", "f'{f\"{y!s}\"}'"),
    "formatted again after repr": ("f'{y!r}'", "f'{f\"{y!r}\"}'"),
    "formatted again with a format": ("f'{y:>3}'", "f'{f\"{y:>3}\"}'"),
    "converted again": ("f'{y!r}'", "f'{f\"{y!r}\"!s}'"),
    "converted": ("f'{y}'", "f'{y!s}'"),
    "converted otherwise": ("f'{y!a}'", "f'{y!r}'"),
    "an empty format": ("f'{y}'", "f'{y:}'"),
    "str of it": ("f'{y}'", "str(y)"),
    "str of what is converted": ("f'{y!s}'", "str(y)"),
    "format of it": ("f'{y}'", "format(y)"),
    "repr of it": ("f'{y!r}'", "repr(y)"),
    "joined": ("f'{y}'", "''.join([f'{y}'])"),
    "added": ("f'{y}{z}'", "f'{y}' + f'{z}'"),
    "added to nothing": ("f'{y}'", "f'{y}' + ''"),
    "by percent": ("'%s' % (y,)", "f'{y}'"),
    "twice, then compared": ("f'{y}' == f'{y}'", "(t := f'{y}') == t"),
}
"""``__format__``, ``__str__`` and ``__repr__`` may give an object of a subclass of ``str``, with methods of its own."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NOT_THE_SAME)
def test_a_format_may_give_another_string(version: str, name: str) -> None:
    one, other = (function(version, f"def f(y, z):\n    return {text}\n") for text in NOT_THE_SAME[name])
    assert not verify(one, other)[0].proven
    assert not verify(other, one)[0].proven
    assert verify(one, one)[0].proven


@pytest.mark.parametrize("version", VERSIONS)
def test_a_joined_string_formats_as_itself(version: str) -> None:
    one = function(version, "def f(y, z):\n    return f'{y}{z}'\n")
    assert verify(one, function(version, "def f(y, z):\n    return f'{f\"{y}{z}\"}'\n"))[0].proven


@pytest.mark.parametrize("version", VERSIONS)
def test_a_temporary_that_is_formatted_again_is_named(version: str) -> None:
    one = function(version, "def f(y, z):\n    return f'{y}{z}'\n")
    again = function(version, "def f(y, z):\n    __temp_1 = f'{y}'; return f'{__temp_1}{z}'\n")
    found = verify(one, again)[0]
    assert found.proven and PLAIN_NOTE in found.reason
    assert not verify(again, one)[0].proven


def function(version: str, text: str) -> CodeUnit:
    return next(unit for unit in walk(compiled_text(version, text)) if unit.name == "f")
