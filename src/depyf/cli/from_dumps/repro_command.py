"""``depyf repro``: the script of a bug report from a dump (``depyf.actions.repro``)."""

from __future__ import annotations

import argparse
from pathlib import Path

from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, tell
from depyf.safety.escape import safe_name

EPILOG = """\
examples:
  depyf run --record --out dump train.py
  depyf repro dump 0/0
  depyf repro dump 1/2 -o bug.py

exit status: 0; 2 the command line is wrong; 4 no dump, no such compilation, or the script cannot be written;
130 interrupted (Ctrl-C)
"""


def add_repro(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``repro``."""
    parser.description = (
        "Write one self-contained script of a compiled graph: its inputs as recorded, the graph, the backend; it "
        "prints what differs between eager mode and torch.compile, or what they raise.  It needs torch only."
    )
    parser.epilog = EPILOG
    parser.add_argument("folder", type=Path, metavar="DIR", help="what depyf.prepare_debug or `depyf run` wrote")
    parser.add_argument(
        "compile_id", metavar="COMPILE_ID", help="as index.md has it: 0/0; or as in names of files: 0_0"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the script (default: repro_COMPILE_ID.py)")
    parser.add_argument(
        "--graph", type=int, default=0, metavar="N", help="of several graphs of the compilation, number N"
    )


def run_repro(options: argparse.Namespace) -> int:
    """Run ``depyf repro``; the parser's epilogue has the exit status.  ReproError for a script name without ``.py``."""
    from depyf.actions.repro.repro_script import write_repro
    from depyf.actions.repro.repro_subject import ReproError, read_subject

    try:
        subject = read_subject(options.folder, options.compile_id, options.graph)
        path: Path = options.output or Path(f"repro_{safe_name(subject.graph.slug)}.py")
        if path.suffix != ".py":
            raise ReproError(f"{path}: the name of a script ends in .py")
        written = write_repro(subject, path)
    except ReproError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    tell(f"{written[0]}: run it with `python {written[0]}`" + (f"; it reads {written[1]}" if len(written) > 1 else ""))
    return 0
