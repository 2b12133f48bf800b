"""Logs of torch where a command takes a dump: a dump is made of them first.

Input: what the command line names.  Output: folders of dumps; DepyfError where the logs cannot be read.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from depyf.actions.opened.opened_log import OpenedLog, write_log_dump
from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, names_of_folders, tell
from depyf.errors import DepyfError
from depyf.run.causes.folding import counted
from depyf.run.files.layout import INDEX, REPORT_PAGE, RUN
from depyf.run.files.reading import MANIFEST, DumpError, rank_folders
from depyf.run.run import totals_of
from depyf.safety.escape import printable
from depyf.sources.trace_log.log_files import has_log
from depyf.views.pages.sections.totals import words_of

_BESIDE = {"report": REPORT_PAGE, "gallery": "gallery"}
"""Command -> what it writes beside the dump unless it is told where."""


def is_log(path: Path) -> bool:
    """Whether ``path`` is a log of torch, or a folder with logs that is no dump."""
    if path.is_dir():
        folders = (path, *rank_folders(path).values())
        if any((folder / name).exists() for folder in folders for name in (RUN, MANIFEST)):
            return False
    return has_log(path)


def default_folder(path: Path) -> Path:
    """The folder for the dump made from ``path``, unless the command line names one."""
    return Path(f"{path.resolve().name}.opened")


def open_logs(path: Path, out: Path) -> int:
    """Run ``depyf open`` for logs; returns the exit status."""
    try:
        opened = write_log_dump(path, out)
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    except OSError as error:
        complain(f"{error.filename or path}: {error.strerror or error}")
        return ExitStatus.UNREADABLE
    tell(summary(path, opened), printable(str(_index(opened))))
    _tell_notes(opened)
    return 0


def called(options: argparse.Namespace, folder: Path) -> Path | None:
    """The log from which this command made the dump in ``folder``; None for a dump of the user."""
    logs: dict[Path, Path] = getattr(options, "logs", {})
    return logs.get(folder)


def _index(opened: OpenedLog) -> Path:
    ranks = rank_folders(opened.folder)
    return opened.folder / INDEX if len(opened.runs) == 1 or not ranks else next(iter(ranks.values())) / INDEX


def summary(path: Path, opened: OpenedLog) -> str:
    """The totals of the logs, in one line."""
    words = words_of(totals_of(opened.runs.values()))
    ranks = ""
    if opened.groups is not None:
        ranks = f" of {counted(opened.groups.count, 'rank')}"
        shown = len(opened.runs)
        ranks += f", {shown} of which are shown" if shown < opened.groups.count else ""
    version = next((run.torch_version for run in opened.runs.values() if run.torch_version), "")
    of_torch = f"torch {version}" if version else "torch"
    parts = (words.compilations, words.breaks, words.errors, words.unfinished)
    return printable(f"{path}: logs of {of_torch}{ranks}: {', '.join(filter(None, parts))}")


def _tell_notes(opened: OpenedLog) -> None:
    for note in dict.fromkeys(note for run in opened.runs.values() for note in run.notes):
        tell(note, error=True)


@contextlib.contextmanager
def logs_as_dumps(options: argparse.Namespace, names: Iterable[str]) -> Iterator[None]:
    """While the block lasts, arguments ``names`` that are logs are replaced by dumps made from them.  DumpError for a
    path that is neither."""
    work: list[Path] = []
    names_of_folders.set({})  # they are said in messages that come after the block, too
    try:
        for name in names:
            path: Path | None = getattr(options, name)
            if path is None or not is_log(path):
                if path is not None and path.is_file() and options.command != "diff":  # that reads saved files, too
                    raise DumpError(f"{printable(str(path))} is neither a dump of depyf nor a log of torch")
                continue
            work.append(Path(tempfile.mkdtemp(prefix="depyf-log-")))
            folder = work[-1] / printable(path.resolve().name or "logs")
            opened = write_log_dump(path, folder)
            shown = getattr(options, "remote", {}).get(path, path)
            tell(summary(shown, opened), error=True)
            _tell_notes(opened)
            if (beside := _BESIDE.get(options.command)) is not None and options.output is None:
                near = path if path.is_dir() else path.parent
                options.output = near / beside if shown == path else Path(f"{path.name}.{beside}")
            setattr(options, name, folder)
            options.logs = {**getattr(options, "logs", {}), folder: shown}
            names_of_folders.set({**names_of_folders.get(), str(folder): str(shown)})
        yield
    finally:
        for one in work:
            shutil.rmtree(one, ignore_errors=True)
