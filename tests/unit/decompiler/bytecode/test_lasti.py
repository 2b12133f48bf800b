"""Exceptions that go on from a place that nothing has saved, and wrappers of generators that are none: made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.exception_table import table_entries
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.host.assemble import table_of
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.recompiling.recompile import recompile
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.errors import BytecodeError
from needs import need

GENERATORS = [
    "def g(x):\n    yield x\n    return 1\n",
    "async def g(x):\n    await x\n",
    "async def g(x):\n    yield x\n",
    "def g(x):\n    try:\n        yield x\n    finally:\n        x()\n",
]
EXPRESSION = "def g(x):\n    return (y for y in x)\n"
HANDLERS = "def g(x):\n    try:\n        x()\n    except E as e:\n        x(e)\n    with x:\n        x()\n"


def compiled(version: tuple[int, int], text: str) -> CodeUnit:
    need(version)
    return loads(worker_for(version).compile(text), version)


def with_function(module: CodeUnit, function: CodeUnit) -> CodeUnit:
    consts = tuple([function if isinstance(c, CodeUnit) else c for c in module.consts])
    return dataclasses.replace(module, consts=consts)


def opcode(unit: CodeUnit, name: str) -> int:
    return spec_for(unit.version).opnames.index(name)


def is_proven(original: CodeUnit, text: str) -> bool:
    return all(v.proven for v in verify(original, recompile(text, original.version).unit))


def told(module: CodeUnit) -> set[Status]:
    try:
        return {verdict.status for verdict in decompile_unit(module).verdicts}
    except BytecodeError:
        return {Status.FAILED}


@pytest.mark.parametrize("version", [(3, minor) for minor in range(12, 16)])
@pytest.mark.parametrize("text", GENERATORS)
def test_a_wrapper_without_a_place_is_none(version: tuple[int, int], text: str) -> None:
    module = compiled(version, text)
    unit = next(c for c in module.consts if isinstance(c, CodeUnit))
    assert is_proven(module, text)
    entries = table_entries(unit.exctable)
    last = max(target for _, _, target, _, _ in entries)
    cleared = table_of((s, e, t, d, lasti and t != last) for s, e, t, d, lasti in entries)
    deeper = table_of((s, e, t, d + (t == last), lasti) for s, e, t, d, lasti in entries)
    for table in (cleared, deeper):
        changed = with_function(module, dataclasses.replace(unit, exctable=table))
        assert not is_proven(changed, text)
        assert told(changed) & {Status.FAILED, Status.UNVERIFIED}


@pytest.mark.parametrize("version", [(3, minor) for minor in range(11, 16)])
@pytest.mark.parametrize("text", [*GENERATORS, EXPRESSION, HANDLERS])
def test_raising_again_from_a_place_that_is_not_there(version: tuple[int, int], text: str) -> None:
    module = compiled(version, text)
    unit = next(c for c in module.consts if isinstance(c, CodeUnit))
    for at in range(0, len(unit.code), 2):
        if unit.code[at] != opcode(unit, "RERAISE"):
            continue
        for number in {0, 1, 2} - {unit.code[at + 1]}:
            code = unit.code[: at + 1] + bytes([number]) + unit.code[at + 2 :]
            changed = dataclasses.replace(unit, code=code)
            if number:
                assert not is_proven(with_function(module, changed), text)
    lower(unit)


@pytest.mark.parametrize("version", [(3, minor) for minor in range(11, 16)])
def test_the_table_says_whether_there_is_a_place(version: tuple[int, int]) -> None:
    unit = next(c for c in compiled(version, HANDLERS).consts if isinstance(c, CodeUnit))
    entries = table_entries(unit.exctable)
    assert any(entry[4] for entry in entries)
    refused = 0
    for number, entry in enumerate(entries):
        if entry[4]:
            table = table_of((*e[:4], e[4] and k != number) for k, e in enumerate(entries))
            try:  # nothing that raises may be in it
                assert lower(dataclasses.replace(unit, exctable=table)).handlers == lower(unit).handlers
            except BytecodeError:
                refused += 1
    assert refused >= 3


@pytest.mark.parametrize("version", [(3, minor) for minor in range(11, 15)])
def test_a_place_may_be_moved_below_its_handler_and_back(version: tuple[int, int]) -> None:
    """A random graph did."""
    text = "def g(x):\n    try:\n        x()\n    except E:\n        x()\n"
    unit = next(c for c in compiled(version, text).consts if isinstance(c, CodeUnit))
    at = unit.code.rindex(opcode(unit, "POP_EXCEPT")) - 2
    assert unit.code[at : at + 2] == bytes([opcode(unit, "COPY"), 3]) and len(unit.code) == at + 6

    def moved(*swaps: int) -> CodeUnit:
        middle = b"".join(bytes([opcode(unit, "SWAP"), number]) for number in swaps)
        return dataclasses.replace(unit, code=unit.code[:at] + middle + unit.code[at:])

    lower(moved(2, 3, 3, 2))
    for swaps in ((2, 3), (2, 3, 3), (2,), (3,)):
        with pytest.raises(BytecodeError, match=r"finds no place to go on from|finds no exception"):
            lower(moved(*swaps))
