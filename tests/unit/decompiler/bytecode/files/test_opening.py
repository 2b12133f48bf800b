"""Code whose header is cut off, zeroed or wrong is read, and its version is found; hostile bytes give a clear error."""

from __future__ import annotations

import marshal
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import depyf
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files import opening
from depyf.decompiler.bytecode.files.magic_numbers import MAGIC
from depyf.decompiler.bytecode.files.opening import open_code
from depyf.decompiler.driver.opened_files import decompile_opened
from depyf.errors import BytecodeError, DepyfError
from foreign import VERSIONS, compile_with, stdlib_pycs

HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
LAYOUTS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no header": (lambda data: data[16:], "there is no header"),
    "four bytes": (lambda data: data[:4] + data[16:], "the header has 4 bytes, not 16"),
    "eight bytes": (lambda data: data[:8] + data[16:], "the header has 8 bytes, not 16"),
    "twelve bytes": (lambda data: data[:12] + data[16:], "the header has 12 bytes, not 16"),
    "zeroed": (lambda data: bytes(16) + data[16:], "the header is zeroed"),
    "four zeros": (lambda data: bytes(4) + data[16:], "the header of 4 bytes is zeroed"),
    "eight zeros": (lambda data: bytes(8) + data[16:], "the header of 8 bytes is zeroed"),
    "zeroed magic number": (lambda data: bytes(4) + data[4:8] + b"abcdefgh" + data[16:], "of no known interpreter"),
    "wrong magic number": (lambda data: b"\x12\x34\r\n" + data[4:], "of no known interpreter"),
    "wrong flags": (lambda data: data[:4] + b"\xff" * 4 + data[8:], "the header is damaged, unknown .pyc flags"),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, version: str) -> None:
    change, problem = LAYOUTS[layout]
    opened = open_code(change(stdlib_pycs(version)[4]))
    assert "{}.{}".format(*opened.unit.version) == version
    assert len(opened.readings) == 1
    assert problem in opened.note()
    assert opened.note().startswith(f"Read as bytecode of CPython {version}, ")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_other_magic_number(version: str) -> None:
    """The magic number of another version: the code says which it is."""
    data = stdlib_pycs(version)[4]
    right = int.from_bytes(data[:2], "little")
    for magic in sorted(MAGIC.keys() - {right}):
        opened = open_code(magic.to_bytes(2, "little") + data[2:])
        if opened.unit.version != MAGIC[right]:
            other = opening.other_readings(opened)
            assert other is not None
            opened = other
        assert opened.unit.version == MAGIC[right]
        assert opened.problem


def test_text_says_how_it_was_read() -> None:
    data = compile_source("def f(a):\n    return [x for x in a]\n")
    shown = depyf.decompile(data[16:])
    assert shown.startswith(f"# Read as bytecode of CPython {HOST}, found by trying: there is no header")
    assert shown.endswith("def f(a):\n    return [x for x in a]\n")
    wrong = next(magic for magic, version in MAGIC.items() if version != sys.version_info[:2] and version > (3, 12))
    found = depyf.decompile_pyc(wrong.to_bytes(2, "little") + data[2:])
    assert "and the code is not" in found.note
    assert found.proven
    assert not depyf.decompile_pyc(data).note


def test_bytes_and_marshal_data() -> None:
    function = compile("def f(a, b):\n    return a if a > b else b\n", "m.py", "exec", dont_inherit=True).co_consts[0]
    text = depyf.decompile(marshal.dumps(function), version=HOST)
    assert text.startswith(f"# Read as bytecode of CPython {HOST}, as asked: there is no header.\ndef f(a, b):\n")
    assert depyf.decompile_pyc(marshal.dumps(function), version=sys.version_info[:2]).proven
    whole = compile_source("x = 1\n")
    assert depyf.decompile(whole) == depyf.decompile(whole, version=HOST) == "x = 1\n"
    with pytest.raises(BytecodeError, match="no version that can be read"):
        depyf.decompile(whole, version="3.7")
    with pytest.raises(DepyfError, match="version is for bytes"):
        depyf.decompile(function, version=HOST)


def test_version_asked_for() -> None:
    data = stdlib_pycs("3.9")[0] if "3.9" in VERSIONS else compile_source("x = 1\n")
    renamed = (3626).to_bytes(2, "little") + compile_source("x = 1\n")[2:]
    with pytest.raises(BytecodeError, match="release candidate"):
        open_code(renamed)
    opened = open_code(renamed, HOST)
    assert (
        opened.note()
        == f"Read as bytecode of CPython {HOST}, as asked: the magic number is of CPython 3.14 release candidate 2."
    )
    assert open_code(data[16:], (3, 8)).unit.version == (3, 8)


def test_ambiguity_is_named(tmp_path: Path) -> None:
    """What two versions write alike: the newest is taken, the other named."""
    path = tmp_path / "m.py"
    path.write_text("x = 1\n")
    (data,) = compile_with("3.9", [path])
    opened = open_code(data[16:])
    assert [reading.unit.version for reading in opened.readings] == [(3, 9), (3, 8)]
    found, unit = decompile_opened(opened)
    assert unit.version == (3, 9)
    assert found.note.endswith("there is no header; 3.8 fits as well, and gives the same text.")
    assert decompile_opened(open_code(data[16:]))[0].shown == found.shown


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """At every place where code may begin marshal data is read once for each version at most."""
    count = 0
    real = opening.loads

    def counted(data: bytes, version: tuple[int, int]) -> object:
        nonlocal count
        count += 1
        return real(data, version)

    monkeypatch.setattr(opening, "loads", counted)
    with pytest.raises(BytecodeError):
        open_code(b"\xe3\0\0\0" * 3000)
    assert count <= 5 * len(MAGIC)


def test_hostile_bytes() -> None:
    source = compile_source("import os\ndef f(a, *b):\n    try:\n        return a\n    finally:\n        print(b)\n")
    generator = random.Random(5)
    for _ in range(300):
        data = bytearray(source[generator.choice((0, 4, 8, 12, 16)) :])
        for _ in range(generator.randint(1, 6)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        try:
            opened = open_code(bytes(data[: generator.randint(1, len(data))] if generator.random() < 0.3 else data))
        except BytecodeError as error:
            assert "\n" not in str(error)
        else:
            assert isinstance(opened.unit, CodeUnit)


def compile_source(text: str) -> bytes:
    code = compile(text, "m.py", "exec", dont_inherit=True)
    magic = next(number for number, version in MAGIC.items() if version == sys.version_info[:2])
    return magic.to_bytes(2, "little") + b"\r\n" + bytes(12) + marshal.dumps(code)
