"""What was heard of functions and compilations -> their records, in a process that compiles and from a log of it.

Input: builders.  Output invariant: pure data; what was not heard stays empty.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from depyf.run.addresses import without_addresses
from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.for_breaks import for_failure, for_limit, for_step, for_undeclared, of_optimizer, of_returned
from depyf.run.advice.number_operands import numbers_of, taken_as_number
from depyf.run.advice.registry import applicable
from depyf.run.advice.symbol_places import SymbolPlaces, places_of
from depyf.run.global_names import RESUME_PREFIX
from depyf.run.records import (
    NOTHING_TO_COMPILE,
    BreakRecord,
    CallerRecord,
    CodeRecord,
    EntryRecord,
    FunctionRecord,
    GuardRecord,
    RecompileRecord,
    RefusalRecord,
)
from depyf.sources.reports.break_stack import BrokenAt
from depyf.sources.reports.builders import EntryBuilder, FunctionBuilder
from depyf.sources.reports.callers import RunningFrame, folded
from depyf.sources.reports.graph_breaks import parse_break
from depyf.sources.reports.guards.guard_text import GuardReader
from depyf.sources.reports.recompiles import resolved, resolved_refusal, specialised, with_values


def no_limit() -> int | None:
    """The ``recompile_limit`` where torch's options are unknown: None."""
    return None


def entry_facts(
    entry: EntryBuilder,
    resolve: Callable[[str], str],
    callers: Callable[[EntryBuilder], tuple[CallerRecord, ...]],
    reader: GuardReader,
    at_end: bool = True,
    cached: str | None = None,
    limit: Callable[[], int | None] = no_limit,
) -> EntryRecord:
    """What was heard of a compilation; ``at_end``: nothing more will be heard of it; ``cached``: the guards that its
    cache entry prints, where it has one; ``limit``: torch's ``recompile_limit``."""
    live = cached is not None
    finished = at_end or entry.closed
    text = entry.guard_text or cached or ""
    symbols = entry.symbols.records()
    state = "live" if live else "event" if text else "none"
    guards = _guards(entry, text, resolve, reader)
    places, numbers = places_of(symbols), numbers_of(guards)
    return EntryRecord(
        key=entry.key,
        transformed=entry.transformed,
        guards=guards,
        guard_state=state,
        breaks=_breaks(entry, live),
        recompiles=tuple(_recompile(record, entry, numbers, places, resolve) for record in entry.recompiles),
        failed=_failure(entry, live) if finished else "",
        raised=entry.raised and not _compiled(entry, live),
        restarts=entry.restarts,
        symbols=symbols,
        caches=tuple(entry.caches),
        before=entry.before,
        shape_facts=tuple(entry.symbols.facts),
        operations=entry.operations,
        wrapped=entry.wrapped.name if entry.wrapped is not None else "",
        wrapped_parameters=entry.wrapped.parameters if entry.wrapped is not None else (),
        error="" if _compiled(entry, live) else _error(entry),
        error_at=None if _compiled(entry, live) else entry.error.place,
        advice=_advice(entry, live, limit),
        callers=callers(entry),
        refusals=_refusals(entry, resolve),
        in_force=tuple(sorted(entry.in_force)),
        finished=finished,
        backend=entry.backend,
        made=entry.made,
        left_out=entry.left_out,
        captured=entry.captured,
        cuda_graphs_skipped=entry.cuda_graphs_skipped,
    )


def _guards(
    entry: EntryBuilder, text: str, resolve: Callable[[str], str], reader: GuardReader
) -> tuple[GuardRecord, ...]:
    """The guards that ``text`` prints; it is read once, while torch compiles, and at the end more files are known."""
    if entry.parsed is None or entry.parsed[0] != text:
        entry.parsed = text, reader.guards(text, resolve)
    return tuple(
        guard
        if guard.place is None or (filename := resolve(guard.place.filename)) == guard.place.filename
        else replace(guard, place=replace(guard.place, filename=filename))
        for guard in entry.parsed[1]
    )


def _recompile(
    record: RecompileRecord,
    entry: EntryBuilder,
    numbers: frozenset[str],
    places: SymbolPlaces,
    resolve: Callable[[str], str],
) -> RecompileRecord:
    """A number that changed began as a symbol in this entry: what became of it here is known now."""
    known = resolved(with_values(record, entry.refusals), resolve)
    known = taken_as_number(specialised(known, places), numbers, places)
    known = replace(known, advice=applicable(known.advice, entry.in_force))
    return known if entry.wrapped is None else entry.wrapped.about(known)


def _error(entry: EntryBuilder) -> str:
    """What torch ended with, and what fixes a size that is marked."""
    return entry.error.words if entry.pinned is None else f"{entry.error.words}; {entry.pinned.words}"


def _refusals(entry: EntryBuilder, resolve: Callable[[str], str]) -> tuple[RefusalRecord, ...]:
    """In terms of the object that torch's wrapper calls, where the function is one."""
    found = (resolved_refusal(record, resolve) for record in entry.refusals)
    return tuple(found if entry.wrapped is None else map(entry.wrapped.about_refusal, found))


def _advice(entry: EntryBuilder, live: bool, limit: Callable[[], int | None]) -> tuple[AdviceUse, ...]:
    """Advice where nothing was compiled and neither a break nor a guard has one."""
    if not _failure(entry, live):
        return ()
    at_limit = not entry.raised or entry.failed.startswith("FailOnRecompileLimitHit")
    if entry.recompiles and not entry.started and at_limit:
        most = limit()
        return () if most is None else for_limit(most)
    if entry.outside:
        return for_undeclared()
    pinned = entry.pinned.by if entry.pinned is not None else ()
    return for_failure(entry.failed, pinned, entry.key.text if entry.raised and not entry.one_way else "")


def _breaks(entry: EntryBuilder, live: bool) -> tuple[BreakRecord, ...]:
    """The graph breaks; where nothing was compiled and torch reported no error, it could not go on after the last."""
    records = tuple(_break(entry, text, at) for text, at in entry.breaks.items())
    went_on = _compiled(entry, live) or entry.raised or not entry.closed
    if records and not went_on and (not entry.failed or entry.failed.startswith("Unsupported")):
        return (*records[:-1], replace(records[-1], skipped=True))
    return records


def _break(entry: EntryBuilder, text: str, at: BrokenAt) -> BreakRecord:
    """A report is read once, while torch compiles."""
    known = entry.parsed_breaks.get(text)
    if known is None or known[0] != entry.in_force:
        known = entry.parsed_breaks[text] = entry.in_force, parse_break(text, entry.in_force, at)
    return known[1]


def _compiled(entry: EntryBuilder, live: bool) -> bool:
    """Whether there was code to run: bytecode may be written, and the guards fail to be made
    (ConstraintViolationError)."""
    return live or ((entry.transformed is not None or entry.has_code) and not entry.given_up)


def _failure(entry: EntryBuilder, live: bool) -> str:
    """Why nothing was compiled under this id; "" where something was."""
    if _compiled(entry, live):
        return ""
    if entry.recompiles and not entry.started and not entry.raised:
        return "the function has as many entries as torch._dynamo.config.recompile_limit allows"
    if entry.failed:
        return without_addresses(entry.failed)
    if entry.breaks:
        return "Dynamo could not go on after a graph break in it"
    return NOTHING_TO_COMPILE if entry.closed else ""


def whole_steps(functions: tuple[FunctionRecord, ...]) -> tuple[FunctionRecord, ...]:
    """The functions, with the advice ``for_step`` for breaks in ``optimizer.step()`` where the caller also calls
    ``backward()``."""
    steps = {
        (place.filename, place.function)
        for function in functions
        for entry in function.entries
        for record in entry.breaks
        if record.advice == for_step() and (place := record.caller or record.place) is not None
    }

    def told(record: BreakRecord) -> BreakRecord:
        place = record.caller or record.place
        if not of_optimizer(record.advice) or place is None or (place.filename, place.function) not in steps:
            return record
        return replace(record, advice=for_step())

    if not steps:
        return functions
    return tuple(
        replace(f, entries=tuple(replace(e, breaks=tuple(map(told, e.breaks))) for e in f.entries)) for f in functions
    )


def as_seen_from_outside(functions: tuple[FunctionRecord, ...]) -> tuple[FunctionRecord, ...]:
    """The functions, with the caller's advice for breaks at a returned number.  The caller reported the same break, and
    its code shows what the number is used for."""
    first: dict[tuple[int, tuple[str, int, str]], tuple[AdviceUse, ...]] = {}
    for entry in sorted((e for f in functions for e in f.entries), key=lambda entry: entry.key.order):
        for record in entry.breaks:
            first.setdefault((entry.key.generation, record.identity), record.advice)

    def told(entry: EntryRecord) -> EntryRecord:
        if not any(of_returned(record.advice) for record in entry.breaks):
            return entry
        breaks = (
            replace(r, advice=first[entry.key.generation, r.identity]) if of_returned(r.advice) else r
            for r in entry.breaks
        )
        return replace(entry, breaks=tuple(breaks))

    return tuple(replace(f, entries=tuple(map(told, f.entries))) for f in functions)


def callers_of(
    functions: Mapping[tuple[int, str], FunctionBuilder],
) -> Callable[[EntryBuilder], tuple[CallerRecord, ...]]:
    """A function that returns the callers of an entry, with the numbers of those that Dynamo saw."""
    known: dict[tuple[str, str, int], dict[int, tuple[int, str]]] = {}
    for function, builder in functions.items():
        code = builder.code
        known.setdefault((code.filename, code.name, code.line), {})[function[0]] = function
    last = {code: function for code, of_code in known.items() for function in of_code.values()}

    def callers(entry: EntryBuilder) -> tuple[CallerRecord, ...]:
        def number(frame: RunningFrame) -> tuple[int, str] | None:
            of_code = known.get(frame.code)  # torch counts anew after a reset: the one of the same generation
            return of_code.get(entry.key.generation) or last[frame.code] if of_code else None

        return folded(entry.callers, number, linecache.getline)

    return callers


class RestParents:
    """Finds the functions that resume functions continue by their names, where torch's table no longer knows them."""

    def __init__(self, functions: Mapping[tuple[int, str], FunctionBuilder]) -> None:
        """``functions``: more may be added later."""
        self._functions = functions
        self._indexed = 0
        self._named: dict[tuple[int, str, str], list[tuple[int, tuple[int, str]]]] = {}
        """Generation, file and the beginning of a rest's name -> lines and numbers of functions."""

    def parent(self, function: tuple[int, str]) -> tuple[int, str] | None:
        """The function that the resume function ``function`` continues: the last one of its name that begins before
        it."""
        for number, builder in islice(self._functions.items(), self._indexed, None):
            name = RESUME_PREFIX + builder.code.name.replace("<", "").replace(">", "")
            key = number[0], builder.code.filename, name
            self._named.setdefault(key, []).append((builder.code.line, number))
        self._indexed = len(self._functions)
        code = self._functions[function].code
        known = self._named.get((function[0], code.filename, code.name.rpartition("_at_")[0]), ())
        found = [one for one in known if one[0] <= code.line]
        return max(found, key=lambda one: (one[0], function_order(one[1])))[1] if found else None


def parent_by_name(
    function: tuple[int, str], functions: Mapping[tuple[int, str], FunctionBuilder]
) -> tuple[int, str] | None:
    """As ``RestParents.parent``, for one function."""
    return RestParents(functions).parent(function)


def name_of_rest(begun: CodeRecord, name: str) -> str:
    """The qualified name of the resume function that Dynamo calls ``name``.  ``begun``: the whole function."""
    owner = begun.qualname.rpartition(".")[0]
    return f"{owner}.{name}" if owner else name


def function_order(function: tuple[int, str]) -> tuple[int, int, str]:
    """The sort key of a function: generation and frame number as numbers."""
    generation, text = function
    return generation, int(text) if text.isdigit() else -1, text
