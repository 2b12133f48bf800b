"""The ``.pyc`` files in archives: zip files (wheels, eggs, zipapps) and those of PyInstaller.

Input: a path, or the bytes.  Output: ``Member``, one for each ``.pyc``.  Nothing is written or executed.  A member's
name is text that nobody trusts; links are not followed.  What all members come to is bounded by the size of the
archive, by what it declares before anything is unpacked and by what is really there.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from depyf.decompiler.bytecode.files import pyinstaller
from depyf.errors import BytecodeError

ROOM, FACTOR = 1 << 24, 20
"""What the members of an archive may come to: so many bytes, and so many for each byte of the archive.  Bytecode is
packed to a third or a fourth of its size."""
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_NAMES = (".zip", ".whl", ".egg", ".pyz", ".pyzw")
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_HEAD = 8


class Member(NamedTuple):
    """A ``.pyc`` in an archive.  ``version`` is set where the bytes are bare marshal data of that version."""

    name: str
    data: bytes = b""
    version: tuple[int, int] | None = None
    error: str = ""
    """Why there are no bytes."""

    @property
    def parts(self) -> list[str]:
        """The parts of the name; its separators are those of any system."""
        return [part for part in self.name.replace("\\", "/").split("/") if part not in ("", ".")] or ["_"]


def is_archive(source: str | bytes) -> bool:
    """Whether a file, or what it holds, is an archive that ``members`` opens: by its first bytes, or by its name and
    its end.

    Without a name, what begins as a script does may be a zipapp.
    """
    head = _head(source)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", pyinstaller.PYZ)):
        return True
    if head.startswith(_PROGRAMS):
        return pyinstaller.find_cookie(_whole(source)) >= 0
    named = head.startswith(b"#!") if isinstance(source, bytes) else source.lower().endswith(_NAMES)
    return named and zipfile.is_zipfile(_readable(source))


def _head(source: str | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:_HEAD]
    with open(source, "rb") as file:
        return file.read(_HEAD)


def _whole(source: str | bytes) -> bytes:
    return source if isinstance(source, bytes) else Path(source).read_bytes()


def _readable(source: str | bytes) -> str | io.BytesIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source


def members(source: str | bytes) -> list[Member]:
    """Every ``.pyc`` in the archive, in its order.  BytecodeError where it is damaged, or holds none."""
    if _head(source).startswith((pyinstaller.PYZ, *_PROGRAMS)):
        data = _whole(source)
        most = ROOM + FACTOR * len(data)
        found = [Member(*one) for one in pyinstaller.code_in(data, most)]
        if not found:
            raise BytecodeError("this archive of PyInstaller holds no bytecode")
        return found
    try:
        size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
        with zipfile.ZipFile(_readable(source)) as archive:
            found = list(_unzipped(archive, ROOM + FACTOR * size))
            sources = sum(info.filename.endswith(".py") for info in archive.infolist())
    except _DAMAGED as error:
        raise BytecodeError(f"a damaged zip archive: {error}") from None
    if not found:
        what = f"it has {sources} .py files, which are source" if sources else "nor a .py file"
        raise BytecodeError(f"no .pyc file in this archive; {what}")
    return found


_DAMAGED = (
    zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, IndexError, struct.error,
    zlib.error, RuntimeError,
)  # fmt: skip
"""What ``zipfile`` raises for bad input."""


def _unzipped(archive: zipfile.ZipFile, most: int) -> Iterator[Member]:
    left = most
    for info in archive.infolist():
        name = info.filename
        if info.is_dir() or not name.lower().endswith(".pyc"):
            continue
        if stat.S_ISLNK(info.external_attr >> 16):
            yield Member(name, error="it is a symbolic link, which is not followed")
        elif info.flag_bits & 1:
            yield Member(name, error="it is encrypted")
        elif info.compress_type not in _METHODS:
            yield Member(
                name, error=f"it is compressed by method {info.compress_type}; unpack the archive, and name the folder"
            )
        elif info.file_size > left:
            yield Member(name, error=f"it expands too far, to {info.file_size} bytes: the archive may come to {most}")
        else:
            try:
                with archive.open(info) as file:
                    data = file.read(info.file_size + 1)
            except (*_DAMAGED, OSError) as error:
                yield Member(name, error=f"it is damaged: {error}")
            else:
                left -= len(data)
                yield Member(name, data)
