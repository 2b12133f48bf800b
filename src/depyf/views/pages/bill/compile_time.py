"""Where the time of compiling went: by phase, and by line of the program.

Input: a run.  Output: lines for a terminal, with seconds: none of them stands in a page that has to be the same in
every run.
"""

from __future__ import annotations

from collections.abc import Sequence

from depyf.run.bill.guard_bill import guard_bill, microseconds, time_by_line
from depyf.run.bill.guard_filters import FEWEST, LEAST
from depyf.run.bill.guard_time import GuardTime
from depyf.run.bill.traced_calls import TracedLine, traced_lines
from depyf.run.causes.folding import counted
from depyf.run.installed_files import Owner, of_library, package_of
from depyf.run.run import Run
from depyf.safety.escape import printable
from depyf.safety.source_lines import source_line

_SHARE = 0.1
"""Of all compiling; what took less is not worth a line."""
_LEAST = 1.0
"""Seconds of compiling that are worth a word."""
_FEWEST = 100
"""Operations of the largest graph: with fewer there is little to change."""
_MOST = 3
_TRACING = "bytecode_tracing"


def owner_of(file: str) -> Owner:
    """Who can change a file."""
    if not of_library(file):
        return Owner.PROGRAM
    return Owner.TORCH if package_of(file) == "torch" else Owner.LIBRARY


def tracing_seconds(run: Run) -> float:
    """What Dynamo spent on tracing bytecode, in all attempts: without what it does before and after it."""
    return sum(phase.seconds for times in run.times for phase in times.phases if phase.name == _TRACING)


def costly_lines(run: Run) -> tuple[TracedLine, ...]:
    """The lines of the program that took longest to trace, without those that only lead to another one; those of
    libraries where the program has none."""
    known = traced_lines(times.traced for times in run.times)
    whole = sum(times.traced[0].seconds for times in run.times if times.traced)
    known = tuple(line for line in known if owner_of(line.into) is Owner.TORCH or not line.leads_there(whole)) or known
    lines = [line for line in known if owner_of(line.file) is not Owner.TORCH]
    own = [line for line in lines if owner_of(line.file) is Owner.PROGRAM]
    return tuple(own or lines)


def compile_time_lines(run: Run) -> list[str]:
    """A few lines; [] where compiling took little, or no graph is large."""
    whole = run.seconds or 0.0
    largest = max((entry.operations or 0 for _, entry in run.entries), default=0)
    if whole < _LEAST or largest < _FEWEST:
        return []
    traced = tracing_seconds(run)
    found = [line for line in costly_lines(run) if line.seconds >= _SHARE * whole][:_MOST]
    if not found:
        return []
    head = f"Compiling took {whole:.1f} s, {traced:.1f} s of them to trace these lines and what they call:"
    return [head, *map(_line, found)]


def guard_lines(run: Run) -> list[str]:
    """What the guards of a call take, where that is much; [] where it is little, or not known."""
    known = microseconds(run)
    costly = [one for one in guard_bill(run) if known.get(one.key, 0.0) >= LEAST and one.guards >= FEWEST]
    found: list[str] = []
    for bill in costly[:_MOST]:
        told = f"{bill.failed} of them told calls apart" if bill.failed else "none of them failed"
        found.append(
            f"  {known[bill.key]:.0f} us a call  {printable(bill.function)} ({bill.key.label}): "
            f"{counted(bill.guards, 'guard')}, {told} in this run"
        )
        found += _by_line(time_by_line(run, bill.key), known[bill.key])
    return ["Guards, before anything is computed:", *found] if found else []


def _by_line(times: Sequence[GuardTime], whole: float) -> list[str]:
    """The lines of the program that need the guards which take most of ``whole`` microseconds."""
    return [
        f"    {1e6 * time.seconds:.0f} us for those of {_at(time.file, time.line)}"
        for time in times[:_MOST]
        if 1e6 * time.seconds >= _SHARE * whole
    ]


def _at(file: str, line: int) -> str:
    text = source_line(file, line)
    return f"{printable(file)}:{line}" + (f" `{printable(text)}`" if text else "")


def with_margin(lines: list[str]) -> tuple[str, ...]:
    """``lines`` after an empty line; () for none."""
    return ("", *lines) if lines else ()


def _line(line: TracedLine) -> str:
    times = f", {counted(line.calls, 'time')}" if line.calls > 1 else ""
    return f"  {line.seconds:.1f} s  {_at(line.file, line.line)}: {printable(line.called)}{times}"
