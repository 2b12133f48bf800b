"""What is known of dynamic-shape symbols in the end, as far as a log tells it: by the guards that torch made of it.

Input: the symbols and guards of a compilation; sizes that torch made dynamic because they had changed.  Output: a
``FinalSymbol`` for each.  torch writes the range of a symbol as a guard on its first source, and one equality for each
of its other sources (``ShapeEnv.produce_guards_verbose`` in ``torch/fx/experimental/symbolic_shapes.py``).  Of two
symbols that are equal the log does not say which one is replaced.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from depyf.run.records import GuardRecord, SymbolRecord
from depyf.safety.unheard import parse
from depyf.sources.reports.shape_questions import FinalSymbol

_AUTOMATIC = "automatic_dynamic"
_SIZE = "size change"
_OFFSET = ".storage_offset()"
_NO_FLOAT_BOUND = "-oo"
_CHANGED, _ASKED = "changed", "asked"


def changed_size(event: Mapping[str, Any]) -> str:
    """The source of the size that torch makes dynamic from now on, ``L['x'].size()[0]``; "" for another event."""
    told = event.get("args")
    if event.get("name") != _AUTOMATIC or not isinstance(told, Mapping) or told.get("reason") != _SIZE:
        return ""
    source, dimension = told.get("name"), told.get("dim_changed")
    return f"{source}.size()[{dimension}]" if isinstance(source, str) and type(dimension) is int else ""


def logged_symbols(
    symbols: Iterable[SymbolRecord], guards: Iterable[GuardRecord], changed: Collection[str]
) -> dict[str, FinalSymbol]:
    """Symbol -> what the guards say of it.  ``changed``: the sources of sizes that torch made dynamic."""
    known = [symbol for symbol in symbols if symbol.source]
    parts = [part for guard in guards for part in _comparisons(guard.text)]
    own = {_plain(symbol.source) for symbol in known}
    found: dict[str, FinalSymbol] = {}
    for symbol in known:
        source = _plain(symbol.source)
        alike = {source: None, **{other: None for other in _equal_to(source, parts) if other in own}}
        others = [other for other in _equal_to(source, parts) if other not in own]
        low, high, value = _range(symbol, alike, parts)
        dynamic = _ASKED if symbol.source.endswith(_OFFSET) else _CHANGED if symbol.source in changed else ""
        sources = (symbol.source, *filter(_may_share, others)) if symbol.source.startswith(("L[", "G[")) else ()
        found[symbol.name] = FinalSymbol(sources, f"[{low}, {high}]" if low else "", value, dynamic)
    return found


def _range(
    symbol: SymbolRecord, sources: Collection[str], parts: Iterable[tuple[str, str, str]]
) -> tuple[str, str, str]:
    """(the least, the largest, the only value) of what is kept in ``sources``; "" where the guards do not tell it:
    torch writes each bound, so a symbol without them is a number by then, or follows from others."""
    if _is_number(symbol.became):
        return symbol.became, symbol.became, symbol.became
    first, _, last = symbol.range.strip("[]").partition(", ")
    if first == _NO_FLOAT_BOUND:  # torch keeps the range of whole numbers alone
        return first, last, ""
    low, high = "" if _is_number(first) else first, last
    for left, operator, right in parts:
        if right in sources:
            left, operator, right = right, {"<=": ">=", ">=": "<="}.get(operator, operator), left
        if left not in sources or not _is_number(right):
            continue
        if operator == "==":
            return right, right, right
        if operator == ">=":
            low = right
        elif operator == "<=":
            high = right
    return (low, high, "") if low else ("", "", "")


def _equal_to(source: str, parts: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    for left, operator, right in parts:
        if operator == "==" and source in (left, right) and left != right:
            yield right if left == source else left


def _comparisons(text: str) -> Iterator[tuple[str, str, str]]:
    """The parts of a guard, ``2 <= x and x == y``, as (left, operator, right)."""
    if not any(sign in text for sign in _SIGNS.values()):
        return
    try:
        tree = parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return
    for part in tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]:
        if isinstance(part, ast.Compare):
            sides = [part.left, *part.comparators]
            for one, operator, other in zip(sides, part.ops, sides[1:]):
                if type(operator) in _SIGNS:
                    yield ast.unparse(one), _SIGNS[type(operator)], ast.unparse(other)


_SIGNS: Mapping[type[ast.cmpop], str] = {ast.Eq: "==", ast.LtE: "<=", ast.GtE: ">="}


def _plain(source: str) -> str:
    """As ``ast.unparse`` writes it."""
    try:
        return ast.unparse(parse(source, mode="eval"))
    except (SyntaxError, ValueError, RecursionError):
        return source


def _may_share(other: str) -> bool:
    """Whether what a size is equal to may be a source of its symbol: no number, and no stride."""
    return not _is_number(other) and not other.endswith(_OFFSET) and ".stride()" not in other


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit()
