"""Where objects end in another order than in the original, the verdict names it; where they do not, it says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.verify import Status, Verdict, verify
from depyf.decompiler.verify.assumptions import END_ORDER_NOTE, FORGOTTEN_NOTE
from foreign import compiled_text, walk


def verdict(original: str, text: str) -> Verdict:
    units = []
    for body in (original, text):
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        code = compile(f"def f(a, b):\n{lines}", "<ends>", "exec", dont_inherit=True).co_consts[0]
        units.append(CodeUnit.from_code(code))
    found = verify(*units)[0]
    assert found.proven, found
    return found


@pytest.mark.parametrize(
    ("original", "text"),
    [
        ("a.x()", "__temp_0 = a.x()"),  # the result ends before the variables of the frame, and after them
        ("return a.x() + a.y()", "__temp_0 = a.x()\n__temp_1 = a.y()\nreturn __temp_0 + __temp_1"),
        ("b(a.y, a.z)\na.n", "__temp_0 = a.y\n__temp_1 = a.z\nb(__temp_0, __temp_1)\ndel __temp_1, __temp_0\na.n"),
        ("a = a.x\nb = a.y\na = None\nb = None\nlen", "a = a.x\nb = a.y\nb = None\na = None\nlen"),
        ("a = None\nb = None\nlen", "b = None\na = None\nlen"),  # of what was in them nothing is known
    ],
)
def test_another_order_is_named(original: str, text: str) -> None:
    assert END_ORDER_NOTE in verdict(original, text).reason


@pytest.mark.parametrize(
    ("original", "text"),
    [
        ("return not a", "return False if a else True"),
        ("a.x = b.y", "__temp_0 = b.y\na.x = __temp_0\ndel __temp_0\nreturn None"),
        ("if a:\n    return 1\nreturn 2", "if not a:\n    return 2\nreturn 1"),
        ("x = a.x\ny = b.y\nreturn x, y", "x = a.x\ny = b.y\n__temp_0 = 3\nreturn x, y"),
    ],
)
def test_the_same_order_needs_no_assumption(original: str, text: str) -> None:
    assert END_ORDER_NOTE not in verdict(original, text).reason


def test_a_temporary_of_one_way_is_named() -> None:
    original = "if a:\n    a.x = 1\nelse:\n    a.x = 2\nb.y()"
    text = "if a:\n    a.x = 1\nelse:\n    __temp_0 = a\n    __temp_0.x = 2\nb.y()"
    assert FORGOTTEN_NOTE in verdict(original, text).reason


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_a_variable_of_a_comprehension_ends_before_what_is_assigned(version: str) -> None:
    """The inlined loop gives its variable back before or after the list is stored, where the list has the last hold of its item."""
    text = "def f(a, b):\n    a = [b(x) for x in a]\n    return b(a)\n"
    other = text.replace("a]", "a] if True else [b(x) for x in a]")
    found = {v.qualname: v for v in verify(compiled_text(version, text), compiled_text(version, other))}["f"]
    assert found.proven and END_ORDER_NOTE in found.reason
    assert verify(compiled_text(version, text), compiled_text(version, text))[0].status is Status.IDENTICAL


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_an_exception_that_a_generator_keeps_to_its_end_is_named(version: str) -> None:
    """POP_TOP in the place of POP_EXCEPT, found by an attack: by its traceback the exception holds the frame, whose end comes later."""
    text = "def f(a):\n    with a:\n        yield a\n"
    unit = next(unit for unit in walk(compiled_text(version, text)) if unit.name == "f")
    names = spec_for(unit.version).opnames
    raw = decode(unit, spec_for(unit.version))
    for offset in [at for at, name in zip(raw.offsets, raw.names) if name == "POP_EXCEPT"]:
        code = bytearray(unit.code)
        code[offset] = names.index("POP_TOP")
        found = verify(unit, replace(unit, code=bytes(code), live=None))[0]
        assert found.reason, offset
