"""Sizes that are no constants, told by the guards of a cache entry alone: what was compiled before anybody listened.

Input: the guards.  Output: symbols (each called by its source) and conditions, as ``shape_table`` takes them.
Operators are not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from depyf.run.advice.source_names import reads_strides
from depyf.run.guards.kinds.relation_guard import KIND
from depyf.run.guards.kinds.tensor_guard import layout_of
from depyf.run.records import GuardRecord, ShapeFact, SymbolRecord
from depyf.run.shapes.size_expression import conjuncts, read_size_expression

_OPEN = re.compile(r"size=\[[^\]]*[^\]\d, ]")
"""A size that is no number."""
_SMALL = "0/1 specialization"
_ASKER = re.compile(r"(?P<file>[\w/]+)\.py:\d+ in (?P<function>\w+)")


def symbols_of_guards(guards: Sequence[GuardRecord]) -> tuple[tuple[SymbolRecord, ...], tuple[ShapeFact, ...]]:
    """The sizes and numbers that guards leave open, and what they ask of them; sizes that are equal because torch took
    them for one (duck sizing) are sources of one symbol."""
    found: dict[str, SymbolRecord] = {}
    facts: list[ShapeFact] = []
    shared: dict[str, str] = {}
    for guard in guards:
        if not _OPEN.search(guard.expression) and not _OPEN.search(guard.text):
            continue
        layout = layout_of(guard.expression) or layout_of(guard.text)
        for index, size in enumerate(layout.sizes if layout is not None else ()):
            if size is None and layout is not None:
                name = f"{layout.tensor}.size()[{index}]"
                found[name] = SymbolRecord(name, name, "", "[2, int_oo]", None)
    for guard in guards:
        whole = read_size_expression(guard.expression) if guard.kind in KIND.of_symbols else None
        if whole is None or not whole.names or reads_strides(guard.expression):
            continue
        if not any(part.op in ("==", "!=", "<", "<=", ">", ">=") for part in conjuncts(whole)):
            continue  # another question about a value
        for name in whole.names:
            found.setdefault(name, SymbolRecord(name, name, "", "[-int_oo, int_oo]", None))
        one, *other = whole.names
        if "duck sizing" in guard.why and other:
            shared[one] = other[0]
        elif _SMALL not in guard.why:
            facts.append(ShapeFact(guard.expression, guard.place, "", _asker(guard.why)))
    sources: dict[str, list[str]] = {}
    for name in found:
        root = name
        for _ in range(len(shared)):
            if root not in shared:
                break
            root = shared[root]
        sources.setdefault(root, []).append(name)
    symbols = []
    equal = _equal(facts)
    for root, names in sources.items():
        known = found.get(root) or SymbolRecord(root, root, "", "[2, int_oo]", None)
        same = tuple(dict.fromkeys([root, *names]))
        symbols.append(SymbolRecord(root, root, "", known.range, None, sources=same, equals=equal.get(root, "")))
    return tuple(symbols), tuple(facts)


def _equal(facts: Sequence[ShapeFact]) -> dict[str, str]:
    """Size -> the one that takes its place: ``y.size(0) == x.size(0)`` is the first one's."""
    found: dict[str, str] = {}
    for fact in facts:
        whole = read_size_expression(fact.expression)
        if whole is not None and whole.op == "==" and [part.op for part in whole.parts] == ["name", "name"]:
            one, other = (part.text for part in whole.parts)
            if one != other:
                found.setdefault(one, other)
    return found


def _asker(why: str) -> str:
    match = _ASKER.search(why)
    return f"torch.{match['file'].replace('/', '.')}.{match['function']}" if match is not None else ""
