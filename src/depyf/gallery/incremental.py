"""A graph evaluated on intervals again and again, with one input changed each time.

Input: a ``GraphClass``, an interval for each tensor parameter.  ``Evaluation`` keeps what each statement read, bound and
complained about.  With other intervals only the statements run anew that read a changed value, in order, until nothing
differs any more: a graph with hundreds of inputs costs what its statements cost a few times, not once per input.
"""

from __future__ import annotations

import ast
import bisect
import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from depyf.dump.graphs.graph_text import GraphClass
from depyf.dump.graphs.value_types import Number, TensorType
from depyf.gallery.evaluate import Body, Complaint, Run, Value, scalar
from depyf.gallery.intervals import Span


@dataclass(frozen=True, slots=True)
class _Step:
    """What one statement did: the values it read, those it bound, its complaints."""

    reads: Mapping[str, Value]
    writes: Mapping[str, Value]
    complaints: tuple[Complaint, ...]


class _Recorded(dict[str, Value]):
    """The values a statement sees; remembers which ones it read before it bound them, and what it bound."""

    def __init__(self, seen: Mapping[str, Value]) -> None:
        super().__init__()
        self.seen = seen
        self.reads: dict[str, Value] = {}

    def get(self, name: str, default: Value = None) -> Value:
        if name in self:
            return super().get(name)
        return self.reads.setdefault(name, self.seen.get(name, default))


class Evaluation:
    """The statements of ``graph`` on ``spans``; ``types`` are those of its parameters."""

    def __init__(
        self,
        graph: GraphClass,
        spans: Mapping[str, Span],
        types: Mapping[str, TensorType],
        symbols: Mapping[str, Number],
    ) -> None:
        self._graph, self._types, self._symbols = graph, dict(types), symbols
        self._statements = list(graph.tree().body)
        self._inputs: dict[str, Value] = {p.name: spans.get(p.name, scalar(p.type, symbols)) for p in graph.parameters}
        self._steps: list[_Step] = []
        values = dict(self._inputs)
        for number in range(len(self._statements)):
            step = self._run(number, values)
            self._steps.append(step)
            values |= step.writes
        self._touched: dict[str, list[int]] = {}
        for number, step in enumerate(self._steps):
            for name in {**step.reads, **step.writes}:
                self._touched.setdefault(name, []).append(number)
        self._bad = [c for step in self._steps for c in step.complaints if c.bad]

    def complaints(self) -> list[Complaint]:
        """Those of all sinks, in order."""
        return [complaint for step in self._steps for complaint in step.complaints]

    def bad(self, name: str = "", span: Span | None = None) -> list[Complaint]:
        """The complaints that are justified, in order: as it stands, or with another ``span`` for the input ``name``."""
        if span is None:
            return list(self._bad)
        changed = self._changed(name, span)
        if all(step.complaints == self._steps[number].complaints for number, step in changed.items()):
            return list(self._bad)
        steps = (changed.get(number, step) for number, step in enumerate(self._steps))
        return [c for step in steps for c in step.complaints if c.bad]

    def set(self, name: str, span: Span) -> None:
        """From here on the input ``name`` has ``span``."""
        for number, step in self._changed(name, span).items():
            for found in {**step.reads, **step.writes}:  # another branch of a statement may look at more
                places = self._touched.setdefault(found, [])
                at = bisect.bisect_left(places, number)
                if at == len(places) or places[at] != number:
                    places.insert(at, number)
            self._steps[number] = step
        self._inputs[name] = span
        self._bad = [c for step in self._steps for c in step.complaints if c.bad]

    def _changed(self, name: str, span: Span) -> dict[int, _Step]:
        """The statements that come out otherwise."""
        found: dict[int, _Step] = {}
        if self._inputs.get(name) == span:
            return found
        other: dict[str, Value] = {name: span}  # what differs at this point of the graph
        waiting: list[int] = []
        self._wait(waiting, name, -1)
        last = -1
        while waiting:
            number = heapq.heappop(waiting)
            if number == last:
                continue
            last = number
            before = self._steps[number]
            after = before
            if not other.keys().isdisjoint(before.reads):
                after = self._run(number, _Below(other, self, number))
                found[number] = after
            for bound in {**before.writes, **after.writes}:
                if bound in after.writes and after.writes[bound] != before.writes.get(bound):
                    other[bound] = after.writes[bound]
                else:
                    other.pop(bound, None)
            for touched in {**before.reads, **after.reads, **after.writes}:
                if touched in other:
                    self._wait(waiting, touched, number)
        return found

    def _wait(self, waiting: list[int], name: str, behind: int) -> None:
        """The next statement behind ``behind`` that has to do with ``name`` is due."""
        places = self._touched.get(name, [])
        at = bisect.bisect_right(places, behind)
        if at < len(places):
            heapq.heappush(waiting, places[at])

    def value_before(self, name: str, number: int) -> Value:
        """What ``name`` is when statement ``number`` runs."""
        places = self._touched.get(name, [])
        for place in reversed(places[: bisect.bisect_left(places, number)]):
            if name in self._steps[place].writes:
                return self._steps[place].writes[name]
        return self._inputs.get(name)

    def _run(self, number: int, values: Mapping[str, Value]) -> _Step:
        statement = self._statements[number]
        run = Run(self._symbols)
        recorded = _Recorded(values)
        body = Body(self._graph, recorded, self._types, run, "")
        if isinstance(statement, ast.Return):
            body.here = str(number)
            if statement.value is not None:
                body.value(statement.value)
        else:
            body.step(number, statement)
        return _Step(recorded.reads, dict(recorded), tuple(run.complaints))


class _Below(dict[str, Value]):
    """What differs, above what an evaluation holds at one of its statements."""

    def __init__(self, other: Mapping[str, Value], base: Evaluation, number: int) -> None:
        super().__init__(other)
        self.base, self.number = base, number

    def get(self, name: str, default: Value = None) -> Value:
        return self[name] if name in self else self.base.value_before(name, self.number)
