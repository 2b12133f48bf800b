"""One dump, as the panels of a report read it.

Input: a folder that anybody may have written.  Output: its run, and its files, each read at most once, by
``run/files/reading.py``.  What is missing or damaged becomes a line of ``missing``, and what there is is shown.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from depyf.run.causes.cause import Cause
from depyf.run.causes.collect import causes_of
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import MANIFEST, OWN, RUN, file_by_name
from depyf.run.files.reading import DumpError, NoManifest, is_plain, rank_folders, read_file, read_json, read_manifest
from depyf.run.places.place import Place
from depyf.run.records import CompileKey
from depyf.run.run import Run
from depyf.run.store.codec import NotThat, made
from depyf.run.store.loading import load
from depyf.safety.escape import printable
from depyf.safety.guarded import Door

_Record = TypeVar("_Record")
SHOWN = (".py", ".cpp", ".txt", ".md", ".h", ".cu")
"""The files that a page shows as text."""


class DumpView:
    """The content of one dump folder, read when asked for.  DumpError where ``folder`` is no folder, or holds nothing
    of a dump."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.missing: list[str] = []
        """What cannot be shown, and why: one sentence each."""
        self.run = Run("", "")
        """Without anything where the folder does not tell of it."""
        self.known = False
        """Whether it does."""
        self.listed = True
        """Whether there is a manifest: without, files are known by their names."""
        self._texts: dict[str, str | None] = {}
        names = self._listing()
        try:
            self.files = read_manifest(self.folder).files
        except NoManifest:
            self.listed = False
            self.files = tuple(file_by_name(name) or FileRecord(name, "") for name in names if name.endswith(SHOWN))
            if not self.ranks and not any(map(_of_depyf, names)):
                raise
            if self.files or not self.ranks:
                self.missing.append(
                    f"The run has not finished: there is no {MANIFEST}. The files that it left are shown."
                )
        try:
            self.run = load(self.folder)
            self.known = True
            self.missing += self.run.missing
            if self.listed and not self.run.finished:
                self.missing.append(
                    "The process ended before the run did: what came after its last record is not here."
                )
        except NoManifest:
            pass  # said above
        except DumpError as error:
            self.missing.append(f"{error}.")

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
    def causes(self) -> tuple[Cause, ...]:
        """What to fix first, the most expensive first."""
        found: tuple[Cause, ...] = ()
        with Door("What to fix first cannot be said", self.missing.append):
            found = causes_of(self.run)
        return found

    @functools.cached_property
    def by_name(self) -> dict[str, FileRecord]:
        return {file.name: file for file in self.files}

    def of(self, key: CompileKey, stage: str = "", kind: str = "") -> list[FileRecord]:
        """The files of one compilation, in the order of the manifest; only those of ``stage`` and ``kind``, if
        given."""
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
        """The text of a file; None where it cannot be read, with a line in ``missing``."""
        if name not in self._texts:
            try:
                self._texts[name] = read_file(self.folder, name)
            except DumpError as error:
                self._texts[name] = None
                self.missing.append(f"{error}.")
        return self._texts[name]

    def record(self, kind: type[_Record], name: str) -> _Record | None:
        """The record of class ``kind`` that a JSON file holds; None for a file that is not in the dump, or cannot be
        read: ``missing`` names the latter."""
        if name not in self.by_name:
            return None
        try:
            return made(kind, read_json(self.folder, name), name)
        except DumpError as error:
            self.missing.append(f"{error}.")
        except NotThat as error:
            self.missing.append(f"{printable(str(self.folder))} is damaged: {printable(str(error))}.")
        return None

    def line(self, place: Place | None) -> str:
        """The text of a line of the program, as far as the dump has it."""
        if place is None:
            return ""
        return place.text or self._lines.get((place.filename, place.line)) or self._in_source(place)

    @functools.cached_property
    def _lines(self) -> dict[tuple[str, int], str]:
        return {(place.filename, place.line): place.text for place in _places(self.run) if place.text}

    def _in_source(self, place: Place) -> str:
        lines = self._sources.get(place.filename, [])
        return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""

    @functools.cached_property
    def _sources(self) -> dict[str, list[str]]:
        return {file.path: (self.text(file.name) or "").split("\n") for file in self.files if file.kind == "source"}


def _places(run: Run) -> Iterator[Place]:
    """The lines that the records name."""
    for function in run.functions:
        for entry in function.entries:
            found = [entry.error_at, *(caller.place for caller in entry.callers)]
            found += [place for record in entry.breaks for place in (record.caller, record.place)]
            found += [guard.place for guard in entry.guards] + [record.place for record in entry.recompiles]
            found += [place for symbol in entry.symbols for place in (symbol.place, symbol.where)]
            found += [fact.place for fact in entry.shape_facts]
            yield from (place for place in found if place is not None)


def _of_depyf(name: str) -> bool:
    """Whether a file has a name that depyf gives, and nothing else does."""
    return name.startswith(OWN) or name == RUN
