"""What a process answered to ``depyf attach``, for a terminal.

Input: the answer, which another process wrote.  Output: lines, without a stack of torch's own frames: of those the
innermost is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from depyf.actions.following.process_answer import (
    AnsweredEntry,
    CompilingThread,
    DoneCompilation,
    Frame,
    ProcessAnswer,
    read_answer,
)
from depyf.run.causes.folding import counted
from depyf.run.records import GuardRecord
from depyf.safety.escape import cut, one_line, printable
from depyf.sources.reports.guards.guard_text import PLAIN_READER
from depyf.sources.reports.library_files import of_libraries

_LONGEST = 120
_MOST_FRAMES = 8
_MOST_GUARDS = 4


def attached_lines(found: Mapping[str, Any]) -> list[str]:
    """The lines that show a process's answer.  DepyfError where ``found`` is no answer."""
    return [printable(line) for line in _lines(read_answer(found))]


def _lines(answer: ProcessAnswer) -> Iterator[str]:
    torch = f"torch {answer.torch}" if answer.torch else "torch is not loaded"
    yield f"process {answer.pid}: Python {answer.python}, {torch}"
    yield ""
    for one in answer.compiling:
        yield from _compiling(one, answer.now)
    if not answer.compiling:
        yield "Nothing is being compiled."
    yield ""
    entries = sum(len(function.entries) for function in answer.functions)
    if not entries:
        yield "torch's cache has no entries."
        return
    many = counted(entries, "entry", "entries")
    yield f"In torch's cache: {many} of {counted(len(answer.functions), 'function')}"
    done = {compilation.id: compilation for compilation in answer.done}
    for function in answer.functions:
        yield f"{function.name} ({_file(function.file)}:{function.line})"
        yield from _entries(function.entries, done)
    failed = [compilation for compilation in answer.done if compilation.fail_type]
    if failed:
        yield ""
        yield "Not compiled:"
    for compilation in failed:
        where = f"{_file(compilation.co_filename)}:{compilation.co_firstlineno}"
        why = cut(one_line(compilation.fail_reason), _LONGEST)
        yield f"  {compilation.id:<6} {compilation.co_name} ({where})  {why}"


def _compiling(one: CompilingThread, now: float) -> Iterator[str]:
    took = f", for {now - one.since:.1f} s" if 0 < one.since <= now else ""
    what = f", {one.name} ({_file(one.file)}:{one.line})" if one.name else ""
    what = ", outside of a frame (a backward, most likely)" if one.outside else what
    yield f"Compiling now: {one.id}{what}{took}, in thread {one.thread}"
    outer = len(one.stack) - one.inner  # frames around torch's compiler
    calls, inside = one.stack[:outer], one.stack[outer:]
    if one.outside:
        calls, inside = inside, inside[-1:]
    yield from _frames("called from", [frame for frame in calls if not of_libraries(frame[0])])
    yield from _frames("Dynamo is at", one.traced)
    own = [frame for frame in inside[:-1] if not of_libraries(frame[0])]
    yield from _frames("it runs", [*own, *inside[-1:]])


def _frames(title: str, frames: Sequence[Frame]) -> Iterator[str]:
    """The innermost ones, the outermost of them first."""
    shown = frames[-_MOST_FRAMES:]
    for at, (file, line, name) in enumerate(shown):
        yield f"  {title if at == 0 else '':<12}  {_file(file)}:{line} in {name}"


def _entries(entries: Sequence[AnsweredEntry], done: Mapping[str, DoneCompilation]) -> Iterator[str]:
    guards = [PLAIN_READER.guards(entry.guards) for entry in entries]
    for at, entry in enumerate(entries):
        others = [{guard.expression for guard in one} for place, one in enumerate(guards) if place != at]
        seconds = done[entry.id].seconds if entry.id in done else ""
        took = f"{seconds:.1f} s, " if isinstance(seconds, (int, float)) else ""
        yield f"  {entry.id:<6} {took}{counted(len(guards[at]), 'guard')}"
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
