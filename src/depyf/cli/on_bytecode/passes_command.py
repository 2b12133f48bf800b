"""``depyf passes``: what the decompiler has after each of its passes, on every rung of the ladder."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from depyf.cli.input_errors import InputError
from depyf.cli.on_bytecode.targets import add_version_option, find_unit
from depyf.cli.output import tell
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.cfg.region_table import Regions

if TYPE_CHECKING:
    from depyf.decompiler.driver.one_pass import Pass
    from depyf.decompiler.driver.rungs import Attempt
    from depyf.decompiler.driver.steps import Trace

EPILOG = """\
A rung is a list of passes; the proof makes the decompiler try one after another. READABLE is the first for code of a
compiler, INLINED for code that Dynamo wrote, TOTAL the first of the fallback. --list names the passes of a rung.

examples:
  depyf passes x.pyc:function
  depyf passes x.pyc:function --after lift
  depyf passes x.pyc:function --rung TOTAL --steps
  depyf passes x.pyc:function --rung TOTAL --step 7
  depyf passes x.pyc:function --rung TOTAL --step 7.2

exit status: 0; 2 the command line is wrong; 3 a pass fails; 4 not readable, or no such pass, rung or step; \
130 interrupted
"""


def add_passes(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``passes``."""
    parser.epilog = EPILOG
    parser.add_argument("target", metavar="TARGET", help="FILE, FILE:QUALNAME or module:qualname")
    add_version_option(parser)
    parser.add_argument("--rung", metavar="RUNG", help="which list of passes (default: the first that would be tried)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--after", metavar="PASS", help="only this pass (default: all that change something, in order)")
    which.add_argument(
        "--steps",
        action="store_true",
        help="a numbered list of the passes that change something, and of their rewrites",
    )
    which.add_argument(
        "--step",
        metavar="N[.M]",
        type=_number,
        help="only what there is after the Nth of them, or after its Mth rewrite",
    )
    which.add_argument("--list", action="store_true", help="only the names of the passes, with the reason for each")


@dataclass(frozen=True, slots=True)
class Shown:
    """The artifact of one pass: its text, and how many lines were added and removed."""

    trace: Trace
    text: str
    added: int
    removed: int

    @property
    def step(self) -> Pass:
        """The pass that made the artifact."""
        return self.trace.step


def _number(text: str) -> tuple[int, int]:
    """``N`` or ``N.M`` as two numbers, the second 0 where there is none."""
    first, dot, second = text.partition(".")
    if not first.isdecimal() or bool(dot) != second.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor two with a point between them")
    return int(first), int(second or 0)


def run_passes(options: argparse.Namespace) -> int:
    """``depyf passes``; InputError for what cannot be read and for names that there are not."""
    from depyf.cli.on_bytecode.artifacts import told

    unit = find_unit(options.target, options.version)
    attempt = _attempt(unit, options.rung)
    names = [step.name for step in attempt.rung.passes]
    if options.list:
        width = max(map(len, names))
        tell(*(f"{step.name:<{width}}  {step.why}" for step in attempt.rung.passes))
        return 0
    if options.after is not None and options.after not in names:
        raise InputError(f"no pass of {attempt.rung.name} is called {options.after!r}; there are: {', '.join(names)}")
    changed = 0
    for shown in _passes(unit, attempt):
        changes = bool(shown.added or shown.removed)
        changed += changes
        if options.steps:
            if changes:
                tell(f"{changed:3}  {shown.step.name:<22} +{shown.added:<4} -{shown.removed:<4} {shown.step.why}")
                for number, made in enumerate(shown.trace.rewrites, 1):
                    tell(f"     {changed}.{number}  {told(made, unit)}")
        elif options.step is not None:
            if changes and changed == options.step[0]:
                return _tell_step(unit, attempt, shown, *options.step)
        elif options.after == shown.step.name:
            tell(*shown.text.split("\n"))
        elif options.after is None and changes:
            tell(f"=== {shown.step.name}", *shown.text.split("\n"), "")
    if options.step is not None:
        raise InputError(f"there is no step {options.step[0]}: {attempt.rung.name} has {changed} for this code")
    return 0


def _tell_step(unit: CodeUnit, attempt: Attempt, shown: Shown, number: int, rewrite: int) -> int:
    """What there is after a pass; with ``rewrite`` after that rewrite of it, and what the rewrite has made."""
    from depyf.cli.on_bytecode.artifacts import text_of, told
    from depyf.decompiler.ir.stmt import Stmt

    if not rewrite:
        tell(f"=== {number}: {shown.step.name}", *shown.text.split("\n"))
        return 0
    count = len(shown.trace.rewrites)
    if rewrite > count:
        raise InputError(f"there is no step {number}.{rewrite}: {shown.step.name} has {count} rewrites for this code")
    last = list(_passes(unit, attempt, (shown.step.name, rewrite)))[-1]
    made = last.trace.rewrites[-1]
    tell(f"=== {number}.{rewrite}: {shown.step.name}: {told(made, unit)}")
    if isinstance(made.made, Stmt):
        tell(*text_of((made.made,), unit).split("\n"))
    else:
        tell(*last.text.split("\n"))
    return 0


def _attempt(unit: CodeUnit, name: str | None) -> Attempt:
    """The rung of that name, with what the program that wrote ``unit`` promises; the first that would be tried for
    None."""
    from depyf.decompiler.driver.rungs import Attempt, Rung, ladder
    from depyf.sources.live.recognise import as_dynamo_wrote

    written = as_dynamo_wrote(unit.live) if unit.live is not None else None
    options = written[1] if written is not None else None
    tried = (
        ladder(options.generated, options.promises)
        if options is not None
        else ladder(False, Attempt(Rung.READABLE).promises)
    )
    if name is None:
        return tried[0]
    rung = Rung.__members__.get(name.upper())
    if rung is None:
        raise InputError(f"no rung is called {name!r}; there are: {', '.join(Rung.__members__)}")
    return next((attempt for attempt in tried if attempt.rung is rung), Attempt(rung, tried[0].promises))


def _passes(unit: CodeUnit, attempt: Attempt, stop: tuple[str, int] | None = None) -> Iterator[Shown]:
    from depyf.cli.on_bytecode.artifacts import text_of
    from depyf.decompiler.driver.steps import trace_passes

    before: dict[str, list[str]] = {}
    for trace in trace_passes(unit, attempt, stop):
        step, artifact = trace.step, trace.artifact
        text = text_of(artifact, unit)
        left = {"body" if step.shows == "printable" else step.shows: text.split("\n")}
        if isinstance(artifact, Regions):  # found in the graph of instructions, which is rewritten on the way
            left["program"] = text_of(artifact.program, unit).split("\n")
        changes = [_difference(before.get(kind, []), lines) for kind, lines in left.items()]
        before.update(left)
        yield Shown(trace, text, sum(added for added, _ in changes), sum(removed for _, removed in changes))


def _difference(old: list[str], new: list[str]) -> tuple[int, int]:
    if old == new:
        return 0, 0
    counts = [0, 0]
    for line in difflib.unified_diff(old, new, n=0, lineterm=""):
        if line[:1] in "+-" and line[:3] not in ("+++", "---"):
            counts[line[0] == "-"] += 1
    return counts[0], counts[1]
