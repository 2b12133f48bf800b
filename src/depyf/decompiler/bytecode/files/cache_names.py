"""What the name of a ``.pyc`` says (PEP 3147, PEP 488), and which name its text gets beside those of its neighbours.

``__pycache__/m.cpython-312.opt-1.pyc`` is the module ``m``, compiled by CPython 3.12 with ``-O``.
"""

from __future__ import annotations

import itertools
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from depyf.decompiler.bytecode.files.magic_numbers import writer_of
from depyf.safety.escape import file_name

CACHE = "__pycache__"
_TAGGED = re.compile(r"(?P<stem>.+?)\.(?P<tag>[a-z]+-?\d[^.]*(?:\.\d[^.]*)*)(?:\.opt-(?P<level>\w+))?", re.DOTALL)
"""A tag may hold the version of a tool, with its dots: ``cpython-311-pytest-8.3.4``."""
_OPTIMIZED = re.compile(r"\.opt-(\d)\.pyc$")
_UNREAD = (0, 0)


class CacheName(NamedTuple):
    """``folder`` is that of the source.  ``tag`` and ``level`` are empty where the name has none."""

    folder: tuple[str, ...]
    stem: str
    tag: str
    level: str

    @property
    def marks(self) -> str:
        """What tells this file from others of its module."""
        return "".join(f".{part}" for part in (self.tag, f"opt-{self.level}" if self.level else "") if part)


def level_of(name: str) -> int:
    """The level of optimisation that the name of a file tells."""
    found = _OPTIMIZED.search(name)
    return int(found[1]) if found else 0


def parse(parts: Sequence[str]) -> CacheName:
    """What the parts of a path say; only in ``__pycache__`` are names tagged."""
    *folder, name = parts
    stem = name.removesuffix(".pyc")
    if folder[-1:] != [CACHE]:
        return CacheName(tuple(folder), stem, "", "")
    tagged = _TAGGED.fullmatch(stem)
    if tagged:
        return CacheName(tuple(folder[:-1]), tagged["stem"], tagged["tag"], tagged["level"] or "")
    first, _, rest = stem.partition(".")
    return CacheName(tuple(folder[:-1]), first, rest, "")


def text_names(paths: Sequence[Sequence[str]], heads: Sequence[bytes]) -> list[str]:
    """Names for the texts of files, in their order, each another on every file system.

    Input: the parts of each path, which nobody need trust, and the first bytes of each file.  ``m.py`` is the file of
    the newest version that can be read, and of those the least optimised; the others of ``m`` keep their tags.
    """
    parsed = [parse(parts) for parts in paths]
    versions = [_version(head) for head in heads]
    groups: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for index, one in enumerate(parsed):
        groups.setdefault((one.folder, one.stem), []).append(index)
    first: list[int] = []
    others: list[int] = []
    for members in groups.values():
        ranked = sorted(members, key=lambda index: _rank(parsed[index], versions[index], index))
        first.append(ranked[0])
        others += ranked[1:]
    taken: set[str] = set()
    names: dict[int, str] = {}
    for index in (*sorted(first), *sorted(others)):
        choices = _choices(parsed[index], versions[index], index in others)
        names[index] = next(name for name in choices if same_file(name) not in taken)
        taken.add(same_file(names[index]))
    return [names[index] for index in range(len(paths))]


def _version(head: bytes) -> tuple[int, int]:
    writer = writer_of(int.from_bytes(head[:2], "little")) if head[2:4] == b"\r\n" else None
    return writer.version or _UNREAD if writer else _UNREAD


def _rank(name: CacheName, version: tuple[int, int], index: int) -> tuple[tuple[int, int], str, bool, int]:
    return (-version[0], -version[1]), name.level, bool(name.tag), index


def _choices(name: CacheName, version: tuple[int, int], marked: bool) -> Iterator[str]:
    """Names for one text, the best first."""
    folder = [file_name(part) for part in name.folder if part not in ("", ".")]
    known = f".cpython-{version[0]}{version[1]}" if version != _UNREAD else ""
    marks = name.marks or known
    if not marked or not marks:
        yield "/".join((*folder, file_name(name.stem, ".py")))
    if marks:
        yield "/".join((*folder, file_name(name.stem + marks, ".py")))
    for number in itertools.count(2):
        yield "/".join((*folder, file_name(f"{name.stem}{marks}_{number}", ".py")))


def same_file(name: str) -> str:
    """The same text for names that some file system takes for one."""
    return unicodedata.normalize("NFC", os.path.normpath(name)).casefold()
