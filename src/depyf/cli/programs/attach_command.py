"""``depyf attach``: what torch.compile does in a process that runs; here it is asked for and told."""

from __future__ import annotations

import argparse

from depyf.actions.following.asked_process import ask
from depyf.actions.following.attached_lines import attached_lines
from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, tell, tell_json
from depyf.errors import DepyfError

SECONDS = 10.0
EPILOG = """\
examples:
  depyf attach 4711
  depyf attach --json 4711
  depyf run --answer-on SIGUSR1 train.py       before Python 3.14: a process that answers on that signal

exit status:
  0    the process has answered
  2    the command line is wrong
  4    there is no such process, it cannot be asked, or does not answer
  130  interrupted (Ctrl-C)
"""


def add_attach(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``attach``."""
    parser.description = (
        "Ask a process what is compiled in it, what it compiles now, since when and where, and what the cache "
        "entries of each function are.  It answers between two lines of Python of its main thread and goes on; "
        "nothing is imported, changed or left in it.  Both sides need Python 3.14 or newer, the same version; "
        "before, the process has to be started with `depyf run --answer-on SIGNAL`."
    )
    parser.epilog = EPILOG
    parser.add_argument("pid", type=int, metavar="PID", help="the number of the process")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, metavar="S", help=f"wait so long for it (default: {SECONDS:.0f})"
    )
    parser.add_argument("--json", action="store_true", help="print what it answers as one JSON document")


def run_attach(options: argparse.Namespace) -> int:
    """Run ``depyf attach``; the parser's epilogue has the exit status."""
    if options.pid <= 0 or not options.seconds > 0:
        complain("PID and --seconds must be positive")
        return ExitStatus.USAGE
    try:
        found = ask(options.pid, options.seconds)
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    if options.json:
        tell_json(found)
    else:
        tell(*attached_lines(found))
    return 0
