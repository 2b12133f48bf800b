"""Writes what a capture knows of a compilation into the journal, as soon as it knows it.

Input: the compile ids of which something was heard.  Output: lines of ``run.jsonl``.  What is known at the end only is
not in them: the values that guards look at then, the order in which torch tries entries, its caches.
"""

from __future__ import annotations

import linecache
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from depyf.run.files.layout import source_files
from depyf.run.files.program_files import program_files
from depyf.run.files.writer import DumpWriter
from depyf.run.program_calls.checked_calls import CheckedCalls
from depyf.run.program_calls.compile_calls import CompileCall
from depyf.run.records import CallerRecord, CompileKey, EntryRecord, FunctionRecord, GraphRecord
from depyf.run.run import Run, SourceRecord
from depyf.run.store.journal import Journal
from depyf.run.store.lines import DroppedLine, NoteLine
from depyf.safety.guarded import Door
from depyf.safety.source_lines import source_text
from depyf.sources.live.events.missing_reports import gaps
from depyf.sources.live.processes.ranks import rank_count
from depyf.sources.live.recording.capture import Capture
from depyf.sources.live.recording.snapshot import entry_record, live_code_of, torch_version
from depyf.sources.live.resume import origin
from depyf.sources.reports.builders import EntryBuilder, FunctionBuilder
from depyf.sources.reports.entry_facts import callers_of
from depyf.sources.reports.guards.guard_text import CompletedNames

MOST_SOURCE = 1 << 19
"""Characters of a file of the program that a dump keeps a copy of."""


OnEnded = Callable[[FunctionRecord, EntryRecord, float | None], None]
"""Called with each compilation that torch is done with, and its seconds; may be called again."""


class AsItHappens:
    """Writes the records of one capture to the journal as they become known."""

    def __init__(self, capture: Capture, writer: DumpWriter, on_ended: OnEnded | None = None) -> None:
        self._on_ended = on_ended
        self._capture = capture
        self._writer = writer
        self._journal = Journal(writer)
        self.sources: dict[str, None] = {}
        """The names of the copies of files of the program, as far as they are needed so far."""
        self._paths: dict[str, None] = {}
        self._of_code: dict[int, tuple[int, str]] = {}
        """The id of a code object -> its function; it may be that of one that is gone."""
        self._notes = 0
        self._files = CompletedNames(torch_root="torch")
        self._callers: Callable[[EntryBuilder], tuple[CallerRecord, ...]] | None = None
        self._functions = 0
        """How many functions the last two know."""

    def begin(self) -> None:
        self._journal.begin(Run(torch_version(), platform.python_version(), not_reported=gaps(), ranks=rank_count()))

    def told(self, key: CompileKey) -> None:
        """Write the records of the compilation ``key``, if they have changed."""
        capture = self._capture
        with capture.lock, Door("the journal of the run is not complete", capture.note):
            entry, function = capture.entries.get(key), capture.functions.get(key.function)
            if entry is None or function is None:
                return
            shown = self._function(key.function, function, entry.closed)
            record = entry_record(entry, None, *self._readers(), at_end=False)
            told: list[tuple[object, object]] = [(key.function, shown), (key, record)]
            if entry.closed and (key in capture.timings or key in capture.phases):
                told.append(((key, "times"), capture.times_of(key).named(self._readers()[0])))
            self._journal.put(*told)
            self._copy(program_files(Run("", "", (replace(shown, entries=(record,)),))))
            if entry.closed and self._on_ended is not None:
                self._on_ended(shown, record, capture.times_of(key).whole)
            for note in capture.notes[self._notes :]:
                self._journal.add(NoteLine(note))
            self._notes = len(capture.notes)

    def graph(self, record: GraphRecord) -> None:
        """Write the record of a graph that torch has reported, or that has changed."""
        with Door("the journal of the run is not complete", self._capture.note):
            self._journal.put(((record.key, record.stage, record.index), record))

    def dropped(self, record: GraphRecord) -> None:
        """Write that the graph belongs to an attempt that torch restarted."""
        with Door("the journal of the run is not complete", self._capture.note):
            self._journal.forget((record.key, record.stage, record.index))
            self._journal.add(DroppedLine(record.key, record.stage, record.index))

    def compile_call(self, call: CompileCall) -> None:
        """Write a call of torch.compile, or a change of its record."""
        with Door("the journal of the run is not complete", self._capture.note):
            self._journal.put(((call.place, call.wrapped, call.kind), call))

    def checked(self, calls: CheckedCalls) -> None:
        """Write the result of comparing a call with Python."""
        with Door("the journal of the run is not complete", self._capture.note):
            self._journal.put(((calls.place, calls.function, calls.key), calls))

    def _copy(self, paths: Sequence[str]) -> None:
        """The files of the program that are seen for the first time: they may be other ones when the run is looked
        at."""
        fresh = [path for path in paths if path not in self._paths]
        self._paths.update(dict.fromkeys(fresh))
        names = source_files(self._paths) if fresh else {}
        for path in fresh:
            if (text := source_text(path, MOST_SOURCE)) and self._writer.write(names[path], text):
                self.sources[names[path]] = None
                self._journal.add(SourceRecord(names[path], path))

    def _function(self, number: tuple[int, str], builder: FunctionBuilder, closed: bool) -> FunctionRecord:
        """``closed``: what is found now is found once, and used at the end, too."""
        code = live_code_of(builder)
        if code is not None:
            self._of_code[id(code)] = number
        parent = self._of_code.get(builder.family) if builder.family and builder.family != id(code) else None
        if closed and parent is None and not builder.code.source and (code is None or origin(code) is None):
            builder.code = self._capture.sources.with_source(builder.code)
        return FunctionRecord(number, builder.code, (), parent, tuple(builder.resume_names))

    def _readers(self) -> tuple[Callable[[str], str], Callable[[EntryBuilder], tuple[CallerRecord, ...]]]:
        """What completes names of files, and what tells the callers: they know all that is known now."""
        functions = self._capture.functions
        self._files.add(linecache.cache)
        if self._callers is None or self._functions != len(functions):
            self._files.add(builder.code.filename for builder in islice(functions.values(), self._functions, None))
            self._callers = callers_of(functions)
            self._functions = len(functions)
        return self._files, self._callers
