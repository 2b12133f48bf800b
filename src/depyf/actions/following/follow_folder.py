"""``depyf index DIR --follow``: a line for each compilation of a run that goes on.

Input: a folder that a recording, or torch's log, is written to; it may be made later.  Output: lines as they come.
Nothing is written to the folder, and the process is not asked anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from depyf.actions.following.compilation_lines import CompilationLines
from depyf.actions.following.growing_journal import GrowingJournal
from depyf.actions.following.growing_log import GrowingLog
from depyf.errors import DepyfError
from depyf.run.files.layout import RUN
from depyf.run.files.reading import fork_folders, rank_folders
from depyf.sources.trace_log.log_files import find_logs

Source = GrowingJournal | GrowingLog


class FollowedFolder:
    """The dumps and logs in one folder, or the one log, that are followed."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._sources: dict[Path, tuple[Source, CompilationLines]] = {}
        self._listed: frozenset[str] = frozenset()

    @property
    def found(self) -> tuple[str, ...]:
        """The paths of the dumps and logs being read."""
        return tuple(map(str, self._sources))

    @property
    def goes_on(self) -> bool:
        """Whether a process may still write to one of them."""
        return not self._sources or any(source.goes_on for source, _ in self._sources.values())

    def more(self) -> Iterator[str]:
        """The lines of what has ended since the last call; DepyfError where something is damaged."""
        self._find()
        for source, lines in list(self._sources.values()):
            for ended in source.more():
                yield from lines.lines(ended.function, ended.entry, ended.seconds)

    def _find(self) -> None:
        """What is there now, and was not before."""
        ranks = {f"rank {rank}": folder for rank, folder in rank_folders(self._place).items()}
        folders = {"": self._place, **ranks}
        for name, folder in list(folders.items()):
            folders.update({f"{name} {fork.name}".strip(): fork for fork in fork_folders(folder)})
        for name, folder in folders.items():
            if folder not in self._sources and (folder / RUN).is_file():
                self._sources[folder] = GrowingJournal(folder), CompilationLines(name)
        if not any(isinstance(source, GrowingJournal) for source, _ in self._sources.values()):
            self._find_logs()

    def _find_logs(self) -> None:
        """The logs of the latest run, and of those that begin later."""
        try:
            listed = frozenset(os.listdir(self._place)) if self._place.is_dir() else frozenset((self._place.name,))
        except OSError:
            return
        if listed == self._listed and self._sources:
            return
        try:
            logs = find_logs(self._place).logs
        except DepyfError:  # there is none yet
            return
        self._listed = listed
        for rank, log in logs.items():
            if log.path not in self._sources and not (log.packed and self._sources):
                label = f"rank {rank}" if rank is not None else ""
                self._sources[log.path] = GrowingLog(log), CompilationLines(label)


def follow(place: Path, tell: Callable[[str], None], wait: Callable[[FollowedFolder], bool]) -> None:
    """Pass each line to ``tell`` until the run has ended, or ``wait``, called between two readings, returns False.
    DepyfError where a file is damaged."""
    followed = FollowedFolder(place)
    while True:
        goes_on = followed.goes_on  # asked first: what was written by then is read below
        for line in followed.more():
            tell(line)
        if not goes_on or not wait(followed):
            return
