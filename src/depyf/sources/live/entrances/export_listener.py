"""Hears of calls of ``torch.export`` that end with an error.

Input: what torch tells of its exports to ``log_export_usage`` while a ``FailedExports`` is on, with the error that is
being handled.  Output: ``FailedExport`` records.  Invariants: no frame of ours is in the program's calls or tracebacks;
after ``stop`` torch has nothing of ours.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections.abc import Callable
from typing import Any

from depyf.run.places.place import Place
from depyf.run.program_calls.compile_calls import FailedExport
from depyf.safety.guarded import Door
from depyf.sources.live.entrances.running_lines import LONGEST_LINE, of_program, place_of, running, traced
from depyf.sources.reports.failures import EXPORTED, told_failure
from depyf.sources.reports.library_files import of_libraries

_NAME = "log_export_usage"
_TELLS, _TOLD = "torch._utils_internal", "torch.export._trace"
"""The module that defines the function, and a module that imported its name."""
_ERROR = "export.error"
_FIXES = re.compile(r"Suggested fixes:\n((?:  \S[^\n]*\n?)+)")
_LINE = re.compile(r"\((?P<file>[^()\n]+):(?P<line>\d+) in (?P<function>[^()\n]+)\)")


class FailedExports:
    """Records failed calls of ``torch.export`` between ``start`` and ``stop``."""

    def __init__(self, problem: Callable[[str], None]) -> None:
        self._problem = problem
        self._found: list[FailedExport] = []
        self._last: int = 0
        self._before: Any = None
        self._ours: Any = None

    def start(self) -> None:
        module = sys.modules.get(_TELLS)
        before = vars(module).get(_NAME) if module is not None else None
        if type(before) is not types.FunctionType:
            return

        def log_export_usage(**told: Any) -> Any:
            if str(told.get("event", "")).startswith(_ERROR):
                with Door("a failed torch.export could not be recorded", self._problem):
                    self._take(sys.exc_info()[1])
            return before(**told)

        self._before, self._ours = before, log_export_usage
        self._put(before, log_export_usage)

    def stop(self) -> None:
        before, ours = self._before, self._ours
        self._before = self._ours = None
        if ours is not None:
            self._put(ours, before)

    def records(self) -> tuple[FailedExport, ...]:
        """The failed calls, each once."""
        return tuple(dict.fromkeys(self._found))

    def _put(self, there: Any, new: Any) -> None:
        for name in (_TELLS, _TOLD):
            module = sys.modules.get(name)
            if module is not None and vars(module).get(_NAME) is there:
                setattr(module, _NAME, new)

    def _take(self, error: BaseException | None) -> None:
        call = next(of_program(running(sys._getframe(2))), None)
        if error is None or call is None or id(error) == self._last:
            return
        self._last = id(error)
        message = str(error)
        told = told_failure({"fail_type": type(error).__name__, "fail_reason": message}, declared=EXPORTED)
        led = list(of_program(traced(error)))
        fixes = _FIXES.search(message)
        place = place_of(*call)
        at = told.place or _named(message) or (place_of(*led[-1]) if led else None)
        self._found.append(
            FailedExport(
                place,
                told.words,
                at if at is not None and (at.filename, at.line) != (place.filename, place.line) else None,
                tuple(line.strip() for line in fixes[1].splitlines()) if fixes is not None else (),
                told.on_values,
            )
        )


def _named(message: str) -> Place | None:
    """The line that the message names: ``(net.py:4 in forward)``."""
    for match in _LINE.finditer(message):
        if not of_libraries(match["file"]):
            file, line = match["file"], int(match["line"])
            return Place(file, line, match["function"], linecache.getline(file, line).strip()[:LONGEST_LINE])
    return None
