"""A finding: one thing that a command says of a line of the program, as data for the formats of other tools.

Input: causes and observations of a run.  Output: ``LocatedFinding`` records.  A rule is a kind of cause or observation;
its help says what the kind means, whatever the case.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable
from dataclasses import dataclass

from depyf.run.advice.registry import text_of
from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.places.place import Place
from depyf.safety.escape import one_line, printable
from depyf.safety.source_lines import source_text
from depyf.views.pages.sections.fix_first import cost_in_words

_MOST_SOURCE = 1 << 22


class Level(enum.Enum):
    """How much a finding matters, in SARIF's words."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of finding, as a rule of SARIF."""

    id: str
    name: str
    """In one word, as SARIF has it."""
    short: str
    """What it is, in one sentence."""
    help: str
    """Why it matters, and what to do."""
    page: str
    """The page of the site that is about it."""


OVER_BUDGET = "over-budget"
_RULES: dict[CauseKind | ObservationKind | str, Rule] = {
    CauseKind.FAILED: Rule(
        "failed", "CompilationFailed", "torch raised an error instead of compiling.",
        "The program ends there unless it catches the error. Change the line, or leave it out of what is compiled.",
        "howto/graph_breaks.html",
    ),
    CauseKind.RECOMPILES: Rule(
        "recompiles", "Recompilation", "A function was compiled again because a guard did not hold.",
        "Each compilation takes seconds, and after a number of them (torch._dynamo.config.recompile_limit) the "
        "function runs as ordinary Python. Keep the value the same, or make it a symbol or a tensor.",
        "howto/recompilations.html",
    ),
    CauseKind.BREAKS: Rule(
        "breaks", "GraphBreak", "A graph ends at this line, and another begins after it.",
        "Nothing is fused over a graph break, and in each call Python runs between the graphs. Move what torch cannot "
        "trace out of the compiled function, or use an operation that it can trace.",
        "howto/graph_breaks.html",
    ),
    CauseKind.RAN_AS_PYTHON: Rule(
        "ran-as-python", "RanAsPython", "A function, or the rest of one, ran as ordinary Python.",
        "Nothing of it is compiled. Move the line that torch cannot trace out of the compiled function.",
        "howto/graph_breaks.html",
    ),
    ObservationKind.DIFFERENT: Rule(
        "differs-from-python", "DiffersFromPython", "A compiled call did something else than Python does.",
        "Results, arguments, state or effects differ. Find the stage at which they begin to, with depyf compare.",
        "howto/numerics.html",
    ),
    ObservationKind.ENDED: Rule(
        "ended-by-error", "EndedByError", "An exception ended the program.",
        "What comes after it was not recorded. Fix the error first.", "howto/graph_breaks.html",
    ),
    ObservationKind.NEVER_CALLED: Rule(
        "never-called", "NeverCalled", "What torch.compile returned was not called.",
        "The program runs what is not compiled. Call the result of torch.compile.",
        "howto/graph_breaks.html",
    ),
    ObservationKind.UNROLLED: Rule(
        "unrolled", "UnrolledLoop", "A graph has many copies of one line.",
        "A loop of the program is unrolled, and compiling takes long. Compile what is repeated.",
        "howto/compile_time.html",
    ),
    ObservationKind.NOTHING_COMPILED: Rule(
        "nothing-compiled", "NothingCompiled", "torch compiled nothing.",
        "The program runs as ordinary Python although it asks for more.", "howto/graph_breaks.html",
    ),
    ObservationKind.PASSED_OVER: Rule(
        "passed-over", "PassedOver", "A module of torch's own was compiled in place, which changes nothing.",
        "torch does not compile the forward of such a module. Call what torch.compile returns.",
        "howto/graph_breaks.html",
    ),
    ObservationKind.EXPORT: Rule(
        "failed-export", "FailedExport", "torch.export ended with an error.",
        "There is no exported program. The finding names the line that torch could not trace.",
        "howto/graph_breaks.html",
    ),
    ObservationKind.MODE: Rule(
        "idle-mode", "IdleMode", "A mode of torch.compile changes nothing here.",
        "What it asks for needs a device, a backend or an input that is not there.", "howto/compile_time.html",
    ),
    ObservationKind.NOT_FUSED: Rule(
        "not-fused", "NotFused", "Two loops move the same memory, and are not fused.",
        "One would read it once. The finding names both lines and Inductor's reason.", "howto/not_faster.html",
    ),
    ObservationKind.FALLBACK: Rule(
        "fallback", "Fallback", "An operator runs as eager's kernel.",
        "Inductor has no code of its own for it, so nothing is fused with it.", "howto/not_faster.html",
    ),
    ObservationKind.COPY: Rule(
        "copy", "Copy", "A kernel copies memory and computes nothing.",
        "A layout changes there, or an input is written. The finding has the bytes.", "howto/not_faster.html",
    ),
    ObservationKind.CUDA_GRAPHS: Rule(
        "no-cuda-graphs", "CudaGraphsSkipped", "torch was to make CUDA graphs, and did not.",
        "Each kernel is launched by itself then. The finding has torch's reason.", "howto/not_faster.html",
    ),
    ObservationKind.CACHE: Rule(
        "bypassed-cache", "BypassedCache", "A cache of torch was bypassed.",
        "The next process compiles again. The finding says what kept torch from saving it.",
        "howto/compile_time.html",
    ),
    OVER_BUDGET: Rule(
        OVER_BUDGET, "OverBudget", "The run has more of something than its budget allows.",
        "Fix what the finding names, or, where more is meant, write the new number: depyf check --update.",
        "howto/ci.html",
    ),
}  # fmt: skip
RULES: tuple[Rule, ...] = tuple(_RULES.values())


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding at a line of the program."""

    rule: Rule
    level: Level
    text: str
    """One sentence, one line."""
    place: Place | None
    column: int = 1
    """Where in the line it begins, from 1 on."""
    cost: str = ""
    ways: tuple[str, ...] = ()
    """What the program can change, the best first."""
    subject: str = ""
    """What tells it from others of the same rule and line."""

    @property
    def message(self) -> str:
        """The finding, its cost and its first way out, in one line."""
        way = f"; way out: {self.ways[0]}" if self.ways else ""
        return f"{self.text}{f' ({self.cost})' if self.cost else ''}{way}"


def of_cause(cause: Cause, level: Level | None = None) -> LocatedFinding:
    """The finding for a cause.  ``level``: by default NOTE for a cause that is needed, ERROR for an error of torch,
    else WARNING."""
    usual = Level.NOTE if cause.needed else Level.ERROR if cause.kind is CauseKind.FAILED else Level.WARNING
    ways = [f"{way.text} ({way.predicted})" if way.predicted else way.text for way in cause.ways]
    ways = ways or [text for use in cause.advice[:1] if (text := text_of(use))]
    texts = (cause.text, cause.more) if cause.more else (cause.text,)
    return LocatedFinding(
        _RULES[cause.kind],
        level or usual,
        one_line(". ".join(texts)),
        cause.place,
        column_of(cause.place, cause.asked.rpartition(".")[2]),
        cost_in_words(cause),
        tuple(map(one_line, ways)),
        cause.subject,
    )


def of_observation(observation: Observation, level: Level | None = None) -> LocatedFinding:
    return LocatedFinding(
        _RULES[observation.kind],
        level or (Level.ERROR if observation.kind is ObservationKind.DIFFERENT else Level.WARNING),
        one_line(observation.text),
        observation.place,
        column_of(observation.place),
        one_line(observation.cost),
        tuple(map(one_line, observation.ways)),
    )


def findings_of(causes: Iterable[Cause], observations: Iterable[Observation]) -> tuple[LocatedFinding, ...]:
    """All that a run has to say, the most important first; what torch does on purpose is left out."""
    told = tuple(observations)
    return (
        *(of_observation(one) for one in told if one.leads),
        *(of_cause(cause) for cause in causes if not cause.of_torch),
        *(of_observation(one) for one in told if not one.leads),
    )


def over_budget(text: str, place: Place | None = None, ways: tuple[str, ...] = (), subject: str = "") -> LocatedFinding:
    """The finding that a number is above its limit in the budget."""
    rule = _RULES[OVER_BUDGET]
    return LocatedFinding(
        rule, Level.ERROR, one_line(text), place, column_of(place), "", tuple(map(one_line, ways)), subject
    )


def column_of(place: Place | None, name: str = "") -> int:
    """The column at which ``name`` stands in the line, else that of its first character; 1 where the file has not that
    line."""
    if place is None:
        return 1
    lines = source_text(place.filename, _MOST_SOURCE).split("\n")
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    if not line.strip() or (place.text and line.strip() != place.text.strip()):
        return 1
    start = len(line) - len(line.lstrip())
    found = line.find(name, start) if name else -1
    return (found if found >= 0 else start) + 1


def shown_path(filename: str) -> str:
    """The path of a file as tools expect it: relative to the current folder where it is below that."""
    if not os.path.isabs(filename):
        return filename
    try:
        relative = os.path.relpath(filename)
    except (OSError, ValueError):
        return filename
    return filename if relative.startswith("..") else relative


def located(finding: LocatedFinding) -> str:
    """The finding as compilers print it: ``model.py:14:9: warning: text [rule]``."""
    place = finding.place
    at = f"{printable(shown_path(place.filename))}:{place.line}:{finding.column}: " if place is not None else ""
    return f"{at}{finding.level.value}: {finding.message} [{finding.rule.id}]"
