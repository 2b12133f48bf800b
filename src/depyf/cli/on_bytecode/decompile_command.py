"""``depyf decompile``: bytecode to proven Python source."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from depyf.cli.exit_status import ExitStatus
from depyf.cli.input_errors import InputError, UsageError
from depyf.cli.on_bytecode import show
from depyf.cli.on_bytecode.targets import Job, add_version_option, resolve
from depyf.cli.on_bytecode.work import decompile_all
from depyf.cli.outcome import Outcome
from depyf.decompiler.bytecode.files.cache_names import same_file
from depyf.decompiler.verify.recompiling.interpreters import version_of

EPILOG = """\
examples:
  depyf decompile x.pyc
  depyf decompile --json -q x.pyc y.pyc
  depyf decompile site-packages/pkg -o decompiled

exit status; of several inputs the largest wins:
  0    everything was decompiled and proven
  1    everything was decompiled, something is not proven
  2    the command line is wrong
  3    something could not be decompiled
  4    something could not be read or written
  130  interrupted (Ctrl-C)
"""


def add_decompile(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``decompile``."""
    parser.epilog = EPILOG
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a .pyc or .py file, a folder (all .pyc files below it) or archive (zip, wheel, egg, PyInstaller's), "
        "FILE:QUALNAME, ARCHIVE:MEMBER, module:qualname (imports the module), "
        "or - for a .pyc or an archive on standard input",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="write files here, keeping the layout")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of source and table")
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter that recompiles the text for the proof (default: looked for)"
    )
    add_version_option(parser)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar and no summary table")


def run_decompile(options: argparse.Namespace) -> int:
    if options.jobs < 1:
        raise UsageError("--jobs must be at least 1")
    if options.python is not None and version_of(options.python) is None:
        raise UsageError(f"--python {options.python}: no CPython answers there")
    jobs, unreadable = resolve(options.paths)
    if options.output is not None:
        one_file_each(jobs)
        prepare_folder(options.output)
    outcomes: list[Outcome] = list(unreadable)
    show_progress = not options.quiet and not options.json and sys.stderr.isatty()
    made = decompile_all(jobs, options.jobs, options.python, options.version)
    for outcome in show.with_progress(made, len(jobs), show_progress):
        if options.output is not None and outcome.source is not None:
            outcome = show.write_file(outcome, options.output)
        outcomes.append(outcome)
    # the order of the command line, not the order in which workers finished
    outcomes.sort(key=lambda outcome: outcome.order)
    if options.json:
        show.print_json(outcomes)
    else:
        if options.output is None:
            show.print_sources(outcomes)
        show.print_errors(outcomes)
        if not options.quiet:
            show.print_summary(outcomes)
    return max((outcome.exit for outcome in outcomes), default=ExitStatus.PROVEN)


def one_file_each(jobs: list[Job]) -> None:
    """UsageError where two inputs have the same output file, on a case-insensitive file system as well."""
    taken: dict[str, Job] = {}
    for job in jobs:
        other = taken.setdefault(same_file(job.relative), job)
        if other is not job:
            raise UsageError(
                f"{other.target} and {job.target} would both be written to {job.relative}: give them one after the "
                "other, into separate folders"
            )


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the output folder {folder}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"cannot create the output folder {folder}: {error}") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write to the output folder {folder}")
