"""``depyf check``: runs a program, or reads a dump or a log, and compares what torch did with a budget."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from depyf.actions.checking.budget_file import BudgetError, WrittenBudget, found_budget, write_budget
from depyf.actions.checking.measures import BY_NAME, INSTRUCTIONS, MEASURES, measured_numbers
from depyf.actions.checking.over_budget import Excess, excesses, untold
from depyf.actions.doctor.trial import DoctorProgram, Measured, run_once, why_no_program
from depyf.actions.opened.opened_log import write_log_dump
from depyf.cli.exit_status import INTERRUPTED, ExitStatus
from depyf.cli.found_formats import JSON, TEXT, add_format_argument, print_findings
from depyf.cli.from_dumps.log_argument import is_log, summary
from depyf.cli.index_command import completed
from depyf.cli.input_errors import InputError
from depyf.cli.output import complain, tell, tell_json
from depyf.cli.programs.doctor import why_not_started
from depyf.cli.programs.ending import ended_as_interrupted
from depyf.cli.programs.timeout_option import is_no_timeout
from depyf.run.files.layout import RUN
from depyf.run.files.reading import MANIFEST, rank_folders
from depyf.safety.escape import printable
from depyf.views.findings.finding import LocatedFinding, located
from depyf.views.report.dump_view import DumpView

CHECK_EPILOG = f"""\
a budget, in depyf.toml ([budget]) or pyproject.toml ([tool.depyf.budget]):
  graph_breaks = 0
  recompilations = 0
what it can limit: {textwrap.fill(", ".join(measure.name for measure in MEASURES), 90, subsequent_indent="  ")}

examples:
  depyf check --update train.py --epochs 1         write what is there now
  depyf check train.py --epochs 1                  in CI
  depyf check --format sarif train.py > check.sarif
  depyf check dump                                 a dump of depyf run, or logs (TORCH_TRACE=logs)

exit status:
  0    within the budget
  1    over the budget
  2    the command line is wrong
  3    the program failed, torch is missing, or a number of the budget is not known
  4    the program, the dump or the budget cannot be read
  130  interrupted (Ctrl-C)
"""


def add_check(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``check``."""
    parser.description = (
        "Run a Python program in a separate process, with empty compile caches, and compare what torch.compile did "
        "with a budget. Over the budget the exit status is 1, and each line that is a reason is named."
    )
    parser.epilog = CHECK_EPILOG
    parser.add_argument("--budget", type=Path, metavar="FILE", help="default: depyf.toml, else pyproject.toml")
    parser.add_argument("--update", action="store_true", help="write what is there now into the budget")
    add_format_argument(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="keep the dump here")
    parser.add_argument("--timeout", type=float, metavar="S", help="kill the run after S seconds (default: never)")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m")
    parser.add_argument("program", metavar="PROGRAM", help="a script, (-m) a module, a dump, or logs of torch")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the program's own arguments")


def run_check(options: argparse.Namespace) -> int:
    if is_no_timeout(options.timeout):
        return ExitStatus.USAGE
    _require_target(options)
    try:
        budget = found_budget(options.budget, Path.cwd())
        if not budget.there and not options.update:
            raise BudgetError(f"there is no budget in {budget.path}: depyf check --update writes one")
    except BudgetError as error:
        raise InputError(str(error)) from error
    with ended_as_interrupted(), _work_folder() as work:
        folder, status = _dump(options, work, INSTRUCTIONS in budget.limits)
        if folder is None:
            return status
        whole = DumpView(folder)
        views = list(whole.ranks.values()) or [whole]
        if not any(view.known for view in views):
            raise InputError(f"{printable(str(folder))} holds no run")
        return _judged(options, budget, views)


def _require_target(options: argparse.Namespace) -> None:
    path = Path(options.program)
    if options.module or _is_dump(path) or is_log(path):
        return
    missing = why_no_program(options.program, "script, dump or log")
    if missing:
        raise InputError(missing + (", and holds no dump" if path.is_dir() else ""))


def _dump(options: argparse.Namespace, work: Path, counted: bool) -> tuple[Path | None, int]:
    """The folder of the dump; None with the exit status where there is none to judge."""
    path = Path(options.program)
    recorded = not options.module and (_is_dump(path) or is_log(path))
    if recorded and options.arguments:
        complain(f"{printable(options.program)} is no program: it takes no arguments")
        return None, ExitStatus.USAGE
    if recorded and _is_dump(path):
        completed(path)
        return path, 0
    if recorded:
        opened = write_log_dump(path, options.out or work / "dump")
        tell(summary(path, opened), error=True)
        return opened.folder, 0
    folder = options.out or work / "dump"
    program = DoctorProgram(options.program, tuple(options.arguments), options.module)
    measured = run_once(
        program, (), work / "run", folder, compare=False, shown=True, fresh=True, limit=options.timeout,
        output=None if _form(options) == TEXT else sys.stderr, measures_guards=False,
        counts_instructions=counted,
    )  # fmt: skip
    return _ended_well(measured, options.program, folder)


def _ended_well(measured: Measured, name: str, folder: Path) -> tuple[Path | None, int]:
    if measured.not_started:
        raise why_not_started(measured)
    if measured.interrupted:
        return None, INTERRUPTED
    if measured.status or measured.problem:
        complain(f"{name} is not judged: {measured.problem or f'it ended with status {measured.status}'}")
        return None, ExitStatus.FAILED
    return folder, 0


def _is_dump(path: Path) -> bool:
    folders = (path, *rank_folders(path).values()) if path.is_dir() else ()
    return any((folder / name).exists() for folder in folders for name in (RUN, MANIFEST))


def _judged(options: argparse.Namespace, budget: WrittenBudget, views: Sequence[DumpView]) -> int:
    numbers = measured_numbers(views)
    if options.update:
        return _updated(options.program, budget, numbers, _form(options))
    over = excesses(views, numbers, budget.limits)
    missing = untold(numbers, budget.limits)
    form = _form(options)
    if form == JSON:
        tell_json(_document(options.program, budget, numbers, over))
    elif form == TEXT:
        tell(*_lines(options.program, budget, numbers, over))
    else:
        print_findings(_each_once(over), form, True)
    _tell_untold(missing, "is not judged", options.program)
    return ExitStatus.UNPROVEN if over else ExitStatus.FAILED if missing else ExitStatus.PROVEN


def _form(options: argparse.Namespace) -> str:
    return str(options.format or TEXT)


def _updated(program: str, budget: WrittenBudget, numbers: dict[str, int | None], form: str) -> int:
    """A budget keeps the measures that it names; a new one has all that are exact."""
    names = list(budget.limits) if budget.limits else list(numbers)
    limits = {name: BY_NAME[name].limit(number) for name in names if (number := numbers[name]) is not None}
    try:
        write_budget(budget, limits)
    except BudgetError as error:
        raise InputError(str(error)) from error
    lines = []
    for name, number in limits.items():
        before = budget.limits.get(name)
        lines.append(f"{name} = {number}" + (f" (was {before})" if before not in (None, number) else ""))
    tell(f"{budget.path}:", *(f"  {line}" for line in lines), error=form != TEXT)
    missing = untold(numbers, budget.limits)
    _tell_untold(missing, "is left as it is", program)
    return ExitStatus.FAILED if missing else ExitStatus.PROVEN


def _tell_untold(names: Iterable[str], what: str, dump: str) -> None:
    for name in names:
        where = BY_NAME[name].where
        complain(f"{name} {what}: " + (f"it is counted {where}" if where else f"{printable(dump)} does not tell it"))


def _each_once(over: Sequence[Excess]) -> list[LocatedFinding]:
    return list(dict.fromkeys(finding for excess in over for finding in excess.findings))


def _lines(name: str, budget: WrittenBudget, numbers: dict[str, int | None], over: Sequence[Excess]) -> list[str]:
    lines = []
    told: set[LocatedFinding] = set()
    for excess in over:
        lines.append(f"{name}: over the budget: {excess.text}")
        for finding in excess.findings:
            if finding in told:
                continue
            told.add(finding)
            ways = finding.ways
            lines.append("  " + located(_without_ways(finding)))
            lines += [f"     {'or: ' if at else 'way out: '}{way}" for at, way in enumerate(ways[:2])]
    if not over:
        kept = ", ".join(f"{key} {numbers[key]} of {limit}" for key, limit in budget.limits.items())
        lines.append(f"{name}: within the budget: {kept or 'it limits nothing'}")
    lower = [
        key
        for key, limit in budget.limits.items()
        if (number := numbers[key]) is not None and BY_NAME[key].allows_more(number, limit)
    ]
    if lower:
        lines.append(f"The budget allows more than there is ({', '.join(lower)}): depyf check --update lowers it")
    return lines


def _without_ways(finding: LocatedFinding) -> LocatedFinding:
    return replace(finding, ways=())


def _document(
    name: str, budget: WrittenBudget, numbers: dict[str, int | None], over: Sequence[Excess]
) -> dict[str, Any]:
    return {
        "program": name,
        "budget": str(budget.path),
        "limits": dict(budget.limits),
        "found": numbers,
        "over": [
            {
                "measure": excess.measure,
                "found": excess.found,
                "allowed": excess.allowed,
                "because": [
                    {
                        "rule": finding.rule.id,
                        "at": "" if finding.place is None else f"{finding.place.filename}:{finding.place.line}",
                        "column": finding.column,
                        "line": "" if finding.place is None else finding.place.text,
                        "text": finding.text,
                        "cost": finding.cost,
                        "ways": list(finding.ways),
                    }
                    for finding in excess.findings
                ],
            }
            for excess in over
        ],
    }


@contextmanager
def _work_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="depyf-check-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
