"""``depyf report``: one HTML page of a dump (``depyf.report``); here it is asked for and told."""

from __future__ import annotations

import argparse
from pathlib import Path

from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, tell
from depyf.errors import DepyfError
from depyf.run.files.layout import REPORT_PAGE

EPILOG = """\
examples:
  depyf report depyf_dump                 writes depyf_dump/report.html
  depyf report depyf_dump -o page.html
  depyf report before after -o diff.html  what changed between two runs, too
  depyf report depyf_dump --trace t.json  the time of each phase for ui.perfetto.dev, too

exit status:
  0    the page is written
  2    the command line is wrong
  4    no dump, the page cannot be written, or a library is missing
  130  interrupted (Ctrl-C)
"""


def add_report(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``report``."""
    parser.description = (
        "Make one HTML page of a dump: what to fix first, your source with every stage that came of each line, "
        "recompilations, guards, time, shapes, memory.  "
        "The page opens from disk and asks for nothing on the network."
    )
    parser.epilog = EPILOG
    parser.add_argument("folder", type=Path, metavar="DIR", help="what depyf.prepare_debug or `depyf run` wrote")
    parser.add_argument("other", type=Path, nargs="?", metavar="OTHER", help="a second dump, to compare with")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=f"the page (default: DIR/{REPORT_PAGE})")
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write the time of each phase as a Chrome trace, too"
    )


def run_report(options: argparse.Namespace) -> int:
    """Run ``depyf report``; the parser's epilogue has the exit status."""
    from depyf.views.report.report_page import write_report
    from depyf.views.report.trace import write_trace

    output: Path = options.output if options.output is not None else options.folder / REPORT_PAGE
    try:
        if options.trace is not None:
            write_trace(options.folder, options.trace)
            tell(f"{options.trace}: open it at https://ui.perfetto.dev")
        write_report(options.folder, output, options.other)
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    tell(f"{output} ({_size(output)}): open it in a browser")
    return 0


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
