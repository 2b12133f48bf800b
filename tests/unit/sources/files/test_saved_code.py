"""Code objects that torch saved: the unit is that of the live code, and hostile ones are refused before they cost anything."""

from __future__ import annotations

import sys
import time
import types

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.sources.files.inert_objects import Called, Members, Named, Pairs
from depyf.sources.files.pickle_steps import SavedFileError
from depyf.sources.files.saved_code import SavedCodes

VERSION = sys.version_info[:2]
ATTRIBUTES = (
    "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names varnames filename name "
    "firstlineno cellvars freevars linetable qualname exceptiontable"
).split()


def saved(function: types.CodeType, **changes: object) -> Called:
    """As ``SerializedCode`` is pickled."""
    found = {f"co_{name}": getattr(function, f"co_{name}", None) for name in ATTRIBUTES}
    found["co_consts"] = tuple(inert(item) for item in function.co_consts)
    found.update({f"co_{name}": value for name, value in changes.items()})
    return Called(Named("torch._dynamo.package", "SerializedCode"), (), None, [Pairs(list(found.items()))])


def inert(value: object) -> object:
    if isinstance(value, types.CodeType):
        return saved(value)
    if isinstance(value, tuple):
        return tuple(inert(item) for item in value)
    if isinstance(value, frozenset):
        return Members([inert(item) for item in value])
    if isinstance(value, complex):
        return Called(Named("builtins", "complex"), (value.real, value.imag))
    if isinstance(value, slice):
        return Called(Named("builtins", "slice"), (inert(value.start), inert(value.stop), inert(value.step)))
    return Named("builtins", "Ellipsis") if value is ... else value


def read(value: object, size: int = 10_000) -> CodeUnit:
    return SavedCodes(VERSION, size).read(value)


def sample(a, b=1, *rest, c, **options):
    """A docstring."""
    total = [1, 2.5, 3j, ..., "text", b"bytes"]

    def inner(x):
        return x + a if x in {1, 2, 3} else None

    return inner, total, rest, options, c


@pytest.mark.skipif(VERSION < (3, 10), reason="torch saves no code of older Pythons")
def test_units_are_those_of_live_code() -> None:
    found, live = read(saved(sample.__code__)), CodeUnit.from_code(sample.__code__)
    for name in CodeUnit.__dataclass_fields__:
        if name not in ("live", "consts", "slots"):
            assert getattr(found, name) == getattr(live, name), name
    assert [type(one) for one in found.consts] == [type(one) for one in live.consts]


def test_slices_are_constants() -> None:
    """As Dynamo writes them, and compilers since 3.14."""
    wanted = (slice(0, 1, None), (slice(None, 2.5, ...), slice((1, 2), None, 1j)))
    unit = read(saved(sample.__code__, consts=inert(wanted)))
    assert unit.consts == wanted


@pytest.mark.parametrize("inside", [Members([inert(slice(1, 2, 3))]), Called(Named("builtins", "slice"), (1,))])
def test_slices_that_no_compiler_writes(inside: object) -> None:
    (found,) = read(saved(sample.__code__, consts=(inside,))).consts
    assert "slice" in repr(found)


def test_other_constants_are_named() -> None:
    code = (lambda: 1000).__code__
    unit = read(saved(code, consts=(Named("torch", "float32"),)))
    assert repr(unit.consts[0]) == "torch.float32"


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "text"},
        {"code": None},
        {"argcount": -1},
        {"argcount": 10**10},
        {"argcount": 5},
        {"nlocals": 9},
        {"consts": None},
        {"names": (1,)},
        {"names": None},
        {"name": 3},
        {"linetable": 3},
        {"flags": True},
    ],
)
def test_impossible_code_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SavedFileError, match="saved code"):
        read(saved(sample.__code__, **changes))


def nested(levels: int, width: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = (value,) * width
    return value


@pytest.mark.parametrize(
    "consts",
    [
        pytest.param((nested(50, 2),), id="tuples of tuples"),
        pytest.param((nested(1000, 1),), id="deep"),
        pytest.param((Members([number * (2**61 - 1) for number in range(5000)]),), id="one hash in a set"),
        pytest.param(tuple(number * (2**61 - 1) for number in range(5000)), id="one hash"),
        pytest.param(("x" * 2_000_000,), id="long"),
    ],
)
def test_bombs_are_refused(consts: tuple[object, ...]) -> None:
    begun = time.process_time()
    with pytest.raises(SavedFileError):
        read(saved(sample.__code__, consts=consts))
    assert time.process_time() - begun < 60, "alone a second; what is quadratic takes far longer"


def test_code_that_is_in_itself() -> None:
    value = saved(sample.__code__)
    state = value.states[0]
    assert isinstance(state, Pairs)
    state.pairs.append(("co_consts", (value,)))
    with pytest.raises(SavedFileError, match="nested"):
        read(value)


def test_code_objects_that_share_constants() -> None:
    codes = SavedCodes(VERSION, 10_000)
    consts = ("x",) * 50_000
    with pytest.raises(SavedFileError, match="share"):
        for _ in range(100):
            codes.read(saved(sample.__code__, consts=consts))
