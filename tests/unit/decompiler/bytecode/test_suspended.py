"""What the interpreter reads without looking: marks at a yield, handlers of send loops, saved exceptions.  Made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import Raw, decode
from depyf.decompiler.bytecode.exception_table import table_entries
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.host.assemble import table_of
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.decompiler.verify.whole import SPLIT
from depyf.errors import BytecodeError
from needs import need

VERSIONS = [(3, minor) for minor in range(11, 16)]
LOOP = "async def f(a):\n    try:\n        return await a\n    except E:\n        await a()\n"
YIELD = "def f(a):\n    try:\n        yield a\n    finally:\n        a()\n"
HANDLER = "def f(a):\n    with a:\n        a()\n    try:\n        a()\n    except E:\n        pass\n    return 1\n"


def function(version: tuple[int, int], text: str) -> tuple[CodeUnit, Raw]:
    need(version)
    module = loads(worker_for(version).compile(text), version)
    unit = next(c for c in module.consts if isinstance(c, CodeUnit))
    return unit, decode(unit, spec_for(version))


def with_byte(unit: CodeUnit, at: int, value: int) -> CodeUnit:
    code = bytearray(unit.code)
    code[at] = value
    return dataclasses.replace(unit, code=bytes(code))


def with_table(unit: CodeUnit, *entries: tuple[int, int, int, int, bool]) -> CodeUnit:
    return dataclasses.replace(unit, exctable=table_of(entries))


def refused(unit: CodeUnit, reason: str) -> None:
    with pytest.raises(BytecodeError, match=reason):
        lower(unit)


@pytest.mark.parametrize("version", VERSIONS)
def test_marks_at_a_yield(version: tuple[int, int]) -> None:
    for text, driven in ((YIELD, False), (LOOP, True)):
        unit, raw = function(version, text)
        lower(unit)
        at = raw.names.index("YIELD_VALUE")
        assert raw.names[at + 1] == "RESUME"
        refused(with_byte(unit, raw.offsets[at + 1] + 1, 1 if driven else 2), "of another kind")
        if version < (3, 13) and not driven:
            refused(with_byte(unit, raw.offsets[at + 1] + 1, 17), "of another kind")
        if version >= (3, 13):
            refused(with_byte(unit, raw.offsets[at] + 1, 2), "how the generator is left|belongs to")
            refused(with_byte(unit, raw.offsets[at + 1] + 1, raw.args[at + 1] | 4), "how the generator is left")


def test_a_prefix_hides_the_mark() -> None:
    """The interpreter looks at the two bytes after the yield."""
    unit, raw = function((3, 11), "async def f(a):\n    await a\n")
    at = raw.offsets[raw.names.index("YIELD_VALUE") + 1]
    code = bytearray(unit.code[:at] + bytes((spec_for(unit.version).extended_arg, 0)) + unit.code[at:])
    code[raw.offsets[raw.names.index("SEND")] + 1] += 1
    code[raw.offsets[raw.names.index("JUMP_BACKWARD_NO_INTERRUPT")] + 3] += 1
    refused(dataclasses.replace(unit, code=bytes(code)), "of another kind")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_lambda_has_no_wrapper(version: tuple[int, int]) -> None:
    """The handler of its send loop is the outermost one."""
    unit, _ = function(version, "f = lambda: (yield from g())\n")
    lower(unit)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_the_handler_of_a_send_loop(version: tuple[int, int]) -> None:
    unit, raw = function(version, LOOP)
    entries = table_entries(unit.exctable)
    cleanup = raw.offsets[raw.names.index("CLEANUP_THROW")]
    nop = spec_for(version).opnames.index("NOP")
    refused(with_byte(unit, cleanup, nop), "no CLEANUP_THROW")
    refused(with_table(unit, *[entry for entry in entries if entry[2] != cleanup]), "no CLEANUP_THROW")
    deeper = [(s, e, t, d + (t == cleanup), lasti) for s, e, t, d, lasti in entries]
    refused(with_table(unit, *deeper), "values deep")
    beside = [entry for entry in entries if not entry[0] <= cleanup < entry[1]]
    refused(with_table(unit, *beside), "another way")
    send = raw.names.index("SEND")
    refused(with_byte(unit, raw.offsets[send] + 1, raw.args[send] + 1), "SEND")


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_wrapper_that_protects_itself(version: tuple[int, int]) -> None:
    unit, _ = function(version, "def f(a):\n    yield a\n")
    (start, _, target, depth, lasti) = table_entries(unit.exctable)[-1]
    refused(with_table(unit, (start, target + 4, target, depth, lasti)), "protects itself")


@pytest.mark.parametrize("version", VERSIONS)
def test_entries_out_of_order(version: tuple[int, int]) -> None:
    unit, _ = function(version, HANDLER)
    first, *rest = table_entries(unit.exctable)
    refused(with_table(unit, *rest, first), "not in order")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_restored_was_saved(version: tuple[int, int]) -> None:
    unit, raw = function(version, HANDLER)
    lower(unit)
    copies = [i for i, name in enumerate(raw.names) if name == "COPY" and raw.names[i + 1] == "POP_EXCEPT"]
    assert len(copies) == 2
    for i in copies:
        refused(with_byte(unit, raw.offsets[i] + 1, 2), "POP_EXCEPT .* finds no exception")
    refused(with_byte(unit, raw.offsets[copies[0]] + 1, 4), "POP_EXCEPT .* finds no exception")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handler_that_runs_in_a_circle(version: tuple[int, int]) -> None:
    """The interpreter never comes out of it: no signal is looked at on the way."""
    unit, raw = function(version, HANDLER)
    entries = table_entries(unit.exctable)
    start, _, target, depth, lasti = entries[-1]
    assert lasti and raw.names[raw.index_at[target]] == "COPY"
    around = with_table(unit, *entries[:-1], (start, target + 6, target, depth, lasti))
    assert not all(verdict.proven for verdict in verify(unit, around))


@pytest.mark.parametrize("version", [(3, minor) for minor in range(8, 16)])
def test_a_function_is_made_of_code(version: tuple[int, int]) -> None:
    unit, raw = function(version, "def f(a):\n    a()\n    return 1\n")
    at = raw.offsets[raw.names.index("POP_TOP")]
    spec = spec_for(version)
    made = with_byte(unit, at, spec.opnames.index("MAKE_FUNCTION"))
    if version < (3, 13):
        made = with_byte(made, at + 1, 0)
    assert not all(verdict.proven for verdict in verify(unit, dataclasses.replace(made, stacksize=9)))


@pytest.mark.parametrize("version", [(3, minor) for minor in range(8, 13)])
def test_keys_are_a_constant_tuple(version: tuple[int, int]) -> None:
    unit, raw = function(version, "def f(a):\n    a()\n    return 1\n")
    at = raw.offsets[raw.names.index("POP_TOP")]
    made = with_byte(with_byte(unit, at, spec_for(version).opnames.index("BUILD_CONST_KEY_MAP")), at + 1, 0)
    refused(made, "no constant tuple")


@pytest.mark.parametrize("version", [(3, minor) for minor in range(8, 11)])
def test_what_is_left_on_the_stack(version: tuple[int, int]) -> None:
    """It is never released: the verdict says so."""
    unit, raw = function(version, "def f(a):\n    a()\n    return 1\n")
    left = with_byte(unit, raw.offsets[raw.names.index("POP_TOP")], spec_for(version).opnames.index("NOP"))
    (verdict,) = verify(left, unit)
    assert not verdict.proven or ("never released" in verdict.reason) == (version > (3, 8))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handler_protects_whole_instructions(version: tuple[int, int]) -> None:
    unit, raw = function(version, HANDLER)
    whole = table_entries(unit.exctable)
    lower(with_table(unit, *whole))
    sizes = dict(zip(raw.offsets, [*raw.offsets[1:], len(unit.code)]))
    for at, (start, end, *rest) in enumerate(whole):
        for inside in (start + 2, end - 2):
            if inside in sizes or not start < inside < end:
                continue
            for entry in ((inside, end, *rest), (start, inside, *rest)):
                refused(with_table(unit, *whole[:at], entry, *whole[at + 1 :]), "parts of an instruction")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handler_that_begins_or_ends_at_a_call(version: tuple[int, int]) -> None:
    """Since 3.13 what a Python function raises goes where the instruction before the call sends it."""
    unit, raw = function(version, "def f(a):\n    try:\n        a()\n    except E:\n        pass\n")
    call = raw.offsets[raw.names.index("CALL")]
    (start, end, *rest), *others = table_entries(unit.exctable)
    assert start < call < end
    for part in ((call, end), (start, call)):
        changed = with_table(unit, (*part, *rest), *others)
        assert bool(lower(changed).split) == (version >= (3, 13))
        (verdict,) = verify(changed, unit)
        assert (verdict.reason == SPLIT) == (version >= (3, 13))
        assert not (verdict.proven and version >= (3, 13))
        (same,) = verify(changed, with_table(unit, (*part, *rest), *others))
        assert same.proven
    assert not lower(with_table(unit, (start, call, *rest), (call, end, *rest), *others)).split
