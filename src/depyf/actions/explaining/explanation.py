"""``depyf.explain(compiled_fn)``: what torch has compiled for a function so far, as a report.

Made from torch's live cache entries and from the compilations torch itself remembers; nothing has to be switched on
beforehand, and asking changes nothing.  A ``Report`` is a view of the same records that a dump stores
(``live_run.py`` makes them): ``str()`` is for a terminal, ``_repr_html_`` for a notebook, ``to_json`` for programs.
What cannot be known after the fact is said to be unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from depyf.actions.explaining.inside_object import InsideObject, object_record, parts_inside
from depyf.actions.explaining.reported_breaks import ReportedBreak, left_alone
from depyf.actions.explaining.unguarded import Unguarded, unguarded
from depyf.errors import DepyfError
from depyf.run.advice.registry import sentence
from depyf.run.advice.source_names import of_wrapped
from depyf.run.causes.cause import Cause
from depyf.run.causes.collect import causes_of
from depyf.run.causes.deciding import DecidingGuards
from depyf.run.causes.folding import counted
from depyf.run.causes.stack_names import in_words, shown_names
from depyf.run.guards import known_kinds
from depyf.run.guards.broken_guards import GuardsLeftOut, left_out
from depyf.run.guards.difference import values_beside
from depyf.run.guards.served_values import ServedValue, served_values
from depyf.run.made import Made
from depyf.run.observations.all_observations import observations_of
from depyf.run.places.place import Place
from depyf.run.records import EntryRecord, EntryState, FunctionRecord, GuardRecord, RecompileRecord
from depyf.run.run import Run, totals_of
from depyf.run.shapes.shape_table import FunctionShapes, shapes_of
from depyf.safety.escape import cut
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.caches.live_run import FORGOTTEN, live_run
from depyf.sources.live.compiled_parts import compiled_parts
from depyf.sources.live.decorated import decorated_functions
from depyf.sources.live.require import require_torch
from depyf.sources.live.target import Target, find_target
from depyf.views.pages.call_tree import call_tree_lines
from depyf.views.pages.sections.totals import words_of

_LONGEST = 100
"""So much of a line of the program is shown."""


@dataclass(frozen=True, slots=True)
class EntryReport:
    """One cache entry: a compiled version of the function."""

    run: Run
    deciding: DecidingGuards
    names: Mapping[str, str]
    """What to call the values that go over a break."""
    record: EntryRecord

    @property
    def compile_id(self) -> str:
        return self.record.key.text

    @property
    def guards(self) -> tuple[GuardRecord, ...]:
        return self.record.guards

    @property
    def left_out(self) -> GuardsLeftOut:
        """The guards that a filter left out, with calls that run although such a guard would fail; known only while
        recording."""
        return left_out(self.deciding.function, self.record)

    @property
    def graphs(self) -> int:
        return len(self.record.transformed.graphs) if self.record.transformed is not None else 0

    @property
    def operations(self) -> int | None:
        return self.record.operations

    @property
    def backend(self) -> str:
        return self.record.backend

    @property
    def seconds(self) -> float | None:
        return self.run.seconds_of.get(self.record.key)

    @property
    def unfit(self) -> tuple[RecompileRecord, ...]:
        """The earlier entries that the call did not fit, the nearest first."""
        return self.record.recompiles

    @property
    def decided(self) -> RecompileRecord | None:
        """The failed guard that caused this recompilation; None for the first entry."""
        return self.deciding.of(self.record) if self.unfit else None

    @property
    def reason(self) -> str:
        """The value that this guard reads, and its line: equal for entries made for the same reason.  "" for the first
        entry."""
        return "" if self.decided is None else f"{self.deciding.words(self.decided)} {self.decided.place}"

    @property
    def decided_because(self) -> str:
        """Which earlier entry the call did not fit by that guard."""
        return "" if self.decided is None else _unfit(self.decided, self.names)

    @property
    def recompiled_because(self) -> str:
        """Which earlier entry did not fit, by which guard, what it expected and got, and where that guard comes from;
        "" for the first one.  The guard that decided stands first; a reason that others share stands once."""
        told: dict[tuple[str, object], RecompileRecord] = {}
        for record in (self.decided, *self.unfit):
            if record is not None:
                told.setdefault((self.deciding.words(record), record.place), record)
        more = len(self.unfit) - len(told)
        alike = [f"{counted(more, 'earlier entry', 'earlier entries')} did not fit for the same reason"] if more else []
        return "; ".join([*(_unfit(record, self.names) for record in told.values()), *alike])

    @property
    def advice(self) -> str:
        """The advice on avoiding this recompilation; "" for none."""
        return "" if self.decided is None else in_words(sentence(self.decided.advice), self.names)

    @property
    def continues_in(self) -> tuple[str, ...]:
        """The resume functions of the code, by Dynamo's names: ``torch_dynamo_resume_in_forward_at_9``."""
        return tuple(dict.fromkeys(rest.code.name for rest in rests_of(self.run, self.record)))

    def in_words(self, text: str) -> str:
        """A guard with the program's names: those of the wrapped object for torch's wrapper."""
        return of_wrapped(text, self.record.wrapped_parameters) if self.record.wrapped else text

    def __repr__(self) -> str:
        return f"<cache entry {self.compile_id}: {', '.join(self.facts())}, {counted(len(self.guards), 'guard')}>"

    def facts(self) -> list[str]:
        """Counts of graphs and operations, the backend, the time it took; without what is unknown."""
        facts = [counted(self.graphs, "graph")]
        if self.operations is not None:
            facts.append(counted(self.operations, "operation"))
        facts += [f"backend {self.backend}"] if self.backend else []
        facts += [self.record.made.value] if self.record.made is not Made.CALL else []
        return facts + ([f"compiled in {self.seconds:.2f} s"] if self.seconds is not None else [])

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
            "left_out": [
                {
                    "guard": guard.said,
                    "from": str(guard.record.place) if guard.record.place is not None else "",
                    "by": guard.record.left_out_by,
                    "risky": guard.risky,
                    "ways": [list(way.lines) for way in guard.ways],
                }
                for guard in self.left_out.guards
            ],
            "graphs": self.graphs,
            "operations": self.operations,
            "backend": self.backend,
            "made": self.record.made.value,
            "seconds": self.seconds,
            "recompiled_because": self.recompiled_because,
            "advice": self.advice,
            "continues_in": list(self.continues_in),
        }


def _unfit(record: RecompileRecord, names: Mapping[str, str]) -> str:
    at = record.place
    place = f" ({at.filename}:{at.line} {cut(at.text, _LONGEST)})" if at is not None else ""
    values = values_beside(record.guard, record.expected, record.actual)
    guard = in_words(record.guard, names)
    return " ".join(f"{record.entry or 'an earlier entry'} did not fit: {guard}{values}{place}".split())


def rests_of(run: Run, entry: EntryRecord) -> list[FunctionRecord]:
    """The resume functions that the code of ``entry`` calls."""
    called = entry.transformed.resumes if entry.transformed is not None else ()
    return [function for name in called for function in run.functions if name in function.resume_names]


@dataclass(frozen=True)
class Report:
    """A function, its cache entries in the order torch tries them, and its resume functions after graph breaks."""

    run: Run
    """The records of all that was found."""
    record: FunctionRecord
    resumes: tuple[Report, ...] = ()
    inside: tuple[Report, ...] = ()
    """The functions that were compiled when this one called them: where its graph breaks, or it runs as ordinary
    Python; and what is compiled by itself inside the object that was asked about."""
    parts: tuple[InsideObject, ...] = ()
    """What was given to ``torch.compile`` inside the object that was asked about."""
    unguarded: tuple[Unguarded, ...] = ()
    """What the code of the function reads, and no guard of an entry looks at; hooks of modules, too."""

    @property
    def function(self) -> str:
        return self.record.code.shown

    @property
    def filename(self) -> str:
        return self.record.code.filename

    @property
    def line(self) -> int:
        return self.record.code.line

    @property
    def entries(self) -> tuple[EntryReport, ...]:
        """The entries with compiled code, in the order torch tries them."""
        deciding, names = DecidingGuards(self.record), shown_names(self.run).get(self.record.function, {})
        return tuple(
            EntryReport(self.run, deciding, names, entry)
            for entry in self.record.entries
            if entry.state is EntryState.COMPILED
        )

    @property
    def served(self) -> tuple[ServedValue, ...]:
        """The values that an artefact of ``torch.compiler.precompile`` serves alone; () where there is no artefact."""
        return served_values(self.record)

    @property
    def breaks(self) -> tuple[ReportedBreak, ...]:
        """The graph breaks of all entries, each once."""
        found = {
            record.identity: record
            for entry in self.entries
            for record in reversed(entry.record.breaks)
            if not record.limit
        }
        return tuple(ReportedBreak(record) for record in reversed(found.values()))

    @property
    def skipped(self) -> tuple[ReportedBreak, ...]:
        """Why torch made no code for the function, or none for some of its calls."""
        ended = [entry for entry in self.record.entries if entry.state is not EntryState.COMPILED]
        cost = [entry for entry in ended if entry.state is not EntryState.NOTHING]
        found = [left_alone(entry, self.record.code) for entry in cost or ([] if self.entries else ended)]
        if not self.record.entries:
            found = [ReportedBreak(said=why) for code, why in self.run.never_compiled if code == self.record.code]
        return tuple({(item.cause, item.torch, item.line, item.raised): item for item in found}.values())

    @property
    def complete(self) -> bool:
        """Whether torch still remembers the compilation of every entry; otherwise breaks and reasons may be missing."""
        remembered = {times.key for times in self.run.times}
        own = all(entry.record.key in remembered or entry.record.made is not Made.CALL for entry in self.entries)
        return own and all(rest.complete for rest in self.resumes)

    @property
    def calls(self) -> tuple[Place, ...]:
        """The program's lines that called the function, as far as torch has kept them."""
        found = dict.fromkeys(entry.callers[-1].place for entry in self.record.entries if entry.callers)
        return tuple(place for place in found if place.line)

    @property
    def older(self) -> bool:
        """Whether torch has dropped old compilations, so that functions may be missing from ``inside``."""
        return FORGOTTEN in self.run.missing

    def all(self) -> Iterator[Report]:
        """This function, every resume function, and all that was compiled inside."""
        yield self
        for report in (*self.resumes, *self.inside):
            yield from report.all()

    @cached_property
    def part(self) -> Run:
        """The run restricted to this function and the functions compiled inside it."""
        functions = tuple(report.record for report in self.all())
        keys = {entry.key for function in functions for entry in function.entries}
        graphs = tuple(graph for graph in self.run.graphs if graph.key in keys)
        return replace(self.run, functions=functions, graphs=graphs)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """What costs most, in this function and all that was compiled inside, the most expensive first."""
        return causes_of(self.part)

    def call_tree(self) -> list[str]:
        """Each function below the one that calls it, with its compile ids; indented."""
        return call_tree_lines(self.part)

    @property
    def graphs(self) -> int:
        """How many compiled graphs the entries hold, resume functions included."""
        return sum(entry.graphs for report in self.all() for entry in report.entries)

    @property
    def shapes(self) -> FunctionShapes | None:
        """Which size of which input may be what in which entry, as the guards say it: ``print`` it, or take ``.sizes``,
        ``.conditions``, ``.to_json()``; None where all sizes are constants."""
        return shapes_of(self.record)

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
            "causes": [cause.to_json() for cause in self.causes],
            "observations": [observation.to_json() for observation in observations_of(self.part)],
            "parts": [part.to_json() for part in self.parts],
            "unguarded": [value.to_json() for value in self.unguarded],
            "served": [one.to_json() for one in self.served],
        }

    def __str__(self) -> str:
        from depyf.actions.explaining.terminal_view import explain_text

        return explain_text(self)

    def __repr__(self) -> str:
        return f"<depyf.explain of {self.function}: {', '.join(self.facts())}; print() shows all of it>"

    def _repr_html_(self) -> str:
        from depyf.actions.explaining.notebook_view import explain_html

        return explain_html(self)

    def facts(self) -> list[str]:
        """Counts of compilations, graphs, graph breaks and recompilations, resume functions included, in the words of
        ``index.md``; where they are not 0, how often it ran as ordinary Python, and errors."""
        totals = totals_of([self.part])
        words = words_of(totals)
        least = "" if all(report.complete for report in self.all()) else "at least "
        return [
            words.compilations,
            counted(self.graphs, "graph"),
            words.breaks,
            least + words.recompilations,
            *([words.ran_as_python] if totals.ran_as_python else []),
            *([words.errors] if totals.errors else []),
        ]


def explain(fn: Any) -> Report:
    """The report of a compiled function, method, module or optimizer (or of the plain function inside it), and of all
    that is compiled by itself inside the object, as things stand now.

    DepyfError where ``fn`` has no Python bytecode and nothing inside it is compiled, or torch is missing or too old.
    """
    require_torch()
    parts = compiled_parts(fn)
    target: Target | None
    try:
        target = find_target(fn)
    except DepyfError:
        if not parts:
            raise
        target = parts[0].target if len(parts) == 1 else None
    own = [target] if target is not None else []
    own_part = len(parts) == 1 and target is parts[0].target
    inner = () if own_part else parts
    wrapped = [
        replace(target, function=function, backend=None, module=None)
        for target in own
        for function in decorated_functions(target.function)
        if cache_entries(function.__code__)
    ]
    targets = [*own, *(part.target for part in inner), *wrapped]
    run = live_run(targets, [*([""] * len(own)), *(part.path for part in inner), *([""] * len(wrapped))])
    seen: list[tuple[int, str]] = []
    report = _report(run, run.functions[0] if own else object_record(fn), seen)
    held = parts_inside(run, inner)
    apart = {part.function.function for part in held if part.function.entries}
    decorated = {(target.code.co_filename, target.code.co_firstlineno) for target in wrapped}
    records = (r for r in run.functions if r.function in apart or (r.code.filename, r.code.line) in decorated)
    inside = [_report(run, record, seen) for record in records if record.function not in seen]
    free = unguarded(target, fn, run) if target is not None else ()
    return replace(report, inside=(*report.inside, *inside), parts=held, unguarded=free)


def _report(run: Run, record: FunctionRecord, seen: list[tuple[int, str]]) -> Report:
    """``seen``: the functions that have a place in the report."""
    seen.append(record.function)
    resumes = []
    for rest in (rest for entry in record.entries for rest in rests_of(run, entry)):
        if rest.function not in seen:
            resumes.append(_report(run, rest, seen))
    inside = []
    for function in run.functions:
        called = {entry.callers[-1].function for entry in function.entries if entry.callers}
        if function.resume_of is None and record.function in called and function.function not in seen:
            inside.append(_report(run, function, seen))
    return Report(run, record, tuple(resumes), tuple(inside))
