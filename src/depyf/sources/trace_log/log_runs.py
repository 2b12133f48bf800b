"""Log -> run, with what is wrong with the log in its notes.

Input: a log.  Output: its ``Run``, and what a dump of it has besides; nothing is executed, and of the files that the
log names only source of the program is read, where it has not changed since.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from depyf.run.files.layout import source_files
from depyf.run.files.program_files import program_files
from depyf.run.records import CompileKey
from depyf.run.run import Run, SourceRecord
from depyf.run.trace_events import PHASE
from depyf.safety.escape import cut, printable
from depyf.safety.source_lines import source_text
from depyf.sources.reports.library_files import torch_elsewhere
from depyf.sources.trace_log.heard_log import HeardLog
from depyf.sources.trace_log.lines_at_hand import ProgramLines
from depyf.sources.trace_log.log_events import STRING, record_name
from depyf.sources.trace_log.log_files import LogFile
from depyf.sources.trace_log.logged_run import logged_run

_MOST_SOURCE = 1 << 19
"""Characters of a file of the program that a dump keeps a copy of."""
_MOST_NAMED = 5
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class LogContents:
    """The run in one log, and the sources that belong to it."""

    run: Run
    sources: dict[str, str]
    """The files of the program that are at hand, by their names in a dump."""
    transformed: dict[CompileKey, str]
    """torch's disassembly of what it made, where it logs that."""
    program: ProgramLines

    @contextlib.contextmanager
    def lines(self) -> Iterator[None]:
        """While the block lasts, source lines are read as for this log."""
        with torch_elsewhere(), self.program.shown():
            yield


def read_log(log: LogFile) -> LogContents:
    """The content of a log.  DepyfError where the file cannot be opened."""
    heard, program = HeardLog(), ProgramLines(log.changed)
    shown = printable(log.path.name)
    sources: dict[str, str] = {}
    kept = []
    with torch_elsewhere(), program.shown(), log.records() as lines:
        for record in lines:
            heard.take(record)
        notes = [f"{shown}: left out: {what} ({count})" for what, count in lines.faults.items()]
        notes += [f"{shown} ends in the middle of a record: its process was killed, or goes on"] if lines.cut else []
        if lines.changed:
            notes.append(
                f"{shown}: {lines.changed} payloads were changed after torch wrote them: they are shown as they are"
            )
        run = logged_run(heard, notes, log.path.name)
        for path, name in source_files(program_files(run)).items():
            if text := source_text(path, _MOST_SOURCE):
                sources[name] = text
                kept.append(SourceRecord(name, path))
    if not run.functions and not run.graphs:
        run = replace(run, notes=(*run.notes, f"{shown}: {_other_records(log)}"))
    changed = _of_files(program.changed, "changed after the log was written, and its lines are not shown")
    run = replace(run, sources=tuple(kept), notes=(*run.notes, *filter(None, (changed,))))
    return LogContents(run, sources, heard.transformed, program)


def _other_records(log: LogFile) -> str:
    """What a log has that tells of no compilation."""
    with log.every_record() as lines:
        counts = Counter(record_name(record.metadata) for record in lines.heads())
    for name in (PHASE, STRING, ""):
        counts.pop(name, None)
    names = [f"{cut(printable(name), _LONGEST_NAME)} ({count})" for name, count in counts.most_common(_MOST_NAMED)]
    return f"nothing of torch.compile; its records are {', '.join(names)}, ..." if names else "nothing of torch.compile"


def _of_files(paths: dict[str, None], what: str) -> str:
    named = [printable(path) for path in list(paths)[:_MOST_NAMED]]
    rest = f" (and {len(paths) - len(named)} more)" if len(paths) > len(named) else ""
    return f"{', '.join(named)}{rest}: {what}" if named else ""
