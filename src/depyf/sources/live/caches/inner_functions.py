"""Which compiled functions run inside a call of another one: what it calls where its graph breaks, or runs as Python.

Input: a code object and the compilations that torch remembers, with the stack of each.  Output: live code objects and
the lines that called them; what torch has forgotten is not among them.

torch 2.13 loses the last two callers of each stack.  A function that was called directly then shows the callers of its
caller alone: it is taken for a callee of a function that was compiled at that depth and names it.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from depyf.errors import DepyfError
from depyf.run.places.place import Place
from depyf.run.places.two_places import lines_in_dump
from depyf.run.places.where import where_is
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.caches.seen_code import codes_seen
from depyf.sources.live.events.compilations import Compilation
from depyf.sources.live.resume import origin
from depyf.sources.reports.callers import RunningFrame, folded

_ENTRANCE = "/_dynamo/eval_frame.py"
"""Where the function is that calls what ``torch.compile`` wraps: the last caller of such a function, unless it is
lost."""
_LOST = 2
"""So many callers torch 2.13 leaves out."""


_CALLS_MODULE = "/torch/nn/modules/module.py"
_OF_MODULE = "forward"
"""What is lost of its callers are two functions of torch, which call it."""


@dataclass(frozen=True, slots=True)
class InnerFunction:
    """A function of the program, or of a library, that torch compiled when another compiled one called it."""

    code: types.CodeType
    calls: tuple[Place, ...]
    """The lines that called it, each once; () where torch's stack does not have them."""
    call_of: Mapping[str, Place] = field(default_factory=dict)
    """Compile id -> the line that called it then, where torch's stack has it."""
    direct: bool = False
    """Nothing of a library is between the two, but what calls the ``forward`` of a module."""


class InnerFunctions:
    """Caller -> what was compiled inside it, of all that torch remembers."""

    def __init__(self, compilations: Iterable[Compilation]) -> None:
        compilations = tuple(compilations)
        begun_at = {(c.filename, c.name, c.line) for c in compilations}
        self._codes: dict[tuple[str, str], list[types.CodeType]] = {}
        for code in codes_seen():
            if (code.co_filename, code.co_name, code.co_firstlineno) in begun_at:
                self._codes.setdefault((code.co_filename, code.co_name), []).append(code)
        self._begun: list[tuple[types.CodeType, tuple[RunningFrame, ...]]] = []
        self._found: dict[int, dict[int, tuple[types.CodeType, dict[str, Place]]]] = {}
        self._between: set[tuple[int, int]] = set()
        """Caller and callee with functions of a library between them."""
        self._substituted = _substituted(self._codes.values())
        begun = [
            (c.compile_id, self._code(c.filename, c.name, c.line), tuple(map(self._of_program, c.stack)))
            for c in compilations
        ]
        called = [stack for *_, stack in begun if stack and not any(self._seen(frame) is not None for frame in stack)]
        self._cut = not all(stack[-1].filename.endswith(_ENTRANCE) for stack in called)
        for compile_id, compiled, stack in begun:
            if compiled is not None:
                self._add(compile_id, compiled, stack)

    def of(self, code: types.CodeType) -> tuple[InnerFunction, ...]:
        """The functions compiled inside ``code`` or its resume functions, in the order of their first compilation."""
        found = self._found.get(id(_whole(code)), {}).values()
        return tuple(
            InnerFunction(
                inner, tuple(dict.fromkeys(calls.values())), calls, (id(_whole(code)), id(inner)) not in self._between
            )
            for inner, calls in found
        )

    def _add(self, compile_id: str, code: types.CodeType, stack: tuple[RunningFrame, ...]) -> None:
        own = _whole(code)
        frames = [(frame, seen) for frame in stack if (seen := self._seen(frame)) is not None]
        caller = frames[-1][1] if frames else None
        call: Place | None = None
        if caller is not None and (not self._cut or code.co_name == _OF_MODULE):
            path = folded(stack, lambda frame: (0, frame.name) if self._seen(frame) else None, linecache.getline)
            call = path[-1].place
        if self._cut and stack and code is own and (caller is None or not _names(caller, code)):
            direct = self._direct(code, stack)
            if direct is not None:
                caller, call = direct, None
        self._begun.append((code, stack))
        if caller is None or _whole(caller) is own:
            return
        _, calls = self._found.setdefault(id(_whole(caller)), {}).setdefault(id(own), (own, {}))
        if call is not None and call.line:
            calls[compile_id] = call
        below = stack[stack.index(frames[-1][0]) + 1 :] if frames else stack
        if any(not frame.filename.endswith(_CALLS_MODULE) for frame in below):
            self._between.add((id(_whole(caller)), id(own)))

    def _direct(self, code: types.CodeType, stack: tuple[RunningFrame, ...]) -> types.CodeType | None:
        """The caller of ``code``, where torch has lost both frames of the call."""
        found: types.CodeType | None = None
        depth = -1
        for caller, callers in self._begun:
            more = len(stack) - len(callers)
            if 0 < more <= _LOST and len(callers) >= depth and _begins(stack, callers) and _names(caller, code):
                if _whole(caller) is not code:
                    found, depth = caller, len(callers)
        return found

    def _of_program(self, frame: RunningFrame) -> RunningFrame:
        """A frame of depyf's text, as a frame of the function that Dynamo compiled."""
        code = self._substituted.get(frame.filename)
        if code is None:
            return frame
        line = 0  # while the recording goes on nothing says which it is
        with contextlib.suppress(DepyfError):
            line = where_is(frame.filename, frame.line).user_line
        return RunningFrame(code.co_name, code.co_name, code.co_filename, code.co_firstlineno, line)

    def _seen(self, frame: RunningFrame) -> types.CodeType | None:
        return self._code(frame.filename, frame.name, frame.first, frame.line)

    def _code(self, filename: str, name: str, first: int, line: int = 0) -> types.CodeType | None:
        """The code object of that place; the one that has ``line`` where its ``first`` is not known."""
        codes = self._codes.get((filename, name), ())
        if first:
            return next((code for code in reversed(codes) if code.co_firstlineno == first), None)
        fits = [code for code in codes if code.co_firstlineno <= line <= _last_line(code)]
        return max(fits, key=lambda code: code.co_firstlineno, default=None)


def _substituted(codes: Iterable[list[types.CodeType]]) -> dict[str, types.CodeType]:
    """File of text that runs in the place of what Dynamo made -> the function's code.

    Such text has the lines of its file inside ``depyf.debug()``, at a level, and where it was edited.
    """
    found = {}
    for code in (code for alike in codes for code in alike):
        for entry in cache_entries(code):
            in_dump = lines_in_dump(entry.code)
            found[entry.code.co_filename if in_dump is None else in_dump.filename] = code
    return {file: code for file, code in found.items() if file != code.co_filename}


def _whole(code: types.CodeType) -> types.CodeType:
    """The function that ``code`` is the rest of; itself where it is none."""
    return origin(code) or code


def _last_line(code: types.CodeType) -> int:
    lines = getattr(code, "co_lines", None)  # since Python 3.10
    return sys.maxsize if lines is None else max((line for _, _, line in lines() if line), default=code.co_firstlineno)


def _names(caller: types.CodeType, code: types.CodeType) -> bool:
    names = (*caller.co_names, *caller.co_freevars, *caller.co_varnames)
    return code.co_name in names


def _begins(stack: tuple[RunningFrame, ...], start: tuple[RunningFrame, ...]) -> bool:
    """Whether a stack goes on where another one ends; the outermost frames may have gone on to other lines."""
    return all((a.filename, a.name) == (b.filename, b.name) for a, b in zip(stack, start))
