"""Code that does not begin, call or yield as the interpreter needs it is refused, or not proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import needs
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import Raw, decode
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.assumptions import AWAITED_NOTE
from depyf.decompiler.verify.recompiling.recompile import recompile
from depyf.errors import BytecodeError

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
Change = Callable[[bytearray, Raw], None]


def function(version: str, text: str, *path: str) -> CodeUnit:
    needs.need(version)
    major, minor = map(int, version.split("."))
    return recompile(text, (major, minor), path or ("f",)).unit


def changed(unit: CodeUnit, change: Change) -> CodeUnit:
    code = bytearray(unit.code)
    change(code, decode(unit, spec_for(unit.version)))
    return replace(unit, code=bytes(code), live=None)


def to_nop(*names: str) -> Change:
    def change(code: bytearray, raw: Raw) -> None:
        spec = spec_for(raw.unit.version)
        nop = spec.opnames.index("NOP")
        for name, opcode, offset in zip(raw.names, raw.opcodes, raw.offsets):
            if name in names:
                width = 2 + spec.caches[opcode]
                code[offset : offset + width] = bytes((nop, 0)) * (width // 2)

    return change


def with_operand(name: str, plus: int) -> Change:
    def change(code: bytearray, raw: Raw) -> None:
        code[raw.offsets[raw.names.index(name)] + 1] += plus

    return change


def exchanged(first: str, second: str) -> Change:
    """Two neighbours in the other order."""

    def change(code: bytearray, raw: Raw) -> None:
        at = next(i for i, pair in enumerate(zip(raw.names, raw.names[1:])) if pair == (first, second))
        low, high = raw.offsets[at], raw.offsets[at + 1]
        code[low : low + 2], code[high : high + 2] = code[high : high + 2], code[low : low + 2]

    return change


CLOSURE = "def g(x):\n    def f():\n        return x\n    return f\n"
GENERATOR = "def f(x):\n    yield x\n"
ASYNC = "async def f(x):\n    yield x\n"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("text", "path", "change", "reason"),
    [
        (CLOSURE, ("g", "f"), with_operand("COPY_FREE_VARS", 1), "free variables"),
        (CLOSURE, ("g", "f"), to_nop("COPY_FREE_VARS"), "free variables"),
        (CLOSURE, ("g",), to_nop("MAKE_CELL"), "never made"),
        (GENERATOR, ("f",), to_nop("RETURN_GENERATOR"), "RETURN_GENERATOR"),
        (ASYNC, ("f",), to_nop("ASYNC_GEN_WRAP", "CALL_INTRINSIC_1"), "bare value"),
    ],
    ids=("copies_too_many", "copies_none", "no_cell", "no_generator", "bare_yield"),
)
def test_refused(version: str, text: str, path: tuple[str, ...], change: Change, reason: str) -> None:
    unit = function(version, text, *path)
    lower(unit)
    with pytest.raises(BytecodeError, match=reason):
        lower(changed(unit, change))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_frame_that_no_traceback_shows_is_not_proven(version: str) -> None:
    unit = function(version, "def f(x):\n    return x.a\n")
    (verdict,) = verify(changed(unit, to_nop("RESUME")), unit)
    assert verdict.status is Status.UNVERIFIED
    assert "RESUME" in verdict.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_null_in_the_other_slot_of_a_call_is_not_proven(version: str) -> None:
    unit = function(version, "def f(g, x):\n    return g(x)\n")
    raw = decode(unit, spec_for(unit.version))
    at = raw.names.index("PUSH_NULL")
    below = unit.null_above_callable
    names = raw.names[at - 1 : at + 1] if below else raw.names[at : at + 2]
    wrong = changed(unit, exchanged(*names))
    assert not verify(wrong, unit)[0].proven
    assert not verify(unit, wrong)[0].proven


def test_a_loop_of_3_12_steps_over_end_for_only() -> None:
    unit = function("3.12", "def f(x):\n    for y in x:\n        y()\n")
    with pytest.raises(BytecodeError, match="END_FOR"):
        lower(changed(unit, to_nop("END_FOR")))


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_a_comparison_that_says_two_things(version: str) -> None:
    """What is compared once it is specialised for numbers is not what was compared before."""
    unit = function(version, "def f(x, y):\n    return x < y\n")
    with pytest.raises(BytecodeError, match="two ways"):
        lower(changed(unit, with_operand("COMPARE_OP", 2)))


def test_operands_that_belong_together() -> None:
    call = function("3.11", "def f(x, y):\n    return x(y), x(y=1)\n")
    for name in ("PRECALL", "CALL"):
        with pytest.raises(BytecodeError, match="not as many arguments"):
            lower(changed(call, with_operand(name, 1)))


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_a_yield_that_says_it_drives_a_delegate(version: str) -> None:
    with pytest.raises(BytecodeError, match="send loop"):
        lower(changed(function(version, GENERATOR), with_operand("YIELD_VALUE", 1)))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cell_of_what_is_no_cell_variable(version: str) -> None:
    unit = function(version, "def f(a):\n    def g():\n        return a\n    return g\n")
    lower(unit)
    plain = function(version, "def f(a, b):\n    return a\n")
    spec = spec_for(plain.version)
    made = bytes((spec.opnames.index("MAKE_CELL"), 0))
    with pytest.raises(BytecodeError, match="no cell variable"):
        lower(replace(plain, code=made + plain.code, live=None))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_an_awaitable_is_taken_from(version: str) -> None:
    """Its operand chooses the words of an error: ``await``, the entry or the exit of a manager."""
    unit = function(version, "async def f(a):\n    async with a:\n        await a\n")
    assert verify(unit, unit)[0].status is Status.IDENTICAL
    other = changed(unit, with_operand("GET_AWAITABLE", 1))
    for found in (verify(unit, other)[0], verify(other, unit)[0]):
        assert found.status is Status.EQUIVALENT and AWAITED_NOTE in found.reason
