"""Show outcomes: source on standard output, files with ``-o``, a JSON document, progress and a summary table."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from depyf.cli.exit_status import ExitStatus
from depyf.cli.outcome import Outcome
from depyf.cli.output import complain, tell, tell_json, write_source
from depyf.decompiler.emit.comments import comment
from depyf.decompiler.verify.verdict import Status
from depyf.errors import DepyfError
from depyf.run.files.writer import make_folder, write_whole

SHOWN_REASONS = 10


def with_progress(outcomes: Iterable[Outcome], total: int, shown: bool) -> Iterator[Outcome]:
    """The outcomes; where there are several, and the package 'rich' is there, with a progress bar."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        shown = False
    if not shown or total < 2:
        yield from outcomes
        return
    columns = (TextColumn("decompiling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        for outcome in outcomes:
            progress.advance(task)
            yield outcome


def write_file(outcome: Outcome, folder: Path) -> Outcome:
    """Write the text below ``folder``, through no link; the outcome says where, or why not."""
    relative = Path(outcome.relative)
    target = folder / relative
    assert outcome.source is not None
    try:
        write_whole(str(make_folder(folder, relative.parent) / relative.name), outcome.source)
    except DepyfError as error:
        return dataclasses.replace(outcome, exit=ExitStatus.UNREADABLE, error=str(error))
    except OSError as error:
        message = f"cannot write {target}: {error.strerror}"
        return dataclasses.replace(outcome, exit=ExitStatus.UNREADABLE, error=message)
    return dataclasses.replace(outcome, output=str(target))


def print_sources(outcomes: list[Outcome]) -> None:
    """The text of every outcome; with several, each after a comment that names it."""
    sources = [outcome for outcome in outcomes if outcome.source is not None]
    for index, outcome in enumerate(sources):
        if len(outcomes) > 1:
            write_source(("\n" if index else "") + comment(f"=== {outcome.name}") + "\n")
        assert outcome.source is not None
        write_source(outcome.source if outcome.source.endswith("\n") else outcome.source + "\n")
    sys.stdout.flush()


def print_errors(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.error is not None:
            complain(f"{outcome.name}: {outcome.error}")


def print_json(outcomes: list[Outcome]) -> None:
    counts = Counter(verdict.status.value for outcome in outcomes for verdict in outcome.verdicts)
    document = {
        "files": [outcome.as_json() for outcome in outcomes],
        "summary": {status.value: counts[status.value] for status in Status if status is not Status.WRONG},
        "exit": int(max((outcome.exit for outcome in outcomes), default=ExitStatus.PROVEN)),
    }
    tell_json(document, indent=2)


def print_summary(outcomes: list[Outcome]) -> None:
    """Verdicts by version, and the reasons for what is not proven, the same reason once."""
    if all(outcome.exit is ExitStatus.UNREADABLE for outcome in outcomes):
        return  # what was wrong with them has been said
    headings = ("version", "files", "code objects", "identical", "equivalent", "unverified", "failed", "unreadable")
    print(row(headings, headings), file=sys.stderr)
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        name = f"{outcome.version[0]}.{outcome.version[1]}" if outcome.version else "?"
        groups.setdefault(name, []).append(outcome)
    for name, members in sorted(groups.items(), key=lambda item: [len(item[0]), item[0]]):
        counts = Counter(verdict.status for outcome in members for verdict in outcome.verdicts)
        exits = Counter(outcome.exit for outcome in members)
        numbers = [
            len(members),
            sum(counts.values()),
            counts[Status.IDENTICAL],
            counts[Status.EQUIVALENT],
            counts[Status.UNVERIFIED],
            counts[Status.FAILED]
            + sum(outcome.exit is ExitStatus.FAILED and not outcome.verdicts for outcome in members),
            exits[ExitStatus.UNREADABLE],
        ]
        print(row((name, *map(str, numbers)), headings), file=sys.stderr)
    reasons: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        for verdict in outcome.verdicts:
            if not verdict.proven:
                where = f"{outcome.name}:{verdict.qualname}" + (f", line {verdict.line}" if verdict.line else "")
                reasons.setdefault((verdict.status.value.lower(), verdict.reason), []).append(where)
    for (status, reason), places in list(reasons.items())[:SHOWN_REASONS]:
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        tell(f"{status}: {places[0]}{more}: {reason}", error=True)
    if len(reasons) > SHOWN_REASONS:
        print(f"... and {len(reasons) - SHOWN_REASONS} more reasons (all with --json)", file=sys.stderr)


def row(cells: tuple[str, ...], headings: tuple[str, ...]) -> str:
    """Cells right-aligned below their headings."""
    return "  ".join(cell.rjust(len(heading)) for cell, heading in zip(cells, headings))
