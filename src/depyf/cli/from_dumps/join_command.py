"""``depyf join``: a profile of torch with the lines of the program that its kernels compute."""

from __future__ import annotations

import argparse
from pathlib import Path

from depyf.actions.profile.chrome_trace import TraceError, kernel_runs, read_trace
from depyf.actions.profile.joined_kernels import joined, table_of, write_joined
from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, tell
from depyf.errors import DepyfError

EPILOG = """\
examples:
  depyf join trace.json depyf_dump
  depyf join trace.json.gz depyf_dump -o joined.json

exit status:
  0    kernels of the trace are in the dump
  1    none of them is
  2    the command line is wrong
  4    no trace, no dump, or the output cannot be written

The trace is what torch.profiler's export_chrome_trace wrote while the program of the dump ran. On a CPU the kernels of
Inductor are in it with torch._inductor.config.cpp.enable_kernel_profile = True.
"""


def add_join(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``join``."""
    parser.description = (
        "Find each kernel of a Chrome trace in a dump: the graph that it is of, and the line of the program that "
        "it computes.  The trace is written again with both, and a table is printed."
    )
    parser.epilog = EPILOG
    parser.add_argument("trace", type=Path, metavar="TRACE", help="what export_chrome_trace wrote (.json or .json.gz)")
    parser.add_argument("folder", type=Path, metavar="DIR", help="what depyf.prepare_debug or `depyf run` wrote")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="where the trace goes (default: TRACE, with .joined.json)"
    )


def run_join(options: argparse.Namespace) -> int:
    """Run ``depyf join``; the parser's epilogue has the exit status."""
    trace: Path = options.trace
    out = options.output or trace.with_name(trace.name.removesuffix(".gz").removesuffix(".json") + ".joined.json")
    try:
        read = read_trace(trace)
        kernels, runs = joined(kernel_runs(read), options.folder)
        if runs:
            write_joined(read, runs, out)
    except (TraceError, DepyfError) as error:
        complain(error)
        return ExitStatus.UNREADABLE
    except OSError as error:
        complain(f"cannot write {out}: {error.strerror or error}")
        return ExitStatus.UNREADABLE
    if not runs:
        complain(f"{trace} has no kernels: on a CPU set torch._inductor.config.cpp.enable_kernel_profile = True")
        return ExitStatus.UNPROVEN
    tell(*table_of(kernels), "", f"The trace with lines: {out}")
    return ExitStatus.PROVEN if any(kernel.file for kernel in kernels) else ExitStatus.UNPROVEN
