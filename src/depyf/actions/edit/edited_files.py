"""The files of a dump that were edited since they were written.

Input: a folder.  Output: its files whose checksum is no longer that of the manifest, read once, so that what runs is
what was checked here.  Nothing is executed.  Files that the manifest does not list, links, and files outside of the
folder are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited_file import EditedFile, python
from depyf.actions.edit.edited_guards import edited_guards
from depyf.errors import DepyfError
from depyf.run.compile_stages import BACKWARD, BEFORE_POST_GRAD, CAPTURED, FORWARD, JOINT, POST_GRAD
from depyf.run.files.checksums import EDITABLE, changed_lines, whole_checksum
from depyf.run.files.file_record import FileRecord
from depyf.run.files.reading import Manifest, read_file, read_manifest
from depyf.run.records import CompileKey
from depyf.run.store.loading import load
from depyf.safety.escape import printable

REPLACED = (CAPTURED, JOINT, FORWARD, BACKWARD, BEFORE_POST_GRAD, POST_GRAD)
"""The stages whose graphs an edited file can replace."""


@dataclass(frozen=True, slots=True)
class DumpedFunction:
    """A function of the dump, and its compilations in the order in which torch made them."""

    name: str
    keys: tuple[CompileKey, ...]


@dataclass(frozen=True, slots=True)
class EditedDump:
    """A dump, its edited files, and which function each compilation is of."""

    folder: Path
    files: tuple[EditedFile, ...]
    functions: tuple[DumpedFunction, ...]
    made_from: dict[CompileKey, frozenset[str]]
    """Compilation -> checksums of what torch made in it, edited or not."""

    def function_of(self, key: CompileKey) -> str:
        """The qualified name of the function; "" where the dump does not say."""
        return next((known.name for known in self.functions if key in known.keys), "")


def edited_dump(folder: str | os.PathLike[str]) -> EditedDump:
    """DepyfError where ``folder`` is no dump or was written by a depyf that kept no checksums; EditError, which names
    file and line, where an edited file is no Python."""
    manifest = read_manifest(folder)
    editable = [file for file in manifest.files if file.kind in EDITABLE and not file.level]
    if editable and not any(file.sha256 for file in editable):
        raise DepyfError(
            f"{printable(str(manifest.folder))} was written by a depyf that kept no checksums of what it wrote, so "
            "that nothing tells which files were edited: dump again"
        )
    made: dict[CompileKey, set[str]] = {}
    for one in manifest.files:
        if one.made_from:
            made.setdefault(CompileKey(one.generation, one.compile_id or ""), set()).add(one.made_from)
    run = load(manifest.folder)
    files = tuple(_edited(manifest, editable, [entry.key for part in run.functions for entry in part.entries]))
    for file in files:
        _check(file)
    found: dict[str, set[CompileKey]] = {}
    for function in run.functions:
        found.setdefault(function.code.qualname, set()).update(entry.key for entry in function.entries)
    functions = tuple(DumpedFunction(name, tuple(sorted(keys, key=_order))) for name, keys in found.items())
    return EditedDump(
        manifest.folder.absolute(), files, functions, {key: frozenset(sums) for key, sums in made.items()}
    )


def _order(key: CompileKey) -> tuple[int, int, tuple[int, ...]]:
    return key.order


def _edited(manifest: Manifest, files: list[FileRecord], compiled: list[CompileKey]) -> Iterator[EditedFile]:
    folder = manifest.folder.absolute()
    made = {file.name: file.made_from for file in manifest.files}
    for file in files:
        name = file.name
        if not file.sha256 or not os.path.lexists(folder / name):
            continue  # a file that was removed changes nothing
        text = read_file(folder, name)
        if whole_checksum(text) == file.sha256:
            continue
        keys = (CompileKey(file.generation, file.compile_id),) if file.compile_id is not None else ()
        of = file.origin if file.kind == "kernel_source" else ""
        found = EditedFile(
            name, folder / name, file.kind, file.stage, keys, made.get(of or name, ""), of, text,
            changed_lines(text, file.line_checksums),
        )  # fmt: skip
        if found.kind != "full_code":
            yield found
        else:
            yield from edited_guards(found, compiled)


def _check(file: EditedFile) -> None:
    if file.name.endswith(".py"):
        python(file)
    line = file.lines[0] if file.lines else 1
    if file.kind == "graph" and file.stage not in REPLACED:
        known = ", ".join(REPLACED)
        raise EditError(file.path, line, f"a graph of the stage {file.stage} cannot be replaced: edit one of {known}")
