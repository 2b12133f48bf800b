"""``depyf export``: a compiled function becomes a package (``depyf.export``); here it is asked for and told."""

from __future__ import annotations

import argparse
from pathlib import Path

from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, tell
from depyf.export import ExportError, export_package

EPILOG = """\
examples:
  depyf export depyf_dump -o compiled_net
  depyf export depyf_dump -o compiled_net --function Net.forward
  depyf export depyf_dump -o compiled_net --kernels
  python -m compiled_net

exit status:
  0    the package is written
  2    the command line is wrong
  4    no dump, no such function, or the package cannot be written
  130  interrupted (Ctrl-C)

Nothing that is read is executed.  The package is code of the program that was dumped: run those that you trust.
"""


def add_export(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``export``."""
    parser.description = (
        "Turn a compiled function of a dump into a Python package: dispatcher, guards, transformed and resume "
        "functions, graphs as modules, parameters by name from a state_dict.  The package needs torch only, and "
        "`python -m PACKAGE` compares it with eager mode on the calls that were recorded."
    )
    parser.epilog = EPILOG
    parser.add_argument("folder", type=Path, metavar="DIR", help="what depyf.prepare_debug or `depyf run` wrote")
    parser.add_argument("-o", "--output", type=Path, metavar="PACKAGE", required=True, help="the folder of the package")
    parser.add_argument("--function", metavar="NAME", default="", help="which function, where the dump has several")
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="run graphs as the code that Inductor wrote, where it can be called alone",
    )


def run_export(options: argparse.Namespace) -> int:
    """Run ``depyf export``; the parser's epilogue has the exit status."""
    try:
        package = export_package(options.folder, options.output, options.function, options.kernels)
    except ExportError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    tell(f"{package.function} is in {options.output}: {len(package.files)} files; README.md says more")
    for name in package.wanted:
        tell(f"to fill in: hooks.{name}", error=True)
    for note in package.notes:
        tell(note, error=True)
    return ExitStatus.PROVEN
