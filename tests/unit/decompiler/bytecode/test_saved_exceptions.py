"""Handlers of 3.8-3.10 that do not put back what they were entered with: made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.recompiling.recompile import recompile
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.errors import BytecodeError
from needs import need

VERSIONS = [(3, 8), (3, 9), (3, 10)]
TEXTS = {
    "with": "def g(x):\n    with x:\n        x()\n    return x\n",
    "with in a loop": "def g(x):\n    for y in x:\n        with y:\n            x(y)\n    return x\n",
    "except": "def g(x):\n    try:\n        x()\n    except E:\n        x(1)\n    return x\n",
    "named": "def g(x):\n    try:\n        x()\n    except E as e:\n        return x(e)\n    return x\n",
    "nested": "def g(x):\n    try:\n        x()\n    except E:\n        try:\n            return x(1)\n        except F:\n            return x(2)\n",
    "finally": "def g(x):\n    try:\n        x()\n    finally:\n        x(1)\n    return x\n",
    "finally that returns": "def g(x):\n    try:\n        x()\n    finally:\n        return x(1)\n",
    "async": "async def g(x):\n    async for y in x:\n        async with y:\n            x(y)\n",
}
WITHIN = ("POP_EXCEPT", "POP_TOP", "ROT_TWO", "ROT_THREE", "ROT_FOUR", "POP_BLOCK", "RERAISE", "DUP_TOP")


def compiled(version: tuple[int, int], text: str) -> CodeUnit:
    need(version)
    return loads(worker_for(version).compile(text), version)


def function(module: CodeUnit) -> CodeUnit:
    return next(c for c in module.consts if isinstance(c, CodeUnit))


def lowers(unit: CodeUnit, code: bytes) -> bool:
    try:
        lower(dataclasses.replace(unit, code=code))
    except BytecodeError:
        return False
    return True


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_a_compiler_writes(version: tuple[int, int], text: str) -> None:
    module = compiled(version, text)
    lower(function(module))
    assert all(v.proven for v in verify(module, recompile(text, version).unit))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_was_handled_before_is_put_back_where_it_lies(version: tuple[int, int], text: str) -> None:
    """A POP_EXCEPT that changes places with what moves or drops a value, and one that is another instruction."""
    unit = function(compiled(version, text))
    spec = spec_for(version)
    raw = decode(unit, spec)
    reached = {instr.offset for instr in lower(unit).instrs}
    changed = 0
    for at, name in enumerate(raw.names):
        here = raw.offsets[at]
        if name != "POP_EXCEPT" or here not in reached:
            continue
        for other in ("POP_TOP", "NOP", "POP_BLOCK"):
            code = bytearray(unit.code)
            code[here] = spec.opnames.index(other)
            assert not lowers(unit, bytes(code)), f"{other} at {here}"
            changed += 1
        for neighbour in (at - 1, at + 1):
            if raw.names[neighbour] in WITHIN and raw.names[neighbour] != name:
                low = min(here, raw.offsets[neighbour])
                code = bytearray(unit.code)
                code[low : low + 4] = code[low + 2 : low + 4] + code[low : low + 2]
                assert not lowers(unit, bytes(code)), f"{raw.names[neighbour]} around {here}"
                changed += 1
    assert changed or "POP_EXCEPT" not in raw.names


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_raised_again_is_what_was_caught(version: tuple[int, int]) -> None:
    unit = function(compiled(version, TEXTS["except"]))
    spec = spec_for(version)
    raw = decode(unit, spec)
    at = next(raw.offsets[i] for i, name in enumerate(raw.names) if name == "DUP_TOP")
    for other in ("ROT_TWO", "ROT_THREE", "ROT_FOUR"):  # JUMP_IF_NOT_EXC_MATCH takes a slot more
        assert not lowers(unit, unit.code[:at] + bytes([spec.opnames.index(other), 0]) + unit.code[at + 2 :])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handler_is_not_left_with_its_exception_handled(version: tuple[int, int]) -> None:
    """``return`` without POP_EXCEPT: the caller's exception would be another one."""
    unit = function(compiled(version, "def g(x):\n    try:\n        x()\n    except E:\n        return x\n"))
    spec = spec_for(version)
    raw = decode(unit, spec)
    for at, name in enumerate(raw.names):
        if name == "POP_EXCEPT":
            if raw.names[at - 1] == "ROT_FOUR":  # as long, and the value stays on top
                code = bytearray(unit.code)
                code[raw.offsets[at - 1]] = code[raw.offsets[at]] = spec.opnames.index("NOP")
                with pytest.raises(BytecodeError, match="leaves the exception handled"):
                    lower(dataclasses.replace(unit, code=bytes(code)))
                return
    pytest.fail("the compiler writes it in another way")


FINALLY = {
    "return": "def g(x):\n    with x:\n        return x(1)\n",
    "break": "def g(x):\n    for y in x:\n        with y:\n            break\n",
    "async": "async def g(x):\n    async with x:\n        return x(1)\n",
}
MARKING = ("BEGIN_FINALLY", "CALL_FINALLY", "POP_FINALLY", "END_FINALLY", "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH")


@pytest.mark.parametrize("text", FINALLY.values(), ids=FINALLY)
def test_what_says_why_a_finally_block_runs_lies_on_top(text: str) -> None:
    """3.8: it changes places with a value, or something takes it."""
    unit = function(compiled((3, 8), text))
    spec = spec_for((3, 8))
    raw = decode(unit, spec)
    reached = {instr.offset for instr in lower(unit).instrs}
    refused = 0
    for at, name in enumerate(raw.names):
        here = raw.offsets[at]
        if name == "ROT_TWO" and raw.names[at + 1] in MARKING:
            swapped = (
                unit.code[:here] + unit.code[here + 2 : here + 4] + unit.code[here : here + 2] + unit.code[here + 4 :]
            )
            assert not lowers(unit, swapped)
            refused += 1
        if name in ("WITH_CLEANUP_START", "WITH_CLEANUP_FINISH") and here in reached:
            for other in ("POP_TOP", "NOP", "DUP_TOP"):
                assert not lowers(
                    unit, unit.code[:here] + bytes([spec.opnames.index(other), 0]) + unit.code[here + 2 :]
                )
                refused += 1
    assert refused
