"""``depyf run``: a program, with what torch.compile does in it dumped; here it is asked for."""

from __future__ import annotations

import argparse
import contextlib

from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain
from depyf.cli.programs.check_option import add_check_arguments, check_of

EPILOG = """\
examples:
  depyf run train.py --epochs 1
  depyf run --report train.py
  depyf run --live train.py
  depyf run --out dump -m package.train
  depyf run --edited dump --compare train.py
  torchrun --nproc-per-node 2 --no-python depyf run --out dump train.py

exit status: that of the program; of depyf itself:
  2    the command line is wrong
  3    the folder cannot be written, or torch is missing or too old; an edited file is wrong, or was never used
  4    the program, or the dump of --edited, cannot be read
  130  interrupted (Ctrl-C) before the program runs
"""


def add_run(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``run``."""
    parser.description = (
        "Run a Python program under depyf.prepare_debug, without changing it.  Its arguments, output, exit "
        "status and exceptions are its own.  Under torchrun each rank writes DIR/rank_N."
    )
    parser.epilog = EPILOG
    parser.add_argument(
        "-o", "--out", default="depyf_dump", metavar="DIR", help="where the dump goes (default: depyf_dump)"
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="write DIR/report.html, too: one page that shows it all (see `depyf report`)",
    )
    parser.add_argument(
        "--record", action="store_true", help="keep the first inputs of each captured graph, up to 256 MiB in all"
    )
    parser.add_argument("--record-bytes", type=int, metavar="N", help="the same, up to N bytes in all")
    parser.add_argument(
        "--edited",
        metavar="DIR",
        help="run the program with the files of the dump DIR as you edited them, and dump nothing; "
        "DIR is code that runs",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="with --edited: compare each edited graph with the original at its first call: "
        "results, gradients, time, memory",
    )
    parser.add_argument(
        "--live", action="store_true", help="say on standard error what is compiled as it happens, and why"
    )
    parser.add_argument(
        "--answer-on",
        metavar="SIGNAL",
        help="answer `depyf attach` when this signal comes, such as SIGUSR1: the program must not use it",
    )
    add_check_arguments(parser)
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m")
    parser.add_argument("program", metavar="PROGRAM", help="a script, a folder with __main__.py, or (-m) a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the program's own arguments")


def run_run(options: argparse.Namespace) -> int:
    from depyf.actions.following.offered_signal import offered, signal_of
    from depyf.cli.programs.run_program import run_edited_program, run_program

    if options.edited is not None:
        return run_edited_program(options.program, options.arguments, options.module, options.edited, options.compare)
    if options.compare:
        complain("--compare compares edited code with the original: it needs --edited DIR")
        return ExitStatus.USAGE
    number = signal_of(options.answer_on) if options.answer_on is not None else None
    record = options.record if options.record_bytes is None else options.record_bytes
    check = check_of(options)
    with offered(number) if number is not None else contextlib.nullcontext():
        return run_program(
            options.program, options.arguments, options.module, options.out, options.report, record, check, options.live
        )
