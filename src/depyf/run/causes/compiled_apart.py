"""Functions that torch compiles by themselves because a graph ended inside them, and what happens to them then.

Input: the events of each cause, and the causes in their order.  Output: the causes, each such graph break before the
recompilations that follow from it, with a sentence that says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from depyf.run.advice.registry import is_mark
from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.causes.events import CostlyEvent
from depyf.run.causes.folding import counted, listed
from depyf.run.records import CompileKey, FunctionRecord

_Order = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class FunctionsApart:
    """The functions that torch compiles separately because of one graph break."""

    functions: frozenset[str] = frozenset()
    since: _Order = (0, 0, ())
    """The compilation of their caller, whose graph ended there."""


def first_order(keys: Iterable[CompileKey]) -> _Order:
    """The smallest compile-id order among ``keys``; ``(0, 0, ())`` for none."""
    return min((key.order for key in keys), default=(0, 0, ()))


CalledFrom = Mapping[tuple[int, str], Sequence[str]]


def called_from(functions: Iterable[FunctionRecord]) -> CalledFrom:
    """A function -> the functions that were compiled only while it ran, by their names."""
    found: dict[tuple[int, str], list[str]] = {}
    for one in functions:
        paths = [{caller.function for caller in entry.callers} for entry in one.entries if one.resume_of is None]
        for function in set.intersection(*paths) if paths else ():
            if function is not None:
                found.setdefault(function, []).append(one.code.shown)
    return found


def functions_apart(events: Iterable[CostlyEvent], called: CalledFrom) -> FunctionsApart:
    """The functions compiled separately because of these breaks.  They are those that met the break again after their
    caller, and those called only by a function that ran as ordinary Python because of it."""
    broke = sorted((event for event in events if event.broken is not None), key=lambda event: event.entry.key.order)
    if not broke:
        return FunctionsApart()
    python = {event.function.function for event in broke if event.broken and (event.broken.skipped or event.broken.cut)}
    names = {event.name for event in broke} | {name for function in python for name in called.get(function, ())}
    return FunctionsApart(frozenset(names) - {broke[0].name}, broke[0].entry.key.order)


def breaks_before_what_follows(ranked: Sequence[tuple[Cause, FunctionsApart]]) -> tuple[Cause, ...]:
    """The causes of ``ranked`` in their order, but that a break which has functions compiled alone comes before the
    recompilations of those functions: once it is gone, they are part of their caller."""
    left = [cause for cause, _ in ranked]
    for broken, apart in ranked:
        following = [cause for cause in left if _follows(cause, apart)] if apart.functions else []
        if not following:
            continue
        at = left.index(broken)
        names = dict.fromkeys(name for cause in following for name in cause.functions)
        count = sum(cause.costs.compilations for cause in following)
        said = f"torch compiles {listed(list(names))} alone only because of it, with {counted(count, 'recompilation')}"
        del left[at]
        left.insert(min(at, *map(left.index, following)), replace(broken, more=_sentences(broken.more, said)))
        left = [_without_marks(cause) if any(cause is one for one in following) else cause for cause in left]
    return tuple(left)


def _without_marks(cause: Cause) -> Cause:
    """What follows from a break without marks, where there is another way out: the tensors are made in the caller,
    which torch is to compile, and compiled code marks nothing."""
    ways = tuple(way for way in cause.ways if not any(map(is_mark, way.uses)))
    return replace(cause, ways=ways) if ways else cause


def _follows(cause: Cause, apart: FunctionsApart) -> bool:
    again = cause.kind is CauseKind.RECOMPILES and not cause.needed
    return again and apart.functions.issuperset(cause.functions) and first_order(cause.entries) > apart.since


def _sentences(one: str, other: str) -> str:
    return f"{one}. {other[0].upper()}{other[1:]}" if one else other
