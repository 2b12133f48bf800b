"""``depyf open``: what is in files that torch saved (``depyf.actions.opened``); here it is asked for and told."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import depyf
from depyf.actions.opened.folder_page import folder_page, other_texts
from depyf.actions.opened.open_file import (
    LOADED,
    OpenedFile,
    cache_beside,
    folder_below,
    open_saved,
    saved_below,
    write_opened,
)
from depyf.cli.exit_status import ExitStatus
from depyf.cli.from_dumps.log_argument import default_folder, open_logs
from depyf.cli.on_bytecode.targets import add_version_option
from depyf.cli.output import complain, tell
from depyf.errors import DepyfError
from depyf.run.files.layout import INDEX
from depyf.run.files.writer import write_whole
from depyf.sources.live.saved_loading import FUNCTION, PRECOMPILED
from depyf.sources.trace_log.log_files import has_log

EPILOG = """\
examples:
  depyf open model.aot
  depyf open model.aot -o model_opened
  depyf open /tmp/torchinductor_me -o caches
  depyf open ~/.cache/vllm/torch_compile_cache -o caches
  depyf open logs -o dump              logs that TORCH_TRACE=logs made, as a dump of depyf
  depyf open model.py --load           and what only loading tells: this executes model.py

exit status; of several files the largest wins:
  0    the texts are written, all code is proven (a log of torch has no code)
  1    some of the code is not proven
  2    the command line is wrong
  4    a file cannot be read or loaded, or the folder cannot be written
  130  interrupted (Ctrl-C)

Nothing that is read is executed, loaded or unpickled, but with --load.
"""


_HOME = str(Path(depyf.__file__).parent.parent)
"""Where this depyf is found, in another process, too."""


def add_open(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``open``."""
    parser.description = (
        "Write a folder of texts of what is in a file: the code, decompiled and proven, guards, signature, "
        "graphs, what Inductor wrote, what loading the file would import and call.  FILE is what "
        "save_compiled_function or torch.compiler.precompile wrote, or an entry of one of torch's caches; of a "
        "folder, all such files below.  "
        "Of a log that TORCH_TRACE wrote, or a folder of them, the dump that depyf run makes, as far as it tells."
    )
    parser.epilog = EPILOG
    parser.add_argument("path", type=Path, metavar="FILE", help="a saved file, or a folder of them")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="where the texts go (default: FILE's name with .opened)"
    )
    add_version_option(parser)
    parser.add_argument(
        "--load",
        action="store_true",
        help="then load FILE with this Python's torch, in a separate process: this executes it",
    )


def run_open(options: argparse.Namespace) -> int:
    """Run ``depyf open``; the parser's epilogue has the exit status."""
    path: Path = options.path
    out: Path = options.output if options.output is not None else default_folder(path)
    if has_log(path):
        return open_logs(path, options.output or default_folder(path))
    if not path.is_dir():
        status, opened = _open(path, out, Path(), options.version)
        return max(status, _load(path, out, opened)) if options.load and opened is not None else status
    if options.load:
        complain(f"{path} is a folder: --load executes one file, so name it")
        return ExitStatus.USAGE
    known: dict[str, OpenedFile] = {}
    status = ExitStatus.PROVEN
    for file in saved_below(path, out):
        name = file.relative_to(path).as_posix()
        one, found = _open(file, out, folder_below(name), options.version)
        status = max(status, one)
        if found is not None:
            known[name] = found
    if not known:
        complain(f"no file below {path} that torch saved could be opened")
        return ExitStatus.UNREADABLE
    write_whole(str(out / INDEX), folder_page(path.resolve().name, known, other_texts(path, out)))
    tell(f"{len(known)} files of {path} are in {out}; index.md lists them")
    return status


def _load(path: Path, out: Path, opened: OpenedFile) -> ExitStatus:
    """Execute the file, which was opened before, in a separate process."""
    kinds = {opened.is_function: FUNCTION, opened.is_program: PRECOMPILED}
    if True not in kinds:
        complain(f"{path.name} is {opened.kind}: torch loads none alone, so --load does not either")
        return ExitStatus.UNREADABLE
    cache = cache_beside(path) if opened.is_program else None
    folder = out / LOADED
    beside = f" and {cache.name}" if cache is not None else ""
    tell(f"--load executes {path.name}{beside}, in a separate process, as you: it can do what you can do", error=True)
    command = [sys.executable, "-m", "depyf.cli.programs.loading_child"]
    done = subprocess.run(
        [*command, kinds[True], str(path), str(cache or os.devnull), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (_HOME, os.environ.get("PYTHONPATH"))))},
        stdout=sys.stderr.fileno() if _has_file(sys.stderr) else subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        complain(f"{path.name} could not be loaded (the process ended with {done.returncode})")
        return ExitStatus.UNREADABLE
    tell(f"what loading it made is in {folder}; index.md lists it")
    return ExitStatus.PROVEN


def _has_file(stream: object) -> bool:
    try:
        return isinstance(stream.fileno(), int)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False


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
