"""Code in what PyInstaller writes: a program with an archive at its end (CArchive), and the archive of modules (PYZ).

Input: the bytes.  Output: name, bytes and version of each piece of code.  Nothing is executed; every offset and size is
checked against the bytes that are there.  The table of a PYZ is marshal data, read by ``unmarshal``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from depyf.decompiler.bytecode.files.magic_numbers import writer_of
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.versions import SUPPORTED
from depyf.errors import BytecodeError

PYZ = b"PYZ\0"
_COOKIE = b"MEI\x0c\x0b\x0a\x0b\x0e"
_END = struct.Struct("!8sIIII64s")
"""Mark, length of the archive, offset and length of its table, version of Python, name of its library."""
_ENTRY = struct.Struct("!IIIIBc")
"""Length of the entry, offset, packed and unpacked length, whether it is packed, kind."""
_SCRIPT, _MODULE, _PACKAGE, _MODULES = b"s", b"m", b"M", (b"z", b"Z")
_PYZ_HEAD = struct.Struct("!4sHHI")
_PYZ_CODE, _PYZ_PACKAGE = 0, 1
Found = tuple[str, bytes, "tuple[int, int] | None", str]


def find_cookie(data: bytes) -> int:
    """Where the mark at the end of the archive in a program is; -1 where there is none."""
    at = data.rfind(_COOKIE)
    return at if 0 <= at <= len(data) - _END.size else -1


def code_in(data: bytes, most: int) -> list[Found]:
    """The code in a PYZ or a program: name, bytes, the version of bare marshal data, and why there are none.

    ``most``: how many bytes may come of it.
    """
    left = [most]
    if data.startswith(PYZ):
        return list(_modules(data, left))
    return list(_program(data, left))


def _program(data: bytes, left: list[int]) -> Iterator[Found]:
    at = find_cookie(data)
    if at < 0:
        raise BytecodeError("no archive of PyInstaller is in this program")
    _, length, table, size, number, _ = _END.unpack_from(data, at)
    start = at + _END.size - length
    if start < 0 or table + size > length:
        raise BytecodeError("a damaged archive of PyInstaller: its table lies outside of it")
    version = divmod(number, 100) if number >= 100 else divmod(number, 10)
    position, end = start + table, start + table + size
    while position + _ENTRY.size <= end:
        entry, offset, packed, unpacked, squeezed, kind = _ENTRY.unpack_from(data, position)
        if entry < _ENTRY.size or position + entry > end or offset + packed > length:
            raise BytecodeError(f"a damaged archive of PyInstaller: bad entry at offset {position}")
        name = data[position + _ENTRY.size : position + entry].split(b"\0")[0].decode("utf-8", "replace")
        position += entry
        if kind not in (_SCRIPT, _MODULE, _PACKAGE) and kind not in _MODULES:
            continue
        content, error = data[start + offset : start + offset + packed], ""
        if squeezed:
            content, error = _unpacked(content, left, unpacked)
        if kind in _MODULES:
            if error:
                yield name, b"", None, error
            else:
                yield from _modules(content, left)
        else:
            bare = version if version in SUPPORTED and content[2:4] != b"\r\n" else None
            path = name if kind == _SCRIPT else name.replace(".", "/") + ("/__init__" if kind == _PACKAGE else "")
            yield f"{path}.pyc", content, bare, error


def _modules(data: bytes, left: list[int]) -> Iterator[Found]:
    """The modules of a PYZ."""
    if len(data) < _PYZ_HEAD.size or not data.startswith(PYZ):
        raise BytecodeError("a damaged archive of PyInstaller: no PYZ where one should be")
    _, number, _, table = _PYZ_HEAD.unpack_from(data)
    writer = writer_of(int.from_bytes(number.to_bytes(2, "big"), "little"))
    if writer is None or writer.version is None:
        who = writer.name if writer else "no known interpreter"
        raise BytecodeError(f"the modules in this archive of PyInstaller are of {who}, which is not supported")
    if table > len(data):
        raise BytecodeError("a damaged archive of PyInstaller: its table lies outside of it")
    for name, row in _rows(loads(data[table:], writer.version)):
        kind, offset, size = row
        if kind not in (_PYZ_CODE, _PYZ_PACKAGE) or not size:
            continue
        path = name.replace(".", "/") + ("/__init__" if kind == _PYZ_PACKAGE else "")
        if offset < 0 or size < 0 or offset + size > len(data):
            yield f"{path}.pyc", b"", None, "it lies outside of the archive"
            continue
        content, error = _unpacked(data[offset : offset + size], left)
        yield f"{path}.pyc", content, writer.version, error


def _rows(table: Any) -> Iterator[tuple[str, tuple[int, int, int]]]:
    pairs = list(table.items()) if isinstance(table, dict) else table
    if not isinstance(pairs, (list, tuple)):
        raise BytecodeError("a damaged archive of PyInstaller: its table is none")
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], tuple)):
            raise BytecodeError("a damaged archive of PyInstaller: bad row in its table")
        row = pair[1]
        if len(row) != 3 or not all(type(number) is int or type(number) is bool for number in row):
            raise BytecodeError("a damaged archive of PyInstaller: bad row in its table")
        yield pair[0], (int(row[0]), row[1], row[2])


def _unpacked(content: bytes, left: list[int], declared: int | None = None) -> tuple[bytes, str]:
    """What zlib data holds, or why not: no more than is left to unpack is unpacked."""
    if declared is not None and declared > left[0]:
        return b"", f"it expands too far, to {declared} bytes"
    worker = zlib.decompressobj()
    try:
        data = worker.decompress(content, left[0] + 1)
    except zlib.error as error:
        return b"", f"it is damaged or encrypted: {error}"
    if len(data) > left[0]:
        return b"", "it expands too far"
    left[0] -= len(data)
    return data, ""
