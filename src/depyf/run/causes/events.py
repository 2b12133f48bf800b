"""The single events of a run that cost something: each recompilation, graph break and failure, with its place.

Input: the records of a run.  Output: one ``CostlyEvent`` for each; ``collect.py`` makes one cause of those that are the
same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.source_names import named, of_wrapped, split_global
from depyf.run.causes.cause import CauseKind
from depyf.run.causes.deciding import DecidingGuards
from depyf.run.causes.stack_names import stack_names
from depyf.run.causes.subjects import Subject, stack_variables
from depyf.run.installed_files import of_library
from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, CodeRecord, EntryRecord, FunctionRecord, RecompileRecord
from depyf.run.run import Run
from depyf.run.uses.counted import counting_line


@dataclass(frozen=True, slots=True)
class CostlyEvent:
    """One recompilation, graph break or failure in one compilation."""

    kind: CauseKind
    function: FunctionRecord
    name: str
    """The program's name of the function: that of the whole one, where this is the rest of it after a break."""
    entry: EntryRecord
    place: Place | None
    key: str
    """What is the same in events of one cause at one place."""
    subject: Subject | None = None
    recompile: RecompileRecord | None = None
    broken: BreakRecord | None = None
    inside: Place | None = None

    @property
    def over_break(self) -> bool:
        """Whether the guard is on a value passed over a graph break: without the break there would be no such guard."""
        return self.recompile is not None and bool(stack_variables(self.recompile.guard))

    @property
    def around_comprehension(self) -> str:
        """The function around it, where this is a comprehension or a generator expression that torch compiles alone;
        else ""."""
        around, _, last = self.name.rpartition(".<locals>.")
        return around if last in COMPREHENSIONS else ""

    @property
    def limit(self) -> bool:
        """Whether torch refused to recompile because the function had reached the recompile limit."""
        return bool(self.entry.failed) and not self.entry.raised and self.kind is CauseKind.RECOMPILES


def events_of(run: Run) -> Iterator[CostlyEvent]:
    """Every event, in the order in which torch compiled."""
    names = program_names(run)
    stacks = stack_names(run)
    deciding = {function.function: DecidingGuards(function) for function in run.functions}
    entries = sorted(((f, e) for f in run.functions for e in f.entries), key=lambda pair: pair[1].key.order)
    for function, entry in entries:
        name = entry.wrapped or names[function.function]
        if entry.failed and (entry.raised or (entry.error and not entry.breaks and not entry.recompiles)):
            yield _failure(function, name, entry)
            continue
        if entry.recompiles:
            stack = stacks.get(function.function, {})
            yield _recompilation(function, name, entry, deciding[function.function], stack)
        for record in entry.breaks:
            if not record.limit:
                place = record.caller or record.place
                inside = record.place if record.caller is not None else None
                yield CostlyEvent(
                    CauseKind.BREAKS, function, name, entry, place, record.reason, broken=record, inside=inside
                )  # fmt: skip


def program_names(run: Run) -> dict[tuple[int, str], str]:
    """The qualified name of each function; a resume function has that of the function that it continues."""
    known = {function.function: function for function in run.functions}
    found = {}
    for function in run.functions:
        whole, seen = function, set()
        while whole.resume_of is not None and whole.resume_of in known and whole.resume_of not in seen:
            seen.add(whole.resume_of)
            whole = known[whole.resume_of]
        found[function.function] = whole.code.shown
    return found


def _beginning(function: FunctionRecord, name: str) -> Place:
    """The line that the function begins in."""
    code = function.code
    return Place(code.filename, code.line, name, code.source.strip().partition("\n")[0].strip())


def _failure(function: FunctionRecord, name: str, entry: EntryRecord) -> CostlyEvent:
    broken = next((record for record in reversed(entry.breaks) if not record.limit), None)
    place = (broken.caller or broken.place) if broken is not None else entry.error_at
    place, inside = in_program(place or _beginning(function, name), entry)
    kind = CauseKind.FAILED if entry.raised else CauseKind.RAN_AS_PYTHON
    return CostlyEvent(kind, function, name, entry, place, entry.error or entry.failed, broken=broken, inside=inside)


def _recompilation(
    function: FunctionRecord, name: str, entry: EntryRecord, deciding: DecidingGuards, stack: dict[str, str]
) -> CostlyEvent:
    record = deciding.of(entry)
    subject = deciding.subject(record)
    place = record.place or _place_of(subject, deciding.unfit(record), entry)
    if place is None:
        place = _call_of(entry)
    if place is None:
        place = _beginning(function, name)
    place = _first_read(place, subject, function.code)
    said = subject.name
    for variable in stack_variables(said):
        if variable in stack:
            said = said.replace(variable, stack[variable])
    shown = replace(subject, name=said)
    place, inside = in_program(place, entry)
    bound = any(difference.relation in _BOUNDS for difference in record.differences)
    key = subject.key + (" condition" if bound else "")
    return CostlyEvent(CauseKind.RECOMPILES, function, name, entry, place, key, shown, record, inside=inside)


def _first_read(place: Place | None, subject: Subject, code: CodeRecord) -> Place | None:
    """The line that counts the value, if it is before the line of the guard."""
    if place is None or place.filename != code.filename or not code.source:
        return place
    line = counting_line(code.source, split_global(subject.name)[1], place.line, code.line)
    text = code.source.splitlines()[line - code.line].strip() if line else ""
    return Place(place.filename, line, place.function, text) if text else place


COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
"""The names of code objects that no program calls itself."""
_BOUNDS = ("!=", "<=", ">=", "<", ">")
"""How a guard wants a value that is for several: this call has another."""
_WRAPPER = re.compile(r"[/\\]_dynamo[/\\]external_utils\.py$")


def in_program(place: Place | None, entry: EntryRecord) -> tuple[Place | None, Place | None]:
    """For a line of a library the program's call that led there, and the line itself; else ``place`` and None."""
    if place is None or not of_library(place.filename):
        return place, None
    own = _call_of(entry)
    if own is None:
        return place, None
    return own, None if _WRAPPER.search(place.filename) else place


def _call_of(entry: EntryRecord) -> Place | None:
    """The program's innermost line that led to the call, where it is known."""
    lines = (caller.place for caller in reversed(entry.callers) if caller.place.line)
    return next((place for place in lines if not of_library(place.filename)), None)


def _place_of(subject: Subject, earlier: EntryRecord | None, entry: EntryRecord) -> Place | None:
    """The line that uses what a guard without a place is on: that of the symbol that it became, or of another guard on
    it."""
    wanted = f"{subject.name}.{subject.what}()[{subject.index}]" if subject.index else subject.name
    for symbol in entry.symbols:
        if named(symbol.source) == wanted or (subject.index and symbol.source.endswith(wanted)):
            return symbol.place
    guards = earlier.guards if earlier is not None else ()
    wrapped, parameters = bool(entry.wrapped), entry.wrapped_parameters
    sources = ((g.place, of_wrapped(named(g.source), parameters) if wrapped else named(g.source)) for g in guards)
    places = (place for place, name in sources if place is not None and name == subject.name)
    return next((place for place in places if "torch/_dynamo/" not in place.filename), None)


def advice_of(event: CostlyEvent) -> tuple[AdviceUse, ...]:
    """The advice in the records of ``event``."""
    if event.recompile is not None:
        return event.recompile.advice + (event.entry.advice if event.limit else ())
    if event.broken is not None:
        return event.broken.advice or event.entry.advice
    return event.entry.advice
