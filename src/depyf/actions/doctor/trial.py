"""Runs a program in a separate process, with some advice followed, and measures it.

Input: a program, its arguments, and the advice.  Output: a ``Measured``: what torch did, how long it took, what
compiled functions returned.  A process that does not end in time is killed with all that it started.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from depyf.actions.doctor.returned_values import Call
from depyf.actions.doctor.trial_files import (
    FollowedAdvice,
    TrialResult,
    TrialSpec,
    read_result,
    write_trial,
)
from depyf.errors import DepyfError
from depyf.run.advice.advice import AdviceUse
from depyf.run.bill.guard_bill import guards_of_a_call
from depyf.run.causes.cause import Cause
from depyf.run.causes.collect import causes_of
from depyf.run.observations.all_observations import nothing_to_fix, observations_of
from depyf.run.observations.compiled_differs import checked_line
from depyf.run.observations.observation import Observation
from depyf.run.records import CompileKey
from depyf.run.run import RunTotals, totals_of
from depyf.run.store.loading import load_ranks
from depyf.views.pages.bill.compile_time import compile_time_lines, guard_lines, with_margin

NO_DUMP = "nothing of it ran: there is no dump"
CUT = "it ended by os._exit, or was killed: what torch had compiled by then is told"
_CHILD = "depyf.cli.programs.doctor_child"
_LAST_LINES = 200
_ERROR = re.compile(r"[\w.]+(?:Error|Exception|Violation|Exit|Interrupt|Failed)\w*: ")
"""The line of a traceback that names the exception."""
_GRACE = 20.0
"""Seconds that an interrupted program has to write its dump."""


@dataclass(frozen=True, slots=True)
class DoctorProgram:
    """The program to run, as named on the command line."""

    target: str
    arguments: tuple[str, ...]
    module: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one run of the program."""

    status: int
    """As ``subprocess`` has it: negative for a signal."""
    totals: RunTotals = field(default_factory=RunTotals)
    """Of all ranks."""
    seconds: float | None = None
    """Of the program without starting Python and torch; None where it did not come to its end."""
    causes: tuple[Cause, ...] = ()
    observations: tuple[Observation, ...] = ()
    """What else there is to change."""
    fine: str = ""
    """That there is nothing to fix, with the numbers, where that is so."""
    guards: float = 0.0
    """Microseconds: a check of all guards, of the latest entry of each function; 0 where it is not known."""
    compiling: tuple[str, ...] = ()
    """Where the time of compiling went, a line each."""
    checked: str = ""
    """What was compared with Python, and what came of it."""
    seconds_of: Mapping[CompileKey, float] = field(default_factory=dict)
    """What each compilation took."""
    calls: dict[str, list[Call]] | None = None
    state: dict[str, Call] | None = None
    """What is there at its end, by name, where results are recorded: variables, modules, random numbers, messages."""
    problem: str = ""
    """Why there is nothing to tell, or not all; "" where there is."""
    recorded: bool = True
    """Whether there is a dump to tell from."""
    not_started: bool = False
    no_input: bool = False
    """It was not started because it cannot be read."""
    interrupted: bool = False


def why_no_program(target: str, kinds: str = "script") -> str:
    """Why ``target`` is no program that can be run, in words; "" where it is one.  ``kinds``: what it may be."""
    path = Path(target)
    if path.is_file() or (path / "__main__.py").is_file():
        return ""
    if path.is_dir():
        return f"cannot read {target}: the folder has no __main__.py"
    return f"cannot read {target}: " + ("it is no file" if path.exists() else f"there is no such {kinds}")


def run_once(
    program: DoctorProgram,
    advice: Sequence[FollowedAdvice],
    work: Path,
    folder: Path,
    *,
    compare: bool,
    shown: bool,
    fresh: bool = False,
    printed: Path | None = None,
    output: IO[Any] | None = None,
    limit: float | None = None,
    check: tuple[int, float] | None = None,
    guard_filter: str = "",
    measures_guards: bool = True,
    counts_instructions: bool = False,
) -> Measured:
    """Run the program in a child process, and measure it.  ``work``: an empty folder; ``folder``: for the dump.
    ``fresh``: begin with empty compile caches, as with ``compare``.  ``printed``: the file for standard output that is
    not shown.  ``shown``: the program has the terminal, or ``output`` for its standard output; else its output is
    dropped, and its input is empty.  ``limit``: seconds until it is ended.  ``check``: which calls are compared with
    Python, and for how many seconds in all.  ``guard_filter``: the function of ``torch.compiler`` that leaves guards
    out.  ``measures_guards``: measure the time of guards; ``counts_instructions``: count what the processor runs while
    torch compiles."""
    work.mkdir(parents=True, exist_ok=True)
    result = work / "result.json"
    spec = work / "spec.json"
    instructions = TrialSpec(
        str(folder), str(result), program.module, compare, check, guard_filter, tuple(advice), measures_guards,
        counts_instructions,
    )  # fmt: skip
    write_trial(spec, instructions)
    command = [sys.executable, "-m", _CHILD, str(spec), program.target, *program.arguments]
    status, tail, problem, interrupted = _ended(
        command, _environment(work, compare or fresh), shown, output, limit, printed
    )
    measured = _measured(folder, result, status)
    return _with_problem(measured, problem, tail, interrupted)


def _environment(work: Path, fresh: bool) -> dict[str, str]:
    """Runs that are compared, or judged, begin with empty compile caches, and hash text alike."""
    if not fresh:
        return dict(os.environ)
    return {
        **os.environ,
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
        "TORCHINDUCTOR_CACHE_DIR": str(work / "cache"),
    }


def _ended(
    command: list[str],
    environment: dict[str, str],
    shown: bool,
    output: IO[Any] | None,
    limit: float | None,
    printed: Path | None,
) -> tuple[int, list[str], str, bool]:
    """(status, the last lines of standard error, what went wrong, whether we were interrupted)"""
    hidden: dict[str, Any] = {
        "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "start_new_session": True,
    }  # fmt: skip
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        if printed is not None:
            hidden["stdout"] = stack.enter_context(open(printed, "wb"))
        process = subprocess.Popen(command, env=environment, **({"stdout": output} if shown else hidden))
    tail: deque[bytes] = deque(maxlen=_LAST_LINES)
    reader = None
    if process.stderr is not None:
        reader = threading.Thread(target=_drain, args=(process.stderr, tail), daemon=True)
        reader.start()
    problem, interrupted = "", False
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        problem = f"it did not end within {limit:.0f} s"
        _kill(process, alone=shown)
    except KeyboardInterrupt:  # at a terminal the program is interrupted, too, and writes its dump
        interrupted = True
        _wait_or_kill(process, shown)
    if reader is not None:
        reader.join(1.0)
        if process.stderr is not None and not reader.is_alive():  # else what the program left running still writes
            process.stderr.close()
    lines = b"".join(tail).decode("utf-8", "replace").splitlines()
    return process.returncode, [line for line in lines if line.strip()][-_LAST_LINES:], problem, interrupted


def _drain(stream: IO[bytes], tail: deque[bytes]) -> None:
    """Read all output, so that the program never blocks; the end is kept."""
    with contextlib.suppress(OSError, ValueError):
        while True:
            part = stream.readline(65536)
            if not part:
                return
            tail.append(part[:4096])


def _wait_or_kill(process: subprocess.Popen[bytes], shown: bool) -> None:
    until = time.monotonic() + _GRACE
    if not shown:
        _kill(process, alone=False)
    while process.poll() is None:
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
        if process.poll() is None and time.monotonic() >= until:
            _kill(process, alone=shown)


def _kill(process: subprocess.Popen[bytes], *, alone: bool) -> None:
    """``alone``: it is in our own group of processes."""
    with contextlib.suppress(OSError):
        if alone or not hasattr(os, "killpg"):
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _measured(folder: Path, result: Path, status: int) -> Measured:
    told = read_result(result)
    if told.problem is not None:
        return Measured(status, problem=told.problem, not_started=True, no_input=told.no_input)
    return measured_in(folder, status, told)


def measured_in(folder: Path, status: int = 0, told: TrialResult | None = None) -> Measured:
    """The measurements in the dump in ``folder``.  ``told``: what the process reported besides."""
    told = told or TrialResult()
    try:
        runs = list(load_ranks(folder).values())
    except DepyfError:
        return Measured(status, problem=NO_DUMP, recorded=False)
    problem = "" if all(run.finished for run in runs) else CUT
    return Measured(
        status, totals_of(runs), told.seconds, causes_of(runs[0]), seconds_of=runs[0].seconds_of,
        calls=told.calls, state=told.state, problem=problem, observations=observations_of(runs[0]),
        fine=nothing_to_fix(runs),
        checked=checked_line(runs[0].checked),
        compiling=with_margin([*compile_time_lines(runs[0]), *guard_lines(runs[0])]), guards=guards_of_a_call(runs[0]),
    )  # fmt: skip


def more_advice(folder: Path) -> list[tuple[AdviceUse, str]]:
    """All advice in a dump, each with the name of its function; [] where there is no dump."""
    try:
        runs = load_ranks(folder).values()
    except DepyfError:
        return []
    return [(use, function.code.qualname) for run in runs for function, use in run.advice()]


def _with_problem(measured: Measured, problem: str, tail: list[str], interrupted: bool) -> Measured:
    said = problem or measured.problem
    if said in ("", NO_DUMP, CUT) and measured.status and tail and not interrupted:
        error = next((line for line in reversed(tail) if _ERROR.match(line)), tail[-1])
        said = f"it ended with status {measured.status}: {error.strip()}"
    return replace(measured, problem=said, interrupted=interrupted)
