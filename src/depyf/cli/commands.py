"""The argument parser and what each subcommand does."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import depyf
from depyf.cli.diff_and_merge import add_parsers, run_diff, run_merge, run_run
from depyf.cli.dump_passes import add_dump_parser, run_dump
from depyf.cli.from_dumps.export_command import add_export_parser, run_export
from depyf.cli.from_dumps.gallery_command import add_gallery_parser, run_gallery
from depyf.cli.from_dumps.join_command import add_join_parser, run_join
from depyf.cli.from_dumps.log_argument import logs_as_dumps
from depyf.cli.from_dumps.open_command import add_open_parser, run_open
from depyf.cli.from_dumps.remote_logs import logs_at_hand
from depyf.cli.from_dumps.repro_command import add_repro_parser, run_repro
from depyf.cli.from_dumps.show_record import add_show_parser, run_show
from depyf.cli.index_command import add_index_parser, completed, run_index
from depyf.cli.outcome import INTERRUPTED, ExitStatus, Outcome
from depyf.cli.output import complain, give_up_output, standard_streams, tell
from depyf.cli.programs.attach_command import add_attach_parser, run_attach
from depyf.cli.programs.check_command import add_check_parser, run_check
from depyf.cli.programs.doctor import add_doctor_parser, run_doctor
from depyf.cli.report_command import add_report_parser, run_report
from depyf.cli.targets import InputError, Job, add_version_option, find_unit, resolve
from depyf.decompiler.bytecode.files.cache_names import same_file
from depyf.decompiler.verify.recompiling.interpreters import version_of
from depyf.errors import DepyfError
from depyf.native import build
from depyf.run.files.reading import DumpError

_DUMPS = {
    "diff": ("first", "second"), "merge": ("folder",), "gallery": ("folder",), "export": ("folder",),
    "repro": ("folder",), "report": ("folder", "other"),
}  # fmt: skip
"""Which arguments of which command are folders of dumps that it reads."""
_LOGS = {"open": ("path",), "index": ("folder",), "doctor": ("program",), "show": ("path",)}
"""The same of commands that read logs themselves."""
DESCRIPTION = "Decompile Python bytecode, prove the result, and show every step in between."
EXAMPLES = """\
examples:
  depyf decompile module.pyc                    source on standard output, verdicts on standard error
  depyf decompile some/folder -o decompiled     every .pyc below it, the layout kept
  depyf decompile json:JSONDecoder.decode       a live function
  depyf disasm module.pyc:function              its normalised instructions
  depyf dump module.pyc:function --after lift   what the decompiler made of it by then
  depyf run --out dump train.py --epochs 1      a program, with what torch.compile does in it dumped
  depyf doctor --try train.py --epochs 1        what to fix in a program first, and whether it helps
  depyf check train.py --epochs 1               whether it keeps its budget of graph breaks, recompilations, ...
  depyf diff dump_a dump_b                      what differs between two dumps, stage by stage
  depyf merge dump                              where the ranks of a distributed run diverge
  depyf gallery dump -o scripts                 each compiled graph as a script that checks itself
  depyf join trace.json dump                    a profile of torch with the lines of the program
  depyf export dump -o net                      a compiled function as a package that runs without torch.compile
  depyf repro dump 0/0                          one compiled graph as a script for a bug report
  depyf open model.aot                          what is in a function that torch saved, without loading it
  depyf report dump                             one HTML page of a dump, which opens offline
  depyf report logs                             the same of logs that TORCH_TRACE=logs made
  depyf index dump                              the pages of a run whose process was killed
  depyf index dump --follow                     a line for each compilation of a run that goes on
  depyf show logs 0/1                           what torch logged of a compilation, record by record
  depyf attach 4711                             what torch.compile does in a process that runs

'depyf COMMAND --help' says more.
"""
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
DISASM_EPILOG = """\
examples:
  depyf disasm x.pyc
  depyf disasm json:JSONDecoder.decode

exit status: 0; 2 the command line is wrong; 3 the bytecode is damaged; 4 not readable; 130 interrupted
"""


class UsageError(DepyfError):
    """The command line asks for something that makes no sense."""


class Parser(argparse.ArgumentParser):
    """As its base, which is silent where its help cannot be written."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (file or sys.stderr).write(message)


class _Version(argparse.Action):
    """Which depyf this is, how it was built and what it runs on; torch is not imported for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        python = ".".join(map(str, sys.implementation.version[:3]))
        print(f"depyf {depyf.__version__} (Python {python}, {_torch()}, {build()})")
        parser.exit()


def _torch() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"torch {version('torch')}"
    except PackageNotFoundError:
        return "no torch"


class _Completion(argparse.Action):
    """``eval "$(depyf --completion bash)"``: the parser as a script of the shell, made by shtab."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, __: Any = None) -> None:
        try:
            import shtab
        except ImportError:
            parser.error("completion needs shtab: pip install 'depyf[cli]'")
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"--completion {shell}: {', '.join(shtab.SUPPORTED_SHELLS)} are known")
        print(shtab.complete(parser, shell))
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = Parser(
        prog="depyf",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="depyf, Python, torch, and which build it is (compiled or pure), and exit",
    )
    parser.add_argument(
        "--completion",
        action=_Completion,
        metavar="SHELL",
        help="a script that completes commands in bash, zsh or tcsh",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    decompile = commands.add_parser(
        "decompile",
        help="bytecode to proven Python source",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decompile.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a .pyc or .py file, a folder (all .pyc files below it) or archive (zip, wheel, egg, PyInstaller's), "
        "FILE:QUALNAME, ARCHIVE:MEMBER, module:qualname (imports the module), "
        "or - for a .pyc or an archive on standard input",
    )
    decompile.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="write files here, keeping the layout")
    decompile.add_argument("--json", action="store_true", help="print one JSON document instead of source and table")
    decompile.add_argument(
        "--python", metavar="PATH", help="the interpreter that recompiles the text for the proof (default: looked for)"
    )
    add_version_option(decompile)
    decompile.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    decompile.add_argument("-q", "--quiet", action="store_true", help="no progress bar and no summary table")

    disasm = commands.add_parser(
        "disasm",
        help="normalised instructions beside the source",
        epilog=DISASM_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    disasm.add_argument("target", metavar="TARGET", help="FILE, FILE:QUALNAME or module:qualname")
    add_version_option(disasm)

    add_dump_parser(commands)
    add_parsers(commands)
    add_gallery_parser(commands)
    add_join_parser(commands)
    add_export_parser(commands)
    add_repro_parser(commands)
    add_open_parser(commands)
    add_report_parser(commands)
    add_index_parser(commands)
    add_show_parser(commands)
    add_doctor_parser(commands)
    add_attach_parser(commands)
    add_check_parser(commands)
    return parser


def run(argv: Sequence[str] | None) -> int:
    """Parse and dispatch; errors become one line on standard error."""
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        if given[:1] == ["run"]:
            return _dispatch(given)  # the program sees the streams as they are
        with standard_streams():
            return _to_the_end(given)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except OSError as error:
        complain(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return ExitStatus.UNREADABLE


def _to_the_end(given: list[str]) -> int:
    """What is written reaches its reader, or it is said why not."""
    try:
        try:
            return _dispatch(given)
        finally:  # the parser leaves by SystemExit: --help
            sys.stdout.flush()
    except BrokenPipeError:  # the reader went away (`| head`): not an error of depyf
        give_up_output()
        return ExitStatus.FAILED
    except OSError as error:
        complain(f"standard output cannot be written: {error.strerror or error}")
        give_up_output()
        return ExitStatus.UNREADABLE


def _dispatch(argv: list[str]) -> int:
    parser = build_parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help(sys.stderr)
        return ExitStatus.USAGE
    commands = {
        "check": run_check,
        "decompile": run_decompile,
        "disasm": run_disasm,
        "dump": run_dump,
        "run": run_run,
        "diff": run_diff,
        "merge": run_merge,
        "gallery": run_gallery,
        "join": run_join,
        "export": run_export,
        "repro": run_repro,
        "open": run_open,
        "report": run_report,
        "index": run_index,
        "doctor": run_doctor,
        "attach": run_attach,
        "show": run_show,
    }
    try:
        dumps = _DUMPS.get(options.command, ())
        with logs_at_hand(options, _LOGS.get(options.command, dumps)), logs_as_dumps(options, dumps):
            completed(*(getattr(options, name) for name in dumps))
            return commands[options.command](options)
    except UsageError as error:
        complain(error)
        return ExitStatus.USAGE
    except (InputError, DumpError) as error:
        complain(error)
        return ExitStatus.UNREADABLE
    except DepyfError as error:
        complain(error)
        return ExitStatus.FAILED
    except OSError:
        raise
    except Exception as error:
        complain(f"internal error, please report it: {type(error).__name__}: {error}")
        return ExitStatus.FAILED


def run_decompile(options: argparse.Namespace) -> int:
    from depyf.cli import show
    from depyf.cli.work import decompile_all

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
    """UsageError where two inputs would be written to one file, on any file system."""
    taken: dict[str, Job] = {}
    for job in jobs:
        other = taken.setdefault(same_file(job.relative), job)
        if other is not job:
            raise UsageError(
                f"{other.target} and {job.target} would both be written to {job.relative}: give them one after the "
                "other, with folders of their own"
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


def run_disasm(options: argparse.Namespace) -> int:
    from depyf.cli.disasm import listing

    tell(*listing(find_unit(options.target, options.version)).removesuffix("\n").split("\n"))
    return 0
