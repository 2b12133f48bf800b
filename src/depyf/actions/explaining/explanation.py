"""``depyf.explain(compiled_fn)``: what torch has compiled for a function so far, as a report.

Made from torch's live cache entries and from the compilations torch itself remembers; nothing has to be switched on
beforehand, and asking changes nothing.  ``str()`` is for a terminal, ``_repr_html_`` for a notebook, ``to_json`` for
programs.  What cannot be known after the fact is said to be unknown, never guessed.
"""

from __future__ import annotations

import linecache
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from depyf.actions.asking.inner_functions import InnerFunctions
from depyf.actions.explaining.live_causes import fix_first_lines, report_causes
from depyf.actions.explaining.reported_breaks import (
    NO_REASON,
    ReportedBreak,
    break_lines,
    failure_of,
    graph_breaks_of,
    left_alone_in_words,
)
from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.decompiler.emit.comments import remark
from depyf.run.advice.registry import sentence
from depyf.run.global_names import in_words
from depyf.run.guards import known_kinds
from depyf.run.records import (
    NOTHING_TO_COMPILE,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GuardRecord,
    Place,
    RecompileRecord,
)
from depyf.run.shapes.shape_table import FunctionShapes, shapes_of
from depyf.safety.escape import cut
from depyf.sources.live.caches.entries import LiveEntry, cache_entries, guard_text
from depyf.sources.live.caches.live_graphs import compiled_functions, live_code
from depyf.sources.live.caches.seen_code import codes_seen, why_never_compiled
from depyf.sources.live.events.call_values import CallValues, inner_variables
from depyf.sources.live.events.compilations import Compilation, has_forgotten, of_code, recent_compilations
from depyf.sources.live.events.missing_reports import tells_of_loops
from depyf.sources.live.events.recompiles import fixed_sizes, parse_recompile, still_fixed
from depyf.sources.live.guards.ask import user_place
from depyf.sources.live.guards.number_operands import numbers_of, taken_as_number
from depyf.sources.live.guards.printed_guards import file_resolver, parse_guards
from depyf.sources.live.notebook_cells import cell_names
from depyf.sources.live.require import require_torch
from depyf.sources.live.resume import origin, resume_targets
from depyf.sources.live.target import find_target
from depyf.views.pages.call_tree import folded_states
from depyf.views.pages.sections.words import with_cells


@dataclass(frozen=True, slots=True)
class EntryReport:
    """One cache entry: a compiled version of the function."""

    compile_id: str
    guards: tuple[GuardRecord, ...]
    graphs: int
    operations: int | None
    backend: str
    seconds: float | None
    recompiled_because: str
    """Which earlier entry did not fit, by which guard, and where that guard comes from; "" for the first one."""
    advice: str
    """What to change so that it would have fitted; "" where depyf knows nothing."""
    continues_in: tuple[str, ...]
    """The resume functions of the code, by Dynamo's names: ``torch_dynamo_resume_in_forward_at_9``."""
    unfit: tuple[RecompileRecord, ...] = ()
    """The earlier entries that did not fit, the nearest first."""

    def __repr__(self) -> str:
        return f"<cache entry {self.compile_id}: {', '.join(self.facts())}, {_counted(len(self.guards), 'guard')}>"

    def facts(self) -> list[str]:
        """Counts of graphs and operations, the backend, the time it took; without what is unknown."""
        facts = [_counted(self.graphs, "graph")]
        if self.operations is not None:
            facts.append(_counted(self.operations, "operation"))
        return facts + [
            part for part in (f"backend {self.backend}" if self.backend else "", _time(self.seconds)) if part
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "compile_id": self.compile_id,
            "guards": [
                {
                    "guard": known_kinds.plain(guard.expression),
                    "from": str(guard.place) if guard.place is not None else "",
                }
                for guard in self.guards
            ],
            "graphs": self.graphs,
            "operations": self.operations,
            "backend": self.backend,
            "seconds": self.seconds,
            "recompiled_because": self.recompiled_because,
            "advice": self.advice,
            "continues_in": list(self.continues_in),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A function, its cache entries in the order torch tries them, and the rest of it after each graph break."""

    function: str
    filename: str
    line: int
    entries: tuple[EntryReport, ...]
    breaks: tuple[ReportedBreak, ...]
    skipped: tuple[ReportedBreak, ...]
    resumes: tuple[Report, ...]
    complete: bool
    """Whether torch still remembers the compilation of every entry; otherwise breaks and reasons may be missing."""
    inside: tuple[Report, ...] = ()
    """The functions that were compiled when this one called them: where its graph breaks, or it runs as ordinary
    Python."""
    calls: tuple[Place, ...] = ()
    """The lines that called it, where it stands inside another one and torch still knows them."""
    older: bool = False
    """torch has dropped compilations, so that functions may be missing from ``inside``."""

    def all(self) -> Iterator[Report]:
        """This function, every resume function, and all that was compiled inside."""
        yield self
        for report in (*self.resumes, *self.inside):
            yield from report.all()

    def call_tree(self) -> list[str]:
        """Each function below the one that calls it, with its compile ids; indented."""
        lines = [f"{self._called()}: {self._states()}"]
        for report in self.inside:
            lines += ["  " + line for line in report.call_tree()]
        for resume in self._rests():
            lines.append(f"  after the break at line {resume.line}: {resume._states()}")
        return lines

    def _rests(self) -> Iterator[Report]:
        """Every resume function, also those of resume functions."""
        for resume in self.resumes:
            yield resume
            yield from resume._rests()

    def _called(self) -> str:
        files = {call.filename for call in self.calls}
        shown = [str(call.line) if len(files) == 1 else f"{call.filename}:{call.line}" for call in self.calls]
        if not shown:
            return in_words(self.function)
        return f"{in_words(self.function)}, called at {'line' if len(shown) == 1 else 'lines'} {', '.join(shown)}"

    def _states(self) -> str:
        broke = bool(self.breaks or self.resumes)
        found = [
            (entry.compile_id, "broke" if broke and entry.continues_in else "ok") for entry in reversed(self.entries)
        ]
        states = [folded_states(found)] if found else []
        left = dict.fromkeys("ran as Python" if item.raised is None else "failed" for item in self.skipped)
        return ", ".join([*states, *left]) or "nothing compiled"

    @property
    def graphs(self) -> int:
        """How many compiled graphs the entries hold, resume functions included."""
        return sum(entry.graphs for report in self.all() for entry in report.entries)

    @property
    def shapes(self) -> FunctionShapes | None:
        """Which size of which input may be what in which entry, as the guards say it: ``print`` it, or take ``.sizes``,
        ``.conditions``, ``.to_json()``; None where all sizes are constants."""
        entries = tuple(EntryRecord(CompileKey(0, e.compile_id), None, e.guards, "live") for e in self.entries)
        code = CodeRecord(self.function, self.function, self.filename, self.line, (), (), (), None, None, ())
        return shapes_of(FunctionRecord((0, ""), code, entries))

    def to_json(self) -> dict[str, Any]:
        """Plain data: dictionaries, lists, strings, numbers."""
        return {
            "function": self.function,
            "file": self.filename,
            "line": self.line,
            "entries": [entry.to_json() for entry in self.entries],
            "graph_breaks": [item.to_json() for item in self.breaks],
            "skipped": [item.to_json() for item in self.skipped],
            "resumes": [resume.to_json() for resume in self.resumes],
            "inside": [report.to_json() for report in self.inside],
            "called_at": [f"{call.filename}:{call.line}" for call in self.calls],
            "complete": self.complete,
            "causes": [cause.to_json() for cause in report_causes(self)],
        }

    def __str__(self) -> str:
        names = cell_names([report.filename for report in self.all()])
        return with_cells("\n".join(self._lines(top=True)), names)

    def __repr__(self) -> str:
        return f"<depyf.explain of {self.function}: {self._headline()}; print() shows all of it>"

    def _repr_html_(self) -> str:
        from depyf.actions.explaining.notebook_view import explain_html

        return explain_html(self)

    def facts(self) -> list[str]:
        """Counts of entries, graphs, graph breaks and recompilations, resume functions included."""
        breaks = sum(len(report.breaks) for report in self.all())
        again = sum(bool(entry.recompiled_because) for report in self.all() for entry in report.entries)
        return [
            _counted(sum(len(report.entries) for report in self.all()), "cache entry", "cache entries"),
            _counted(self.graphs, "graph"),
            _counted(breaks, "graph break"),
            ("" if all(report.complete for report in self.all()) else "at least ") + _counted(again, "recompilation"),
        ]

    def _headline(self) -> str:
        return ", ".join(self.facts())

    def _lines(self, top: bool = False, within: bool = False) -> list[str]:
        """``within``: it stands inside another function, its guards are left out."""
        lines = [f"{in_words(self.function)} ({self.filename}:{self.line})"]
        if top:
            lines[0] += f": {self._headline()}"
            first = fix_first_lines(self)
            lines += ["", "Fix first:", *first, ""] if first else []
            overview = self._overview()
            lines += overview if first else ["", *overview] if overview else []
        for told in self.left_alone():
            lines += told
        if not within:
            lines += _all_entries(self.entries)
        if within:
            lines += _folded_entries(self.entries)
        for item in self.breaks:
            lines += break_lines("graph break", item)
        lines += self.forgotten()
        for resume in self.resumes:
            lines += ["", *resume._lines(within=within)]
        for report in self.inside:
            lines += ["", *report._lines(within=True)]
        return lines

    def _overview(self) -> list[str]:
        """The call tree, where something was compiled inside."""
        if not any(report.inside for report in self.all()):
            return []
        older = ["  (torch remembers its last compilations only: what was compiled inside before is missing)"]
        return ["Call tree:", *("  " + line for line in self.call_tree()), *(older if self.older else ()), ""]

    def left_alone(self) -> list[list[str]]:
        """Why nothing is compiled for it, or not everything."""
        if self.entries or self.skipped:
            return [break_lines(left_alone_in_words(item), item) for item in self.skipped]
        lines = ["  nothing is compiled for it (it was never called, or torch has dropped it)"]
        if "/torch/nn/modules/" in self.filename:
            lines.append(
                "  a module of torch's own is passed over where no function of yours calls it and it was compiled in "
                "place (module.compile()): torch.compile(module) compiles it"
            )
        return [lines]

    def forgotten(self) -> list[str]:
        """A remark where torch does not remember every compilation."""
        return (
            [] if self.complete else ["  torch no longer remembers all of these compilations: reasons may be missing"]
        )


def explain(fn: Any) -> Report:
    """The report of a compiled function, method or module (or of the plain function inside it), as things stand now.

    DepyfError where ``fn`` has no Python bytecode, or torch is missing or too old.
    """
    require_torch()
    target = find_target(fn)
    compilations = recent_compilations()
    report = _report(target.code, compilations, InnerFunctions(compilations), [], target.backend)
    return replace(report, older=has_forgotten())


def _report(
    code: types.CodeType,
    compilations: tuple[Compilation, ...],
    inner_functions: InnerFunctions,
    seen: list[types.CodeType],
    backend: Any,
    calls: tuple[Place, ...] = (),
) -> Report:
    """``backend`` is the one that was asked about, for a torch whose entries do not say theirs."""
    seen.append(code)
    entries = cache_entries(code)
    own = of_code(compilations, code.co_filename, code.co_firstlineno, code.co_name)
    by_id = {compilation.compile_id: compilation for compilation in own}
    mine = [by_id[entry.compile_id] for entry in entries if entry.compile_id in by_id]
    resolve = file_resolver([*linecache.cache, code.co_filename], "torch")
    inner = inner_variables(code)
    reports = [_entry(entry, by_id.get(entry.compile_id), resolve, backend, inner) for entry in entries]
    resumes: list[Report] = []
    for entry in entries:
        for _, target in resume_targets(entry):
            if not any(target is known for known in seen):
                resumes.append(_report(target, compilations, inner_functions, seen, backend))
    inside = [
        _report(found.code, compilations, inner_functions, seen, backend, found.calls)
        for found in (inner_functions.of(code) if origin(code) is None else ())
        if not any(found.code is known for known in seen)
    ]
    breaks = dict.fromkeys(
        item for entry in reversed(entries) for item in graph_breaks_of(entry, by_id.get(entry.compile_id))
    )
    skipped = dict.fromkeys(failure_of(c) for c in own if not c.compiled and c.failure)
    if not entries and not skipped and any(c.operations is None for c in own):
        empty = any(c.operations is None and c.compiled for c in own) and tells_of_loops()
        skipped = {ReportedBreak(NOTHING_TO_COMPILE if empty else NO_REASON, ()): None}
    if not entries and not own and any(code is known for known in codes_seen()):
        skipped = {ReportedBreak(reason, ()): None for reason in why_never_compiled([code]).values()}
    return Report(
        qualified_name(code, origin(code)), code.co_filename, code.co_firstlineno, tuple(reports), tuple(breaks),
        tuple(skipped), tuple(resumes), len(mine) == len(entries) and all(resume.complete for resume in resumes),
        tuple(inside), calls,
    )  # fmt: skip


def _entry(
    entry: LiveEntry, compilation: Compilation | None, resolve: Any, backend: Any, inner: frozenset[str]
) -> EntryReport:
    graphs = compiled_functions(entry)
    reason = compilation.recompiled_because if compilation is not None else ""
    guards = parse_guards(guard_text(entry), resolve)
    modules = frozenset(match[1] for g in guards if (match := _OF_MODULE.match(g.source)) is not None)
    call = CallValues(inner=inner, modules=modules)
    tried = parse_recompile(reason, call, resolve) if reason else ()
    sizes, numbers = (fixed_sizes(guards), numbers_of(guards)) if tried else ({}, frozenset())
    unfit = [taken_as_number(still_fixed(record, sizes), numbers) for record in tried]
    return EntryReport(
        entry.compile_id,
        guards,
        len(graphs),
        compilation.operations if compilation is not None else _operations(graphs),
        _backend_name(backend if entry.backend is None else entry.backend),
        compilation.seconds if compilation is not None else None,
        "; ".join(map(_unfit, unfit)),
        sentence(next((record.advice for record in unfit if record.advice), ())),
        tuple(dict.fromkeys(code.co_name for _, code in resume_targets(entry))),
        tuple(unfit),
    )


_OF_MODULE = re.compile(r"L\['(\w+)'\]\._(?:modules|parameters|buffers)\b")


def _unfit(record: RecompileRecord) -> str:
    place = f" ({record.place.filename}:{record.place.line} {record.place.text})" if record.place is not None else ""
    return " ".join(f"{record.entry or 'the earlier entry'} did not fit: {record.guard}{place}".split())


def _operations(graphs: list[Any]) -> int | None:
    modules = live_code(graphs).modules
    calls = ("call_function", "call_method", "call_module")
    counts = [sum(node.op in calls for node in module.graph.nodes) for module in modules if hasattr(module, "graph")]
    return max(counts, default=None)


def _backend_name(backend: Any) -> str:
    name = getattr(backend, "compiler_name", None) or getattr(backend, "__name__", None)
    return str(name or type(backend).__name__) if backend is not None else ""


def _entry_lines(entry: EntryReport) -> list[str]:
    lines = [f"  {entry.compile_id}: {', '.join(entry.facts())}"]
    if entry.recompiled_because:
        lines.append(f"    compiled because {entry.recompiled_because}")
        lines += [f"      to avoid it: {entry.advice}"] if entry.advice else []
    lines += [f"    goes on in {in_words(name)}" for name in entry.continues_in]
    about, rest = split_guards(entry.guards)
    for guard in about:
        lines.append(f"    guard {brief(guard.expression)}")
        if guard.place is not None and guard.place.text:
            lines[-1] = remark(lines[-1], f"{guard.place.filename.rpartition('/')[2]}:{guard.place.line}")
    if rest:
        lines.append(f"    and {_counted(rest, 'guard')} on torch's own state, modules and functions")
    return lines


_VALUES = re.compile(r"\d+")


_FEW = 3


def _all_entries(entries: tuple[EntryReport, ...]) -> list[str]:
    """Each entry with its guards; of many that were compiled for the same reason the newest one, and which the others
    are."""
    lines: list[str] = []
    for group in _by_reason(entries):
        shown = group[:1] if len(group) > _FEW and group[0].recompiled_because else group
        for entry in shown:
            lines += _entry_lines(entry)
        if len(shown) < len(group):
            ids = folded_states([(entry.compile_id, "") for entry in reversed(group[1:])]).strip()
            lines.append(f"  {ids}: compiled for the same reason, with other values")
    return lines


def _by_reason(entries: tuple[EntryReport, ...]) -> list[list[EntryReport]]:
    groups: dict[str, list[EntryReport]] = {}
    for entry in entries:
        groups.setdefault(_VALUES.sub("#", entry.recompiled_because.partition("; ")[0]), []).append(entry)
    return list(groups.values())


def _folded_entries(entries: tuple[EntryReport, ...]) -> list[str]:
    """A function inside: its entries without their guards, those compiled for the same reason together."""
    lines: list[str] = []
    for group in _by_reason(entries):
        first = group[0]
        ids = folded_states([(entry.compile_id, "") for entry in reversed(group)]).strip()
        lines.append(f"  {ids}: {', '.join(first.facts())}")
        if first.recompiled_because:
            newest = "" if len(group) == 1 else f" (the newest, {first.compile_id})"
            lines.append(f"    compiled because{newest} {first.recompiled_because.partition('; ')[0]}")
            lines += [f"      to avoid it: {first.advice}"] if first.advice else []
    return lines


def brief(expression: str) -> str:
    """A guard on one line: a tensor as ``x: Tensor float32[None, 3]``, anything else as Python."""
    return known_kinds.brief(expression) or cut(known_kinds.plain(expression), 110)


def split_guards(guards: tuple[GuardRecord, ...]) -> tuple[list[GuardRecord], int]:
    """The guards on the user's values, and how many others there are."""
    about = [guard for guard in guards if user_place(guard) and not _is_machinery(guard.expression)]
    return about, len(guards) - len(about)


def _is_machinery(expression: str) -> bool:
    return known_kinds.is_machinery(expression) or _OF_TORCH.search(expression) is not None


_OF_TORCH = re.compile(r"__import_(?:_\(')?torch|\.__dict__$")
"""Guards on modules of torch, and on the way to a value."""


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"compiled in {seconds:.2f} s"


def _counted(number: int, one: str, several: str = "") -> str:
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"
