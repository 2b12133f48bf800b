"""The only reader of dumps: ``manifest.json`` with its schema, and the files that it lists.

Input: a folder that anybody may have written.  Output: ``Manifest``, in which every field that is there has the type
that the schema says, or the text of one file of the folder.  Nothing outside of the folder is read: a file is named by
its plain name, and links, pipes and devices are refused.  Whatever is wrong is a ``DumpError`` that names the file.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.run.files.file_record import FileRecord
from depyf.run.files.manifest_schema import FORMAT as FORMAT
from depyf.run.files.manifest_schema import OBJECTS, TextPattern
from depyf.run.files.manifest_schema import is_plain as is_plain
from depyf.run.store.codec import made
from depyf.safety.escape import printable

MANIFEST = "manifest.json"
MOST_MANIFEST = 1 << 26
MOST = 1 << 28
"""Bytes of one file; the largest wrappers of Inductor have some megabytes."""
DEEPEST = 40
"""Brackets of JSON in one another; a manifest has seven."""

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
FORK_FOLDER = re.compile(r"fork_[0-9]{1,9}")
RANK_FOLDER = re.compile(r"rank_[0-9]{1,9}")


class DumpError(DepyfError):
    """A dump, or a file of one, that is missing, damaged, or not what it should be."""


class NoManifest(DumpError):
    """The folder has no manifest: it is no dump, or that of a run that has not finished."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the manifest of a dump says; ``page`` is all of it.

    Items of ``functions`` have "function", "from" and "entries".  Their other fields may be missing, and have the right
    type where they are there.
    """

    folder: Path
    page: dict[str, Any]
    files: tuple[FileRecord, ...]
    functions: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    forks: tuple[str, ...]
    torch: str
    python: str
    ranks: int

    @property
    def names(self) -> frozenset[str]:
        """The files that it lists."""
        return frozenset(file.name for file in self.files)


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """The manifest of the dump in ``folder``.  NoManifest where there is none, DumpError where it is not one of
    depyf."""
    place = Path(folder)
    page = read_json(place, MANIFEST, MOST_MANIFEST)
    path = printable(str(place / MANIFEST))
    if not isinstance(page, dict) or "files" not in page or page.get("format", FORMAT) != FORMAT:
        raise DumpError(f"{path} is not the manifest of a dump of this depyf")
    _check(page, OBJECTS["page"], "the page", path)
    return Manifest(
        place, page, tuple(made(FileRecord, item, "a file") for item in page["files"]),
        tuple(page.get("functions", ())), tuple(page.get("notes", ())),
        tuple(page.get("forks", ())), page.get("torch", "?"), page.get("python", "?"), page.get("ranks", 0),
    )  # fmt: skip


def read_json(folder: Path, name: str, most: int = MOST) -> Any:
    """The JSON document in a file of ``folder``; DumpError where it is none, or nests deeper than any that depyf
    writes."""
    text = read_file(folder, name, most)
    path = printable(str(folder / name))
    if nesting(text.encode("utf-8", "replace")) > DEEPEST:
        raise DumpError(f"{path} is damaged: it nests deeper than any file that depyf writes")
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DumpError(f"{path} is not JSON: {printable(str(error))}") from error


def _integer(digits: str) -> int:
    if len(digits) > 19:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def nesting(data: bytes) -> int:
    """How deep the brackets of a JSON text stand in one another, those in strings apart; linear, and without
    recursion."""
    quotes = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_BRACKETS)
    brackets = b"".join(quotes.split(b'"')[::2])
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))


def read_file(folder: Path, name: str, most: int = MOST) -> str:
    """The text of the file ``name`` directly in ``folder``.

    DumpError unless it is an ordinary file of at most ``most`` bytes of UTF-8; NoManifest where it is the manifest that
    is missing.
    """
    data = read_bytes(folder, name, most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        path = printable(str(folder / name))
        raise DumpError(f"{path} is not text in UTF-8 ({error.reason} at byte {error.start})") from error


def read_bytes(folder: Path, name: str, most: int = MOST) -> bytes:
    """The bytes of the file ``name`` directly in ``folder``.  DumpError unless it is an ordinary file of at most
    ``most`` bytes; NoManifest where it is the manifest that is missing."""
    path = printable(str(folder / name))
    if not is_plain(name):
        raise DumpError(f"{printable(repr(name))} is no name of a file in {printable(str(folder))}")
    try:
        return _bytes(folder / name, path, most)
    except ValueError as error:
        raise DumpError(f"{path} is no path: {error}") from error
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and name == MANIFEST:
            shown = printable(str(folder))
            if (folder / "run.jsonl").is_file():
                raise NoManifest(
                    f"the run in {shown} has not finished: `depyf index {shown}` makes its pages"
                ) from error
            raise no_dump(folder) from error
        if error.errno in (errno.ELOOP, errno.EMLINK) or _is_link(folder / name):
            raise DumpError(f"{path} is a symbolic link: depyf reads no links in a dump") from error
        raise DumpError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error


def no_dump(folder: Path) -> NoManifest:
    """The error for a folder that holds no dump, with the reason."""
    shown = printable(str(folder))
    if not os.path.lexists(folder):
        return NoManifest(f"{shown}: there is no such folder")
    if not folder.is_dir():
        return NoManifest(f"{shown} is no folder, so no dump of depyf")
    return NoManifest(f"{shown} is no dump of depyf: it has no {MANIFEST}, and no rank_N folders with one")


def _bytes(path: Path, shown: str, most: int) -> bytes:
    file = os.open(path, _FLAGS)  # without O_NONBLOCK a pipe would make it wait
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or _is_link(path):
            raise DumpError(f"{shown} is not an ordinary file: depyf reads no links, pipes or devices in a dump")
        parts: list[bytes] = []
        left = most + 1 if found.st_size <= most else 0
        while left and (part := os.read(file, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    finally:
        os.close(file)
    if not left:
        raise DumpError(f"{shown} is too large: depyf reads at most {most} bytes of such a file")
    return b"".join(parts)


def rank_folders(folder: Path) -> dict[int, Path]:
    """Rank -> its folder in ``folder``, in order; folders that are links lead elsewhere, and do not count."""
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    found = {int(name[5:]): folder / name for name in sorted(names) if RANK_FOLDER.fullmatch(name)}
    return {rank: path for rank, path in sorted(found.items()) if path.is_dir() and not path.is_symlink()}


def fork_folders(folder: Path) -> list[Path]:
    """The folders of forked children in ``folder``, in order; none that is a link."""
    try:
        names = [name for name in os.listdir(folder) if FORK_FOLDER.fullmatch(name)]
    except OSError:
        return []
    paths = [folder / name for name in sorted(names, key=lambda name: int(name[5:]))]
    return [path for path in paths if path.is_dir() and not path.is_symlink()]


def _is_link(path: Path) -> bool:
    """Where the system cannot refuse to follow a link while it opens it."""
    return not getattr(os, "O_NOFOLLOW", 0) and path.is_symlink()


def _check(value: Any, wanted: Any, where: str, path: str) -> None:
    """DumpError unless ``value`` is as ``wanted``; fields that the schema does not know are ignored."""
    if isinstance(wanted, dict):
        _want(type(value) is dict, "an object", where, path)
        for field, inner in wanted.items():
            name = field.rstrip("!")
            if name in value:
                _check(value[name], inner, f"{where}, {name}", path)
            else:
                _want(name == field, f'an object with "{name}"', where, path)
    elif isinstance(wanted, list):
        _want(type(value) is list, "a list", where, path)
        for number, item in enumerate(value):
            _check(item, wanted[0], f"{where}[{number}]", path)
    elif isinstance(wanted, tuple):
        _want(value is None or type(value) in wanted, "a text or null", where, path)
    elif isinstance(wanted, TextPattern):
        _want(type(value) is str and wanted.fits(value), f"a {wanted.what}", where, path)
    else:
        _want(type(value) is wanted, f"of type {wanted.__name__}", where, path)


def _want(right: bool, what: str, where: str, path: str) -> None:
    if not right:
        raise DumpError(f"{path} is damaged: {where} is not {what}")
