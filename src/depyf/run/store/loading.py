"""``load``: the run that a folder holds.

Input: a folder that anybody may have written: a finished dump, what a killed process left, a dump of an earlier depyf.
Output: a ``Run``.  What is damaged or not there is named in ``Run.missing``; DumpError where there is nothing of a run.
Nothing is executed, and nothing outside of the folder is read.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

from depyf.run.cache_keys import CacheKeyLine, keys_of
from depyf.run.files.layout import MANIFEST, RUN, TIMINGS
from depyf.run.files.manifest_schema import COMPILE_ID
from depyf.run.files.reading import (
    DEEPEST,
    DumpError,
    NoManifest,
    is_plain,
    nesting,
    no_dump,
    rank_folders,
    read_bytes,
    read_json,
)
from depyf.run.files.timings import TimesPage
from depyf.run.program_calls.checked_calls import CheckedCalls
from depyf.run.program_calls.compile_calls import CompileCall
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord, GraphRecord, GuardRecord
from depyf.run.run import Run, SourceRecord, TimesRecord
from depyf.run.store.codec import NotThat, made
from depyf.run.store.earlier import run_in_manifest
from depyf.run.store.lines import (
    FORMAT,
    KINDS,
    DroppedLine,
    EntryLine,
    NoteLine,
    RunLine,
    guards_of,
)
from depyf.safety.escape import printable

_MOST_TOLD = 5
NO_COMPILATION = CompileKey(0, "")
"""What torch does for no compilation that it names, in helper threads."""


def load(folder: Path) -> Run:
    """The run in ``folder``; DumpError where there is none that this depyf can read."""
    try:
        data = read_bytes(folder, RUN)
    except DumpError as error:
        if (folder / RUN).exists():
            raise
        try:
            run = run_in_manifest(folder)
        except NoManifest:
            raise no_dump(folder) from error
    else:
        reading = RunReading(printable(str(folder / RUN)))
        reading.feed(data)
        run = reading.run()
    return _with_times(run, folder)


def load_ranks(folder: Path) -> dict[int, Run]:
    """Rank -> its run; a run of one process is rank 0.  Ranks that left nothing are missing; DumpError where all
    did."""
    ranks = {} if (folder / RUN).exists() or (folder / MANIFEST).exists() else rank_folders(folder)
    found = {}
    for rank, place in ranks.items():
        with contextlib.suppress(NoManifest):
            found[rank] = load(place)
    return found or {0: load(folder)}


class RunReading:
    """The lines of a file, the later ones in the place of the earlier."""

    def __init__(self, path: str) -> None:
        """``path``: what messages call the file."""
        self._path = path
        self.head: Run | None = None
        self.functions: dict[tuple[int, str], FunctionRecord] = {}
        self.entries: dict[CompileKey, EntryLine] = {}
        self.guards: list[GuardRecord] = []
        self.graphs: dict[tuple[CompileKey, str, int], GraphRecord] = {}
        self.sources: dict[str, SourceRecord] = {}
        self.times: dict[CompileKey, TimesRecord] = {}
        self.compile_calls: dict[tuple[object, ...], CompileCall] = {}
        self.checked: dict[tuple[object, ...], CheckedCalls] = {}
        self.cache_keys: list[CacheKeyLine] = []
        self.notes: list[str] = []
        self.damaged: list[str] = []
        self._rest = b""
        self._lines = 0

    def feed(self, data: bytes) -> None:
        """Read the next bytes of the file; an incomplete line is kept for the next call.  DumpError where the first
        line is not one of depyf."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lines += 1
            if line.strip():
                self._take(line, f"line {self._lines}")

    def _take(self, line: bytes, where: str) -> None:
        try:
            if nesting(line) > DEEPEST:
                raise NotThat(f"{where} nests deeper than any line that depyf writes")
            page = json.loads(line.decode("utf-8"))
            if type(page) is not dict or len(page) != 1:
                raise NotThat(f"{where} is not an object with one member")
            kind, value = next(iter(page.items()))
            if kind in KINDS:  # another is of a newer depyf
                record: object = made(KINDS[kind], value, f"{where}, {kind}")
                if not all(map(COMPILE_ID.fits, _ids(record))):
                    raise NotThat(f"{where}, {kind} has an id that torch does not give")
                self._add(record)
        except (ValueError, RecursionError) as error:
            if where == "line 1":
                raise DumpError(f"{self._path} is damaged: {printable(str(error))}") from error
            self.damaged.append(str(error) if isinstance(error, NotThat) else f"{where} is not JSON")

    def _add(self, record: object) -> None:
        if isinstance(record, RunLine):
            if record.format > FORMAT:
                raise DumpError(
                    f"{self._path} is of a newer depyf: its format is {record.format}, this one reads {FORMAT}"
                )
            self.head = record.run
        elif isinstance(record, FunctionRecord):
            self.functions[record.function] = record
        elif isinstance(record, GuardRecord):
            self.guards.append(record)
        elif isinstance(record, EntryLine):
            self.entries[record.entry.key] = record
        elif isinstance(record, GraphRecord):
            self.graphs[record.key, record.stage, record.index] = record
        elif isinstance(record, DroppedLine):
            self.graphs.pop((record.key, record.stage, record.index), None)
        elif isinstance(record, TimesRecord):
            self.times[record.key] = record
        elif isinstance(record, SourceRecord):
            if is_plain(record.file):
                self.sources[record.file] = record
        elif isinstance(record, CompileCall):
            self.compile_calls[record.place, record.wrapped, record.kind] = record
        elif isinstance(record, CheckedCalls):
            self.checked[record.place, record.function, record.key] = record
        elif isinstance(record, CacheKeyLine):
            self.cache_keys.append(record)
        elif isinstance(record, NoteLine):
            self.notes.append(record.text)

    def run(self) -> Run:
        if self.head is None:
            raise DumpError(f"{self._path} is damaged: it does not begin with the line of the run")
        head = self.head
        entries: dict[tuple[int, str], list[EntryRecord]] = {}
        for key, line in self.entries.items():
            guards, left_out = (guards_of(numbers, self.guards) for numbers in (line.guards, line.left_out))
            entries.setdefault(key.function, []).append(replace(line.entry, guards=guards, left_out=left_out))
        functions = [
            replace(function, entries=tuple(entries.get(number, ()))) for number, function in self.functions.items()
        ]
        graphs = list(self.graphs.values())
        if not head.finished:
            functions.sort(key=lambda function: CompileKey(*function.function).order)
            graphs.sort(key=lambda graph: (graph.key.order, graph.stage, graph.index))
        return replace(
            head, functions=tuple(functions), graphs=tuple(graphs), times=tuple(self.times.values()),
            sources=tuple(self.sources.values()), compile_calls=tuple(self.compile_calls.values()),
            checked=tuple(self.checked.values()), cache_keys=tuple(keys_of(self.cache_keys)),
            notes=(*head.notes, *(note for note in dict.fromkeys(self.notes) if note not in head.notes)),
            missing=tuple(self._missing()),
        )  # fmt: skip

    def _missing(self) -> list[str]:
        found = []
        if self.damaged:
            shown = "; ".join(printable(text) for text in self.damaged[:_MOST_TOLD])
            more = len(self.damaged) - _MOST_TOLD
            found.append(f"{self._path} is damaged: {shown}{f'; and {more} lines more' if more > 0 else ''}.")
        if self._rest.strip():
            found.append(f"{self._path} ends in the middle of a line: the process was killed while it wrote it.")
        orphans = {key.function for key in self.entries} - self.functions.keys()
        if orphans:
            found.append(f"{self._path} is damaged: {len(orphans)} of its functions have no line.")
        return found


def _ids(record: object) -> list[str]:
    """The compile ids, and numbers of frames, in what one line tells: they become numbers, and names of files."""
    if isinstance(record, FunctionRecord):
        return [record.function[1], *(record.resume_of[1:] if record.resume_of is not None else ())]
    if isinstance(record, EntryLine):
        frames = (caller.function[1] for caller in record.entry.callers if caller.function is not None)
        return [record.entry.key.text, *(reason.entry for reason in record.entry.recompiles), *frames]
    return [record.key.text] if isinstance(record, (GraphRecord, DroppedLine, TimesRecord)) else []


def _with_times(run: Run, folder: Path) -> Run:
    """The run with the times in a finished dump; an unfinished one has them as lines."""
    if run.times:
        return run
    try:
        page = made(TimesPage, read_json(folder, TIMINGS), TIMINGS)
    except DumpError as error:
        if not (folder / TIMINGS).exists():
            return run  # a dump is whole without
        return replace(run, missing=(*run.missing, f"{error}."))
    except NotThat as error:
        return replace(run, missing=(*run.missing, f"{printable(str(folder))} is damaged: {printable(str(error))}."))
    keys = {key.slug: key for key in [NO_COMPILATION, *(graph.key for graph in run.graphs)]}
    keys |= {entry.key.slug: entry.key for function in run.functions for entry in function.entries}
    slugs = dict.fromkeys([*page.seconds, *page.phases, *page.traced, *page.instructions, *page.guards])
    times = [_times_in(page, slug, keys[slug]) for slug in slugs if slug in keys]
    return replace(run, times=tuple(times), began=page.began)


def _times_in(page: TimesPage, slug: str, key: CompileKey) -> TimesRecord:
    seconds = tuple(page.seconds.get(slug, {}).items())
    rest = page.phases.get(slug, ()), page.traced.get(slug, ()), page.instructions.get(slug), page.guards.get(slug, ())
    return TimesRecord(key, seconds, *rest)
