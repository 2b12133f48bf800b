"""The two files between ``depyf doctor`` and the process in which it runs a program: what to do, and what came of it.

Output invariant: a file is there whole, or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.run.advice.advice import AdviceUse
from depyf.run.store.codec import made, plain


@dataclass(frozen=True, slots=True)
class FollowedAdvice:
    """An advice that is a switch, and the name of the function that it is for."""

    use: AdviceUse
    function: str


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """The instructions for one run of the program in a child process."""

    folder: str
    """It takes the dump."""
    result: str
    """The file for the ``TrialResult``."""
    module: bool
    """The program is named as a module."""
    compare: bool = False
    """What compiled functions return is recorded."""
    check: tuple[int, float] | None = None
    """Which calls are compared with Python, and for how many seconds in all."""
    guard_filter: str = ""
    """The function of ``torch.compiler`` that leaves guards out."""
    advice: tuple[FollowedAdvice, ...] = ()
    measures_guards: bool = True
    """How long the guards of each entry take is measured."""
    counts_instructions: bool = False
    """What the processor runs while torch compiles is counted."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What the child process reports about its run."""

    problem: str | None = None
    """Why nothing of the program ran; None where it did."""
    no_input: bool = False
    """The program cannot be read."""
    seconds: float | None = None
    calls: Any = None
    """``dict[str, list[Call]]``, where results are recorded."""
    state: Any = None
    """``dict[str, Call]``: the globals of the script at its end."""


def write_trial(path: Path, spec: TrialSpec) -> None:
    """Write the instructions to ``path``.  OSError where that is not possible."""
    path.write_text(json.dumps(plain(spec)), encoding="utf-8")


def read_trial(path: Path) -> TrialSpec:
    """The instructions in ``path``.  OSError where it cannot be read, ValueError where it holds something else."""
    return made(TrialSpec, json.loads(path.read_text(encoding="utf-8")), "the file")


def write_result(path: Path, result: TrialResult) -> None:
    """Write the result to ``path``.  Errors are ignored: they must not change how the program ends."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(plain(result)), encoding="utf-8")
        os.replace(beside, path)


def read_result(path: Path) -> TrialResult:
    """The result in ``path``; an empty one where the file is missing or damaged."""
    try:
        return made(TrialResult, json.loads(path.read_text(encoding="utf-8")), "the file")
    except (OSError, ValueError):  # NotThat is one
        return TrialResult()
