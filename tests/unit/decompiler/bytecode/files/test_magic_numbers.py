"""Every magic number has its interpreter's name, and what is not read is named with what could read it."""

from __future__ import annotations

import re

import pytest

from depyf.decompiler.bytecode.files.magic_numbers import MAGIC, writer_of
from depyf.decompiler.bytecode.files.opening import open_code
from depyf.errors import BytecodeError
from needs import need
from tools.env.interpreters import stdlib_of

NAMES = {
    20121: "CPython 1.5", 62021: "CPython 2.3 alpha 0", 62211: "CPython 2.7", 3000: "CPython 3.0 alpha 0", 3310: "CPython 3.4",
    3350: "CPython 3.5", 3351: "CPython 3.5.2", 3379: "CPython 3.6", 3378: "CPython 3.6 beta 2", 3390: "CPython 3.7 alpha 1",
    3394: "CPython 3.7", 3400: "CPython 3.8 alpha 1", 3412: "CPython 3.8 beta 2", 3413: "CPython 3.8", 3424: "CPython 3.9 alpha 2",
    3438: "CPython 3.10 beta 1", 3461: "CPython 3.11 alpha 1", 3494: "CPython 3.11 alpha 7", 3530: "CPython 3.12 beta 1",
    3570: "CPython 3.13 alpha 6", 3600: "CPython 3.14 alpha 1", 3626: "CPython 3.14 release candidate 2", 3627: "CPython 3.14",
    3665: "CPython 3.15 alpha 8", 3666: "CPython 3.15", 3700: "CPython 3.16 alpha 0", 3706: "CPython 3.16 alpha 1",
    3749: "a pre-release of CPython 3.16", 3499: "a pre-release of CPython 3.11", 112: "PyPy 3.5", 336: "PyPy 3.9", 416: "PyPy 3.11",
    432: "PyPy 3", 62218: "PyPy 2.7",
}  # fmt: skip


@pytest.mark.parametrize("magic", NAMES)
def test_names(magic: int) -> None:
    writer = writer_of(magic)
    assert writer is not None
    assert writer.name == NAMES[magic]


@pytest.mark.parametrize("magic", [0, 1, 3402, 3449, 4000, 13000, 65535])
def test_numbers_of_nobody(magic: int) -> None:
    assert writer_of(magic) is None


def test_what_is_read() -> None:
    assert {
        magic: writer.version for magic in range(1 << 16) if (writer := writer_of(magic)) and writer.version
    } == MAGIC


def test_as_cpython_lists_them() -> None:
    """The list in CPython's own source; a pre-release is named by the label there, the last number of each version by the version."""
    text = (stdlib_of(need("3.13")) / "importlib" / "_bootstrap_external.py").read_text()
    listed = re.findall(r"(?m)^# +Python (\d\.\d+)(?:(a|b|rc)(\d+))?:? +(\d{4,5})\b", text)
    assert len(listed) > 180
    stages = {"a": "alpha", "b": "beta", "rc": "release candidate"}
    for version, stage, number, magic in listed:
        writer = writer_of(int(magic))
        assert writer is not None, magic
        assert writer.name in (f"CPython {version}", f"CPython {version} {stages.get(stage)} {number}"), magic


REAL = {  # ``x = 1``, as these interpreters compile it
    "CPython 2.7": "03f30d0a87110a6b6300000000000000000100000040000000730a0000006400005a000064010053280200000069010000004e28010000007401000000"
    "78280000000028000000002800000000730c0000002f746d702f66782f782e707974080000003c6d6f64756c653e010000007400000000",
    "CPython 3.6": "330d0d0a87110a6b06000000e30000000000000000000000000100000040000000730800000064005a00640153002902e9010000004e2901da0178"
    "a90072030000007203000000fa0c2f746d702f66782f782e7079da083c6d6f64756c653e010000007300000000",
    "CPython 3.7": "420d0d0a0000000087110a6b06000000e30000000000000000000000000100000040000000730800000064005a00640153002902e9010000004e29"
    "01da0178a90072030000007203000000fa0c2f746d702f66782f782e7079da083c6d6f64756c653e01000000f300000000",
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_files_of_old_interpreters(name: str) -> None:
    with pytest.raises(BytecodeError) as caught:
        open_code(bytes.fromhex(REAL[name]))
    message = str(caught.value)
    assert f"is of {name};" in message
    assert "pre-release" not in message
    assert "uncompyle6" in message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((336).to_bytes(2, "little") + b"\r\n" + bytes(40), "of PyPy 3.9; .*; pydisasm"),
        (b"M\x06\x00\x1f\x02\x00" + bytes(40), r"MicroPython \(\.mpy\), version 6; tools/mpy-tool\.py"),
        (b"C\x06\x00\x1f\x02\x00" + bytes(40), r"CircuitPython \(\.mpy\), version 6"),
        ((3703).to_bytes(2, "little") + b"\r\n" + bytes(40), "of CPython 3.16 alpha 1; supported are CPython 3.8 to 3.15$"),
        ((3626).to_bytes(2, "little") + b"\r\n" + bytes(40), "of CPython 3.14 release candidate 2; .* --version 3.14 reads"),
        (b"\x7fELF" + bytes(60), "program or library of Linux"),
        (b"MZ\x90\x00" + bytes(60), "program or library of Windows"),
        (b"import os\n", "it is text"),
        (bytes(257) + b"ustar" + bytes(300), "tar archive"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_named(data: bytes, message: str) -> None:
    with pytest.raises(BytecodeError, match=message):
        open_code(data)
