"""``Fix first``: the causes of a run, the most expensive first, each with its place, its cost and the way out.

Input: ranked causes.  Output: lines, for Markdown or for a terminal.  Seconds, which differ in every run, are written
only where they are given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from depyf.run.advice.registry import is_remedy, text_of
from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.causes.folding import counted, folded_ids, listed
from depyf.run.installed_files import library_file
from depyf.run.observations.observation import Observation
from depyf.run.places.place import Place
from depyf.run.records import CompileKey
from depyf.safety.escape import cut_around, printable
from depyf.views.pages.print_style import MARKDOWN, PrintStyle

IN_INDEX = 7
ON_TERMINAL = 5
_LONGEST_LINE = 80
_NEEDED = 4


def fix_first(
    causes: Sequence[Cause],
    most: int = IN_INDEX,
    style: PrintStyle = MARKDOWN,
    seconds: Mapping[CompileKey, float] | None = None,
    start: int = 1,
) -> list[str]:
    """Two or three lines for each of the first ``most`` causes, and one for each that is needed; [] where there is
    none.

    ``seconds``: what each compilation took; ``start``: the first number."""
    short = short_names(causes)
    lines = []
    for number, cause in enumerate(to_fix(causes)[:most], start):
        lines.append(f"{number}. {_head(cause, style, short)}")
        if cause.more:
            lines.append(style.detail + style.message(cause.more))
        spent = _spent(cause, seconds)
        costs = cost_in_words(cause, style.plain)
        lines.append(style.detail + (f"{costs}{spent}" if costs else spent.lstrip(", ")))
        lines += _ways_out(cause, style)
    return [line for line in lines if line.strip()] + _needed(causes, style, short, seconds)


def what_to_fix(
    causes: Sequence[Cause],
    observations: Sequence[Observation],
    most: int = IN_INDEX,
    style: PrintStyle = MARKDOWN,
    seconds: Mapping[CompileKey, float] | None = None,
) -> list[str]:
    """The lines of *Fix first*: what takes most compile time, ``fix_first``, the observations, and last the causes that
    are needed."""
    costs = [one for one in observations if one.of_calls]
    observations = [one for one in observations if not one.of_calls]
    changed = to_fix(causes)
    if not observations:
        lines = fix_first(causes, most, style, seconds)
        return [*lines, *_costs(costs, min(len(changed), most) + 1, style, seconds)]
    needed = fix_first([cause for cause in causes if cause.needed], most, style, seconds)
    leading, others = [one for one in observations if one.leads], [one for one in observations if not one.leads]
    return [
        *observation_lines(leading, 1, style, seconds),
        *fix_first(changed, most, style, seconds, len(leading) + 1),
        *observation_lines(others, len(leading) + min(len(changed), most) + 1, style, seconds),
        *(["", "Needed, with nothing to change:", *needed[1:]] if needed else []),
        *_costs(costs, len(observations) + min(len(changed), most) + 1, style, seconds),
    ]


OF_CALLS = "Each call costs most at:"
FIX_FIRST = "Fix first:"


def with_heading(lines: Sequence[str]) -> list[str]:
    """``lines`` of ``what_to_fix`` under the heading *Fix first*, or, where there is nothing to fix, under its own
    heading."""
    if not lines:
        return []
    return [FIX_FIRST, *lines] if lines[0] else list(lines[1:])


def _costs(
    costs: Sequence[Observation], start: int, style: PrintStyle, seconds: Mapping[CompileKey, float] | None
) -> list[str]:
    """What each call costs, numbered from ``start`` on."""
    lines = observation_lines(costs, start, style, None)
    return ["", OF_CALLS, *([""] if style is MARKDOWN else []), *lines] if lines else []


def observation_lines(
    observations: Sequence[Observation], start: int, style: PrintStyle, seconds: Mapping[CompileKey, float] | None
) -> list[str]:
    """Two or three lines for each observation, numbered from ``start`` on."""
    files = sorted({one.place.filename for one in observations if one.place is not None})
    short = {name: _shortest(name, files) for name in files}
    lines = []
    for number, observation in enumerate(observations, start):
        place = _place(observation.place, style, short)
        lines.append(f"{number}. {place}{': ' if place else ''}{style.message(observation.text)}")
        lines += [style.detail + style.message(text) for text in observation.details]
        spent = sum((seconds or {}).get(key, 0.0) for key in observation.entries)
        costs = [style.message(observation.cost)] if observation.cost else []
        costs += [f"{spent:.1f} of {sum((seconds or {}).values()):.1f} s of compiling"] if spent >= 0.05 else []
        lines += [style.detail + ", ".join(costs)] if costs else []
        lines += [
            f"{style.detail + 'or: ' if at else style.way_out}{style.message(way)}"
            for at, way in enumerate(observation.ways)
        ]
    return lines


def to_fix(causes: Sequence[Cause]) -> list[Cause]:
    """The causes about which something can be changed."""
    return [cause for cause in causes if not cause.needed]


def left_out(causes: Sequence[Cause], most: int) -> int:
    """The number of causes that ``fix_first`` omits."""
    return max(0, len(to_fix(causes)) - most)


def _needed(
    causes: Sequence[Cause], style: PrintStyle, short: Mapping[str, str], seconds: Mapping[CompileKey, float] | None
) -> list[str]:
    """Compilations after which there is nothing to change, a line for each cause; what torch does on purpose in one
    line."""
    needed = [cause for cause in causes if cause.needed and not cause.of_torch]
    own = [cause for cause in causes if cause.of_torch]
    lines = []
    if needed:
        opening = "Needed, with nothing to change:" if to_fix(causes) else "Nothing. These compilations are needed:"
        lines = [opening, *([""] if style is MARKDOWN else [])]
    for cause in needed[:_NEEDED]:
        costs = f"{cost_in_words(cause, style.plain)}{_spent(cause, seconds)}"
        lines.append(
            f"- {_place(cause.place, style, short) or style.code(cause.function)}: {style.message(cause.text)}; {costs}"
        )
    more = len(needed) - _NEEDED
    lines += [f"- and {counted(more, 'cause')} more of this kind"] if more > 0 else []
    if own:
        lines += [*([""] if lines else []), _own_line(own, style, short, not needed and not to_fix(causes))]
    return ["", *lines] if to_fix(causes) and lines else lines


def _own_line(own: Sequence[Cause], style: PrintStyle, short: Mapping[str, str], alone: bool) -> str:
    """The graph breaks that torch makes on purpose."""
    places = dict.fromkeys(_place(cause.place, style, short) or style.code(cause.function) for cause in own)
    functions = dict.fromkeys(style.plain(name) for cause in own for name in cause.functions)
    return (
        f"{'Nothing. ' if alone else ''}torch's own, nothing to change: "
        f"{counted(len(own), 'graph break')} in {listed(list(functions))} ({listed(list(places))})"
    )


def _ways_out(cause: Cause, style: PrintStyle) -> list[str]:
    """The first two ways; where there is none an explanation, after which there is nothing to change."""
    if not cause.ways:
        found = [text for use in cause.advice if not is_remedy(use) and (text := text_of(use))]
        return [style.detail + style.message(text) for text in found[:1]]
    first, *more = (f"{way.text} ({way.predicted})" if way.predicted else way.text for way in cause.ways[:2])
    return [style.way_out + style.message(first), *(style.detail + "or: " + style.message(text) for text in more)]


def _head(cause: Cause, style: PrintStyle, short: Mapping[str, str]) -> str:
    place = _place(cause.place, style, short, _about(cause)) or style.code(cause.function)
    module = f" in {style.code(cause.module)}" if cause.module else ""
    inside = ""
    if cause.inside is not None:
        inside = f" (asked in {style.plain(library_file(cause.inside.filename))}:{cause.inside.line})"
    asked = f"{style.code(cause.asked)}: " if _says_more(cause) else ""
    return f"{place}{module}: {asked}{style.message(cause.text)}{inside}"


def _about(cause: Cause) -> list[str]:
    """What the line of a cause has to show: the operation, then the value."""
    last = cause.asked.rpartition(".")[2]
    return [f"{last}(" if last else "", last, *cause.values, *(value.rpartition(".")[2] for value in cause.values)]


def _says_more(cause: Cause) -> bool:
    """Whether the name of the operator is worth a word: the line or the sentence may have it."""
    if cause.kind not in (CauseKind.BREAKS, CauseKind.RAN_AS_PYTHON) or not cause.asked:
        return False
    last = cause.asked.rpartition(".")[2]
    line = cause.place.text if cause.place is not None else ""
    return not re.search(rf"\b{re.escape(last)}\b", f"{line} {cause.text}")


def _place(place: Place | None, style: PrintStyle, short: Mapping[str, str], about: Sequence[str] = ()) -> str:
    """``about``: what of a long line is shown, the first that it has."""
    if place is None:
        return ""
    text = cut_around(place.text, _LONGEST_LINE, *about)
    return f"{style.plain(short.get(place.filename, place.filename))}:{place.line}" + (
        f" {style.code(text)}" if text else ""
    )


def short_names(causes: Sequence[Cause]) -> dict[str, str]:
    """File name -> its shortest distinct form.  For ``__init__.py`` that includes the name of the package."""
    files = sorted({cause.place.filename for cause in causes if cause.place is not None})
    return {name: _shortest(name, files) for name in files}


def _shortest(name: str, files: Sequence[str]) -> str:
    parts = name.split("/")
    for count in range(1, len(parts)):
        tail = "/".join(parts[-count:])
        if tail != "__init__.py" and sum(other == tail or other.endswith("/" + tail) for other in files) == 1:
            return tail
    return name


def cost_in_words(cause: Cause, plain: Callable[[str], str] = printable) -> str:
    """What a cause costs: ``6 recompilations of f (0/2 ... 0/7), then it ran as ordinary Python``."""
    costs = cause.costs
    names = [plain(name) for name in cause.functions]
    python = [plain(name) for name in cause.python]
    parts = []
    if cause.kind is CauseKind.FAILED:
        parts.append(f"torch raised an error: nothing is compiled for {listed(names)} ({folded_ids(cause.entries)})")
    elif cause.kind is CauseKind.RECOMPILES:
        if costs.compilations:
            parts.append(
                f"{counted(costs.compilations, 'recompilation')} of {listed(names)} ({folded_ids(cause.caused)})"
            )
        if python:
            who = "it" if python == names else listed(python)
            parts.append(f"then {who} ran as ordinary Python" if parts else f"{listed(python)} ran as ordinary Python")
    else:
        if costs.breaks:
            broke = [name for name in names if name not in python and f"the rest of {name}" not in python] or names
            parts.append(f"ends the graph in {listed(broke)}")
        if python:
            parts.append(f"{listed(python)} ran as ordinary Python")
        if costs.compilations:
            parts.append(f"{counted(costs.compilations, 'more compilation')} ({folded_ids(cause.caused)})")
    if costs.operations:
        parts.append(f"{counted(costs.operations, 'operation')} left the graph")
    return ("; " if any(", " in part for part in parts) else ", ").join(parts)


def _spent(cause: Cause, seconds: Mapping[CompileKey, float] | None) -> str:
    if not seconds:
        return ""
    keys = cause.caused or (cause.entries if cause.kind is CauseKind.FAILED else ())
    total = sum(seconds.get(key, 0.0) for key in keys)
    return f", {total:.1f} s of compiling" if total >= 0.05 else ""
