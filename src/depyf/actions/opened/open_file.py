"""``depyf open``: a file that torch saved becomes a folder of texts.  Nothing in it is executed, loaded or unpickled.

Input: a path and a folder.  Output: the files that were written.  SavedFileError for a file that cannot be read,
OSError where the folder cannot be written.  Everything is made before the first file is written; the same file gives
the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from depyf.actions.opened.file_drops import drops_lines
from depyf.actions.opened.opened_code import opened_codes
from depyf.actions.opened.opened_pages import (
    CONTENTS,
    GUARDS,
    INDEX,
    LOADING,
    FileNames,
    guards_page,
    index_page,
    loading_page,
    text_files,
)
from depyf.decompiler.bytecode.files.opening import as_version
from depyf.errors import BytecodeError
from depyf.run.files.writer import make_folder, write_whole
from depyf.safety.escape import file_name
from depyf.sources.files.inert_text import tree
from depyf.sources.files.nested_pickles import HEAD, NestedPickles, is_saved
from depyf.sources.files.pickle_steps import SavedFileError
from depyf.sources.files.precompile_cache import ARCHIVE, code_hash_of
from depyf.sources.files.saved_parts import SavedParts, parts_of

MOST_BYTES = 1 << 30
"""Weights are in no such file; one of vLLM's with all its graphs comes to some 100 MB."""

LOADED = "loaded"
"""The folder below the texts with the dump of loading the file."""
MOST_FILES = 20_000
"""Files of a folder that are opened."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """``files`` by name; ``unproven`` names those whose code has no proof, or no text."""

    kind: str
    files: dict[str, str]
    unproven: tuple[str, ...]
    notes: tuple[str, ...]
    functions: tuple[str, ...] = ()
    """The names of the code in it, each once."""
    guards: int = 0
    texts: int = 0
    """Graphs and sources."""
    is_function: bool = False
    """``torch.compiler.load_compiled_function`` loads it."""
    is_program: bool = False
    """``torch.compiler.precompile.load`` executes it."""


def open_saved(path: Path, version: str | tuple[int, int] | None = None) -> OpenedFile:
    """The pages of a saved file.  ``version``: the Python version of its code, used where the file does not tell it.
    SavedFileError where the file cannot be read or is too large."""
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise SavedFileError(f"{path.name}: larger than {MOST_BYTES} bytes")
    return opened(data, path.name, version)


def opened(data: bytes, name: str, version: str | tuple[int, int] | None = None) -> OpenedFile:
    """As ``open_saved``, for the ``data`` of a file.  SavedFileError where it cannot be read."""
    try:
        pickles = NestedPickles(data)
        parts = parts_of(pickles)
        contents = "\n".join(tree(pickles.root, pickles.unfold)) + "\n"
    except SavedFileError as error:
        raise SavedFileError(f"{name}: {error}") from None
    made = opened_codes(parts.codes, saved_version(parts, version), len(data))
    names = FileNames()
    texts = text_files(parts.texts, names)
    files = {file: text.text for file, text in texts.items()}
    codes = {names.free(f"{one.place or 'code'}.{one.name or 'unknown'}", ".py"): one for one in made}
    files.update((file, one.text) for file, one in codes.items() if one.text)
    pages = {CONTENTS: contents, LOADING: loading_page(parts)}
    if parts.guards:
        pages[GUARDS] = guards_page(parts)
    pages[INDEX] = index_page(name, len(data), parts, codes, texts, pickles.notes, drops_lines(parts, made))
    unproven = tuple(f"{file}: {one.status}" for file, one in codes.items() if not one.proven)
    functions = tuple(dict.fromkeys(one.name for one in made if one.name))
    return OpenedFile(
        parts.kind, {**files, **pages}, unproven, tuple(pickles.notes), functions, len(parts.guards), len(texts),
        parts.is_function, parts.is_program,
    )  # fmt: skip


def saved_version(parts: SavedParts, version: str | tuple[int, int] | None) -> tuple[int, int] | None:
    """Which Python wrote the code; None where nothing says it."""
    if version is not None:
        return as_version(version)
    said = parts.facts.get("python_version", "")
    try:
        return as_version(".".join(said.split(".")[:2]))
    except BytecodeError:
        return None


def write_opened(found: OpenedFile, out: Path, below: Path = Path()) -> None:
    """Write the files to ``out``, or to a folder below it; SavedFileError where that holds others.  No link is followed
    below ``out``."""
    folder = make_folder(out, below)
    others = {entry.name for entry in folder.iterdir()} - found.files.keys() - {LOADED}
    if others:
        raise SavedFileError(f"{folder} holds other files, such as {min(others)}: name another folder")
    for name, text in found.files.items():
        write_whole(str(folder / name), text)


def saved_below(folder: Path, out: Path) -> Iterator[Path]:
    """The files that torch saved below a folder, in order.  Links are not followed, and nothing below ``out`` is read.
    SavedFileError for too many files."""
    known = 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or out.resolve() in path.resolve().parents:
            continue
        try:
            with open(path, "rb") as file:
                head = file.read(HEAD)
            saved = is_saved(head) or (head.startswith(ARCHIVE) and code_hash_of(path) is not None)
        except OSError:
            continue
        if saved:
            known += 1
            if known > MOST_FILES:
                raise SavedFileError(f"more than {MOST_FILES} saved files below {folder}")
            yield path


def cache_beside(path: Path) -> Path | None:
    """The cache that belongs to the Python half of a precompile artefact and lies in the same folder."""
    wanted = hashlib.sha256(path.read_bytes()).hexdigest()
    for other in sorted(path.resolve().parent.iterdir()):
        if other.is_file() and code_hash_of(other) == wanted:
            return other
    return None


def folder_below(name: str) -> Path:
    """The output folder for the file ``name`` of an opened folder."""
    return Path(*(file_name(part) for part in name.split("/")))
