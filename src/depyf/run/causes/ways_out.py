"""The ways out of recompilations, each with the number of compilations that it leaves.

Input: the functions of a run, and the values that a cause is about.  Output: ``WayOut`` records, replayed on the guards
that failed (``guard_replay.py``).  A way that removes nothing is left out; values that have to be freed together are
one way.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from depyf.run.advice.advice import AdviceUse, Frees
from depyf.run.advice.for_guards import NO_LINE
from depyf.run.advice.registry import ADVICE, is_mark, is_option, is_remedy, text_of
from depyf.run.causes.folding import listed
from depyf.run.causes.guard_replay import (
    NOTHING,
    FailedValue,
    FreedValues,
    GuardedValue,
    GuardTable,
    Values,
    failed_in,
    in_order,
)
from depyf.run.causes.prediction import Bound, Prediction
from depyf.run.causes.program_questions import in_program, offsets_of
from depyf.run.causes.value_advice import TENSORS, Uses, ValueAdvice
from depyf.run.records import EntryState, FunctionRecord, GraphRecord

_ALTERNATIVES = 3
_NO_STATIC = AdviceUse("no-static")
_ALL_SYMBOLS = {Frees.SYMBOLS, Frees.SYMBOLS_WHEN_CHANGED}
_SYMBOLIC = {*_ALL_SYMBOLS, Frees.SYMBOL, Frees.SYMBOL_WHEN_CHANGED}


@dataclass(frozen=True, slots=True)
class WayOut:
    """A set of advice that is followed together, with its predicted effect."""

    uses: Uses
    prediction: Prediction | None = None
    """None where nothing can be predicted."""

    @property
    def predicted(self) -> str:
        """``8 compilations -> 2, predicted``; "" where nothing is."""
        return "" if self.prediction is None else self.prediction.text

    @property
    def text(self) -> str:
        """The texts of all its advice; the same advice for several values is given once."""
        alike: dict[str, list[AdviceUse]] = {}
        for use in self.uses:
            alike.setdefault(use.id, []).append(use)
        return "; and ".join(text for uses in alike.values() if (text := _together(uses)))

    def to_json(self) -> dict[str, Any]:
        """Plain data, as it stands in the manifest."""
        return {
            "advice": [{"id": use.id, "values": dict(use.values)} for use in self.uses],
            **({"compilations": None, "left": None} if self.prediction is None else self.prediction.to_json()),
        }


def _together(uses: Sequence[AdviceUse]) -> str:
    """The same advice for several values: ``keep a and b as a tensor``; where a value is a part of code,
    ``mark_dynamic(x, 0) and mark_dynamic(y, 0) before the first call``."""
    known = {line for use in uses if (line := use.value("line")) and line != NO_LINE}
    if len(known) == 1:  # of the others it is not known which line
        same_line = {"line": known.pop()}
        uses = [
            AdviceUse(use.id, tuple((name, same_line.get(name, value)) for name, value in use.values)) for use in uses
        ]
    texts = [text for text in map(text_of, uses) if text]
    if len(texts) < 2:
        return "".join(texts)
    template = ADVICE[uses[0].id].text
    differing = [name for name in ADVICE[uses[0].id].names if len({use.value(name) for use in uses}) > 1]
    name = differing[0] if len(differing) == 1 else ""
    if name and not _is_code(template, name):
        values = listed([use.value(name) for use in uses], len(uses))
        same = tuple((key, values if key == name else value) for key, value in uses[0].values)
        return text_of(AdviceUse(uses[0].id, same))
    code, space, rest = template.rpartition("}")[2].partition(" ")
    after = code[len(code.rstrip(",")) :] + space + rest
    if not rest or rest.count("(") != rest.count(")") or any(not text.endswith(after) for text in texts):
        return "; and ".join(texts)
    before = "".join(template.partition("{")[0].rpartition(" ")[:2])
    return before + listed([text.removesuffix(after).removeprefix(before) for text in texts], len(texts)) + after


def _is_code(template: str, name: str) -> bool:
    """Whether the value ``name`` of an advice is a part of an expression: of a dotted name, or an argument."""
    for found in re.finditer(rf"\{{{name}\}}", template):
        before, after = template[: found.start()], template[found.end() :]
        calls = re.search(r"[\w.]\([^()]*$", before)
        if calls or after[:1] in tuple(".([") or not before or before[-1] not in " (":
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Freed:
    """What some advice frees."""

    values: Values = NOTHING
    when_changed: Values = NOTHING
    at_first: Values = NOTHING
    ducks: bool = False
    """Sizes that are equal are one symbol."""

    def __or__(self, other: _Freed) -> _Freed:
        ducks = self.ducks or other.ducks
        at_first = self.at_first | other.at_first
        return _Freed(self.values | other.values, self.when_changed | other.when_changed, at_first, ducks)

    @property
    def all(self) -> Values:
        return self.values | self.when_changed | self.at_first


class FunctionReplay:
    """What freeing values does for the compilations of one function."""

    def __init__(
        self, function: FunctionRecord, pinned: frozenset[str] = frozenset(), graphs: Iterable[GraphRecord] = ()
    ) -> None:
        """``pinned``: sizes that what the function calls has made constants of: torch raises an error where one of a
        marked tensor is.  ``graphs``: those of the run, or of the function alone."""
        self._function, self._pinned = function, pinned
        self.entries = function.entries
        self.table = GuardTable(function.entries, offsets_of(function, graphs))

    @property
    def known(self) -> bool:
        """Whether it is recorded what failed, of all compilations but the first."""
        return all(self.table.rows[1:])

    @property
    def at_limit(self) -> bool:
        """Whether the function ran as ordinary Python in the end, so that later calls are not recorded."""
        return any(entry.failed and entry.recompiles for entry in self.entries)

    @functools.cached_property
    def unasked(self) -> bool:
        """Whether a size that differed is a symbol in no entry, so that the program's guards on a symbol are
        unknown."""
        asked = set()
        for entry in self.entries:
            asked |= {in_program(symbol.source, entry) for symbol in entry.symbols}
        sizes = (value for value in self.advice if value.what == "size")
        return any(f"{value.source}.size()[{value.index}]" not in asked for value in sizes)

    @functools.cached_property
    def advice(self) -> dict[GuardedValue, Uses]:
        """Value -> what would free it, the best first."""
        found: dict[GuardedValue, dict[AdviceUse, None]] = {}
        for entry, row in zip(self.table.entries, self.table.refusals, strict=True):
            advice = ValueAdvice(self._function, entry)
            for refusal in row:
                for failed in failed_in(refusal.failed):
                    given = (use for use in advice.on(failed) if not (is_mark(use) and self._is_pinned(failed)))
                    found.setdefault(failed.value, {}).update(dict.fromkeys(given))
        needed = _needed(found)
        for value, uses in found.items():
            if value.small and value.whole & needed:  # a line asks for the size
                found[value] = {use: None for use in uses if use.id != "mark-unbacked"}
        return {value: tuple(uses) for value, uses in found.items()}

    def _is_pinned(self, failed: FailedValue) -> bool:
        difference = failed.difference
        return difference is not None and bool({difference.wanted.text, difference.found.text} & self._pinned)

    @functools.cached_property
    def needed(self) -> Values:
        """The sizes that a line of the program specialises to constants."""
        return _needed(self.advice)

    @functools.cached_property
    def fixed(self) -> Values:
        """The values for which no advice changes anything."""
        return frozenset(value for value, uses in self.advice.items() if not any(map(is_remedy, uses)))

    @functools.cached_property
    def undecided(self) -> Values:
        """The numbers by which the program decides, and of which no entry shows how."""
        return self._where(ValueAdvice.undecided)

    def _where(self, holds: Callable[[ValueAdvice, FailedValue], bool]) -> Values:
        found: set[GuardedValue] = set()
        for entry, row in zip(self.table.entries, self.table.refusals, strict=True):
            advice = ValueAdvice(self._function, entry)
            failed = (one for refusal in row for one in failed_in(refusal.failed))
            found |= {one.value for one in failed if holds(advice, one)}
        return frozenset(found)

    def moves_unseen(self, uses: Collection[AdviceUse]) -> bool:
        """Whether ``uses`` put a number into a tensor of which not all uses are seen."""
        tensors = {use for use in uses if use.id in TENSORS}
        values = self._where(ValueAdvice.unseen) if tensors else frozenset()
        return any(not tensors.isdisjoint(self.advice.get(value, ())) for value in values)

    def frees_undecided(self, uses: Collection[AdviceUse]) -> bool:
        """Whether ``uses`` make a symbol of such a number."""
        symbolic = [use for use in uses if ADVICE[use.id].frees in _SYMBOLIC]
        ids = {use.id for use in symbolic if is_option(use)}
        known = (use for value in self.undecided for use in self.advice.get(value, ()))
        return any(use in symbolic or use.id in ids for use in known)

    def frees_unknown_start(self, uses: Collection[AdviceUse]) -> bool:
        """Whether ``uses`` make a symbol of a size of a tensor of which the graphs have nothing but sizes: nothing says
        where it begins in its storage."""
        symbolic = [use for use in uses if ADVICE[use.id].frees in _SYMBOLIC]
        ids = {use.id for use in symbolic if is_option(use)}
        return any(
            value.what == "size" and self.table.has_no_start(value.source)
            for value, known in self.advice.items()
            if any(use in symbolic or use.id in ids for use in known)
        )

    @property
    def asks_more(self) -> bool:
        """Whether dynamic sizes may need guards that no entry shows: no entry has the symbol, the program tests a
        value, or a call compiled no graph (only numbers were compared)."""
        return self.idle or self.unasked or any(value.kind for value in self.fixed)

    @property
    def idle(self) -> bool:
        """Whether a call compiled no graph."""
        return any(entry.state is EntryState.NOTHING for entry in self.entries)

    @functools.cached_property
    def ways(self) -> tuple[FreedValues, ...]:
        return self.table.replay(self.fixed).ways

    def freed(self, use: AdviceUse, value: GuardedValue) -> _Freed:
        """The values that may change without a recompilation when ``use``, an advice on ``value``, is followed."""
        frees = ADVICE[use.id].frees
        plain = frozenset({value} if not value.small else ())
        if frees is Frees.SYMBOL:
            return _Freed(at_first=plain)
        if frees is Frees.SYMBOL_WHEN_CHANGED:
            return _Freed(when_changed=plain)
        if frees in (Frees.SYMBOLS, Frees.SYMBOLS_WHEN_CHANGED):
            symbols = frozenset(
                one for one, uses in self.advice.items() if use in uses and not one.small and not _both(uses)
            )
            return _Freed(symbols, ducks=True) if frees is Frees.SYMBOLS else _Freed(when_changed=symbols)
        whole = value.whole if frees in (Frees.VALUE, Frees.UNASKED) else NOTHING
        return _Freed(at_first=whole) if is_mark(use) else _Freed(whole)

    @functools.cached_property
    def strides(self) -> Values:
        """The values that are the strides of a tensor, which come with it."""
        failed = (one for row in self.table.refusals for refusal in row for one in failed_in(refusal.failed))
        return frozenset(one.value for one in failed if one.difference is not None and one.difference.of_strides)

    def left_after(
        self,
        uses: Collection[AdviceUse],
        options_only: bool = False,
        other_strides: bool = False,
        alone: bool = False,
        marked_later: bool = False,
    ) -> int:
        """The number of compilations left when ``uses`` are followed.  An option of torch applies to all values.
        ``options_only``: ignore advice that is no option, which is for another function.  ``other_strides``: assume the
        strides that the guards want.  ``alone``: see ``GuardTable.kept``.  ``marked_later``: a mark is on the tensors
        of all calls, not only on that of the first one."""
        freed = self._freed_by(uses, options_only)
        values = freed.values | self.strides if other_strides else freed.values
        values = values | freed.at_first if marked_later else values
        return self.table.left(values, freed.when_changed, freed.ducks, freed.at_first, alone)

    def ends_early(self, uses: Collection[AdviceUse], options_only: bool = False) -> bool:
        """Whether an entry after which the rest of the function runs as ordinary Python serves, when ``uses`` are
        followed, calls of which more was compiled."""
        ended = {one.key.text for one in self.entries if any(broke.cut or broke.skipped for broke in one.breaks)}
        if not ended:
            return False
        freed = self._freed_by(uses, options_only)
        kept = self.table.kept(freed.values, freed.when_changed, freed.ducks, freed.at_first)
        return any(names[0] in ended and not ended.issuperset(names) for names in kept)

    def _freed_by(self, uses: Collection[AdviceUse], options_only: bool) -> _Freed:
        ids = {use.id for use in uses if is_option(use)}
        freed = _Freed()
        for value, known in self.advice.items():
            for use in known:
                if use.id in ids or (use in uses and not options_only):
                    freed |= self.freed(use, value)
        return freed

    def left_as_symbol(self, value: GuardedValue) -> int:
        """The number of compilations left when the size is a symbol from the first call on, and is never 0 or 1."""
        return self.table.left(NOTHING, at_first=frozenset(one for one in value.whole if not one.small))

    @functools.cached_property
    def unknown(self) -> Values:
        """The values for which no advice is known."""
        return frozenset(value for value, uses in self.advice.items() if not uses)

    def helps(self, values: Values) -> bool:
        """Whether fewer compilations are needed when ``values`` may change."""
        return self.table.left(values) < self.table.compilations

    def together(self, values: Values) -> Values:
        """The smallest set of values that removes compilations and has all of ``values`` that can be freed; those alone
        where there is none."""
        wanted = values - self.fixed
        if not wanted or self.helps(wanted):
            return wanted
        found = (frozenset(way.values) for way in self.ways)
        return min((way for way in found if wanted <= way), key=len, default=wanted)


def ways_out(
    replays: Sequence[FunctionReplay],
    values: Iterable[GuardedValue],
    others: Iterable[FunctionReplay] = (),
    more: Iterable[AdviceUse] = (),
) -> tuple[WayOut, ...]:
    """The ways that leave fewer compilations, the best of each kind first.  ``values``: what a cause is about, its main
    value first; ``others``: the other functions of the run, to which an option of torch applies as well; ``more``:
    advice that is about no value. () where it is unknown what would free one of the values."""
    rest = tuple(others)
    compilations = sum(replay.table.compilations for replay in (*replays, *rest))
    asked = tuple(dict.fromkeys(values))
    found: dict[Uses, WayOut] = {}
    for lead in asked:
        offered = dict.fromkeys(use for replay in replays for use in replay.advice.get(lead, ()) if is_remedy(use))
        for use in offered:
            for at_once in (False, True):
                uses: dict[AdviceUse, None] = {use: None}
                for replay in replays:
                    _follow(replay, lead, use, frozenset(asked), uses, at_once)
                _complete(uses, replays)
                after = _left(uses, replays, rest)
                for other in [one for one in uses if one != use and not is_option(one)]:
                    without = uses.keys() - {other}
                    if _left(without, replays, rest) <= after:
                        del uses[other]
                helps = after < compilations and not _as_well(lead, after, replays, rest)
                if helps and not ends_early(uses, replays, rest):
                    bounds = _bounds(uses, after, replays, rest)
                    if any(map(is_mark, uses)) and any(replay.needed - {lead} for replay in replays):
                        bounds.add(Bound.OR_FEWER)  # a size that is fixed to the marked one is free with it
                    bound = next(iter(bounds)) if len(bounds) == 1 else Bound.EXACT
                    predicted = Prediction(compilations, after, bound) if len(bounds) < 2 else None
                    found.setdefault(tuple(uses), WayOut(tuple(uses), predicted))
                    break
        if found:
            break
    if any(replay.idle for replay in (*replays, *rest)):
        found = {uses: way for uses, way in found.items() if not _doubtful(way, found.values())}
    return (*list(found.values())[:_ALTERNATIVES], *(WayOut((use,)) for use in more if is_remedy(use)))


def ends_early(uses: Collection[AdviceUse], own: Iterable[FunctionReplay], others: Iterable[FunctionReplay]) -> bool:
    """Whether fewer compilations are left because more runs as ordinary Python, when ``uses`` are followed."""
    return any(one.ends_early(uses) for one in own) or any(one.ends_early(uses, True) for one in others)


def _doubtful(way: WayOut, others: Iterable[WayOut]) -> bool:
    """Whether it makes symbols of all numbers, so that functions without an operation are compiled, too, and another
    way leaves as few for certain."""
    prediction = way.prediction
    if prediction is None or not any(ADVICE[use.id].frees is Frees.SYMBOLS for use in way.uses):
        return False
    exact = (one.prediction for one in others if one.prediction is not None)
    return any(one.bound is Bound.EXACT and one.after <= prediction.after for one in exact)


def _as_well(
    lead: GuardedValue, after: int, replays: Iterable[FunctionReplay], others: Iterable[FunctionReplay]
) -> bool:
    """Whether entries for sizes 0 and 1 are needed all the same: a symbol, which does not serve them, does as much."""
    if not lead.small:
        return False
    return sum(one.left_as_symbol(lead) for one in replays) + sum(one.table.compilations for one in others) <= after


def _bounds(
    uses: Collection[AdviceUse], after: int, replays: Sequence[FunctionReplay], others: Sequence[FunctionReplay]
) -> set[Bound]:
    """What bounds the number ``after`` of compilations that ``uses`` leave are; both where it says nothing."""
    if any(replay.moves_unseen(uses) for replay in replays):
        return {*Bound} - {Bound.EXACT}
    reached = [*replays, *(others if any(map(is_option, uses)) else ())]
    frees = {ADVICE[one.id].frees for one in uses}
    unknown = _NO_STATIC in uses or any(replay.at_limit for replay in reached)
    unknown = unknown or Frees.UNASKED in frees  # no entry shows what is asked
    unknown = unknown or (Frees.SYMBOLS in frees and any(replay.asks_more for replay in reached))
    unknown = unknown or (Frees.SYMBOLS in frees and any(replay.table.may_part_ducks for replay in reached))
    unknown = unknown or any(replay.frees_unknown_start(uses) for replay in reached)
    undecided = any(replay.frees_undecided(uses) for replay in reached)
    bounds = {Bound.OR_MORE} if unknown or undecided else set()
    if undecided and _left(uses, replays, others, alone=True) < after:
        bounds.add(Bound.OR_FEWER)  # an entry that decides otherwise may be another one
    if _left(uses, replays, others, other_strides=True) < after:
        bounds.add(Bound.OR_FEWER)
    if any(map(is_mark, uses)) and _left(uses, replays, others, marked_later=True) < after:
        bounds.add(Bound.OR_FEWER)  # a result with a symbol for a size is marked: it may be an argument later
    return bounds


def _left(
    uses: Collection[AdviceUse],
    replays: Iterable[FunctionReplay],
    others: Iterable[FunctionReplay],
    **assumed: bool,
) -> int:
    """``assumed``: see ``FunctionReplay.left_after``."""
    own = sum(replay.left_after(uses, False, **assumed) for replay in replays)
    return own + sum(one.left_after(uses, True, **assumed) for one in others)


def _needed(advice: Mapping[GuardedValue, Iterable[AdviceUse]]) -> Values:
    return frozenset(
        value for value, uses in advice.items() if value.what == "size" and any(u.id == "needed-value" for u in uses)
    )


def unpredicted(advice: Iterable[AdviceUse]) -> tuple[WayOut, ...]:
    """The ways out of a recompilation whose failed guards were not recorded.  The first one applies the same advice to
    several values; other advice is a way by itself."""
    remedies = [use for use in advice if is_remedy(use)]
    if not remedies:
        return ()
    same = [use for use in remedies if use.id == remedies[0].id]
    return (WayOut(tuple(same)), *(WayOut((use,)) for use in remedies if use not in same))


def _follow(
    replay: FunctionReplay,
    lead: GuardedValue,
    use: AdviceUse,
    asked: Values,
    uses: dict[AdviceUse, None],
    at_once: bool,
) -> None:
    """Add to ``uses``: for each value that has to be freed with ``lead``, the advice nearest to ``use``.

    ``at_once``: what frees a value from the first call on is preferred to what does so when
    it has changed."""
    wanted = replay.together(asked & replay.table.values)
    freed = replay.freed(use, lead) if lead in replay.table.values else _Freed()
    for value in sorted(wanted - freed.all, key=in_order):
        known = replay.advice.get(value, ())
        offered = [one for one in known if is_remedy(one) and _goes_with(one, use)]
        if _both(known):
            offered = [one for one in offered if one != _NO_STATIC]
        if at_once:
            offered.sort(key=lambda one: ADVICE[one.id].frees is Frees.SYMBOL_WHEN_CHANGED)
        other = next((one for one in offered if one in uses or one.id == use.id), next(iter(offered), None))
        if other is not None:
            uses[other] = None
            freed |= replay.freed(other, value)


def _goes_with(one: AdviceUse, use: AdviceUse) -> bool:
    """Whether both are worth being followed: one of them may do all that the other does."""
    if one == use:
        return True
    frees = {ADVICE[one.id].frees, ADVICE[use.id].frees}
    if {one.id, use.id} == {"mark-dynamic", "dynamic-parameters"}:
        return False  # a marked size that must be that of a parameter is an error in the first call
    return not frees & _ALL_SYMBOLS or Frees.SYMBOL_WHEN_CHANGED in frees


def _both(uses: Iterable[AdviceUse]) -> bool:
    """Whether a value with this advice is free only if dynamic=False is left out, too."""
    ids = {use.id for use in uses}
    return _NO_STATIC.id in ids and any(ADVICE[id].frees is Frees.SYMBOL_WHEN_CHANGED for id in ids)


def _complete(uses: dict[AdviceUse, None], replays: Iterable[FunctionReplay]) -> None:
    """Add to ``uses`` that dynamic=False is left out, where others help only then."""
    if any(
        _both(known) and not uses.keys().isdisjoint(known) for replay in replays for known in replay.advice.values()
    ):
        uses[_NO_STATIC] = None
