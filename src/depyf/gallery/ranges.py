"""Which values the inputs of a graph may have: indices inside what they index, nothing negative under a root.

Input: a ``GraphClass`` and its inputs' types.  Output: for each input a ``Choice``.  Method: the graph is evaluated on
intervals (``intervals.py``; only what tells something about indices and signs is modelled, all else is "anything").
Its *sinks* (an embedding, a gather, a loss with class labels, a square root) say whether an interval fits.  For each
input in turn the widest of a few candidates is taken with which no sink complains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from depyf.dump.graphs.graph_text import GraphClass
from depyf.dump.graphs.masks import exactly_true, most_true
from depyf.dump.graphs.value_types import Number, TensorType
from depyf.gallery.evaluate import Complaint, compared_constants
from depyf.gallery.incremental import Evaluation
from depyf.gallery.intervals import Span
from depyf.gallery.totals import totals

_NORMAL = Span(-8, 8)
_POSITIVE = (Span(0.5, 1.5), Span(0.05, 0.95), Span(-0.9, 0.9), Span(0.0, 1.0))
_SMALL = 10


@dataclass(frozen=True, slots=True)
class Choice:
    """Values for one input.  ``span`` None: any (normally distributed); ``why`` says what asks for the span."""

    span: Span | None
    why: str = ""
    most: int | None = None
    """How many elements of a mask may be true."""
    true: int | None = None
    """How many elements of a mask are true."""
    total: int | None = None
    """What the elements add up to."""


_UNBOUNDED = Choice(Span(0, 1), "nothing in the graph bounds it")


def choose(graph: GraphClass, types: Mapping[str, TensorType], symbols: Mapping[str, Number]) -> dict[str, Choice]:
    """A choice for each tensor parameter of ``graph``; a boolean one has one where not any mask will do."""
    spans: dict[str, Span] = {}
    for name, kind in types.items():
        spans[name] = Span(0, 0) if kind.integer else Span(0, 1) if kind.dtype == "bool" else _NORMAL
    chosen: dict[str, Choice] = {}
    evaluation = Evaluation(graph, spans, types, symbols)
    limits, constants = _sizes(evaluation.complaints()), compared_constants(graph)
    for name, kind in types.items():
        if kind.integer:
            chosen[name], span = _integers(evaluation, name, limits, constants)
            evaluation.set(name, span)
    for name, kind in types.items():
        if kind.floating:
            chosen[name] = _floats(evaluation, name)
            if (found := chosen[name].span) is not None:
                evaluation.set(name, found)
    for name, (most, why) in most_true(graph, types, symbols).items():
        chosen[name] = Choice(None if types[name].dtype == "bool" else Span(0, 0), why, most)
    for name, (true, why) in exactly_true(graph, types, symbols).items():
        chosen[name] = Choice(None, why, true=true)
    for name, (total, why) in totals(graph, types, symbols).items():
        chosen[name] = Choice(None, why, total=total)
    return chosen


def _sizes(complaints: list[Complaint]) -> list[int]:
    """The sizes of everything that is indexed, the largest first."""
    return sorted({int(c.high) + 1 for c in complaints if c.index and c.high < 2**31}, reverse=True)


def _integers(evaluation: Evaluation, name: str, limits: list[int], constants: list[int]) -> tuple[Choice, Span]:
    reached = evaluation.bad(name, Span(-(2.0**40), 2.0**40))
    calm = evaluation.bad()
    if not reached:
        return _UNBOUNDED, Span(0, 1)
    indexed = [c for c in reached if c.index]
    # also down from the sizes to 1: a sum of a mask may become a position; and what the graph compares with (padding)
    counts = sorted({*limits, *(int(c.high) + 1 for c in indexed if c.high < 2**31), _SMALL, 2, 1}, reverse=True)
    candidates = [Span(low, low + count - 1) for low in (0, 1, 2) for count in counts]
    candidates += [Span(value, value) for value in constants]
    best, fewest = candidates[0], None
    for span in candidates:
        wrong = len(evaluation.bad(name, span))
        if fewest is None or wrong < fewest:
            best, fewest = span, wrong
        if wrong == 0:
            break
    if not _new(reached, calm) and fewest == len(calm):
        return _UNBOUNDED, Span(0, 1)  # what complains does not depend on it
    tight = [c for c in indexed if c.high == best.high] or indexed or reached
    return Choice(best, tight[0].text), best


def _floats(evaluation: Evaluation, name: str) -> Choice:
    before = evaluation.bad()
    for span in _POSITIVE if before else ():
        after = evaluation.bad(name, span)
        if len(after) < len(before):
            left = {c.where for c in after}
            return Choice(span, next(c.text for c in before if c.where not in left))
    return Choice(None)


def _new(after: list[Complaint], before: list[Complaint]) -> bool:
    """Is something wrong that was not before?"""
    known = {c.where for c in before}
    return any(c.where not in known for c in after)
