"""The ``.pyc`` reader: foreign files, agreement with ``marshal``, hostile input."""

from __future__ import annotations

import importlib.util
import marshal
import random
import sys
import types
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.pyc import MAGIC, loads, read_header, read_pyc, unit_of_pyc
from depyf.decompiler.bytecode.versions import SUPPORTED
from depyf.errors import BytecodeError
from foreign import VERSIONS, compiled_text, stdlib_pycs, walk

HOST = sys.version_info[:2]

VALUES: list[Any] = [
    None, True, False, ..., 0, -1, 2**31 - 1, -(2**31), 2**31, -(2**100), 10**300, 0.0, -0.0, 1.5, float("inf"), 1 + 2j,
    "", "a", "\xe9", "\udc80", "x" * 300, b"", b"bytes", (), (1, (2, ("3",))), [1, [2]], {"a": 1, 2: [3]}, {1, 2}, frozenset({3, 4}), frozenset({"a"}),
    tuple(range(300)), ("same", "same"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("marshal_version", range(5))
def test_values(value: Any, marshal_version: int) -> None:
    found = loads(marshal.dumps(value, marshal_version), HOST)
    assert found == value
    assert repr(found) == repr(value) or isinstance(value, (set, frozenset))


def same(unit: CodeUnit, other: CodeUnit) -> None:
    for name in (field.name for field in fields(CodeUnit)):
        if name == "live":
            continue
        mine, theirs = getattr(unit, name), getattr(other, name)
        if name == "consts":
            assert len(mine) == len(theirs)
            for left, right in zip(mine, theirs):
                if isinstance(left, CodeUnit):
                    same(left, right)
                else:
                    assert type(left) is type(right)
                    assert left == right
        else:
            assert mine == theirs, name


@pytest.mark.parametrize("name", ["argparse", "typing", "asyncio.tasks", "inspect"])
def test_same_as_the_live_code(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    code = compile(Path(spec.origin).read_bytes(), spec.origin, "exec", dont_inherit=True)
    same(loads(marshal.dumps(code), HOST), CodeUnit.from_code(code))


def test_magic_numbers() -> None:
    assert sorted(MAGIC.values()) == list(SUPPORTED)
    assert MAGIC[int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")] == HOST
    for magic, version in MAGIC.items():
        table = importlib.import_module("depyf.decompiler.bytecode.versions.data.op{}{}".format(*version))
        assert magic == table.MAGIC


@pytest.mark.parametrize("version", VERSIONS)
def test_foreign_files(version: str, tmp_path: Path) -> None:
    data = stdlib_pycs(version)[0]
    path = tmp_path / "ast.pyc"
    path.write_bytes(data)
    unit = read_pyc(path)
    assert unit.name == "<module>"
    assert {const.name for const in unit.consts if isinstance(const, CodeUnit)} >= {"parse", "literal_eval", "dump"}


def test_header_kinds() -> None:
    magic = importlib.util.MAGIC_NUMBER
    timed = read_header(magic + bytes(4) + (7).to_bytes(4, "little") + (9).to_bytes(4, "little"))
    assert timed == (HOST, None, False, 7, 9)
    hashed = read_header(magic + bytes((3, 0, 0, 0)) + b"12345678")
    assert hashed == (HOST, b"12345678", True, 0, 0)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "header"),
        (b"\x00" * 20, "CR LF"),
        ((3394).to_bytes(2, "little") + b"\r\n" + bytes(20), "3394"),
        ((3600).to_bytes(2, "little") + b"\r\n" + bytes(20), "CPython 3.14 alpha 1"),
        (importlib.util.MAGIC_NUMBER + b"\xff" * 12, "flags"),
        (importlib.util.MAGIC_NUMBER + bytes(12), "early"),
        (importlib.util.MAGIC_NUMBER + bytes(12) + b"N", "NoneType"),
    ],
)
def test_bad_files(data: bytes, message: str) -> None:
    with pytest.raises(BytecodeError, match=message):
        unit_of_pyc(data)


BAD = {
    "null": b"0",
    "unknown type": b"!",
    "huge tuple": b"(\xff\xff\xff\x7f",
    "negative size": b"s\xff\xff\xff\xff",
    "huge string": b"u\xff\xff\xff\x7fab",
    "huge integer": b"l\xff\xff\xff\x7f",
    "bad digit": b"l\x01\x00\x00\x00\xff\xff",
    "bad text": b"u\x01\x00\x00\x00\xff",
    "bad float": b"f\x02xy",
    "no such reference": b"r\x05\x00\x00\x00",
    "tuple in itself": b"\xa9\x01r\x00\x00\x00\x00",
    "unhashable": b"<\x01\x00\x00\x00[\x00\x00\x00\x00",
    "unhashable key": b"{[\x00\x00\x00\x00N0",
    "deep": b")\x01" * 5000 + b"N",
    "short slice": b":NN",
    "slice in itself": b"\xbar\x00\x00\x00\x00NN",
    "deep slices": b":" * 5000 + b"NNN",
    "unhashable frozen key": b"}[\x00\x00\x00\x00N0",
    "frozen dict in itself": b"\xfdNr\x00\x00\x00\x000",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_data(name: str) -> None:
    with pytest.raises(BytecodeError, match=r"offset \d+"):
        loads(BAD[name], (3, 11))


def test_list_in_itself() -> None:
    value = loads(b"\xdb\x01\x00\x00\x00r\x00\x00\x00\x00", (3, 11))
    assert value[0] is value


def test_doubling_is_refused() -> None:
    """Sixty nested pairs of the same pair: small here, 2**60 to hash or print."""
    layers = 60
    nested = b"(" + (layers + 1).to_bytes(4, "little") + b"\xa9\x00"
    for k in range(layers):
        reference = b"r" + k.to_bytes(4, "little")
        nested += b"\xa9\x02" + reference + reference
    with pytest.raises(BytecodeError, match="expand too far"):
        loads(nested, (3, 11))


def test_fuzz() -> None:
    """Truncated and flipped files: an object or a BytecodeError, nothing else."""
    random_ = random.Random(5)
    code = compile("def f(a, *b, c=(1, 2.5, 'x', 10**30)):\n    return [a for a in b], {a: c}\n", "f.py", "exec")
    data = marshal.dumps(code)
    attempts = [data[:size] for size in range(len(data))]
    for _ in range(4000):
        changed = bytearray(data)
        for _ in range(random_.randint(1, 4)):
            changed[random_.randrange(len(changed))] = random_.randrange(256)
        attempts.append(bytes(changed))
    refused = 0
    for attempt in attempts:
        for version in ((3, 8), HOST):
            try:
                loads(attempt, version)
            except BytecodeError:
                refused += 1
    assert refused > len(data)


def test_nothing_runs() -> None:
    unit = loads(marshal.dumps(compile("raise SystemExit", "x", "exec")), HOST)
    assert isinstance(unit, CodeUnit)
    assert unit.live is None
    assert not any(isinstance(const, types.CodeType) for const in unit.consts)


@pytest.mark.parametrize("version", VERSIONS)
def test_qualified_names(version: str) -> None:
    text = "class A:\n    def f(self):\n        class C: pass\n        def g(): return lambda: 1\n        return g\n"
    names = {unit.qualname for unit in walk(compiled_text(version, text))}
    assert names >= {"<module>", "A", "A.f", "A.f.<locals>.g", "A.f.<locals>.g.<locals>.<lambda>", "A.f.<locals>.C"}
