"""One dump, as the panels of a report read it.

Input: a folder that anybody may have written.  Output: its manifest and its files, each read at most once, by
``run/files/reading.py``.  What is missing or damaged becomes a line of ``missing``, and what there is is shown.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

from depyf.run.compile_stages import WRAPPER
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import MANIFEST, TIMINGS
from depyf.run.files.reading import DumpError, NoManifest, is_plain, rank_folders, read_file, read_json, read_manifest
from depyf.run.records import CompileKey

SHOWN = (".py", ".cpp", ".txt", ".md", ".h", ".cu")
"""The files that a page shows as text."""


class DumpView:
    """What one folder holds.  DumpError where it is no folder, or holds nothing of a dump."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.missing: list[str] = []
        """What cannot be shown, and why: one sentence each."""
        self.page: dict[str, Any] = {}
        """The manifest; empty where there is none."""
        self._texts: dict[str, str | None] = {}
        names = self._listing()
        try:
            manifest = read_manifest(self.folder)
            self.page = manifest.page
            self.files = manifest.files
        except NoManifest:
            self.files = tuple(_named(name) for name in names if name.endswith(SHOWN))
            if not self.files and not self.ranks:
                raise
            if self.files or not self.ranks:
                self.missing.append(
                    f"The run has not finished: there is no {MANIFEST}. The files that it left are shown."
                )

    def _listing(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.folder) if is_plain(name) and not name.startswith("."))
        except OSError as error:
            raise DumpError(f"{self.folder} cannot be read: {error.strerror or error}") from error

    @functools.cached_property
    def ranks(self) -> dict[int, DumpView]:
        """Rank -> its dump, where the folder holds one for each process of a distributed run."""
        found: dict[int, DumpView] = {}
        for rank, folder in rank_folders(self.folder).items():
            try:
                found[rank] = DumpView(folder)
            except DumpError as error:
                self.missing.append(f"Rank {rank}: {error}")
        return found

    @functools.cached_property
    def timings(self) -> dict[str, Any]:
        """``timings.json``; empty where there is none."""
        page = self.json(TIMINGS, quiet=True)
        return page if isinstance(page, dict) else {}

    @property
    def functions(self) -> list[dict[str, Any]]:
        return list(self.page.get("functions", ()))

    @functools.cached_property
    def by_name(self) -> dict[str, FileRecord]:
        return {file.name: file for file in self.files}

    def of(self, key: CompileKey, stage: str = "", kind: str = "") -> list[FileRecord]:
        """The files of one compilation, in the order of the manifest; of one stage, or of one kind, where asked for."""
        return [
            file
            for file in self._by_key.get(key, ())
            if (not stage or file.stage == stage) and (not kind or file.kind == kind)
        ]

    @functools.cached_property
    def _by_key(self) -> dict[CompileKey | None, list[FileRecord]]:
        found: dict[CompileKey | None, list[FileRecord]] = {}
        for file in self.files:
            found.setdefault(file.key, []).append(file)
        return found

    def text(self, name: str) -> str | None:
        """The text of a file; None where it cannot be read, which is then said in ``missing``."""
        if name not in self._texts:
            try:
                self._texts[name] = read_file(self.folder, name)
            except DumpError as error:
                self._texts[name] = None
                self.missing.append(f"{error}.")
        return self._texts[name]

    def json(self, name: str, quiet: bool = False) -> Any:
        """The document of a JSON file; None where it cannot be read, which is said in ``missing`` unless ``quiet``."""
        try:
            return read_json(self.folder, name)
        except DumpError as error:
            if not quiet:
                self.missing.append(f"{error}.")
            return None


_GRAPH = re.compile(
    r"__compiled_fn_(?P<ca>ca)?(?P<id>\d+(?:_\d+)*)(?:r(?P<reset>\d+))?\.(?:kernel_(?P<number>\d+)|(?P<stage>[A-Za-z_]+)\.(?P<index>\d+))\.py"
)


def _named(name: str) -> FileRecord:
    """What a file of a run that has not finished is, as far as its name says."""
    match = _GRAPH.fullmatch(name)
    if match is None:
        return FileRecord(name, "")
    id, generation = ("!" if match["ca"] else "") + match["id"].replace("_", "/"), int(match["reset"] or 0)
    if match["number"] is not None:
        return FileRecord(name, "wrapper", WRAPPER, int(match["number"]), id, generation)
    return FileRecord(name, "graph", match["stage"], int(match["index"]), id, generation)
