"""Graph breaks in what a function calls, at the line that broke.

torch keeps where a function goes on after a break: the line of its call, where the break was in the callee.  Then the
callee is called as Python, compiled by itself, and meets the break again, at its own line.

Input: functions with their callers, those inside after those around them, and what their code calls where a graph ends.
Output: the same. A break at the line of a call gets the place and the module of the callee's break with the same
reason, if there is only one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, CodeRecord, CompileKey, FunctionRecord
from depyf.sources.live.events.module_path import module_path
from depyf.sources.reports.library_files import of_libraries

Function = tuple[int, str]


def with_places_in_callees(
    functions: Sequence[FunctionRecord],
    called: Mapping[CompileKey, str],
    direct: Set[tuple[Function, Function]],
) -> tuple[FunctionRecord, ...]:
    """The functions, with breaks inside a callee shown at their place there; callees are resolved first.  ``called``:
    entry -> the callee at the end of its graph, as a source of torch.  ``direct``: (caller, callee) without library
    code between them."""
    done: dict[tuple[int, str], FunctionRecord] = {}
    for function in reversed(functions):
        whole = function.resume_of or function.function
        inside = [one for one in done.values() if whole in _callers(one)]
        done[function.function] = replace(
            function,
            entries=tuple(
                replace(
                    entry,
                    breaks=tuple(
                        _placed(record, inside, called.get(entry.key, ""), whole, direct) for record in entry.breaks
                    ),
                )
                for entry in function.entries
            ),
        )
    return tuple(reversed(done.values()))


def _callers(function: FunctionRecord) -> set[tuple[int, str] | None]:
    return {entry.callers[-1].function for entry in function.entries if entry.callers}


def _placed(
    record: BreakRecord,
    inside: Sequence[FunctionRecord],
    called: str,
    caller_of: Function,
    direct: Set[tuple[Function, Function]],
) -> BreakRecord:
    at = record.place
    if at is None or record.limit:
        return record
    found = {
        met.identity: (met, function)
        for function in inside
        for entry in function.entries
        for met in entry.breaks
        if met.place is not None and met.reason == record.reason
        if _called_at(function, at) or (met.place.filename, met.place.line) == (at.filename, at.line)
        if _alike(met.explanation, record.explanation)
    }
    if len(found) != 1:
        return record
    ((met, callee),) = found.values()
    place, caller = met.place, met.caller
    if caller is None and place is not None and of_libraries(place.filename) and not of_libraries(at.filename):
        caller = at
    advice = record.advice if met.in_loop or record.in_loop else met.advice
    module = _module(met, callee.code, called, (caller_of, callee.function) in direct)
    return replace(
        record, place=place, caller=caller, asked=met.asked, expression=met.expression, advice=advice, module=module
    )


def _module(met: BreakRecord, callee: CodeRecord, called: str, direct: bool) -> str:
    """The module of a break that ``callee`` met, as its caller reaches it, which calls the source ``called``; "" where
    it is the caller's own, or not known."""
    own = met.place is not None and _is_in(met.place, callee)
    if not called or not (own or met.module):
        return ""
    owner, _, name = called.rpartition(".")
    if name == callee.name:  # a method: of the same module, or of one whose ``forward`` does not run
        path = "" if own else module_path(owner)
    elif callee.name == "forward" and direct:
        path = module_path(called)
    else:
        return ""
    return ".".join(part for part in (path, met.module) if part)


def _is_in(place: Place, code: CodeRecord) -> bool:
    return place.filename == code.filename and 0 <= place.line - code.line < len(code.source.splitlines())


def _alike(one: str, other: str) -> bool:
    """Whether they explain the same; of a break in a loop torch says that, too."""
    return one.startswith(other) or other.startswith(one)


def _called_at(function: FunctionRecord, line: Place) -> bool:
    """Whether the function was called at ``line``, as far as that is known."""
    places = [entry.callers[-1].place for entry in function.entries if entry.callers]
    known = [place for place in places if place.line]
    return not known or any((place.filename, place.line) == (line.filename, line.line) for place in known)
