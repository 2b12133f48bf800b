"""What lives on because a frame does: temporaries where an operation raises, exceptions that count as handled."""

from __future__ import annotations

import dataclasses

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.exception_table import table_entries
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.host.assemble import table_of
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.verify import Status, Verdict, verify
from depyf.decompiler.verify.assumptions import CAUGHT_NOTE, CYCLE_NOTE, END_ORDER_NOTE, RAISED_NOTE, UNWIND_NOTE
from depyf.decompiler.verify.recompiling.worker import worker_for
from needs import need

VERSIONS = [(3, minor) for minor in range(8, 16)]
HEAD = "def f(e, E):\n    "


def compiled(version: tuple[int, int], text: str) -> CodeUnit:
    need(version)
    found = loads(worker_for(version).compile(text), version)
    return next(const for const in found.consts if isinstance(const, CodeUnit))


def verdict(version: tuple[int, int], original: str, text: str) -> Verdict:
    return verify(compiled(version, HEAD + original), compiled(version, HEAD + text))[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_temporary_that_lives_where_its_operation_raises_is_named(version: tuple[int, int]) -> None:
    found = verdict(version, "a = +e.z(); return a", "__temp_0 = e.z(); a = +__temp_0; del __temp_0; return a")
    assert found.status is Status.EQUIVALENT
    assert RAISED_NOTE in found.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_so_is_one_that_holds_an_object_of_a_variable(version: tuple[int, int]) -> None:
    found = verdict(version, "e.z(e); return 1", "__temp_0 = e; e.z(__temp_0); del __temp_0; return 1")
    assert found.status is Status.EQUIVALENT
    assert RAISED_NOTE in found.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_numbers_and_what_is_released_in_time_need_no_word(version: tuple[int, int]) -> None:
    found = verdict(version, "e.z(1); return 1", "__temp_0 = 1; e.z(__temp_0); del __temp_0; return 1")
    assert found.proven
    assert RAISED_NOTE not in found.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_an_exception_that_a_temporary_holds(version: tuple[int, int]) -> None:
    found = verdict(version, "raise E(1)", "__temp_0 = E(1); raise __temp_0")
    assert found.status is Status.EQUIVALENT
    assert CYCLE_NOTE in found.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_where_a_handler_catches_it_another_assumption_is_named(version: tuple[int, int]) -> None:
    original = "try:\n        a = +e.z()\n    except E:\n        return 1\n    return a"
    text = "try:\n        __temp_0 = e.z(); a = +__temp_0; del __temp_0\n    except E:\n        return 1\n    return a"
    found = verdict(version, original, text)
    assert found.status is Status.EQUIVALENT
    assert CAUGHT_NOTE in found.reason


@pytest.mark.parametrize("version", [(3, minor) for minor in range(11, 16)])
def test_an_exception_that_still_counts_as_handled_is_handed_to_the_caller(version: tuple[int, int]) -> None:
    """``POP_EXCEPT`` that only drops what was handled before: ``sys.exc_info()`` of the caller shows it."""
    text = "try:\n        e()\n    except E:\n        e.x()\n    return 1"
    unit = compiled(version, HEAD + text)
    names = spec_for(version).opnames
    pop, drop = names.index("POP_EXCEPT"), names.index("POP_TOP")
    at = next(i for i in range(0, len(unit.code), 2) if unit.code[i] == pop)
    changed = dataclasses.replace(unit, code=unit.code[:at] + bytes([drop]) + unit.code[at + 1 :])
    assert verify(unit, compiled(version, HEAD + text))[0].status is Status.IDENTICAL
    assert not verify(unit, changed)[0].proven
    again = verify(changed, unit)[0]
    assert not again.proven or again.reason


@pytest.mark.parametrize("version", [(3, minor) for minor in range(11, 16)])
def test_a_handler_without_its_clean_up_is_named_on_either_side(version: tuple[int, int]) -> None:
    """Entries of the exception table taken away, one after the other: what raises in a handler leaves it as it is then."""
    text = "try:\n        e()\n    except E:\n        e.x()\n    return 1"
    unit = compiled(version, HEAD + text)
    entries = table_entries(unit.exctable)
    assert len(entries) > 1
    for number in range(len(entries)):
        table = table_of(entry for at, entry in enumerate(entries) if at != number)
        changed = dataclasses.replace(unit, exctable=table)
        for one, other in ((unit, changed), (changed, unit)):
            found = verify(one, other)[0]
            assert not found.proven or found.status is Status.IDENTICAL or UNWIND_NOTE in found.reason


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("raised", ["raise __temp_0", "E(__temp_0)"])
def test_one_that_is_left_to_a_handler_is_named_and_must_not_be_seen(version: tuple[int, int], raised: str) -> None:
    plain = f"try:\n        {raised.replace('__temp_0', 'E(1)')}\n    except E:\n        e()\n    "
    text = f"try:\n        __temp_0 = E(1)\n        {raised}\n        del __temp_0\n    except E:\n        e()\n    "
    found = verdict(version, plain + "globals()", text + "globals()")
    assert found.status is Status.EQUIVALENT
    assert CAUGHT_NOTE in found.reason
    seen = verdict(version, plain + "locals()", text + "locals()")
    assert seen.status is Status.UNVERIFIED
    assert "sees a temporary" in seen.reason or "would see the temporary" in seen.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_the_order_in_which_a_deleted_variable_and_a_temporary_end(version: tuple[int, int]) -> None:
    found = verdict(version, "e(E); del e; return 1", "__temp_0 = e(E); del e; del __temp_0; return 1")
    assert found.status is Status.EQUIVALENT
    assert END_ORDER_NOTE in found.reason
