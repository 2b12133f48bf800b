"""What a process answered to ``depyf attach``, for a terminal.

Input: the answer, which another process wrote.  Output: lines, without a stack of torch's own frames: of those the
innermost is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from depyf.run.causes.folding import counted
from depyf.run.records import GuardRecord
from depyf.safety.escape import cut, one_line, printable
from depyf.sources.reports.guards.guard_text import PLAIN_READER
from depyf.sources.reports.library_files import of_libraries

_LONGEST = 120
_MOST_FRAMES = 8
_MOST_GUARDS = 4


def attached_lines(found: Mapping[str, Any]) -> list[str]:
    """All of it."""
    return [printable(line) for line in _lines(found)]


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    torch = f"torch {found['torch']}" if found.get("torch") else "torch is not loaded"
    yield f"process {found['pid']}: Python {found['python']}, {torch}"
    yield ""
    for one in found["compiling"]:
        yield from _compiling(one, float(found.get("now") or 0))
    if not found["compiling"]:
        yield "Nothing is being compiled."
    yield ""
    entries = sum(len(function["entries"]) for function in found["functions"])
    if not entries:
        yield "torch's cache has no entries."
        return
    many = counted(entries, "entry", "entries")
    yield f"In torch's cache: {many} of {counted(len(found['functions']), 'function')}"
    done = {one["id"]: one for one in found.get("done", ())}
    for function in found["functions"]:
        yield f"{function['name']} ({_file(function['file'])}:{function['line']})"
        yield from _entries(function["entries"], done)
    failed = [one for one in found.get("done", ()) if one.get("fail_type")]
    if failed:
        yield ""
        yield "Not compiled:"
    for one in failed:
        where = f"{_file(str(one['co_filename']))}:{one['co_firstlineno']}"
        yield f"  {one['id']:<6} {one['co_name']} ({where})  {cut(one_line(str(one['fail_reason'])), _LONGEST)}"


def _compiling(one: Mapping[str, Any], now: float) -> Iterator[str]:
    since = float(one.get("since") or 0)
    took = f", for {now - since:.1f} s" if 0 < since <= now else ""
    what = f", {one['name']} ({_file(one['file'])}:{one['line']})" if one.get("name") else ""
    what = ", outside of a frame (a backward, most likely)" if one.get("outside") else what
    yield f"Compiling now: {one['id']}{what}{took}, in thread {one['thread']}"
    stack = one["stack"]
    outer = len(stack) - one["inner"]  # frames around torch's compiler
    calls, inside = stack[:outer], stack[outer:]
    if one.get("outside"):
        calls, inside = inside, inside[-1:]
    yield from _frames("called from", [frame for frame in calls if not of_libraries(str(frame[0]))])
    yield from _frames("Dynamo is at", one["traced"])
    own = [frame for frame in inside[:-1] if not of_libraries(str(frame[0]))]
    yield from _frames("it runs", [*own, *inside[-1:]])


def _frames(title: str, frames: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The innermost ones, the outermost of them first."""
    shown = frames[-_MOST_FRAMES:]
    for at, (file, line, name) in enumerate(shown):
        yield f"  {title if at == 0 else '':<12}  {_file(str(file))}:{line} in {name}"


def _entries(entries: Sequence[Mapping[str, Any]], done: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    guards = [PLAIN_READER.guards(str(entry["guards"])) for entry in entries]
    for at, entry in enumerate(entries):
        others = [{guard.expression for guard in one} for place, one in enumerate(guards) if place != at]
        seconds = done.get(entry["id"], {}).get("entire_frame_compile_time_s")
        took = f"{seconds:.1f} s, " if isinstance(seconds, (int, float)) else ""
        yield f"  {entry['id']:<6} {took}{counted(len(guards[at]), 'guard')}"
        own = _alone(guards[at], others) if others else []
        yield from (f"         only if {cut(text, _LONGEST)}" for text in own[:_MOST_GUARDS])
        if len(own) > _MOST_GUARDS:
            yield f"         and {counted(len(own) - _MOST_GUARDS, 'guard')} more that not all others have"


def _alone(guards: Iterable[GuardRecord], others: Sequence[set[str]]) -> list[str]:
    """The guards that not all other entries have, too."""
    found = {guard.expression: guard.text for guard in guards if guard.expression}
    return [text for expression, text in found.items() if not all(expression in other for other in others)]


def _file(name: str) -> str:
    return name.removeprefix(os.path.join(os.getcwd(), ""))
