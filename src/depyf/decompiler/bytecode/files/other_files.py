"""Names what a file is that holds no bytecode we read, by its first bytes, and what could read it."""

from __future__ import annotations

import re

from depyf.decompiler.bytecode.files.magic_numbers import MPY_READER

_STARTS = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PYZ\0", "an archive of PyInstaller"),
    (b"\x7fELF", "a program or library of Linux, compiled to machine code"),
    (b"MZ", "a program or library of Windows, compiled to machine code"),
    (b"\xcf\xfa\xed\xfe", "a program or library of macOS, compiled to machine code"),
    (b"\xca\xfe\xba\xbe", "a class of Java (Jython?) or a library of macOS"),
    (b"\x1f\x8b", "compressed with gzip: unpack it, and name what is in it"),
    (b"BZh", "compressed with bzip2: unpack it, and name what is in it"),
    (b"\xfd7zXZ\0", "compressed with xz: unpack it, and name what is in it"),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip: unpack it, and name the folder"),
)
_TAR = slice(257, 262)
_TEXT = 1 << 12
_LOG = 1 << 16
_PRINTED = re.compile(rb"^(?:\[rank\d+\]:)?[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ +[^:\n]{1,400}\.py:\d+\] (?!\{)", re.M)
PRINTED_LOG = (
    "text that torch's loggers printed (TORCH_LOGS); depyf reads what TORCH_TRACE=FOLDER writes: "
    "run the program again with that, then depyf open FOLDER"
)
_NEWEST_MPY = 9
"""The newest version so far is 6."""


def kind_of(data: bytes) -> str:
    """What kind of file begins with ``data``, in words; empty for a kind that is not known."""
    for start, name in _STARTS:
        if data.startswith(start):
            return name
    if data[_TAR] == b"ustar":
        return "a tar archive: unpack it, and name the folder"
    if data[:1] in (b"M", b"C") and len(data) > 3 and data[1] <= _NEWEST_MPY:
        maker = "MicroPython" if data[:1] == b"M" else "CircuitPython"
        return f"bytecode of {maker} (.mpy), version {data[1]}; {MPY_READER}"
    if is_printed_log(data):
        return PRINTED_LOG
    if data and _is_text(data[:_TEXT]):
        return "text; if it is Python source, its name must end in .py"
    return ""


def is_printed_log(data: bytes) -> bool:
    """Whether torch's loggers have printed what ``data`` begins with (``TORCH_LOGS``): a line of theirs has a header of
    glog, and no JSON after it."""
    return _PRINTED.search(data[:_LOG]) is not None


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(data) - 3:
            return False
        text = data[: error.start].decode("utf-8")
    return all(char.isprintable() or char in "\t\n\r\f" for char in text)
