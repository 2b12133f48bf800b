"""``depyf doctor``: runs a program in a separate process, prints what to fix first, and with ``--try`` what helps."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from depyf.actions.doctor.doctor_report import causes_lines, document, headline, tries_lines
from depyf.actions.doctor.trial import DoctorProgram, Measured, measured_in, run_once, why_no_program
from depyf.actions.doctor.tries import MOST, Tries, try_ways
from depyf.actions.opened.opened_log import write_log_dump
from depyf.cli.exit_status import INTERRUPTED, ExitStatus
from depyf.cli.found_formats import JSON, TEXT, add_format_argument, print_findings
from depyf.cli.from_dumps.log_argument import is_log, summary
from depyf.cli.input_errors import InputError
from depyf.cli.output import complain, tell, tell_json
from depyf.cli.programs.check_option import add_check_arguments, check_of
from depyf.cli.programs.ending import ended_as_interrupted
from depyf.cli.programs.fix_option import run_fix
from depyf.cli.programs.timeout_option import is_no_timeout
from depyf.decompiler.bytecode.files.other_files import PRINTED_LOG, is_printed_log
from depyf.errors import DepyfError
from depyf.views.findings.finding import findings_of
from depyf.views.pages.sections.fix_first import to_fix

DOCTOR_EPILOG = """\
examples:
  depyf doctor train.py --epochs 1
  depyf doctor --try train.py --epochs 1
  depyf doctor --try --json -m package.train > findings.json
  depyf doctor --fix train.py > train.patch
  depyf doctor --format sarif train.py > doctor.sarif
  depyf doctor logs                                 a run that is over, by its logs (TORCH_TRACE=logs)

exit status:
  0    the program ended well, and there is nothing to fix
  1    the program ended well, and there is something to fix
  2    the command line is wrong
  3    the program failed or did not end in time (what it had compiled by then is told), or torch is missing
  4    the program cannot be read, or the folder cannot be written
  130  interrupted (Ctrl-C): what was compiled by then is told
"""


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``doctor``."""
    parser.description = (
        "Run a Python program in a separate process and say what to fix first.  With --try it runs again once for "
        "each way out that needs no edit of the program, and what that changes is measured."
    )
    parser.epilog = DOCTOR_EPILOG
    parser.add_argument("--try", dest="tries", action="store_true", help="measure each way out that needs no edit")
    parser.add_argument(
        "--guards",
        action="store_true",
        help="with --try: measure functions of torch that leave guards out, too",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="make edits of the program, each tried in a copy, and print those that help as a patch (depyf[fix])",
    )
    parser.add_argument("--write", action="store_true", help="with --fix: write them")
    parser.add_argument("--most", type=int, default=MOST, metavar="N", help=f"try at most N ways out (default: {MOST})")
    parser.add_argument(
        "--json",
        action="store_true",
        help="the same as --format json",
    )
    add_format_argument(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="keep the dump here")
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help="kill a run after S seconds (default: never; "
        "what is tried: ten times as long as the first run, and a minute)",
    )
    add_check_arguments(parser)
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m")
    parser.add_argument(
        "program", metavar="PROGRAM", help="a script, a folder with __main__.py, or (-m) a module; logs of torch, too"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the program's own arguments")


def run_doctor(options: argparse.Namespace) -> int:
    program = DoctorProgram(options.program, tuple(options.arguments), options.module)
    if options.most < 0:
        complain(f"--most is {options.most}: it must be 0 or more")
        return ExitStatus.USAGE
    if is_no_timeout(options.timeout):
        return ExitStatus.USAGE
    if options.guards and not options.tries:
        complain("--guards is for --try")
        return ExitStatus.USAGE
    if options.write and not options.fix:
        complain("--write is for --fix")
        return ExitStatus.USAGE
    if options.fix:
        return run_fix(program, options, _form(options))
    form = _form(options)
    if form not in (TEXT, JSON) and options.tries:
        complain(f"--format {form} has findings only: what --try measures is in text and in json")
        return ExitStatus.USAGE
    check = check_of(options)
    if check is not None and options.tries:
        complain("--check makes calls twice, and --try measures seconds: use one of them at a time")
        return ExitStatus.USAGE
    if not program.module and is_log(Path(program.target)):
        return _of_log(program, options)
    _require_file(program)
    with ended_as_interrupted(), _work() as work:
        base = run_once(
            program,
            (),
            work / "first",
            options.out or work / "dump",
            compare=options.tries,
            shown=True,
            output=None if form == TEXT else sys.stderr,
            limit=options.timeout,
            check=check,
        )
        if base.not_started:
            raise why_not_started(base)
        if form == TEXT:
            tell("", headline(program.target, base))
            if base.problem and base.recorded:
                tell(base.problem)
            if base.recorded:
                tell("", *causes_lines(base))
            if base.checked:
                tell("", base.checked)
        tries: Tries | None = None
        if options.tries and not base.interrupted and base.seconds is not None:
            tries = _try(program, base, options, work)
        if form != TEXT:
            _print_document(program.target, base, tries, options, form)
        elif options.out is not None:
            tell("", f"The dump is in {options.out}")
        return INTERRUPTED if tries is not None and tries.interrupted else _status(base)


def _of_log(program: DoctorProgram, options: argparse.Namespace) -> int:
    """What to fix first in the run of a log; there is no program to run."""
    if options.tries or check_of(options) is not None or program.arguments:
        complain(f"{program.target} is a log of torch: there is no program to run with --try, --check or arguments")
        return ExitStatus.USAGE
    with _work() as work:
        opened = write_log_dump(Path(program.target), options.out or work / "dump")
        base = measured_in(opened.folder)
        if _form(options) != TEXT:
            _print_document(program.target, base, None, options, _form(options))
        else:
            tell(summary(Path(program.target), opened), "", *causes_lines(base))
            for note in dict.fromkeys(note for run in opened.runs.values() for note in run.notes):
                tell(note, error=True)
    return _status(base)


def _form(options: argparse.Namespace) -> str:
    return JSON if options.json else str(options.format or TEXT)


def _print_document(name: str, base: Measured, tries: Tries | None, options: argparse.Namespace, form: str) -> None:
    """All that was found, in a format for programs."""
    if form == JSON:
        kept = None if options.out is None else str(options.out)
        tell_json(document(name, base, tries, kept))
    else:
        print_findings(findings_of(base.causes, base.observations), form, not base.status and not base.problem)
        if base.problem:
            complain(f"{name}: {base.problem}")


def why_not_started(base: Measured) -> DepyfError:
    """The error for a program that could not be started."""
    return InputError(base.problem) if base.no_input else DepyfError(base.problem)


def _status(base: Measured) -> int:
    if base.interrupted:
        return INTERRUPTED
    if base.status or base.problem:
        return ExitStatus.FAILED
    return (
        ExitStatus.UNPROVEN
        if to_fix(base.causes) or any(not one.of_calls for one in base.observations)
        else ExitStatus.PROVEN
    )


def _require_file(program: DoctorProgram) -> None:
    path = Path(program.target)
    missing = "" if program.module else why_no_program(program.target)
    if missing:
        raise InputError(missing)
    if not program.module and path.is_file() and is_printed_log(_beginning(path)):
        raise InputError(f"{program.target} is no program: it is {PRINTED_LOG}")


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1 << 16)


@contextmanager
def _work() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="depyf-doctor-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _try(program: DoctorProgram, base: Measured, options: argparse.Namespace, work: Path) -> Tries:
    dump = options.out or work / "dump"
    tries = try_ways(
        program,
        base,
        dump,
        work,
        most=options.most,
        timeout=options.timeout,
        tell=lambda text: tell(f"depyf: {text}", error=True),
        guards=options.guards,
    )
    if _form(options) == TEXT:
        tell("", *tries_lines(base, tries))
    return tries
