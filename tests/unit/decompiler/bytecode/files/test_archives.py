"""Archives are untrusted: names that lead out, links, doubles, bombs; what is in them is read all the same."""

from __future__ import annotations

import marshal
import stat
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.decompiler.bytecode.files import archives
from depyf.decompiler.bytecode.files.archives import is_archive, members
from depyf.decompiler.bytecode.files.magic_numbers import MAGIC
from depyf.errors import BytecodeError

VERSION = sys.version_info[:2]
MAGIC_BYTES = next(number for number, version in MAGIC.items() if version == VERSION).to_bytes(2, "little") + b"\r\n"


def pyc(text: str) -> bytes:
    return MAGIC_BYTES + bytes(12) + code(text)


def code(text: str) -> bytes:
    return marshal.dumps(compile(text, "m.py", "exec", dont_inherit=True))


def zipped(path: Path, files: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return path


def written(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("name", ["a.zip", "a-1-py3-none-any.whl", "a.egg", "app.pyz"])
def test_kinds_of_zip_files(name: str, tmp_path: Path) -> None:
    path = zipped(
        tmp_path / name,
        [("p/__init__.py", b""), ("p/m.pyc", pyc("a = 1\n")), ("p/__pycache__/n.cpython-399.pyc", pyc("b = 2\n"))],
    )
    if name.endswith(".pyz"):
        path.write_bytes(b"#!/usr/bin/env python3\n" + path.read_bytes())
    out = tmp_path / "out"
    assert main(["decompile", "-j", "1", "-o", str(out), str(path)]) == ExitStatus.PROVEN
    assert written(out) == {"p/m.py": "a = 1\n", "p/n.py": "b = 2\n"}


def test_names_are_not_trusted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = zipfile.ZipInfo("link.pyc")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    files: list[tuple[str | zipfile.ZipInfo, bytes]] = [
        ("../../up.pyc", pyc("a = 1\n")), ("/abs/root.pyc", pyc("b = 2\n")), ("C:\\win\\x.pyc", pyc("c = 3\n")), ("twice.pyc", pyc("d = 4\n")),
        ("TWICE.pyc", pyc("e = 5\n")), ("esc\x1b[2J.pyc", pyc("f = 6\n")), (link, b"/etc/passwd"), ("deep/__pycache__/../../../g.pyc", pyc("g = 7\n")),
    ]  # fmt: skip
    path = zipped(tmp_path / "a.zip", files)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("twice.pyc", pyc("h = 8\n"))
    out = tmp_path / "in" / "out"
    assert main(["decompile", "-j", "1", "-o", str(out), str(path)]) == ExitStatus.UNREADABLE
    assert sorted(written(out).values()) == [f"{letter} = {number}\n" for number, letter in enumerate("abcdefgh", 1)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["out"]
    err = capsys.readouterr().err
    assert "link.pyc: it is a symbolic link" in err
    assert "\x1b" not in err


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is declared is refused before it is unpacked; what is there is cut off."""
    monkeypatch.setattr(archives, "ROOM", 1 << 16)
    path = zipped(tmp_path / "a.zip", [("bomb.pyc", bytes(1 << 22)), ("m.pyc", pyc("a = 1\n"))])
    bomb, good = members(str(path))
    assert "expands too far, to 4194304 bytes" in bomb.error
    assert not bomb.data
    assert good.data
    lying = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        where = lying.index(mark) + at
        lying[where : where + 4] = struct.pack("<I", 100)
    path.write_bytes(lying)
    bomb, good = members(str(path))
    assert bomb.error.startswith("it is damaged")
    assert good.data


def test_many_members_share_one_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "ROOM", 1 << 16)
    found = members(str(zipped(tmp_path / "a.zip", [(f"m{k}.pyc", bytes(1 << 18)) for k in range(20)])))
    assert (
        sum(len(member.data) for member in found) <= (1 << 16) + archives.FACTOR * (tmp_path / "a.zip").stat().st_size
    )
    assert sum("expands too far" in member.error for member in found) > 10


def test_what_is_not_unpacked(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("m.pyc", pyc("a = 1\n"))], zipfile.ZIP_BZIP2)
    assert "compressed by method 12" in members(str(path))[0].error
    data = bytearray(zipped(path, [("m.pyc", pyc("a = 1\n"))]).read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert members(str(path))[0].error == "it is encrypted"
    with pytest.raises(BytecodeError, match=r"no \.pyc file in this archive; it has 2 \.py files"):
        members(str(zipped(path, [("a.py", b""), ("b.py", b"")])))


@pytest.mark.parametrize("seed", range(40))
def test_damaged_archives(seed: int, tmp_path: Path) -> None:
    import random

    generator = random.Random(seed)
    whole = zipped(tmp_path / "a.zip", [("m.pyc", pyc("a = 1\n")), ("n.pyc", pyc("b = 1\n"))]).read_bytes()
    if seed % 2:
        whole = program(
            [("main", b"s", code("x = 1\n"), True), ("PYZ.pyz", b"z", pyz({"a.b": (0, code("y = 2\n"))}), False)]
        )
    data = bytearray(whole)
    for _ in range(generator.randint(1, 8)):
        data[generator.randrange(len(data))] = generator.randrange(256)
    path = tmp_path / "b.zip"
    path.write_bytes(data[: generator.randint(1, len(data))] if seed % 3 == 0 else data)
    try:
        found = members(str(path)) if is_archive(str(path)) else []
    except BytecodeError as error:
        assert "\n" not in str(error)
    else:
        assert sum(len(member.data) for member in found) < 1 << 20


# PyInstaller


def pyz(modules: dict[str, tuple[int, bytes]]) -> bytes:
    """An archive of modules, in PyInstaller's format: kind and marshal data of each."""
    body, table = b"", []
    for name, (kind, data) in modules.items():
        packed = zlib.compress(data)
        table.append((name, (kind, 16 + len(body), len(packed))))
        body += packed
    return b"PYZ\0" + MAGIC_BYTES + struct.pack("!I", 16 + len(body)) + bytes(4) + body + marshal.dumps(table)


def program(entries: list[tuple[str, bytes, bytes, bool]]) -> bytes:
    """A program of Linux with an archive at its end: name, kind, content, whether it is packed."""
    body, table = b"", b""
    for name, kind, content, packed in entries:
        data = zlib.compress(content) if packed else content
        label = name.encode() + b"\0"
        label += bytes(-(18 + len(label)) % 16)
        table += struct.pack("!IIIIBc", 18 + len(label), len(body), len(data), len(content), packed, kind) + label
        body += data
    number = VERSION[0] * 100 + VERSION[1]
    length = len(body) + len(table) + 88
    end = struct.pack("!8sIIII64s", b"MEI\x0c\x0b\x0a\x0b\x0e", length, len(body), len(table), number, b"libpython3.so")
    return b"\x7fELF" + bytes(500) + body + table + end + b"signature"


MODULES = {"app": (1, code("a = 1\n")), "app.core": (0, code("b = 2\n")), "data": (2, b"no code")}


def test_modules_of_pyinstaller(tmp_path: Path) -> None:
    path, out = tmp_path / "PYZ-00.pyz", tmp_path / "out"
    path.write_bytes(pyz(MODULES))
    assert main(["decompile", "-j", "1", "-o", str(out), str(path)]) == ExitStatus.PROVEN
    assert written(out) == {"app/__init__.py": "a = 1\n", "app/core.py": "b = 2\n"}


def test_program_of_pyinstaller(tmp_path: Path) -> None:
    path, out = tmp_path / "program", tmp_path / "out"
    entries = [("main", b"s", code("c = 3\n"), True), ("lib", b"b", b"machine code", True), ("PYZ.pyz", b"z", pyz(MODULES), False), ("hook", b"m", pyc("d = 4\n"), True)]  # fmt: skip
    path.write_bytes(program(entries))
    assert main(["decompile", "-j", "1", "-o", str(out), str(path)]) == ExitStatus.PROVEN
    assert written(out) == {
        "app/__init__.py": "a = 1\n",
        "app/core.py": "b = 2\n",
        "hook.py": "d = 4\n",
        "main.py": "c = 3\n",
    }


def test_modules_of_a_version_that_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "PYZ-00.pyz"
    path.write_bytes(pyz(MODULES).replace(MAGIC_BYTES, (3394).to_bytes(2, "little") + b"\r\n", 1))
    with pytest.raises(BytecodeError, match=r"of CPython 3\.7, which is not supported"):
        members(str(path))


def test_bombs_of_pyinstaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "ROOM", 1 << 16)
    path = tmp_path / "PYZ-00.pyz"
    path.write_bytes(pyz({"bomb": (0, bytes(1 << 22)), "m": (0, code("a = 1\n"))}))
    bomb, good = members(str(path))
    assert bomb.error == "it expands too far"
    assert good.version == VERSION


def test_a_program_without_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF" + bytes(500))
    assert main(["decompile", str(path)]) == ExitStatus.UNREADABLE
    assert "a program or library of Linux" in capsys.readouterr().err
