"""Freeze what was captured, together with what torch's caches still hold, into a ``Run``.

Input: a ``Capture``.  Output invariant: pure data; entries of a function stand in the order torch tries them, those
no longer (or never) in the cache after them, by compile id.
"""

from __future__ import annotations

import linecache
import platform
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from depyf.decompiler.bytecode.host.handler_depths import with_one_depth
from depyf.decompiler.emit.comments import comment
from depyf.errors import DepyfError
from depyf.run.addresses import without_addresses
from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.for_breaks import for_failure, for_limit, for_step, of_optimizer, of_returned
from depyf.run.advice.number_operands import numbers_of, taken_as_number
from depyf.run.advice.registry import applicable
from depyf.run.advice.symbol_places import SymbolPlaces, places_of
from depyf.run.files.layout import original_file
from depyf.run.global_names import RESUME_PREFIX
from depyf.run.made import Made
from depyf.run.nearest import nearest_first, without_lone_marks
from depyf.run.records import (
    NOTHING_TO_COMPILE,
    BreakRecord,
    CallerRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GuardRecord,
    RecompileRecord,
    RefusalRecord,
)
from depyf.run.run import Run, TimesRecord
from depyf.safety.escape import one_line, safe_name
from depyf.sources.live.caches.entries import LiveEntry, guard_text
from depyf.sources.live.events.break_stack import BrokenAt
from depyf.sources.live.events.callers import folded
from depyf.sources.live.events.graph_breaks import parse_break
from depyf.sources.live.events.missing_reports import gaps
from depyf.sources.live.events.recompiles import resolved, resolved_refusal, specialised
from depyf.sources.live.events.torch_options import recompile_limit
from depyf.sources.live.generated import resume_options
from depyf.sources.live.guards.current_values import with_values
from depyf.sources.live.guards.printed_guards import file_resolver, parse_guards
from depyf.sources.live.notebook_cells import cell_names
from depyf.sources.live.processes.ranks import rank_count
from depyf.sources.live.recording.builders import EntryBuilder, FunctionBuilder
from depyf.sources.live.recording.capture import Capture
from depyf.sources.live.recording.code_record import ProgramSources, code_record, with_parameters
from depyf.sources.live.recording.disassembly import disassembly
from depyf.sources.live.recording.rests import Share, shares
from depyf.sources.live.resume import origin, resume_targets
from depyf.views.pages.full_code import called, original_of


def freeze(capture: Capture, never_compiled: Mapping[types.CodeType, str] = MappingProxyType({})) -> Run:
    """The record of everything captured so far; ``never_compiled`` are functions that Dynamo left alone, and why."""
    with capture.lock:
        live = _live_entries(capture)
        by_code = {
            id(code): function
            for function, builder in capture.functions.items()
            if builder.live is not None and (code := builder.live()) is not None
        }
        names = _resume_names(live, by_code)
        resolve = file_resolver([*linecache.cache, *(b.code.filename for b in capture.functions.values())], "torch")
        shown = _shares(capture)
        sources = ProgramSources()
        entries: dict[tuple[int, str], dict[str, EntryBuilder]] = {}
        for key, entry in capture.entries.items():
            entries.setdefault(key.function, {})[key.text] = entry
        callers = callers_of(capture)
        functions = tuple(
            _function(
                function,
                builder,
                capture,
                live[function],
                entries.get(function, {}),
                by_code,
                names,
                resolve,
                callers,
                shown,
                sources,
            )
            for function, builder in sorted(capture.functions.items(), key=lambda item: _order(item[0]))
        )
        functions = _as_seen_from_outside(_whole_steps(functions))
        graphs = sorted((graph.record for graph in capture.graphs), key=lambda g: (g.key.order, g.stage, g.index))
        return Run(
            torch_version=torch_version(),
            python_version=platform.python_version(),
            functions=functions,
            graphs=tuple(graphs),
            notes=tuple(capture.notes),
            not_reported=gaps(),
            ranks=rank_count(),
            cells=cell_names([*linecache.cache, *(function.code.filename for function in functions)]),
            finished=True,
            times=times_of(capture),
            began=capture.clock.began,
            never_compiled=tuple((code_record(code), reason) for code, reason in never_compiled.items()),
        )


def times_of(capture: Capture) -> tuple[TimesRecord, ...]:
    """How long each compilation took so far."""
    keys = sorted({*capture.timings, *capture.phases}, key=lambda key: (key.order, key.text))
    return tuple(times_of_key(capture, key) for key in keys)


def times_of_key(capture: Capture, key: CompileKey) -> TimesRecord:
    seconds = sorted(capture.timings.get(key, {}).items())
    return TimesRecord(key, tuple(seconds), tuple(sorted(capture.phases.get(key, ()))))


def _whole_steps(functions: tuple[FunctionRecord, ...]) -> tuple[FunctionRecord, ...]:
    """The breaks in optimizers with their advice, where the line that led there is in a function that calls
    backward()."""
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


def _as_seen_from_outside(functions: tuple[FunctionRecord, ...]) -> tuple[FunctionRecord, ...]:
    """Breaks at a number that a function returns with the advice of the frame that called it, where the same break was
    reported from there: what the number is used for was seen then."""
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


def _order(function: tuple[int, str]) -> tuple[int, int, str]:
    generation, text = function
    return generation, int(text) if text.isdigit() else -1, text


def torch_version() -> str:
    import torch

    return str(torch.__version__)


def live_code_of(builder: FunctionBuilder) -> types.CodeType | None:
    return builder.live() if builder.live is not None else None


def _live_entries(capture: Capture) -> dict[tuple[int, str], tuple[LiveEntry, ...]]:
    """What is in torch's cache for each function.  After ``torch._dynamo.reset()`` compile ids begin anew: an entry is
    that of the last function with its id that was compiled from this code."""
    newest = {
        (id(code), key.text): key.function
        for key in sorted(capture.entries, key=lambda key: key.generation)
        if (builder := capture.functions.get(key.function)) is not None and (code := live_code_of(builder)) is not None
    }
    return {
        function: tuple(
            entry
            for entry in capture.live_entries(function)
            if entry.made is not Made.CALL
            or newest.get((id(live_code_of(builder)), entry.compile_id), function) == function
        )
        for function, builder in capture.functions.items()
    }


def _resume_names(
    live: dict[tuple[int, str], tuple[LiveEntry, ...]], by_code: dict[int, tuple[int, str]]
) -> dict[tuple[int, str], tuple[str, ...]]:
    """The globals through which transformed code calls each resume function."""
    names: dict[tuple[int, str], dict[str, None]] = {}
    for entries in live.values():
        for entry in entries:
            for name, code in resume_targets(entry):
                function = by_code.get(id(code))
                if function is not None:
                    names.setdefault(function, {})[name] = None
    return {function: tuple(found) for function, found in names.items()}


def _shares(capture: Capture) -> dict[tuple[int, str], Share]:
    """Of each resume function what is shown of it, where its function has several."""
    families: dict[tuple[int, int], dict[tuple[int, str], types.CodeType]] = {}
    for function, builder in capture.functions.items():
        code = live_code_of(builder)
        source = origin(code) if code is not None else None
        if code is not None and source is not None:
            families.setdefault((function[0], id(source)), {})[function] = code
    found: dict[tuple[int, str], Share] = {}
    for family in families.values():
        found.update(shares(family))
    return found


def _function(
    function: tuple[int, str],
    builder: FunctionBuilder,
    capture: Capture,
    live: tuple[LiveEntry, ...],
    mine: dict[str, EntryBuilder],
    by_code: dict[int, tuple[int, str]],
    resume_names: dict[tuple[int, str], tuple[str, ...]],
    resolve: Callable[[str], str],
    callers: Callable[[EntryBuilder], tuple[CallerRecord, ...]],
    shown: Mapping[tuple[int, str], Share],
    sources: ProgramSources,
) -> FunctionRecord:
    def original(of: tuple[int, str]) -> str:
        found = capture.functions[of]
        return original_of(called(tuple(_names(of, found, resume_names)), found.code.name))

    code = live_code_of(builder)
    source = origin(code) if code is not None else None
    parent = by_code.get(id(source)) if source is not None else None
    if parent is None and builder.code.name.startswith(RESUME_PREFIX):
        parent = _parent_by_name(builder.code, capture)
    wrapped = [entry.wrapped.name for entry in mine.values() if entry.wrapped is not None]
    ordered = [entry for entry in live if entry.compile_id in mine]
    found = [(mine.pop(entry.compile_id), entry) for entry in ordered]
    rest = sorted(mine.values(), key=lambda e: e.key.order)
    records = [entry_record(e, alive, resolve, callers) for e, alive in (*found, *((e, None) for e in rest))]
    records = without_lone_marks(nearest_first(records))
    if source is not None:
        record = _resume_source(builder.code, code, shown.get(function), original)
    elif builder.code.disassembly:  # written before, when it was alive
        record = builder.code
    else:
        record = builder.code if builder.code.source else sources.with_source(builder.code)
        record = record if builder.live is not None else with_parameters(record)
    if code is not None:
        share = shown.get(function)
        part = share.part(lambda of: original_file(of, capture.functions[of].code)) if share is not None else None
        record = replace(record, disassembly=without_addresses(disassembly(code, part)))
    record = replace(record, wrapped=" / ".join(dict.fromkeys(wrapped)))
    names = tuple(_names(function, builder, resume_names))
    return FunctionRecord(function, record, tuple(records), parent, names)


def callers_of(capture: Capture) -> Callable[[EntryBuilder], tuple[CallerRecord, ...]]:
    """Of an entry the callers, those of functions that Dynamo saw by their number."""
    known = {(b.code.filename, b.code.name, b.code.line): function for function, b in capture.functions.items()}
    return lambda entry: folded(entry.callers, lambda frame: known.get(frame.code), linecache.getline)


def _names(
    function: tuple[int, str], builder: FunctionBuilder, resume_names: Mapping[tuple[int, str], tuple[str, ...]]
) -> dict[str, None]:
    """The globals by which transformed code calls ``function``."""
    return dict.fromkeys([*resume_names.get(function, ()), *builder.resume_names])


def _parent_by_name(code: CodeRecord, capture: Capture) -> tuple[int, str] | None:
    """The resume function's origin by its name, where torch's table no longer knows it."""
    for function, builder in capture.functions.items():
        wanted = RESUME_PREFIX + builder.code.name.replace("<", "").replace(">", "")
        if code.filename == builder.code.filename and code.name.rpartition("_at_")[0] == wanted:
            return function
    return None


def _resume_source(
    record: CodeRecord, code: types.CodeType | None, share: Share | None, original: Callable[[tuple[int, str]], str]
) -> CodeRecord:
    """A resume function has no source: show its bytecode decompiled, as far as it is its share.

    All of it is shown where its share has no text: one that ends inside a call may have none.
    """
    from depyf.decompiler.driver.pipeline import decompile_code

    if code is None:
        return record
    try:
        resumed = with_one_depth(share.code() if share is not None else code)
        found = decompile_code(resumed, name=safe_name(record.name), options=resume_options())
    except DepyfError as error:
        if share is not None:
            return _resume_source(record, code, None, original)
        return replace(record, source=comment(one_line(str(error))))
    source = found.source.rstrip("\n")
    source = share.with_references(source, original) if share is not None else source
    doubts = [comment(f"Not proven: {one_line(v.reason)}") for v in found.verdicts if not v.proven]
    return replace(record, source="\n".join([*doubts[:1], source]))


def entry_record(
    entry: EntryBuilder,
    live: LiveEntry | None,
    resolve: Callable[[str], str],
    callers: Callable[[EntryBuilder], tuple[CallerRecord, ...]],
    at_end: bool = True,
    values: bool = True,
) -> EntryRecord:
    """What is known of a compilation; ``live``: its cache entry, where it is looked at, too; ``at_end``: nothing more
    will be heard of it; ``values``: what guards look at is looked at."""
    finished = at_end or entry.closed
    text = entry.guard_text or (guard_text(live) if live is not None else "")
    symbols = entry.symbols.records()
    state = "live" if live is not None else "event" if text else "none"
    guards = _guards(entry, text, resolve)
    places, numbers = places_of(symbols), numbers_of(guards)
    return EntryRecord(
        key=entry.key,
        transformed=entry.transformed,
        guards=with_values(guards, live) if live is not None and values else guards,
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
        error_at=None if _compiled(entry, live) else entry.error[1],
        advice=_advice(entry, live),
        callers=callers(entry),
        refusals=_refusals(entry, resolve),
        in_force=tuple(sorted(entry.in_force)),
        finished=finished,
        backend=entry.backend,
        made=entry.made,
        left_out=entry.left_out,
    )


def _guards(entry: EntryBuilder, text: str, resolve: Callable[[str], str]) -> tuple[GuardRecord, ...]:
    """The guards that ``text`` prints; it is read once, while torch compiles, and at the end more files are known."""
    if entry.parsed is None or entry.parsed[0] != text:
        entry.parsed = text, parse_guards(text, resolve)
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
    known = taken_as_number(specialised(resolved(record, resolve), places), numbers, places)
    known = replace(known, advice=applicable(known.advice, entry.in_force))
    return known if entry.wrapped is None else entry.wrapped.about(known)


def _error(entry: EntryBuilder) -> str:
    """What torch ended with, and what fixes a size that is marked."""
    return entry.error[0] if entry.pinned is None else f"{entry.error[0]}; {entry.pinned.words}"


def _refusals(entry: EntryBuilder, resolve: Callable[[str], str]) -> tuple[RefusalRecord, ...]:
    """In terms of the object that torch's wrapper calls, where the function is one."""
    found = (resolved_refusal(record, resolve) for record in entry.refusals)
    return tuple(found if entry.wrapped is None else map(entry.wrapped.about_refusal, found))


def _advice(entry: EntryBuilder, live: LiveEntry | None) -> tuple[AdviceUse, ...]:
    """What would avoid that nothing was compiled, where neither a break nor a guard says it."""
    if not _failure(entry, live):
        return ()
    at_limit = not entry.raised or entry.failed.startswith("FailOnRecompileLimitHit")
    if entry.recompiles and not entry.started and at_limit:
        limit = recompile_limit()
        return () if limit is None else for_limit(limit)
    pinned = entry.pinned.by if entry.pinned is not None else ()
    return for_failure(entry.failed, pinned, entry.key.text if entry.raised else "")


def _breaks(entry: EntryBuilder, live: LiveEntry | None) -> tuple[BreakRecord, ...]:
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


def _compiled(entry: EntryBuilder, live: LiveEntry | None) -> bool:
    """Whether there was code to run: bytecode may be written, and the guards fail to be made
    (ConstraintViolationError)."""
    return live is not None or (entry.transformed is not None and not entry.given_up)


def _failure(entry: EntryBuilder, live: LiveEntry | None) -> str:
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
