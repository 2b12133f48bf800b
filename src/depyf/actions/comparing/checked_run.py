"""``depyf run --check``: calls of what ``torch.compile`` returned are made as Python, too, while the program runs.

Input: each call, before and after it (``CallWatch``).  Output: ``CheckedCalls`` records.  The first call that an entry
serves is compared with what it left in the program; later ones are made twice beforehand, as Python and by the entry,
each undone.  Where they part, ``depyf.compare`` says in which layer.  Invariant: afterwards the state is what the
program's call leaves, or finds.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from depyf.actions.comparing.against_python import AgainstPython, Calls
from depyf.actions.comparing.call_outcome import CallOutcome, may_be_rounding, seen, without
from depyf.actions.comparing.compare import compare, original_of
from depyf.actions.comparing.graphs.graph_finding import Finding, advice_lines, headline
from depyf.run.installed_files import of_library
from depyf.run.places.place import Place
from depyf.run.program_calls.checked_calls import CallDifference, CheckedCalls
from depyf.run.program_calls.compile_calls import CompileCall
from depyf.run.records import CompileKey
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.entrances.call_watch import After
from depyf.sources.live.state.images import Apart
from depyf.sources.live.state.reached import ReachedState

if TYPE_CHECKING:
    from depyf.sources.live.recording.session import Session

_MOST_APART = 5
_TRIES = 2
"""So many calls of a function without an entry are compared: it runs as ordinary Python, or in several parts."""


@dataclass(slots=True)
class _Served:
    """The calls that one entry served, as they come."""

    function: str
    place: Place
    key: CompileKey | None
    calls: int = 0
    checked: int = 0
    apart: tuple[CallDifference, ...] = ()
    differed_at: int = 0
    causes: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    not_compared: dict[str, None] = field(default_factory=dict)

    def record(self) -> CheckedCalls:
        return CheckedCalls(
            self.function, self.place, self.key, self.calls, self.checked, self.apart, self.differed_at, self.causes,
            self.ways, tuple(self.not_compared),
        )  # fmt: skip


class CheckedRun:
    """A ``Watcher`` that compares calls with Python.  ``every``: besides calls 1, 2, 4, 8, ... of an entry, each n-th
    call is compared; ``seconds``: the time limit for all comparisons; ``session`` gets the results."""

    def __init__(
        self,
        every: int,
        seconds: float,
        session: Session,
    ) -> None:
        self._every = every
        self._seconds = self._left = seconds
        self._later = 0
        self._session = session
        self._served: dict[tuple[int, str], _Served] = {}

    @property
    def spent(self) -> bool:
        """Whether the time for comparisons is used up."""
        return self._left <= 0

    def entered(self, made: Any, call: CompileCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> After | None:
        if self.spent:
            self._later += 1
            return None
        began = time.perf_counter()
        try:
            return self._entered(Calls(made, original_of(made), args, kwargs), call)
        finally:
            self._left -= time.perf_counter() - began

    def _entered(self, calls: Calls, call: CompileCall) -> After | None:
        entry = calls.entry()
        served = self._served_by(calls, entry, call)
        if served is None:
            return None
        served.calls += 1
        if entry is None:
            return self._around(calls, served, call) if served.calls <= _TRIES else None
        if served.apart or not self._is_due(served.calls):
            return None
        self._twice(calls, entry, served)
        return None

    def _is_due(self, call: int) -> bool:
        """The second call, the fourth, the eighth, ...: what changes is seen in a short run, too; and each Nth."""
        return call & (call - 1) == 0 or call % self._every == 0

    def ended(self) -> None:
        late = f"calls after {self._seconds:g} s of comparing (--check-seconds gives more): {self._later} in all"
        for served in self._served.values():
            if not served.checked and not served.not_compared:
                continue
            if self._later:
                served.not_compared[late] = None
            self._session.compared(served.record())

    def _served_by(self, calls: Calls, entry: LiveEntry | None, call: CompileCall) -> _Served | None:
        target = calls.target
        if target is None:
            return None
        compile_id = entry.compile_id if entry is not None else ""
        found = self._served.get((id(target.code), compile_id))
        if found is None:
            body = call.body
            place = call.place if body is None or of_library(body.filename) else body
            key = self._session.capture.key(compile_id) if compile_id else None
            found = self._served[id(target.code), compile_id] = _Served(call.wrapped, place, key)
        return found

    def _twice(self, calls: Calls, entry: LiveEntry, served: _Served) -> None:
        """Run as Python and by the entry, before the program's own call."""
        if self._only_once(calls, served):
            return
        python = calls.as_python()
        if any(once.moved for once in calls.state.once):
            served.not_compared["the call uses up an iterator, and only one run can"] = None
            return
        self._compared(calls, served, python, calls.by_entry(entry))

    def _only_once(self, calls: Calls, served: _Served) -> bool:
        written = calls.written_outside()
        once = written or calls.one_shot() or calls.used_up_elsewhere()
        if once is not None:  # the program's own call is still to come
            why = "only one run can use it" if written is None else "each run could write to it"
            served.not_compared[f"{once.path} is {once.what}, and {why}"] = None
            self._session.compared(served.record())
        return once is not None

    def _around(self, calls: Calls, served: _Served, call: CompileCall) -> After | None:
        """Run as Python before the program's own call, which compiles, and look at the state after it."""
        if self._only_once(calls, served):
            return None
        python, before = calls.as_python(), {id(one.code) for one in calls.entries()}

        def after(result: Any, error: BaseException | None) -> None:
            if error is not None and not isinstance(error, Exception):
                return  # the program is interrupted
            began = time.perf_counter()
            try:
                self._after(calls, self._that_served(calls, served, call, before), python, result, error)
            finally:
                self._left -= time.perf_counter() - began

        return after

    def _after(self, calls: Calls, served: _Served, python: CallOutcome, result: Any, error: Exception | None) -> None:
        own = seen(calls.state, result, error)
        own.output, own.gradients, python.gradients = python.output, {}, {}
        python.state = {path: image for path, image in python.state.items() if path not in calls.copied}
        self._compared(calls, served, python, own, calls.kept_now())

    def _that_served(self, calls: Calls, served: _Served, call: CompileCall, before: set[int]) -> _Served:
        """The call has made an entry, which served it; its guards need not hold any more."""
        entry = next((one for one in calls.entries() if id(one.code) not in before), None)
        found = self._served_by(calls, entry, call) if entry is not None else None
        if found is None:
            return served
        served.calls -= 1
        found.calls += 1
        return found

    def _compared(
        self,
        calls: Calls,
        served: _Served,
        python: CallOutcome,
        own: CallOutcome,
        left: ReachedState | None = None,
    ) -> None:
        """``left``: what the program's call has left, where it was made."""
        apart = calls.apart(python, own)
        if apart and python.drew:
            served.not_compared["random numbers: compiled code draws others than Python"] = None
            nan = tuple(one for one in apart if one.one_is_nan)
            if nan:
                self._differs(served, nan, None)
                served.checked += 1
        elif apart and not all(one.rounding for one in apart):
            found = self._why(calls, left)
            apart = without(apart, found.unsteady) if found is not None else apart
            if found is not None and found.unsteady:
                served.not_compared["what differs in two runs as Python, too, such as a clock"] = None
            if apart and (found is None or found.apart or not may_be_rounding(apart)):
                self._differs(served, apart, found)
        if not (apart and python.drew):
            served.checked += 1
        self._session.compared(served.record())

    def _differs(self, served: _Served, apart: tuple[Apart, ...], found: AgainstPython | None) -> None:
        served.apart = tuple(CallDifference(one.path, one.first, one.second, one.reason) for one in apart[:_MOST_APART])
        served.differed_at = served.calls
        if found is not None:
            served.causes, served.ways = found.causes, found.ways

    def _why(self, calls: Calls, left: ReachedState | None) -> AgainstPython | None:
        """Repeat the call with ``depyf.compare``."""
        calls.state.put_back()
        try:
            with contextlib.suppress(Exception), self._session.unheard():  # what differs is said without it
                result = compare(calls.fn, calls.args, calls.kwargs, None, None, None, {})
                causes = [*result.python.causes, *(_first_operation(result.first) if result.first is not None else ())]
                again = result.python
                return AgainstPython(again.apart, causes=tuple(causes), ways=again.ways, unsteady=again.unsteady)
            return None
        finally:
            if left is not None:
                left.put_back()


def _first_operation(finding: Finding) -> list[str]:
    layer = [f"the layer is {finding.layer}"] if finding.layer else []
    if finding.node is None:
        return layer
    place = f", {finding.node.place}" if finding.node.place else ""
    if finding.fake or finding.writes is not None or finding.written or finding.raised or finding.printed:
        return [*layer, headline(finding) + place, *advice_lines(finding)]
    return [*layer, f"the first operation that differs is {finding.node.name} ({finding.node.operation}){place}"]
