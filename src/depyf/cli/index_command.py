"""``depyf index``: the pages of a run whose process was killed, and ``completed``, which other commands call first."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from depyf.actions.following.follow_folder import FollowedFolder, follow
from depyf.cli.exit_status import ExitStatus
from depyf.cli.from_dumps.log_argument import default_folder, is_log, open_logs
from depyf.cli.output import complain, tell
from depyf.errors import DepyfError
from depyf.run.files.layout import INDEX
from depyf.run.files.reading import read_manifest
from depyf.safety.escape import printable
from depyf.views.dump.completing import complete

EPILOG = """\
examples:
  depyf index depyf_dump       writes depyf_dump/index.md and all other pages, if the process made none
  depyf index logs             a dump of logs that TORCH_TRACE=logs made, in logs.opened
  depyf index depyf_dump --follow    a line for each compilation of a run that goes on, and why torch made it
  depyf index logs --follow          the same from the logs of torch, as they grow

exit status:
  0    the pages are there
  2    the command line is wrong
  4    no dump, its process is still running, or the pages cannot be written
  130  interrupted (Ctrl-C)
"""


def add_index(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``index``."""
    parser.description = (
        "Make the pages of a recorded run whose process was killed before it could: what to fix first, graph "
        "breaks, recompilations, guards, source, times, as far as they were known.  "
        "A dump that is complete stays as it is."
    )
    parser.epilog = EPILOG
    parser.add_argument("folder", type=Path, metavar="DIR", help="what depyf.prepare_debug or `depyf run` wrote")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="write nothing, and print a line for each compilation as the run makes it, until it ends",
    )


def run_index(options: argparse.Namespace) -> int:
    """Run ``depyf index``; the parser's epilogue has the exit status."""
    folder: Path = options.folder
    if options.follow:
        return _follow(folder)
    if is_log(folder):
        return open_logs(folder, default_folder(folder))
    try:
        made = complete(folder)
        if not made:
            read_manifest(folder)
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    for path in made or [folder]:
        tell(printable(str(path / INDEX)))
    return 0


_LOOKS_EVERY = 0.5
"""Seconds."""


def _follow(folder: Path) -> int:
    """Until the run ends, or who looks has seen enough."""
    told = False

    def wait(followed: FollowedFolder) -> bool:
        nonlocal told
        sys.stdout.flush()
        if not told:
            told = bool(followed.found)
            if told:
                complain(f"following {', '.join(followed.found[:_MOST_NAMED])}; Ctrl-C ends it")
            elif not waiting:
                waiting.append(folder)
                complain(f"{folder} has no recording and no log of torch yet: waiting for one; Ctrl-C ends it")
        time.sleep(_LOOKS_EVERY)
        return True

    waiting: list[Path] = []
    try:
        follow(folder, tell, wait)
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    return 0


_MOST_NAMED = 3


def completed(*folders: Path | None) -> None:
    """Make the pages of killed runs in ``folders``; those of running processes are skipped.  DepyfError where the pages
    cannot be made."""
    for folder in folders:
        for path in complete(folder, alive_too=False) if folder is not None else ():
            tell(f"{path}: its process was killed; the pages are made of what it left", error=True)
