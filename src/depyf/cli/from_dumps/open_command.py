"""``depyf open``: what is in files that torch saved (``depyf.actions.opened``); here it is asked for and told."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from depyf.actions.opened.open_file import OpenedFile, folder_below, open_saved, saved_below, write_opened
from depyf.cli.outcome import ExitStatus
from depyf.cli.output import complain, tell
from depyf.cli.targets import add_version_option
from depyf.errors import DepyfError

EPILOG = """\
examples:
  depyf open model.aot
  depyf open model.aot -o model_opened
  depyf open /tmp/torchinductor_me -o caches

exit status; of several files the largest wins:
  0    the texts are written, all code is proven
  1    some of the code is not proven
  2    the command line is wrong
  4    a file cannot be read, or the folder cannot be written
  130  interrupted (Ctrl-C)

Nothing that is read is executed, loaded or unpickled.
"""


def add_open_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``open``."""
    parser = commands.add_parser(
        "open",
        help="what is in a function that torch saved, or in its caches, without loading it",
        description=textwrap.fill(
            "Write a folder of texts of what is in a file: the code, decompiled and proven, the guards, the signature, "
            "the graphs, what Inductor wrote, and what loading the file would import and call.  FILE is what "
            "save_compiled_function wrote, or an entry of one of torch's caches; of a folder, all such files below it.",
            100,
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="a saved file, or a folder of them")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="where the texts go (default: FILE's name with .opened)"
    )
    add_version_option(parser)


def run_open(options: argparse.Namespace) -> int:
    """See the parser's epilogue for the exit status."""
    path: Path = options.path
    out: Path = options.output if options.output is not None else Path(f"{path.resolve().name}.opened")
    if not path.is_dir():
        return _open(path, out, Path(), options.version)[0]
    kinds: dict[str, str] = {}
    status = ExitStatus.PROVEN
    for file in saved_below(path, out):
        name = file.relative_to(path).as_posix()
        one, found = _open(file, out, folder_below(name), options.version)
        status = max(status, one)
        if found is not None:
            kinds[name] = found.kind
    if not kinds:
        complain(f"no file below {path} that torch saved could be opened")
        return ExitStatus.UNREADABLE
    tell(f"{len(kinds)} files of {path} are in {out}")
    return status


def _open(path: Path, out: Path, below: Path, version: str | None) -> tuple[ExitStatus, OpenedFile | None]:
    try:
        found = open_saved(path, version)
        write_opened(found, out, below)
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE, None
    except OSError as error:
        complain(f"{error.filename or path}: {error.strerror or error}")
        return ExitStatus.UNREADABLE, None
    tell(f"{path.name} is {found.kind}: {len(found.files)} files in {out / below}; index.md lists them")
    for note in (*found.notes, *(f"not proven: {one}" for one in found.unproven)):
        tell(note, error=True)
    return (ExitStatus.UNPROVEN if found.unproven else ExitStatus.PROVEN), found
