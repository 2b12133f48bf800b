"""Magic numbers: which interpreter wrote a file, by the first bytes of it, and what could read what we do not.

The numbers are those of CPython's ``Include/internal/pycore_magic_number.h`` and of PyPy's
``pypy/interpreter/pycode.py``.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

MAGIC = {
    3413: (3, 8),
    3425: (3, 9),
    3439: (3, 10),
    3495: (3, 11),
    3531: (3, 12),
    3571: (3, 13),
    3627: (3, 14),
    3666: (3, 15),
}
"""Magic numbers of the released versions that are read; alphas and betas wrote other bytecode under other numbers."""

_RELEASED = {
    "1.5": "20121", "1.6": "50428", "2.0": "50823", "2.1": "60202", "2.2": "60717", "2.3": "62011", "2.4": "62061",
    "2.5": "62131", "2.6": "62161", "2.7": "62211", "3.0": "3131", "3.1": "3151", "3.2": "3180", "3.3": "3230",
    "3.4": "3310", "3.5": "3350", "3.5.2": "3351", "3.6": "3379", "3.7": "3394", "3.8": "3413", "3.9": "3425",
    "3.10": "3439", "3.11": "3495", "3.12": "3531", "3.13": "3571", "3.14": "3627", "3.15": "3666",
}  # fmt: skip
_PRE_RELEASES = {
    "2.3a0": "62021", "2.4a0": "62041", "2.4a3": "62051", "2.5a0": "62071 62081 62091-62092", "2.5b3": "62101 62111",
    "2.5c1": "62121", "2.6a0": "62151", "2.7a0": "62171 62181 62191 62201",
    "3.0a0": "3000 3010 3020 3030 3040 3050 3060-3061 3071 3081 3091 3101 3103", "3.0a4": "3111", "3.1a1": "3141",
    "3.2a1": "3160", "3.2a2": "3170", "3.3a1": "3190 3200 3210", "3.3a2": "3220", "3.4a1": "3250 3260 3270 3280",
    "3.4a4": "3290 3300", "3.5a1": "3320", "3.5b1": "3330", "3.5b2": "3340", "3.6a0": "3360", "3.6a1": "3361",
    "3.6a2": "3370-3372", "3.6b1": "3373 3375-3377", "3.6b2": "3378", "3.7a1": "3390", "3.7a2": "3391",
    "3.7a4": "3392", "3.7b1": "3393", "3.8a1": "3400-3401 3410", "3.8b2": "3411-3412", "3.9a0": "3420-3422",
    "3.9a2": "3423-3424", "3.10a1": "3430-3431", "3.10a2": "3432-3433", "3.10a6": "3434", "3.10a7": "3435",
    "3.10b1": "3436-3438", "3.11a1": "3450-3461", "3.11a2": "3462", "3.11a3": "3463-3465", "3.11a4": "3466-3474",
    "3.11a5": "3475-3485", "3.11a6": "3486-3491", "3.11a7": "3492-3494", "3.12a1": "3500-3509", "3.12a2": "3510-3512",
    "3.12a4": "3513-3514", "3.12a5": "3515-3517", "3.12a6": "3518-3520", "3.12a7": "3521-3524", "3.12b1": "3525-3530",
    "3.13a1": "3550-3568", "3.13a5": "3569", "3.13a6": "3570", "3.14a1": "3600-3608", "3.14a2": "3609",
    "3.14a4": "3610-3613", "3.14a5": "3614-3616", "3.14a6": "3617-3620", "3.14a7": "3621-3623", "3.14b1": "3624",
    "3.14b3": "3625", "3.14rc2": "3626", "3.15a0": "3650", "3.15a1": "3651-3656", "3.15a4": "3657-3661",
    "3.15a8": "3662-3665", "3.16a0": "3700-3701", "3.16a1": "3702-3706",
}  # fmt: skip
"""CPython's label of a number is the next pre-release at that time: the first one that writes it.  Numbers of 3.16 as
of September 2026."""

_PYPY = {
    "3.2": "16 32 48", "3.3": "64", "3.5": "80 96 112", "3.6": "128 144 160 176 192 208", "3.7": "224 240",
    "3.8": "256", "3.9": "272 288 304 320 336", "3.10": "384", "3.11": "416",
}  # fmt: skip
"""PyPy's numbers grow by 16 with each change, and stay below CPython's."""
_PYPY_2 = 62218

_FIRST_BY_RULE, _PER_MINOR = 3450, 50
"""From 3.11 on, numbers of 3.n begin with 2900 + 50 n."""
_STAGES = {"a": "alpha", "b": "beta", "c": "release candidate", "rc": "release candidate"}
_LABEL = re.compile(r"(\d)\.(\d+)(a|b|rc|c)(\d+)")

OLD_READERS = "uncompyle6 and pycdc decompile it"
READERS_37 = "decompyle3, uncompyle6 and pycdc decompile it"
INSTRUCTIONS = "pydisasm of the package xdis lists its instructions"
MPY_READER = "tools/mpy-tool.py of MicroPython lists its instructions"


class Writer(NamedTuple):
    """The interpreter that writes a magic number.  ``version`` is None where it is none that we read."""

    name: str
    version: tuple[int, int] | None = None
    near: tuple[int, int] | None = None
    """Of a pre-release: the release that came of it."""
    readers: str = ""
    """What could read a file of it, if we know of something."""


def writer_of(magic: int) -> Writer | None:
    """The interpreter that writes ``magic``, the first two bytes of a file; None for a number that none does."""
    known = _table().get(magic)
    if known is not None:
        return known
    if 0 < magic < 3000 and magic % 16 == 0:
        return Writer("PyPy 3", readers=INSTRUCTIONS)
    minor = (magic - _FIRST_BY_RULE) // _PER_MINOR + 11
    if _FIRST_BY_RULE <= magic < 4000:
        known_minor = any(version[1] == minor for version in MAGIC.values())
        return Writer(f"a pre-release of CPython 3.{minor}", near=(3, minor) if known_minor else None)
    return None


@functools.cache
def _table() -> dict[int, Writer]:
    found: dict[int, Writer] = {}
    for label, numbers in _PRE_RELEASES.items():
        parts = _LABEL.fullmatch(label)
        assert parts is not None
        version = int(parts[1]), int(parts[2])
        name = f"CPython {parts[1]}.{parts[2]} {_STAGES[parts[3]]} {parts[4]}"
        near = version if version in MAGIC.values() else None
        readers = INSTRUCTIONS if near else _readers(version)
        found.update(dict.fromkeys(_numbers(numbers), Writer(name, near=near, readers=readers)))
    for label, numbers in _RELEASED.items():
        for number in _numbers(numbers):
            read = MAGIC.get(number)
            major, minor = label.split(".")[:2]
            found[number] = Writer(f"CPython {label}", read, readers="" if read else _readers((int(major), int(minor))))
    for label, numbers in _PYPY.items():
        found.update(dict.fromkeys(_numbers(numbers), Writer(f"PyPy {label}", readers=INSTRUCTIONS)))
    found[_PYPY_2] = Writer("PyPy 2.7", readers=OLD_READERS)
    return found


def _readers(version: tuple[int, int]) -> str:
    if version > max(MAGIC.values()):
        return ""
    return READERS_37 if version == (3, 7) else OLD_READERS


def _numbers(text: str) -> list[int]:
    """The numbers in ``3400-3401 3410``."""
    found: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found
