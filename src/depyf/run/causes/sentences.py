"""What happened, in one sentence for each cause.

Input: the events of one cause.  Output: plain English without the place, which stands before it, and without what it
cost, which stands after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from depyf.run.advice.source_names import split_global
from depyf.run.causes.events import CostlyEvent
from depyf.run.causes.folding import counted, listed
from depyf.run.causes.subjects import in_code
from depyf.run.global_names import STACK_VARIABLE
from depyf.run.guards.kinds.object_guard import IDENTITY
from depyf.run.guards.known_kinds import differences_in, sentence
from depyf.run.places.place import Place

_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf|nan)")
_ONE_CAUSE = {
    "with-and-without-gradients": "some calls are made with gradients, others under torch.no_grad()",
    "train-and-eval": "some calls are made in train(), others in eval()",
    "optimizer-state": "the first step of an optimizer makes its state, which the steps after it find",
}
"""Advice -> what happened, the same for every guard."""
_COUNTS = 3
"""So many values make a counter of what a line increases."""
_MOST_VALUES = 4
_FEW_PLACES = 3


def recompile_sentence(events: list[CostlyEvent]) -> str:
    """The sentence that says why the function was compiled again."""
    first = events[0]
    record, subject = first.recompile, first.subject
    if record is None or subject is None:
        return ""
    values = _values(events)
    said = _over_break(first)
    one = _ONE_CAUSE.get(next((use.id for use in record.advice), ""))
    if one is not None:
        return one
    shown = sentence(differences_in(record), record.place is not None, partial(_shown_name, event=first))
    if shown:
        return shown
    if subject.what == "size":
        subject = replace(subject, name=STACK_VARIABLE.sub("a value that goes over the break", subject.name))
        return f"{subject} changes{_shown(values)}"
    if all(map(_INTEGER.fullmatch, values)) and values:
        if len(values) >= _COUNTS and _counts(first):
            of_module, name = split_global(subject.name)
            if STACK_VARIABLE.search(record.guard):
                return f"{said} is a counter, and a constant of the compiled code"
            counter = f"the global counter {in_code(name)}" if of_module else f"the counter {said}"
            return f"{counter} is a constant of the compiled code"
        return f"{said} is a constant of the compiled code{_shown(values)}"
    if values and all(_FLOAT.fullmatch(value) or _INTEGER.fullmatch(value) for value in values):
        return f"{said} is a constant of the compiled code{_shown([_rounded(value) for value in values])}"
    if record.expected and record.actual:
        return (
            f"{said} was {record.expected} and is {record.actual}"
            if not subject.what
            else f"{subject} changes{_shown(values)}"
        )
    if subject.what == IDENTITY:
        return f"{in_code(subject.name)} is not the same object in every call"
    return f"a call did not meet {in_code(record.guard)}"


def _counts(event: CostlyEvent) -> bool:
    """Whether the line that the guard is about increases the value, or decreases it."""
    subject, line = event.subject, event.place.text if event.place is not None else ""
    last = split_global(subject.name)[1].rpartition(".")[2] if subject is not None else ""
    return bool(last) and re.search(rf"(?<!\w){re.escape(last)}\s*[+-]=", line) is not None


def _over_break(event: CostlyEvent) -> str:
    """The value, in the program's words; one that went over a graph break has no name there, but an expression."""
    subject, record = event.subject, event.recompile
    if subject is None or record is None:
        return ""
    unnamed = STACK_VARIABLE.search(subject.name) is not None
    if STACK_VARIABLE.search(record.guard) and not unnamed:
        return f"the value of {in_code(subject.name)}, which goes over the break,"
    if unnamed:
        return "a value that goes over the break"
    return str(subject)


def _shown_name(name: str, event: CostlyEvent) -> str:
    """The name of a value in a sentence; one that went over a graph break has none, but an expression."""
    return _over_break(event) if STACK_VARIABLE.search(name) else in_code(name)


def _values(events: Sequence[CostlyEvent]) -> list[str]:
    """The values that were expected and met, in the order of the calls, of what the first event is about."""
    found: dict[str, None] = {}
    first = events[0].key
    for event in events:
        record = event.recompile
        if record is not None and event.key == first:
            found.update(dict.fromkeys(value for value in (record.expected, record.actual) if value))
    return list(found)


def _shown(values: list[str]) -> str:
    if not values:
        return ""
    shown = values if len(values) <= _MOST_VALUES else [*values[: _MOST_VALUES - 1], "..."]
    return f" ({', '.join(shown)})"


def _rounded(value: str) -> str:
    return f"{float(value):.4g}"


def break_sentence(events: list[CostlyEvent]) -> str:
    """The sentence that says why the graph ended."""
    if all(event.broken is None for event in events):
        return failure_sentence(events)
    record = next((event.broken for event in events if event.broken is not None), None)
    return record.cause if record is not None else ""


def consequence(events: list[CostlyEvent]) -> str:
    """The sentence on what else a graph break leads to; "" for none."""
    if all(event.broken is None for event in events):
        return ""
    values = next((_over_break(event) for event in events if event.over_break), "")
    said = [f"{values} is a constant of the code after it"] if values else []
    first = next(event for event in events if event.broken is not None)
    others = dict.fromkeys(
        event.place
        for event in events
        if event.broken is not None and event.place is not None and _line(event) != _line(first)
    )
    said += [f"also at {_places(list(others))}"] if others else []
    return ". ".join([*said[:1], *(text[0].upper() + text[1:] for text in said[1:])])


def _places(places: list[Place]) -> str:
    """A few with their text; of many the numbers of the lines, ``99 lines: train.py:4-102``."""
    lines = list({(place.filename, place.line): place for place in places}.values())
    if len(lines) <= _FEW_PLACES:
        return listed([f"{_last_part(place.filename)}:{place.line} `{place.text}`" for place in lines])
    runs: dict[str, list[list[int]]] = {}
    for filename, line in sorted((place.filename, place.line) for place in lines):
        own = runs.setdefault(filename, [])
        if own and own[-1][1] == line - 1:
            own[-1][1] = line
        else:
            own.append([line, line])
    told = [
        f"{_last_part(filename)}:" + ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in own)
        for filename, own in runs.items()
    ]
    return f"{counted(len(lines), 'line')}: {'; '.join(told)}"


def _line(event: CostlyEvent) -> tuple[str, int] | None:
    return (event.place.filename, event.place.line) if event.place is not None else None


def _last_part(filename: str) -> str:
    return re.split(r"[/\\]", filename)[-1]


def failure_sentence(events: list[CostlyEvent]) -> str:
    """The sentence that says why torch raised an error, or gave up."""
    first = events[0]
    if first.broken is not None:
        return f"{first.broken.cause}. With fullgraph=True that is an error"
    return first.entry.error or first.entry.failed
