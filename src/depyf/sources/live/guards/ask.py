"""Asks whether torch would run a cache entry for given arguments, and if not, because of which guard.

Input: live cache entries and the locals of a frame.  Output: ``EntryAnswer`` records of plain text.  torch decides (its
verbose check, which leaves its own statistics and order alone); the readable expressions are evaluated beside it, and
where the two differ, ``GuardStep.agrees`` says so.  Nothing is compiled and nothing of the user is called.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.guard_kind import sources_in, tree_of
from depyf.run.guards.kinds.length_guard import ITEMS, LENGTH
from depyf.run.guards.known_kinds import ASKING, ASKS_ATTRIBUTES, NO_CALL, reported_differences
from depyf.run.records import GuardRecord
from depyf.safety.escape import cut
from depyf.safety.unheard import parse
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.guards.guard_order import GuardOrder, sources
from depyf.sources.live.guards.guard_tree import LiveGuardRecord, ask_leaves, live_guards, namespace
from depyf.sources.live.guards.guard_values import GuardStep, evaluate, found_by
from depyf.sources.live.guards.printed_guards import readable
from depyf.sources.reports.guards.guard_remarks import program_place, split_comment


@dataclass(frozen=True, slots=True)
class EntryAnswer:
    """The guards of one cache entry, evaluated for one call."""

    compile_id: str
    runs: bool
    """torch's word: every guard of the entry holds."""
    steps: tuple[GuardStep, ...]
    failing: GuardStep | None = None
    """The guard that torch names as the first to fail."""

    def __repr__(self) -> str:
        first = "" if self.failing is None else f": {cut(str(self.failing), 160)}"
        return (
            f"<cache entry {self.compile_id}, {len(self.steps)} guards, "
            f"{'runs' if self.runs else 'does not run'}{first}>"
        )

    @property
    def failing_steps(self) -> tuple[GuardStep, ...]:
        """Every guard that fails, each once, the one that torch names first."""
        first = () if self.failing is None else (self.failing,)
        found = [step for step in (*first, *self.steps) if not step.holds]
        once = {(step.expression, step.expected, step.actual): step for step in reversed(found)}
        return tuple(reversed(once.values()))

    @property
    def not_asked(self) -> tuple[GuardStep, ...]:
        """The guards that were not evaluated."""
        return tuple(step for step in self.steps if step.not_asked)


def ask_entry(
    entry: LiveEntry,
    L: dict[str, Any],
    resolve: Callable[[str], str] = lambda name: name,
    code: types.CodeType | None = None,
) -> EntryAnswer:
    """Evaluate every guard of ``entry`` for the frame locals ``L`` of a call of ``code``."""
    names = namespace(entry, L)
    guards = live_guards(entry, resolve)
    order = GuardOrder(names)
    call = CallValues(L, entry.scope, code=code)
    steps = tuple(_step(guard, names, order, call) for guard in guards)
    info = entry.manager.check_verbose(L) if hasattr(entry.manager, "check_verbose") else None
    if info is None:
        return EntryAnswer(entry.compile_id, False, steps)
    if info.result:
        return EntryAnswer(entry.compile_id, True, steps)
    return EntryAnswer(entry.compile_id, False, steps, _failing(guards, steps, info, resolve))


class PartOfEntry:
    """The guards of one cache entry that can be evaluated with only some of the frame's locals."""

    def __init__(
        self,
        entry: LiveEntry,
        known: Callable[[str], bool],
        resolve: Callable[[str], str] = lambda name: name,
        code: types.CodeType | None = None,
    ) -> None:
        """``known``: whether an expression looks only at what is there; ``code``: what is called."""
        self._entry = entry
        self._code = code
        self._guards = tuple(guard for guard in live_guards(entry, resolve) if known(guard.record.expression))

    def failing(self, L: dict[str, Any]) -> tuple[GuardStep, ...]:
        """The guards that fail for the locals ``L``, in torch's order."""
        names = namespace(self._entry, L)
        order = GuardOrder(names)
        call = CallValues(L, self._entry.scope, code=self._code)
        steps = (_step(guard, names, order, call, failing_only=True) for guard in self._guards)
        return tuple(step for step in steps if not step.holds)


def fits_variable(entry: LiveEntry, name: str, value: Any, code: types.CodeType) -> bool:
    """Whether all guards of ``entry`` that are on one variable alone hold for this value."""

    def alone(expression: str) -> bool:
        used = sources(parse(expression.strip(), mode="eval").body)
        return bool(used) and all(_root(source) == name for source in used)

    return not PartOfEntry(entry, alone, code=code).failing({name: value})


def knows_all(expression: str, there: set[str]) -> bool:
    """Whether a guard reads only globals and the variables ``there``."""
    used = sources(parse(expression.strip(), mode="eval").body)
    return bool(used) and all(name in there or not name for name in map(_root, used))


def _root(source: ast.expr) -> str:
    """The variable that a path begins with; "" for one that begins with a global, which is always known."""
    while isinstance(source, (ast.Attribute, ast.Subscript)):
        below = source.value
        if isinstance(below, ast.Name):
            if below.id == "L" and isinstance(source, ast.Subscript) and isinstance(source.slice, ast.Constant):
                return str(source.slice.value)
            return "" if below.id == "G" else "?"
        source = below
    return "?"


def _step(
    guard: LiveGuardRecord, names: dict[str, Any], order: GuardOrder, call: CallValues, failing_only: bool = False
) -> GuardStep:
    """``failing_only``: of a guard that holds no values are wanted."""
    record = guard.record
    follows = order.follows(record.expression)
    if follows and not order.may_ask(record.expression):
        return _not_asked(record, f"{named(follows)} differs already")
    python = evaluate(record.expression, names)
    check = record.expression.partition("(")[0]
    answer = None if follows and check in ASKS_ATTRIBUTES else ask_leaves(guard.leaves, names)
    asking = check in ASKING
    holds = python and (answer is None or answer) if asking else python
    agrees = answer is None or answer == holds
    differences = () if holds and failing_only else found_by(record.expression, names, holds, call)
    step = GuardStep(record.expression, holds, differences, record.place, record.why, agrees)
    if not holds and follows and step.missing:
        return _not_asked(record, f"{named(follows)} differs already")
    if holds and asking and answer is None:
        return replace(_not_asked(record, "torch answers it only as a part of the whole"), differences=differences)
    if not holds:
        order.failed(record.expression)
    return step


def _not_asked(record: GuardRecord, why: str) -> GuardStep:
    return GuardStep(record.expression, True, place=record.place, why=record.why, not_asked=why)


def _failing(
    guards: tuple[LiveGuardRecord, ...], steps: tuple[GuardStep, ...], info: Any, resolve: Callable[[str], str]
) -> GuardStep:
    parts = [split_comment(str(part), resolve) for part in getattr(info, "verbose_code_parts", ())]
    wanted = {without_addresses(text) for text, _, _ in parts}
    for guard, step in zip(guards, steps):
        if not step.holds and wanted & set(guard.record.text.split("; ")):
            return step
    first = next((step for step in steps if not step.holds), None)
    if first is not None:
        return first
    sized = _sized(steps, reported_differences(parts[0][0], NO_CALL) if parts else ())
    if sized is not None:
        return sized
    text, place, why = parts[0] if parts else ("", None, "")
    return GuardStep(readable("", text), False, reported_differences(text, NO_CALL), place, why)


def _sized(steps: tuple[GuardStep, ...], reported: tuple[Difference, ...]) -> GuardStep | None:
    """The number of items of a dictionary: the one check that torch makes without a separate guard."""
    length = next((one for one in reported if one.what == LENGTH), None)
    if reported and length is None:
        return None
    for step in steps:
        first = next((one for one in step.differences if one.what == ITEMS), None)
        if first is not None and length is None:
            return replace(step, holds=False)
        if first is not None and length is not None and first.source == length.source:
            wanted = GuardSide(f"{length.wanted.text} items", "int")
            return replace(step, holds=False, differences=(replace(first, wanted=wanted),))
    return None


def user_place(guard: GuardRecord) -> bool:
    """Whether a line of the program caused this guard, not torch's bookkeeping."""
    if guard.place is None:
        tree = tree_of(guard.expression)
        return bool(guard.source) or (tree is not None and any(s.startswith("L[") for s in sources_in(tree)))
    return program_place(guard.place) is not None
