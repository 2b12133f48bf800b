"""``.pyc`` files of CPython 3.8-3.15: the magic number tells the version, the rest is marshal data.

Input: a path or the bytes of a file.  Output: the ``CodeUnit`` of the module.  Nothing is executed or imported.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.bounds import check
from depyf.decompiler.bytecode.files.cache_names import level_of
from depyf.decompiler.bytecode.files.magic_numbers import MAGIC, Writer, writer_of
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.errors import BytecodeError

__all__ = ["MAGIC", "Header", "loads", "read_header", "read_pyc", "unit_of_pyc"]

RANGE = "CPython 3.8 to 3.15"


class Header(NamedTuple):
    """What precedes the code (PEP 552): either a source hash, or the source's time and size."""

    version: tuple[int, int]
    source_hash: bytes | None
    check_source: bool
    mtime: int
    source_size: int


def read_header(data: bytes) -> Header:
    """The 16 bytes at the start of a ``.pyc``."""
    if len(data) < 16:
        raise BytecodeError(f"not a .pyc file: {len(data)} bytes, the header alone takes 16")
    if data[2:4] != b"\r\n":
        raise BytecodeError("not a .pyc file: bytes 2 and 3 are not the magic number's CR LF")
    magic = int.from_bytes(data[:2], "little")
    version = MAGIC.get(magic)
    if version is None:
        raise BytecodeError(f"magic number {magic} at offset 0 is of {_not_read(writer_of(magic))}")
    flags = int.from_bytes(data[4:8], "little")
    if flags & ~3:
        raise BytecodeError(f"unknown .pyc flags {flags:#x} at offset 4")
    if flags & 1:
        return Header(version, data[8:16], bool(flags & 2), 0, 0)
    mtime, size = int.from_bytes(data[8:12], "little"), int.from_bytes(data[12:16], "little")
    return Header(version, None, False, mtime, size)


def _not_read(writer: Writer | None) -> str:
    """The interpreter whose magic number is no key of ``MAGIC``, and what could read its files."""
    if writer is None:
        return f"no known interpreter; supported are {RANGE}"
    found = f"{writer.name}; supported are {RANGE}"
    if writer.near is not None:
        near = "{}.{}".format(*writer.near)
        found += f", and --version {near} reads the file as if it were of {near}"
    return f"{found}; {writer.readers}" if writer.readers else found


def unit_of_pyc(data: bytes) -> CodeUnit:
    """The module's code in the bytes of a ``.pyc`` file.  BytecodeError for what is none, or expands too far."""
    header = read_header(data)
    unit = loads(data[16:], header.version)
    if not isinstance(unit, CodeUnit):
        raise BytecodeError(f"the .pyc file holds a {type(unit).__name__}, not a code object, at offset 16")
    check(unit, len(data))
    return unit


def read_pyc(path: str | os.PathLike[str]) -> CodeUnit:
    """The module's code in the file at ``path``, whose name says how it was compiled (PEP 488: ``x.opt-2.pyc``)."""
    data = Path(path).read_bytes()
    level = level_of(Path(path).name)
    try:
        unit = unit_of_pyc(data)
        return replace(unit, optimized=level) if level else unit
    except BytecodeError as error:
        raise BytecodeError(f"{os.fspath(path)}: {error}") from None
