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
from depyf.run.causes.value_advice import without_tensors
from depyf.run.files.layout import original_file
from depyf.run.global_names import RESUME_PREFIX
from depyf.run.guards.unguarded_values import with_unguarded
from depyf.run.made import Made
from depyf.run.nearest import nearest_first, without_lone_marks
from depyf.run.records import (
    CallerRecord,
    CodeRecord,
    EntryRecord,
    FunctionRecord,
)
from depyf.run.run import Run
from depyf.safety.escape import one_line, safe_name
from depyf.sources.live.caches.entries import LiveEntry, guard_text
from depyf.sources.live.events.missing_reports import gaps
from depyf.sources.live.events.torch_options import recompile_limit
from depyf.sources.live.generated import resume_options
from depyf.sources.live.guards.current_values import with_values
from depyf.sources.live.guards.printed_guards import READER
from depyf.sources.live.notebook_cells import cell_names
from depyf.sources.live.processes.ranks import rank_count
from depyf.sources.live.recording.capture import Capture
from depyf.sources.live.recording.code_record import code_record
from depyf.sources.live.recording.disassembly import disassembly
from depyf.sources.live.recording.rests import Share, shares
from depyf.sources.live.resume import origin, resume_targets
from depyf.sources.reports.builders import EntryBuilder, FunctionBuilder
from depyf.sources.reports.entry_facts import (
    as_seen_from_outside,
    callers_of,
    entry_facts,
    function_order,
    name_of_rest,
    parent_by_name,
    whole_steps,
)
from depyf.sources.reports.guards.guard_text import CompletedNames
from depyf.sources.reports.program_sources import ProgramSources, with_parameters
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
        resolve = CompletedNames([*linecache.cache, *(b.code.filename for b in capture.functions.values())], "torch")
        shown = _shares(capture)
        sources = ProgramSources()
        entries: dict[tuple[int, str], dict[str, EntryBuilder]] = {}
        for key, entry in capture.entries.items():
            entries.setdefault(key.function, {})[key.text] = entry
        callers = callers_of(capture.functions)
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
            for function, builder in sorted(capture.functions.items(), key=lambda item: function_order(item[0]))
        )
        functions = as_seen_from_outside(whole_steps(functions))
        reads = {key: one.reads for key, one in capture.functions.items() if one.reads is not None}
        functions = with_unguarded(functions, reads)
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
            cache_keys=tuple(capture.cache_keys),
            times=tuple(times.named(resolve) for times in capture.times()),
            began=capture.clock.began,
            never_compiled=tuple((code_record(code), reason) for code, reason in never_compiled.items()),
        )


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
        parent = parent_by_name(function, capture.functions)
        if parent is not None and builder.code.qualname == builder.code.name:
            name = name_of_rest(capture.functions[parent].code, builder.code.name)
            builder.code = replace(builder.code, qualname=name)
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
    return FunctionRecord(function, record, tuple(without_tensors(records, record)), parent, names)


def _names(
    function: tuple[int, str], builder: FunctionBuilder, resume_names: Mapping[tuple[int, str], tuple[str, ...]]
) -> dict[str, None]:
    """The globals by which transformed code calls ``function``."""
    return dict.fromkeys([*resume_names.get(function, ()), *builder.resume_names])


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
    goes_on = share.goes_on if share is not None else ()
    doubts = [comment(f"Not proven: {one_line(v.reason)}") for v in found.verdicts if not v.proven]
    return replace(record, source="\n".join([*doubts[:1], source]), goes_on=goes_on)


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
    cached = None if live is None else entry.guard_text or guard_text(live)
    record = entry_facts(entry, resolve, callers, READER, at_end, cached, recompile_limit)
    return replace(record, guards=with_values(record.guards, live)) if live is not None and values else record
