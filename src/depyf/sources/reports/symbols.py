"""Dynamic-shape symbols: where each was made, what is known of it, and what made it a constant.

Input: torch's events ``create_symbol``, ``create_unbacked_symbol``, ``symbolic_shape_specialization`` and
``guard_added``.  Output: one record per symbol of a compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.run.advice.symbol_places import SymbolPlaces, places_of
from depyf.run.graphs.value_types import SYMBOL
from depyf.run.places.place import Place
from depyf.run.records import ShapeFact, SymbolRecord
from depyf.run.trace_events import TraceEvent
from depyf.sources.reports.library_files import of_libraries
from depyf.sources.reports.shape_questions import FinalSymbol, ShapeQuestion

_FEW = 4
_LONGEST, _END = 400, 120


NOT_ASKED = ShapeQuestion()


@dataclass
class SymbolTable:
    """The symbols of one compile id while it is being compiled."""

    symbols: dict[str, SymbolRecord] = field(default_factory=dict)
    _assumed: dict[str, dict[tuple[str, Place], None]] = field(default_factory=dict)
    """Symbol -> what the program assumed of it; what names many symbols stands at the first of them alone."""

    facts: dict[ShapeFact, None] = field(default_factory=dict)
    _places: SymbolPlaces | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is remembered after the recording: records alone."""
        return {**vars(self), "_places": None}

    @property
    def places(self) -> SymbolPlaces:
        """The source lines of the symbols so far."""
        if self._places is None:
            self._places = places_of(self.symbols.values())
        return self._places

    def take(self, event: str, data: dict[str, Any], asked: ShapeQuestion = NOT_ASKED) -> None:
        """Add one event about symbols.  Fields that it lacks stay empty."""
        self._places = None
        if asked.suppressed:  # no guard comes of it: other sizes run, too
            return
        if event in ("create_symbol", "create_unbacked_symbol"):
            name, place = str(data.get("symbol", "")), user_place(data)
            source = str(data.get("source", "")) or asked.source
            self.symbols[name] = SymbolRecord(
                name, source, str(data.get("val", "")), str(data.get("vr", "")), place,
                dynamic=asked.dynamic,
            )  # fmt: skip
        elif event == "symbolic_shape_specialization":
            known = self._known(str(data.get("symbol", "")), data)
            became = str(data.get("value", ""))
            reason = str(data.get("reason", "")).replace("_", " ")
            made = known.specialised(became, reason, user_place(data) or asked.place)
            self.symbols[known.name] = replace(made, by=asked.operator)
        else:
            expression = str(data.get("expr", ""))
            place = user_place(data)
            if asked.dynamic == "declared":  # the line of the program is the one that is traced, and asks nothing
                self.facts[ShapeFact(shortened(expression), None, "", asked.dynamic)] = None
                return
            fact = ShapeFact(shortened(expression), place or asked.place, asked.operator, asked.asker)
            self.facts[fact] = None
            if place is None:  # torch's own bounds, not the program's
                return
            names = [name for name in dict.fromkeys(SYMBOL.findall(expression)) if name in self.symbols]
            for name in names if len(names) <= _FEW else names[:1]:
                self._assumed.setdefault(name, {})[shortened(expression), place] = None

    def finish(self, known_now: Mapping[str, FinalSymbol]) -> None:
        """Store the final range and value of each symbol, when torch makes the guards."""
        self._places = None
        for name, final in known_now.items():
            known = self.symbols.get(name)
            if known is not None:
                self.symbols[name] = replace(
                    known, sources=final.sources or known.sources, final=final.range, equals=final.equals,
                    dynamic=known.dynamic or final.dynamic,
                )  # fmt: skip

    def _known(self, name: str, data: dict[str, Any]) -> SymbolRecord:
        sources = data.get("sources")
        source = str(sources[0]) if isinstance(sources, list) and sources else ""
        return self.symbols.get(name) or SymbolRecord(name, source, "", "", None)

    def records(self) -> tuple[SymbolRecord, ...]:
        return tuple(replace(s, assumptions=tuple(self._assumed.get(s.name, ()))) for s in self.symbols.values())


def shortened(expression: str) -> str:
    """``expression``, of a long one the beginning and the end: torch writes the sum of all sizes before it at each step
    of a loop, and the whole of that would grow with the square of the steps."""
    if len(expression) <= _LONGEST:
        return expression
    return f"{expression[: _LONGEST - _END]} ... {expression[-_END:]} ({len(expression)} characters)"


def user_place(data: dict[str, Any]) -> Place | None:
    """The innermost line of the program in an event; the innermost line of a library where there is none."""
    stack = data.get("user_stack")
    frames = [frame for frame in stack if isinstance(frame, dict)] if isinstance(stack, list) else []
    if not frames:
        return None
    own = (frame for frame in reversed(frames) if not of_libraries(str(frame.get("filename", ""))))
    frame = next(own, frames[-1])
    line = frame.get("line", 0)
    return Place(
        str(frame.get("filename", "")), line if isinstance(line, int) else 0, str(frame.get("name", "")),
        str(frame.get("loc") or ""),
    )  # fmt: skip


_STACKS = ("user_stack", "stack")


def with_names(event: TraceEvent, name_of: Callable[[int], str]) -> TraceEvent:
    """The event with the names of the files of its innermost stack, which torch sends as numbers of strings that it had
    sent before."""
    name = next((name for name in _STACKS if isinstance(event.data.get(name), list)), "")
    frames = event.data[name] if name else []
    if not any(isinstance(frame, dict) and isinstance(frame.get("filename"), int) for frame in frames):
        return event
    named = [{**frame, "filename": _name(frame.get("filename"), name_of)} for frame in frames if type(frame) is dict]
    return replace(event, data={**event.data, name: named})


def _name(name: object, name_of: Callable[[int], str]) -> str:
    return name_of(name) if isinstance(name, int) else str(name or "")
