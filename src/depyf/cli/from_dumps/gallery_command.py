"""``depyf gallery``: dumps become scripts (``depyf.gallery``); here it is asked for, told, and checked."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from depyf.actions.gallery.timed_graphs import PAIRS, table_lines, time_scripts
from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, tell
from depyf.gallery import Gallery, GalleryError, write_gallery
from depyf.run.store.loading import load

DIFFERENT = 1
EPILOG = """\
examples:
  depyf gallery depyf_dump
  depyf gallery depyf_dump -o scripts --check
  depyf gallery depyf_dump --time               is each graph faster compiled?

exit status:
  0    every graph has a script (and passed, with --check)
  1    one was left out or does not agree
  2    the command line is wrong
  4    no dump, nothing in it, or the output cannot be written
  130  interrupted (Ctrl-C)

--check and --time run what the dump holds: use them for dumps that you trust.
"""


def add_gallery(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``gallery``."""
    parser.description = (
        "Turn a dump into self-contained scripts: each compiled graph with inputs of the recorded shapes, "
        "strides, dtypes and devices, its forward and backward, compared with eager mode.  "
        "The scripts need torch only."
    )
    parser.epilog = EPILOG
    parser.add_argument("folder", type=Path, metavar="DIR", help="what depyf.prepare_debug or `depyf run` wrote")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="where the scripts go (default: DIR/gallery)")
    parser.add_argument("--made-up", action="store_true", help="make up inputs, also where the dump has recorded ones")
    parser.add_argument("--check", action="store_true", help="run each script afterwards")
    parser.add_argument(
        "--time", action="store_true", help="time each graph afterwards: eager against compiled, forward and backward"
    )
    parser.add_argument(
        "--pairs", type=int, default=PAIRS, metavar="N", help=f"with --time: rounds of each way (default: {PAIRS})"
    )
    parser.add_argument("--backend", metavar="NAME", help="with --check or --time: the backend for torch.compile")


def run_gallery(options: argparse.Namespace) -> int:
    """Run ``depyf gallery``; the parser's epilogue has the exit status."""
    if options.pairs < 2:
        complain("--pairs must be at least 2")
        return ExitStatus.USAGE
    out: Path = options.output if options.output is not None else options.folder / "gallery"
    try:
        galleries = write_gallery(options.folder, out, made_up=options.made_up)
    except GalleryError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    status = 0
    for name, gallery in galleries.items():
        folder = out / name if name else out
        _tell(folder, gallery)
        if gallery.left_out:
            status = DIFFERENT
        if options.check and not _check(folder, gallery, options.backend):
            status = DIFFERENT
        if options.time:
            dump = options.folder / name if name else options.folder
            timed = time_scripts(folder, gallery.scripts, load(dump), options.backend or "inductor", options.pairs)
            tell("", *table_lines(timed))
    return status


def _tell(folder: Path, gallery: Gallery) -> None:
    count = len(gallery.scripts)
    tell(f"{count} script{'' if count == 1 else 's'} in {folder}; {folder / 'index.md'} lists them")
    for item in gallery.left_out:
        tell(f"left out: {item.compile_id} {item.function}: {item.reason}", error=True)


def _check(folder: Path, gallery: Gallery, backend: str | None) -> bool:
    """Run the scripts, one line each; what a failing one printed is shown."""
    passed = True
    for script in gallery.scripts:
        command = [sys.executable, str(folder / script.file), *(["--backend", backend] if backend else [])]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="backslashreplace", env=dict(os.environ), check=False
        )
        lines = (done.stdout.strip() or done.stderr.strip() or "nothing was printed").splitlines()
        tell(f"{'ok  ' if done.returncode == 0 else 'FAIL'}  {script.file}  {lines[-1].strip()}")
        sys.stdout.flush()
        if done.returncode:
            passed = False
            tell(*["      " + line for line in [*done.stdout.splitlines(), *done.stderr.splitlines()][-40:]])
    return passed
