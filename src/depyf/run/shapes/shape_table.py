"""Which size of which input may be what, for one function: each fact once, for all of its compilations.

Input: the symbols, conditions and guards of a ``FunctionRecord``.  Output: ``FunctionShapes``.  Invariant: a condition
is left out only where it held for every combination of values that was tried.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.run.graphs.value_types import SYMBOL
from depyf.run.guards.kinds.tensor_guard import layout_of
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord, EntryRecord, FunctionRecord, ShapeFact, SymbolRecord
from depyf.run.shapes.allowed_sizes import AllowedSizes, bounds, candidates, described, holding
from depyf.run.shapes.guard_symbols import symbols_of_guards
from depyf.run.shapes.joint_sizes import jointly_allowed
from depyf.run.shapes.size_expression import (
    NO_VALUE,
    SizeExpression,
    conjuncts,
    evaluator,
    read_size_expression,
    simplified,
    substituted,
    written,
)
from depyf.run.shapes.size_names import SizeName, made_by_torch, size_name

_MOST_TRIED = 400
"""Combinations of values on which conditions of several sizes are tried."""
_MOST_EVALUATIONS = 120_000
_ENOUGH = 6
"""With fewer combinations left, nothing is said to follow from what was found before."""

LAYOUT, BROADCAST, CONVOLUTION = (
    "the memory layout of a result",
    "whether sizes are broadcast",
    "which convolution runs",
)
RESHAPE, INDUCTOR = "how a view is made", "Inductor's choice of code"
_CHOICES = (
    (LAYOUT, re.compile(
        r"contiguous|channels_last|strides_like|non_overlapping|_from_cache_entry"
        r"|elementwise_output|compute_stride|_layout"
    )),
    (CONVOLUTION, re.compile(r"fake_impls\.conv$|conv_backend|_conv")),
    (RESHAPE, re.compile(r"_reshape_view_helper|_view_|_compute_stride")),
    (BROADCAST, re.compile(r"broadcast|infer_size|\.expand")),
    (INDUCTOR, re.compile(r"^torch\._inductor\.")),
)  # fmt: skip
"""Torch's own heuristics, by the function that asks."""


def heuristic(asker: str) -> str:
    """What a heuristic of torch wanted to know; "" for a demand of the operator or the program."""
    return next((words for words, pattern in _CHOICES if pattern.search(asker)), "")


@dataclass(frozen=True, slots=True)
class Decision:
    """What restricted a size: a line of the program, an operator or a heuristic of torch; else ``note`` says what."""

    place: Place | None = None
    operator: str = ""
    choice: str = ""
    note: str = ""

    def to_json(self) -> dict[str, str]:
        place = str(self.place) if self.place is not None else ""
        parts = {"at": place, "operator": self.operator, "choice": self.choice, "note": self.note}
        return {name: text for name, text in parts.items() if text}


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One size or number, and the values that it may have in ``entries``."""

    name: SizeName
    symbol: str
    allowed: str
    decisions: tuple[Decision, ...]
    entries: tuple[str, ...] = ()
    constant: bool = False


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """A condition on several sizes, or one that no range says."""

    text: str
    decisions: tuple[Decision, ...]
    entries: tuple[str, ...] = ()
    equality: bool = False


@dataclass(frozen=True, slots=True)
class FunctionShapes:
    """The sizes of one function, and the conditions on them."""

    code: CodeRecord
    sizes: tuple[SizeRow, ...]
    conditions: tuple[ConditionRow, ...]
    """What the program and its operators ask for, equalities first."""
    choices: tuple[ConditionRow, ...]
    """What heuristics of torch asked for."""
    implied: int
    """How many conditions said nothing more."""

    def __str__(self) -> str:
        lines = []
        for row in self.sizes:
            places = dict.fromkeys(str(decision.place) for decision in row.decisions if decision.place is not None)
            why = [*places] or [decision.note for decision in row.decisions]
            constant = ", a constant" if row.constant else ""
            lines.append(
                f"{row.name.text}: {row.allowed}{constant} in {', '.join(row.entries)}" + "".join(f"; {w}" for w in why)
            )
        return "\n".join(
            [*lines, *(f"{row.text} in {', '.join(row.entries)}" for row in (*self.conditions, *self.choices))]
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data: each size with what it may be, in which entries, and what decided; then the conditions."""
        return {
            "sizes": [
                {
                    "input": row.name.input, "size": row.name.dimension, "allowed": row.allowed,
                    "constant": row.constant, "entries": list(row.entries),
                    "decided_by": [decision.to_json() for decision in row.decisions],
                }
                for row in self.sizes
            ],
            "conditions": [
                {
                    "condition": row.text, "entries": list(row.entries),
                    "decided_by": [decision.to_json() for decision in row.decisions],
                }
                for row in (*self.conditions, *self.choices)
            ],
        }  # fmt: skip


@dataclass
class _EntryShapes:
    """One compilation while it is read."""

    entry: EntryRecord
    rows: list[SizeRow] = field(default_factory=list)
    conditions: list[ConditionRow] = field(default_factory=list)
    implied: int = 0


def shapes_of(function: FunctionRecord) -> FunctionShapes | None:
    """The table of the sizes of ``function``; None where all of them are constants."""
    read = [_entry(entry) for entry in sorted(function.entries, key=lambda entry: entry.key.order)]
    dynamic = {row.name.text for found in read for row in found.rows}
    if not dynamic:
        return None
    for position, found in enumerate(read):
        if found.entry.guards:
            found.rows += _constants(found, dynamic, first=position == 0)
    rows: dict[SizeRow, list[str]] = {}
    conditions: dict[ConditionRow, list[str]] = {}
    for found in read:
        for row in found.rows:
            rows.setdefault(row, []).append(found.entry.key.label)
        for condition in found.conditions:
            conditions.setdefault(condition, []).append(found.entry.key.label)
    sizes = [replace(row, entries=tuple(labels)) for row, labels in _merged(rows).items()]
    sizes.sort(key=lambda row: row.name.order)
    own: list[ConditionRow] = []
    choices: list[ConditionRow] = []
    for condition, labels in conditions.items():
        of_torch = all(decision.choice for decision in condition.decisions)
        (choices if of_torch else own).append(replace(condition, entries=tuple(labels)))
    return FunctionShapes(
        function.code,
        tuple(sizes),
        tuple(sorted(own, key=lambda row: (not row.equality, len(row.text)))),
        tuple(choices),
        max((found.implied for found in read), default=0),
    )


def _merged(rows: dict[SizeRow, list[str]]) -> dict[SizeRow, list[str]]:
    """The rows with those merged that differ only in why the size is a symbol."""
    found: dict[SizeRow, tuple[dict[Decision, None], list[str]]] = {}
    for row, labels in rows.items():
        free = row.decisions and all(decision.note in _DYNAMIC.values() for decision in row.decisions)
        decisions, known = found.setdefault(replace(row, decisions=()) if free else row, ({}, []))
        decisions.update(dict.fromkeys(row.decisions))
        known += labels
    return {replace(row, decisions=tuple(decisions)): labels for row, (decisions, labels) in found.items()}


@dataclass(frozen=True, slots=True)
class _Condition:
    expression: SizeExpression
    decision: Decision


def _renamed(text: str, names: dict[str, str]) -> str:
    """``text``, which is no expression (torch's longest are cut), with the program's words for symbols."""
    return SYMBOL.sub(lambda match: names.get(match[0], match[0]), text)


def _decision(fact: ShapeFact) -> Decision:
    if fact.asker in _DYNAMIC:
        return Decision(note=_DYNAMIC[fact.asker])
    return Decision(fact.place, fact.operator, heuristic(fact.asker))


def _entry(entry: EntryRecord) -> _EntryShapes:
    found = _EntryShapes(entry)
    told, facts = (entry.symbols, entry.shape_facts) if entry.symbols else symbols_of_guards(entry.guards)
    symbols = {symbol.name: symbol for symbol in told}
    inside = frozenset(name for name, symbol in symbols.items() if of_torch(symbol))
    names = {name: _sources(symbol)[0].text for name, symbol in symbols.items()}
    solved = {name: parsed for name, s in symbols.items() if (parsed := _replaced(s)) is not None}
    positive = frozenset(name for name, s in symbols.items() if (bounds(s.final or s.range)[0] or 0) >= 1)
    conditions: list[_Condition] = []
    for fact in facts:
        whole = read_size_expression(fact.expression)
        if inside and not inside.isdisjoint(SYMBOL.findall(fact.expression)):
            continue
        if whole is None:
            found.conditions.append(ConditionRow(_renamed(fact.expression, names), (_decision(fact),)))
        for part in conjuncts(whole) if whole is not None else ():
            conditions.append(_Condition(part, _decision(fact)))
    reduced = [replace(c, expression=simplified(substituted(c.expression, solved), positive)) for c in conditions]
    alone: dict[str, list[_Condition]] = {}
    several: list[_Condition] = []
    for condition in reduced:
        used = condition.expression.names
        if len(used) == 1:
            alone.setdefault(used[0], []).append(condition)
        elif used:
            several.append(condition)
    allowed: dict[str, AllowedSizes] = {}
    equated = _equated(conditions, reduced)
    for name, symbol in symbols.items():
        if name in inside:
            continue
        sources, shown = _sources(symbol), name if name != symbol.source else ""
        if symbol.became or name in solved:
            text, decisions = _fixed(symbol, solved.get(name), equated, names)
            found.rows.append(SizeRow(sources[0], shown, text, decisions, constant=bool(symbol.became)))
        elif not symbol.name.startswith("z"):
            allowed[name], decisions = _allowed(symbol, alone.get(name, []))
            found.rows.append(SizeRow(sources[0], shown, str(allowed[name]), decisions))
        else:
            found.rows.append(SizeRow(sources[0], shown, "any number", ()))
        found.rows += [
            SizeRow(other, shown, f"= {sources[0].text}", (Decision(note=_duck(sources[0], other)),))
            for other in sources[1:]
        ]
    kept, dropped = _independent(several, allowed, symbols)
    found.implied = dropped
    found.rows = _narrowed(found.rows, kept, allowed, symbols)
    texts: dict[str, tuple[bool, dict[Decision, None]]] = {}
    for condition in kept:
        text = written(condition.expression, names)
        texts.setdefault(text, (condition.expression.op == "==", {}))[1][condition.decision] = None
    found.conditions += [
        ConditionRow(text, tuple(decisions), equality=equality) for text, (equality, decisions) in texts.items()
    ]
    return found


def _narrowed(
    rows: list[SizeRow],
    conditions: Sequence[_Condition],
    allowed: dict[str, AllowedSizes],
    symbols: dict[str, SymbolRecord],
) -> list[SizeRow]:
    """The rows, with fewer values for sizes of which the conditions on several leave only these."""
    lowest = {name: sizes.low for name, sizes in allowed.items() if sizes.low is not None and not sizes.words}
    compiled = {name: [int(s.value)] for name, s in symbols.items() if s.value.isdigit()}
    left = jointly_allowed([condition.expression for condition in conditions], lowest, compiled)
    found = {}
    for name, values in left.items():
        fits = [value for value in values if allowed[name].high is None or value <= (allowed[name].high or 0)]
        if fits and allowed[name].step == 1 and not allowed[name].without:
            shown = described(fits, range(fits[0], fits[-1] + 1), fits[0], fits[-1])
            own = tuple(dict.fromkeys(c.decision for c in conditions if name in c.expression.names))
            found[_sources(symbols[name])[0]] = str(shown), own
    return [
        replace(row, allowed=found[row.name][0], decisions=found[row.name][1])
        if row.name in found and not row.allowed.startswith("= ") and not row.constant
        else row
        for row in rows
    ]


def _duck(one: SizeName, other: SizeName) -> str:
    both = f"{one.text} and {other.text}"
    if one.input == other.input and one.dimension.isdigit() and other.dimension.isdigit():
        both = f"sizes {one.dimension} and {other.dimension} of {one.input}"
    return f"{both} were equal in the call that was compiled, so torch takes them for one (duck sizing)"


def _sources(symbol: SymbolRecord) -> list[SizeName]:
    """The places of a size; those that torch makes up for itself last."""
    sources = symbol.sources or (symbol.source,)
    known = [source for source in sources if source]
    own = [source for source in known if not made_by_torch(source)] or known
    found = list(dict.fromkeys(map(size_name, own)))
    found.sort(key=lambda name: "._base" in name.text)
    return found or [SizeName(symbol.name, "", symbol.name)]


def of_torch(symbol: SymbolRecord) -> bool:
    """Whether the symbol is a size of a tensor that torch made itself: the state of a random number generator."""
    sources = [source for source in symbol.sources or (symbol.source,) if source]
    return bool(sources) and all(map(made_by_torch, sources))


def _replaced(symbol: SymbolRecord) -> SizeExpression | None:
    text = symbol.equals or symbol.became
    return read_size_expression(text) if text and text != symbol.name else None


def _equated(conditions: Sequence[_Condition], reduced: Sequence[_Condition]) -> dict[str, Decision]:
    """Of each symbol that another one, or a number, takes the place of, the first equality that said so."""
    found: dict[str, Decision] = {}
    for one, other in zip(conditions, reduced):
        if one.expression.op == "==":
            left = set(other.expression.names)
            for name in one.expression.names:
                if name not in left:
                    found.setdefault(name, one.decision)
    return found


def _fixed(
    symbol: SymbolRecord, by: SizeExpression | None, equated: dict[str, Decision], names: dict[str, str]
) -> tuple[str, tuple[Decision, ...]]:
    """For a size that is replaced: the size or number in its place, and the equality that says so."""
    text = symbol.became or (written(by, names) if by is not None else "")
    if symbol.where is not None:
        return (text if symbol.became else f"= {text}"), (Decision(symbol.where, symbol.by),)
    said = (equated[symbol.name],) if symbol.name in equated else ()
    number = by is not None and by.op == "number"
    return (text if number else f"= {text}"), said


_DYNAMIC = {
    "marked": "mark_dynamic",
    "changed": "changed between two compilations",
    "asked": "dynamic=True",
    "declared": "declared: dynamic_shapes= or mark_unbacked",
    "layout": "a size of the tensor is a symbol",
}
"""Why a size is a symbol, where nothing more is known."""
_DEFAULTS = ("[2, int_oo]", "[0, int_oo]", "[-int_oo, int_oo]", "")


def _allowed(symbol: SymbolRecord, conditions: Sequence[_Condition]) -> tuple[AllowedSizes, tuple[Decision, ...]]:
    """The values that a size may have, and the conditions that took others away."""
    low, high = bounds(symbol.range)
    if symbol.dynamic == "declared":  # torch begins with all numbers
        low = max(low or 0, 0)
    last_low, last_high = bounds(symbol.final or symbol.range)
    tried = candidates(low, high, [condition.expression for condition in conditions])
    if last_high is not None and last_high != high:
        tried = sorted({*tried, *range(max(last_high - 16, low or 0), last_high + 2)})
    decisions: dict[Decision, None] = {}
    if symbol.dynamic == "marked" and symbol.range not in _DEFAULTS:
        decisions[Decision(note="mark_dynamic(min=..., max=...)")] = None
    elif symbol.dynamic in _DYNAMIC:
        layout = symbol.dynamic == "asked" and size_name(symbol.source).of_layout  # no option asked for it
        decisions[Decision(note=_DYNAMIC["layout" if layout else symbol.dynamic])] = None
    elif symbol.name.startswith("u"):
        decisions[Decision(symbol.place, note="a value that is known only when it runs")] = None
    values: list[int] = tried
    narrowing: list[_Condition] = []
    for condition in conditions:
        left = holding(values, symbol.name, condition.expression)
        if left and len(left) < len(values):
            values = left
            narrowing.append(condition)
    narrowing = _needed(narrowing, symbol.name, tried)
    decisions |= dict.fromkeys(condition.decision for condition in narrowing)
    said = dict.fromkeys(written(c.expression, {symbol.name: _sources(symbol)[0].text}) for c in narrowing)
    bounded = [v for v in values if (last_low is None or v >= last_low) and (last_high is None or v <= last_high)]
    if bounded and len(bounded) < len(values):
        values = bounded
        decisions[Decision(note="bounds that torch has concluded from these and from others")] = None
    shown = described(values, tried, last_low, last_high)
    if shown.low is None and said:  # a number of the program's, below zero, too
        shown = replace(shown, words="what meets " + " and ".join(said))
    if not decisions and symbol.place is not None:
        decisions[Decision(symbol.place, note="first used there")] = None
    only = [d for d in decisions if d.place is not None or d.note not in _DYNAMIC.values()]
    return shown, tuple(only or decisions)


_MOST_NARROWING = 24


def _needed(narrowing: list[_Condition], name: str, tried: Sequence[int]) -> list[_Condition]:
    """Those without which other values would be allowed; of torch's own choices and of the early ones as few as
    possible."""
    if len(narrowing) > _MOST_NARROWING:
        return narrowing
    kept = [set(holding(tried, name, condition.expression)) for condition in narrowing]
    out: set[int] = set()
    for place in sorted(range(len(narrowing)), key=lambda n: (not narrowing[n].decision.choice, n)):
        others = [kept[n] for n in range(len(narrowing)) if n != place and n not in out]
        if others and set.intersection(*others) <= kept[place]:
            out.add(place)
    return [condition for n, condition in enumerate(narrowing) if n not in out]


def _independent(
    conditions: Iterable[_Condition], allowed: dict[str, AllowedSizes], symbols: dict[str, SymbolRecord]
) -> tuple[list[_Condition], int]:
    """The conditions that say more than those before them, and how many do not.

    They are tried on combinations of allowed values; the one that was compiled for meets them all.
    """
    first: dict[SizeExpression, list[Decision]] = {}
    for condition in conditions:
        first.setdefault(condition.expression, []).append(condition.decision)
    names = sorted({name for expression in first for name in expression.names})
    tried = _combinations(names, allowed, symbols, max(40, min(_MOST_TRIED, _MOST_EVALUATIONS // max(1, len(first)))))
    kept: list[_Condition] = []
    dropped = 0
    for expression in sorted(first, key=lambda e: (e.op != "==", len(e.names), len(written(e)))):
        program = evaluator(expression)
        left = []
        for known in tried:
            try:
                holds = bool(program(known))
            except (*NO_VALUE, KeyError):
                holds = True
            if holds:
                left.append(known)
        if len(left) == len(tried) and len(tried) >= _ENOUGH:
            dropped += 1
            continue
        tried = left
        decisions = dict.fromkeys(first[expression])
        kept += [_Condition(expression, decision) for decision in decisions]
    return kept, dropped


def _combinations(
    names: Sequence[str], allowed: dict[str, AllowedSizes], symbols: dict[str, SymbolRecord], most: int
) -> list[dict[str, float]]:
    """Up to ``most`` assignments of values, the first one that of the compilation; the same ones in every run."""
    compiled = {
        name: int(value) for name in names if (value := symbols[name].value if name in symbols else "").isdigit()
    }
    ranges: dict[str, list[int]] = {}
    for name in names:
        values: tuple[int, ...] = allowed[name].examples if name in allowed else ()
        own = [compiled[name]] if name in compiled else []
        ranges[name] = list(dict.fromkeys([*own, *values])) or [2, 3, 7]
    total = 1
    for choice in ranges.values():
        total *= len(choice)
    if total <= most:
        return [dict(zip(names, values)) for values in itertools.product(*ranges.values())]
    seed = 1
    found: list[dict[str, float]] = [{name: choice[0] for name, choice in ranges.items()}]
    while len(found) < most:
        chosen: dict[str, float] = {}
        for name, choice in ranges.items():
            seed = (seed * 1103515245 + 12345) % (1 << 31)
            chosen[name] = choice[(seed >> 8) % len(choice)]
        found.append(chosen)
    return found


_SMALL = "torch takes sizes 0 and 1 for constants"
KEPT_CONSTANT = "torch takes a size for a constant until it has changed"


def _constants(found: _EntryShapes, dynamic: set[str], first: bool) -> list[SizeRow]:
    """The sizes that are constants in this entry, and symbols in another one."""
    wanted = dynamic.difference(row.name.text for row in found.rows)
    rows = []
    layouts = (layout_of(guard.expression) or layout_of(guard.text) for guard in found.entry.guards)
    for layout in filter(None, layouts):
        for index, value in enumerate(layout.sizes):
            name = size_name(f"{layout.tensor}.size()[{index}]")
            if value is not None and name.text in wanted:
                note = _SMALL if value in (0, 1) and not first else KEPT_CONSTANT
                rows.append(SizeRow(name, "", str(value), (Decision(note=note),), constant=True))
    return rows
