"""Code in bytes whose header is whole, cut off, zeroed or wrong.  Nothing is executed.

Input: bytes, and the version where somebody knows it.  Output: ``Opened``, the ways to read them, the best first, and
what there is to say about it.  Where the header tells the version, there is one way.  Else every version is tried on
every place where code may begin: what its marshal reader refuses, has unknown opcodes or a stack that does not add up
is not of it (``fitting``).  Bad input is a ``BytecodeError``; work and memory are bounded by the size of the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.bounds import check
from depyf.decompiler.bytecode.files.cache_names import level_of
from depyf.decompiler.bytecode.files.fitting import oddities
from depyf.decompiler.bytecode.files.magic_numbers import MAGIC, Writer, writer_of
from depyf.decompiler.bytecode.files.other_files import kind_of
from depyf.decompiler.bytecode.files.pyc import RANGE, read_header
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.versions import SUPPORTED
from depyf.errors import BytecodeError

Version = tuple[int, int]
HEADER = 16
_OFFSETS = (HEADER, 0, 4, 8, 12)
"""Where code may begin: after a whole header, at once, or after a part of one (2.x wrote 8 bytes, 3.3 to 3.6 12)."""
_CODE = ord("c")


class FileReading(NamedTuple):
    """One way to read the bytes: code of ``unit.version`` that begins at ``offset``."""

    unit: CodeUnit
    offset: int
    oddities: int = 0


class Opened(NamedTuple):
    """The ways to read some bytes that are equally good, newest version first, and what is wrong with the bytes."""

    readings: tuple[FileReading, ...]
    problem: str = ""
    """Empty where the header is whole and right."""
    how: str = "found by trying"
    """Who says of which version it is."""
    data: bytes = b""

    @property
    def unit(self) -> CodeUnit:
        return self.readings[0].unit

    def note(self, chosen: CodeUnit | None = None, alike: bool = False) -> str:
        """One sentence on how the bytes were read; empty where the header tells it.

        ``alike``: whether the other readings give the same text as ``chosen``.
        """
        if not self.problem:
            return ""
        chosen = chosen or self.unit
        others = [_dotted(one.unit.version) for one in self.readings if one.unit is not chosen]
        more = ""
        if others:
            same = ", and gives the same text" if alike else f" (--version {others[0]})"
            more = f"; {' or '.join(others)} fits as well{same}"
        return f"Read as bytecode of CPython {_dotted(chosen.version)}, {self.how}: {self.problem}{more}."


def as_version(version: str | Version) -> Version:
    """``(3, 11)`` for ``"3.11"``.  BytecodeError for what is no version that can be read."""
    if isinstance(version, str):
        parts = version.split(".")
        found = tuple(map(int, parts)) if all(part.isascii() and part.isdecimal() for part in parts) else ()
    else:
        found = tuple(version)
    if found[:2] not in SUPPORTED or len(found) > 3:
        raise BytecodeError(f"{version!r} is no version that can be read; {RANGE} can")
    return found[0], found[1]


def open_code(data: bytes, version: str | Version | None = None, name: str = "") -> Opened:
    """The ways to read ``data``: a ``.pyc`` file, or marshal data of a code object.

    ``version`` settles what the bytes were written by.  ``name``, the file's, tells how it was compiled (PEP 488).
    """
    opened = _open(data, None if version is None else as_version(version))
    return _optimized(opened, name)


def open_marshal(data: bytes, version: Version, name: str = "") -> Opened:
    """The one way to read bare marshal data, whose version is known."""
    return _optimized(Opened((FileReading(_unit_at(data, 0, version), 0),)), name)


def _optimized(opened: Opened, name: str) -> Opened:
    level = level_of(name)
    if not level:
        return opened
    found = [one._replace(unit=replace(one.unit, optimized=level)) for one in opened.readings]
    return opened._replace(readings=tuple(found))


def other_readings(opened: Opened) -> Opened | None:
    """What the bytes are, where their magic number says one version and the code is of another one."""
    if opened.problem:
        return None
    wrong = opened.unit.version
    try:
        oddities(opened.unit)
    except BytecodeError:
        found = _tried(opened.data, [version for version in SUPPORTED if version != wrong])
        if found:
            return Opened(
                found, f"the magic number is of CPython {_dotted(wrong)}, and the code is not", data=opened.data
            )
    return None


def _open(data: bytes, asked: Version | None) -> Opened:
    writer = _writer(data)
    whole = None
    if writer is not None and writer.version is not None and asked in (None, writer.version):
        try:
            return Opened((FileReading(_unit_at(data, HEADER, writer.version, whole=True), HEADER),), data=data)
        except BytecodeError as error:
            whole = error
    elif writer is not None and asked is None:
        read_header(data)  # says which interpreter's it is
    versions: Iterable[Version] = SUPPORTED
    if asked is not None:
        versions = (asked,)
    elif writer is not None and writer.version is not None:
        versions = (writer.version,)
    found = _tried(data, versions) if asked is None else _asked(data, asked)
    if not found and whole is not None and asked is None:
        found = _tried(data, SUPPORTED)
    if found:
        named = writer is not None and writer.version == found[0].unit.version
        how = "as asked" if asked else "as the magic number says" if named else "found by trying"
        return Opened(found, _problem(data, writer, found[0], whole), how, data)
    if whole is not None:
        raise whole
    raise _refusal(data, asked)


def _unit_at(data: bytes, offset: int, version: Version, whole: bool = False) -> CodeUnit:
    """The code object that begins at ``offset``; ``whole``: the header before it must be right."""
    if whole:
        read_header(data)
    unit = loads(data[offset:] if offset else data, version)
    if not isinstance(unit, CodeUnit):
        raise BytecodeError(f"the .pyc file holds a {type(unit).__name__}, not a code object, at offset {offset}")
    check(unit, len(data))
    return unit


def _places(data: bytes) -> list[int]:
    return [offset for offset in _OFFSETS if data[offset : offset + 1] and data[offset] & 0x7F == _CODE]


def _asked(data: bytes, version: Version) -> tuple[FileReading, ...]:
    """The first place where marshal data of ``version`` gives a code object, whatever is in it."""
    for offset in _places(data):
        try:
            return (FileReading(_unit_at(data, offset, version), offset),)
        except BytecodeError:
            continue
    return ()


def _tried(data: bytes, versions: Iterable[Version]) -> tuple[FileReading, ...]:
    """The readings with the fewest oddities, the newest version first, one place for each version."""
    found: dict[Version, FileReading] = {}
    for offset in _places(data):
        refused: set[bool] = set()
        for version in versions:
            layout = version >= (3, 11)  # of code objects in marshal data: there are two
            if layout in refused:
                continue
            try:
                unit = _unit_at(data, offset, version)
            except BytecodeError:
                refused.add(layout)
                continue
            try:
                reading = FileReading(unit, offset, oddities(unit))
            except BytecodeError:
                continue
            if version not in found or reading.oddities < found[version].oddities:
                found[version] = reading
    fewest = min((one.oddities for one in found.values()), default=0)
    best = [one for one in found.values() if one.oddities == fewest]
    return tuple(sorted(best, key=lambda one: one.unit.version, reverse=True))


def _writer(data: bytes) -> Writer | None:
    return writer_of(int.from_bytes(data[:2], "little")) if data[2:4] == b"\r\n" else None


def _problem(data: bytes, writer: Writer | None, reading: FileReading, whole: BytecodeError | None) -> str:
    """What is wrong with the header of ``data``, whose code is ``reading``."""
    offset = reading.offset
    size = f" of {offset} bytes" if offset != HEADER else ""
    if offset == 0:
        return "there is no header"
    if not any(data[:offset]):
        return f"the header{size} is zeroed"
    if writer is None:
        return f"the magic number in the header{size} is of no known interpreter"
    if writer.version != reading.unit.version:
        return f"the magic number is of {writer.name}"
    return f"the header has {offset} bytes, not {HEADER}" if size else f"the header is damaged, {whole}"


def _refusal(data: bytes, asked: Version | None) -> BytecodeError:
    kind = kind_of(data)
    if kind:
        return BytecodeError(f"not a .pyc file: it is {kind}")
    try:
        read_header(data)
    except BytecodeError as error:
        reason = str(error)
    else:
        reason = "the header is right"
    places: Sequence[int] = _places(data)
    if not places:
        return BytecodeError(f"{reason}; and no code object begins at offset 0, 4, 8, 12 or 16")
    tried = f"CPython {_dotted(asked)}" if asked else f"any of {RANGE}"
    return BytecodeError(f"{reason}; and what begins at offset {places[0]} is no code of {tried}")


def _dotted(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


__all__ = ["MAGIC", "Opened", "FileReading", "as_version", "open_code", "open_marshal", "other_readings"]
