"""The causes of a run, the most expensive first.

Input: the records of a run.  Output: ``Cause`` records: events that are one cause are one, however many entries, frames
and attempts met it.  Pure: the same records give the same causes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import ADVICE, is_remedy
from depyf.run.advice.source_names import root, split_global
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.causes.compiled_apart import breaks_before_what_follows, called_from, first_order, functions_apart
from depyf.run.causes.events import CostlyEvent, advice_of, events_of
from depyf.run.causes.evidence import with_evidence
from depyf.run.causes.guard_replay import GuardedValue, guarded_value
from depyf.run.causes.program_questions import pinned_below
from depyf.run.causes.sentences import break_sentence, consequence, failure_sentence, recompile_sentence
from depyf.run.causes.stack_names import advice_in_words, stack_names
from depyf.run.causes.through_libraries import in_spelling
from depyf.run.causes.ways_out import FunctionReplay, WayOut, ends_early, unpredicted, ways_out
from depyf.run.global_names import resumed
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, FunctionRecord, GraphRecord
from depyf.run.run import Run
from depyf.run.uses.computed_from import computed_from

_FAILED, _LIMIT, _PYTHON, _BREAK, _COMPILATION, _OPERATIONS = 100.0, 8.0, 5.0, 2.0, 1.0, 0.05
"""What one of each weighs.  A compilation is paid once, a break and ordinary Python in every call; where a function has
reached the recompile limit, what it calls is not compiled again either."""
_MOST_OPERATIONS = 200
_MANY = 4
"""So many places with one way out are told as one cause."""


def causes_of(run: Run) -> tuple[Cause, ...]:
    """The causes, the most expensive first; last those that need no change."""
    groups: list[list[CostlyEvent]] = []
    of_key: dict[tuple[object, ...], list[CostlyEvent]] = {}
    for event in events_of(run):
        keys = _keys(event)
        group = next((of_key[key] for key in keys if key in of_key), None)
        if group is None:
            group = []
            groups.append(group)
        group.append(event)
        for key in keys:
            of_key.setdefault(key, group)
    known = {function.function: function for function in run.functions}
    groups = _with_one_way_out(_with_their_functions(_with_consequences(groups, known)))
    pinned = pinned_below(run.functions)
    graphs: dict[tuple[int, str], list[GraphRecord]] = {}
    for graph in run.graphs:
        graphs.setdefault(graph.key.function, []).append(graph)
    replays = {
        function.function: FunctionReplay(
            function, pinned.get(function.function, frozenset()), graphs.get(function.function, ())
        )
        for function in run.functions
    }
    groups = _freed_together(groups, replays)
    cells = dict(run.cells)
    rests: dict[str, list[FunctionRecord]] = {}
    for function in run.functions:
        for name in function.resume_names if function.resume_of is not None else ():
            rests.setdefault(name, []).append(function)
    stacks = stack_names(run)
    made = (
        _in_words(
            in_spelling(_cause(group, known, rests, replays), run.compile_calls),
            stacks.get(group[0].function.function, {}),
        )
        for group in groups
    )
    called = called_from(run.functions)
    apart = (functions_apart(group, called) for group in groups)
    causes = [(in_notebook(cause, cells), one) for cause, one in zip(made, apart, strict=True)]
    if not run.graph_count:  # then a break of torch's own is why nothing was compiled
        causes = [(replace(cause, advice=_edits(cause.advice)), apart) for cause, apart in causes]
    causes.sort(key=lambda pair: (pair[0].needed, -weight(pair[0]), first_order(pair[0].entries)))
    return with_evidence(run, breaks_before_what_follows(causes))


def _for_each(advice: dict[AdviceUse, None], broke: Sequence[CostlyEvent]) -> dict[AdviceUse, None]:
    """``advice`` without what does not help in each of the compilations that a line ends, where there is any for all:
    a number is a constant in the first, and a symbol later."""
    given = [set(advice_of(event)) for event in broke]
    everywhere = set.intersection(*filter(None, given)) if any(given) else set()
    return {use: None for use in advice if use in everywhere} or advice


def _edits(advice: Sequence[AdviceUse]) -> tuple[AdviceUse, ...]:
    """The advice without that there is nothing to change."""
    return tuple(use for use in advice if use.id != "torch-own")


def _in_words(cause: Cause, names: Mapping[str, str]) -> Cause:
    """``cause`` with the program's words for values that go over a break; ``names``: of the function that it is in."""
    ways = tuple(replace(way, uses=advice_in_words(way.uses, names)) for way in cause.ways)
    return replace(cause, advice=advice_in_words(cause.advice, names), ways=ways)


def in_notebook(cause: Cause, cells: Mapping[str, str]) -> Cause:
    """``cause`` with the number of the notebook cell instead of its file name, where its place is in one."""
    place = cause.place
    if place is None or place.filename not in cells:
        return cause
    return replace(cause, place=replace(place, filename=cells[place.filename]))


def _with_consequences(
    groups: list[list[CostlyEvent]], functions: Mapping[tuple[int, str], FunctionRecord]
) -> list[list[CostlyEvent]]:
    """Recompilations for a value that went over a graph break, or is computed from one that did, with the break:
    without it they would not be."""
    inside: dict[tuple[int, str], list[_Met]] = {}
    before: dict[str, list[_Met]] = {}
    for group in groups:
        for event in group:
            if event.kind is CauseKind.BREAKS and event.place is not None:
                inside.setdefault(event.function.function, []).append((event.place, group))
                goes_on = event.entry.transformed if not _ended_as_python(event) else None
                for name in goes_on.resumes if goes_on is not None else ():
                    before.setdefault(name, []).append((event.place, group))
    left = []
    for group in groups:
        cause = None
        if all(event.kind is CauseKind.RECOMPILES for event in group):
            over = group[0].over_break
            cause = _break_of(group[0].function, inside, before) if over else _break_before(group[0], inside, functions)
        if cause is None:
            left.append(group)
        else:
            cause += group
    return left


_Met = tuple[Place, list[CostlyEvent]]
"""A graph break with its cause."""


def _break_of(
    rest: FunctionRecord, inside: Mapping[tuple[int, str], Sequence[_Met]], before: Mapping[str, Sequence[_Met]]
) -> list[CostlyEvent] | None:
    """The break after which ``rest``, the rest of a function, goes on: what waits on the stack there is passed to it.
    The line of a guard on such a value does not tell: a value is used on a later line than the break.  ``before``:
    the name of a rest -> the breaks of the code that calls it."""
    met = [one for name in rest.resume_names for one in before.get(name, ())]
    if not met and rest.resume_of is not None:  # code of Dynamo is not in a log
        met = list(inside.get(rest.resume_of, ()))
    at = resumed(rest.code.name)
    here = [one for one in met if at is not None and (one[0].filename, one[0].line) == (rest.code.filename, at[1])]
    found = {id(group): group for _, group in here or met}
    return next(iter(found.values())) if len(found) == 1 else None


def _break_before(
    event: CostlyEvent,
    inside: Mapping[tuple[int, str], Sequence[_Met]],
    functions: Mapping[tuple[int, str], FunctionRecord],
) -> list[CostlyEvent] | None:
    """The break at a line from which the value of a recompilation is computed."""
    function, met = event.function, list[_Met]()
    while function.resume_of is not None and function.resume_of in functions and len(met) <= len(functions):
        function = functions[function.resume_of]
        met += inside.get(function.function, ())
    name = root(event.subject.name) if event.subject is not None else ""
    code = function.code
    own = ((place, group) for place, group in met if place.filename == code.filename)
    return next((group for place, group in own if name in computed_from(code.source, place.line, code.line)), None)


def _with_their_functions(groups: list[list[CostlyEvent]]) -> list[list[CostlyEvent]]:
    """Comprehensions that ran as ordinary Python, with what made the function around them do so: torch tries them alone
    only because of it."""
    python: dict[tuple[str, str], list[CostlyEvent]] = {}
    for group in groups:
        for event in group:
            if _ended_as_python(event):
                python.setdefault((event.function.code.filename, event.name), group)
    left = []
    for group in groups:
        around = {(event.function.code.filename, event.around_comprehension) for event in group}
        known = python.get(around.pop()) if len(around) == 1 and all(map(_ended_as_python, group)) else None
        if known is None or known is group:
            left.append(group)
        else:
            known += group
    return left


def _with_one_way_out(groups: list[list[CostlyEvent]]) -> list[list[CostlyEvent]]:
    """Many breaks for one reason, with one way out, as one cause with many places."""
    alike: dict[tuple[object, ...], list[list[CostlyEvent]]] = {}
    for group in groups:
        first, advice = group[0], advice_of(group[0])
        if first.broken is not None and first.inside is None and advice:
            alike.setdefault((first.kind, first.key, advice, _ended_as_python(first)), []).append(group)
    merged = {id(group): found for found in alike.values() if len(found) >= _MANY for group in found}
    left = []
    for group in groups:
        found = merged.get(id(group), [group])
        if found[0] is group:
            left.append([event for one in found for event in one])
    return left


Replays = Mapping[tuple[int, str], FunctionReplay]


def _freed_together(groups: list[list[CostlyEvent]], replays: Replays) -> list[list[CostlyEvent]]:
    """Recompilations for values that help only if all of them are freed, as one cause."""
    of_function: dict[tuple[int, str], list[list[CostlyEvent]]] = {}
    for group in groups:
        functions = {event.function.function for event in group}
        if group[0].kind is CauseKind.RECOMPILES and len(functions) == 1:
            of_function.setdefault(functions.pop(), []).append(group)
    gone: set[int] = set()
    for function, alone in of_function.items():
        for group in alone if len(alone) > 1 else ():
            if id(group) in gone:
                continue
            wanted = replays[function].together(frozenset(_values_of(group)))
            for other in alone:
                values = frozenset(_values_of(other))
                if other is group or id(other) in gone or not values <= wanted:
                    continue
                if not replays[function].helps(values):
                    group += other
                    gone.add(id(other))
    return [group for group in groups if id(group) not in gone]


def _values_of(events: Iterable[CostlyEvent]) -> list[GuardedValue]:
    """What the guards are about that decided, each once."""
    found: dict[GuardedValue, None] = {}
    for event in events:
        if event.recompile is not None:
            found.update(dict.fromkeys(map(guarded_value, event.recompile.differences)))
    return list(found)


def _ways(
    kind: CauseKind,
    events: Sequence[CostlyEvent],
    advice: Iterable[AdviceUse],
    replays: Replays,
) -> tuple[WayOut, ...]:
    """The ways out of a cause."""
    if kind is CauseKind.FAILED:
        return unpredicted(advice)
    if kind is not CauseKind.RECOMPILES:
        return tuple(WayOut((use,)) for use in advice if is_remedy(use))
    mine, others = _replays_of(events, replays)
    values = _values_of(events)
    if not values or not all(replay.known for replay in mine):
        given = dict.fromkeys(use for event in events for use in advice_of(event))
        return unpredicted(use for use in given if not ends_early((use,), mine, others))
    limit = dict.fromkeys(use for event in events if event.limit for use in event.entry.advice)
    found = ways_out(mine, values, others, limit)
    if any(entry.raised for replay in replays.values() for entry in replay.entries):
        return tuple(replace(way, prediction=None) for way in found)  # the run may have ended there
    hidden = not found and any(one.unknown and one.helps(frozenset(values) | one.unknown) for one in mine)
    return unpredicted(advice) if hidden else found


def _replays_of(events: Iterable[CostlyEvent], replays: Replays) -> tuple[list[FunctionReplay], list[FunctionReplay]]:
    """Those of the functions that a cause is in, and all others."""
    mine = [replays[function] for function in dict.fromkeys(event.function.function for event in events)]
    return mine, [replay for replay in replays.values() if replay not in mine]


def weight(cause: Cause) -> float:
    """The cost of a cause as one number, to sort by."""
    costs = cause.costs
    known = min(costs.operations, _MOST_OPERATIONS) * _OPERATIONS
    python = _LIMIT if cause.kind is CauseKind.RECOMPILES else _PYTHON
    total = costs.python * python + costs.breaks * _BREAK + costs.compilations * _COMPILATION + known
    return total + (_FAILED if cause.kind is CauseKind.FAILED else 0.0)


def _keys(event: CostlyEvent) -> list[tuple[object, ...]]:
    """What two events of one cause have in common: either of these is enough."""
    place = event.place
    at = (place.filename, place.line) if place is not None else (event.name, 0)
    after = event.function.code.name if event.over_break else ""  # its value is of one break
    keys: list[tuple[object, ...]] = [(event.kind, *at, event.key, after)]
    if event.broken is not None:  # one line may be reported for several reasons of torch's
        keys.append((event.kind, *at, "says", event.broken.cause))
    first = next(iter(advice_of(event)), None)
    if first is not None and first.id in ADVICE and ADVICE[first.id].one_cause:
        keys.append((event.kind, first.id))
    if (
        event.broken is not None and event.inside is not None
    ):  # one line of a library, called from several of the program
        keys.append((event.kind, event.inside.filename, event.inside.line, event.key))
    record, subject = event.recompile, event.subject
    if record is not None and subject is not None and subject.what == "size" and record.expected and record.actual:
        keys.append(
            (event.kind, "size", record.expected, record.actual)
        )  # one input has it, and what is computed from it
    return keys


def _cause(
    met: list[CostlyEvent],
    known: dict[tuple[int, str], FunctionRecord],
    rests: Mapping[str, Sequence[FunctionRecord]],
    replays: Replays,
) -> Cause:
    """``rests``: the rests of functions by the names under which they are called."""
    names = {event.name for event in met} - {""}
    events = _most_frequent_first(
        [event for event in met if event.around_comprehension not in names]  # its function tells of it
    )
    broke = [event for event in events if event.broken is not None]
    first = min(broke, key=lambda event: event.entry.key.order) if broke else events[0]
    kind = first.kind
    python = {event.function.function for event in events if _ended_as_python(event)}
    if kind is CauseKind.BREAKS and python and all(_ended_as_python(event) for event in broke):
        kind = CauseKind.RAN_AS_PYTHON
    caused = _caused(events, rests, kind)
    costs = Costs(
        compilations=len(caused),
        python=len(python),
        operations=sum(_operations(known[function]) for function in {e.function.function for e in events if e.limit}),
        breaks=len({e.function.function for e in broke if not _ended_as_python(e)}) if kind is CauseKind.BREAKS else 0,
    )
    advice: dict[AdviceUse, None] = {}
    for event in broke or events:
        given = advice_of(event)
        advice.update(dict.fromkeys(_to_first_remedy(given) if kind is CauseKind.RECOMPILES else given))
    if broke:
        advice = _for_each(advice, broke)
    if kind is CauseKind.RECOMPILES:
        around = _replays_of(events, replays)
        advice = {use: None for use in advice if not ends_early((use,), *around)}
    sentence = {
        CauseKind.RECOMPILES: recompile_sentence,
        CauseKind.FAILED: failure_sentence,
        CauseKind.BREAKS: break_sentence,
        CauseKind.RAN_AS_PYTHON: break_sentence,
    }[kind]
    return Cause(
        kind=kind,
        function=first.name,
        place=first.place,
        asked=_asked(first),
        module=next((module for event in events if (module := _module(event))), ""),
        entries=tuple(sorted({event.entry.key for event in met}, key=lambda key: key.order)),
        costs=costs,
        text=sentence(events),
        more=consequence(events),
        advice=tuple(advice),
        subject=first.key,
        inside=first.inside,
        values=_named(first),
        functions=tuple(dict.fromkeys(event.name for event in events)),
        python=tuple(dict.fromkeys(_ended(event) for event in events if _ended_as_python(event))),
        caused=caused,
        ways=_ways(kind, events, advice, replays),
    )


def _most_frequent_first(events: Sequence[CostlyEvent]) -> list[CostlyEvent]:
    """In the order of the compilations, those about the value that made the most of them first: a cause is called by
    it."""
    ordered = sorted(events, key=lambda event: event.entry.key.order)
    if any(event.kind is not CauseKind.RECOMPILES for event in ordered):
        return ordered
    often = Counter(event.key for event in ordered).most_common(1)
    return sorted(ordered, key=lambda event: bool(often) and event.key != often[0][0])


def _to_first_remedy(given: Sequence[AdviceUse]) -> Sequence[AdviceUse]:
    remedies = (n for n, use in enumerate(given, 1) if use.id in ADVICE and ADVICE[use.id].remedy)
    return given[: next(remedies, 1)]


def _ended_as_python(event: CostlyEvent) -> bool:
    if event.broken is not None and event.kind is CauseKind.BREAKS:
        return event.broken.skipped or event.broken.cut
    return event.limit or (event.kind is CauseKind.RAN_AS_PYTHON and event.broken is None)


def _ended(event: CostlyEvent) -> str:
    """What of the function ended as ordinary Python."""
    rest = event.broken is not None and event.broken.cut and not event.broken.skipped
    return f"the rest of {event.name}" if rest else event.name


def _operations(function: FunctionRecord) -> int:
    """How many operations the graphs of a function held before it ended as ordinary Python."""
    return max((entry.operations or 0 for entry in function.entries), default=0)


def _caused(
    events: list[CostlyEvent], rests: Mapping[str, Sequence[FunctionRecord]], kind: CauseKind
) -> tuple[CompileKey, ...]:
    """Recompilations that were made; of a break, also the first compilations of the rests of functions after it."""
    found = {e.entry.key for e in events if e.kind is CauseKind.RECOMPILES and not e.entry.failed}
    if kind is CauseKind.BREAKS:
        made = [e.entry.transformed for e in events if e.broken is not None and e.entry.transformed is not None]
        resumes = {name for transformed in made for name in transformed.resumes}
        for name in resumes:
            for function in rests.get(name, ()):
                found |= {entry.key for entry in function.entries if not entry.failed and not entry.recompiles}
    return tuple(sorted(found, key=lambda key: key.order))


def _asked(event: CostlyEvent) -> str:
    if event.broken is not None:
        return event.broken.asked
    return event.recompile.guard if event.recompile is not None else ""


def _named(event: CostlyEvent) -> tuple[str, ...]:
    """The expressions that an event is about: the value of a guard, or what the line was evaluating."""
    if event.broken is not None:
        return (event.broken.expression,) if event.broken.expression else ()
    return (split_global(event.subject.name)[1],) if event.subject is not None else ()


def _module(event: CostlyEvent) -> str:
    if event.broken is not None and event.broken.module:
        return event.broken.module
    return event.subject.module if event.subject is not None else ""
