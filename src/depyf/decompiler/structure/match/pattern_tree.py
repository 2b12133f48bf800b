"""Builds a pattern from the facts about the parts of a subject.

Input: the facts of one ``Reading``.  Output: a ``Pattern``; a part without facts is a wildcard.
"""

from __future__ import annotations

from typing import Any, cast

from depyf.decompiler.ir.expr import Const, Expr
from depyf.decompiler.ir.stmt import (
    MatchAs,
    MatchClass,
    MatchMapping,
    MatchOr,
    MatchSequence,
    MatchStar,
    MatchValue,
    Pattern,
)
from depyf.decompiler.structure.match.case_patterns import SUBJECT, Fact, NoPattern
from depyf.safety.depth import any_depth

_TESTS = ("value", "is", "sequence", "mapping", "class", "or")


def pattern_of(facts: list[Fact]) -> Pattern:
    """The pattern of the subject itself."""
    return _Builder(facts).pattern(SUBJECT)


class _Builder:
    def __init__(self, facts: list[Fact]) -> None:
        self.facts: dict[int, list[Fact]] = {}
        self.joints: dict[int, tuple[int, ...]] = {}
        self.names: dict[int, list[str]] = {}
        self._collect(facts)
        for fact in facts:
            if fact.kind == "name":
                self._name(fact.part, fact.detail)

    @any_depth
    def _collect(self, facts: list[Fact]) -> None:
        for fact in facts:
            if fact.kind == "joint":
                self.joints[fact.part] = fact.detail
            elif fact.kind != "name":
                self.facts.setdefault(fact.part, []).append(fact)
            if fact.kind == "or":
                for _, inner in fact.detail:
                    self._collect(inner)

    @any_depth
    def _name(self, part: int, name: str) -> None:
        """A name stored after alternatives joined was captured by each of them."""
        if part in self.joints:
            for each in self.joints[part]:
                self._name(each, name)
        else:
            self.names.setdefault(part, []).append(name)

    @any_depth
    def pattern(self, part: int) -> Pattern:
        """The pattern of one part."""
        copies = sum(fact.kind == "copy" for fact in self.facts.get(part, ()))
        if copies > len(self.names.get(part, ())):
            raise NoPattern  # a part is copied only to be captured later
        found = self._test(part)
        for name in self.names.get(part, ()):
            found = MatchAs(found, name)
        return found or MatchAs(None, None)

    def _one(self, part: int, kind: str) -> Any:
        details = [fact.detail for fact in self.facts.get(part, ()) if fact.kind == kind]
        if len(details) > 1:
            raise NoPattern
        return details[0] if details else None

    @any_depth
    def _test(self, part: int) -> Pattern | None:
        kinds = [fact.kind for fact in self.facts.get(part, ()) if fact.kind in _TESTS]
        if not kinds:
            if any(fact.kind != "copy" for fact in self.facts.get(part, ())):
                raise NoPattern
            return None
        if len(kinds) > 1:
            raise NoPattern
        kind = kinds[0]
        detail = self._one(part, kind)
        if kind == "value":
            return MatchValue(cast(Expr, detail))
        if kind == "is":
            if not isinstance(detail, Const) or not (detail.value is None or isinstance(detail.value, bool)):
                raise NoPattern
            return MatchValue(detail)
        if kind == "or":
            return MatchOr(tuple(self.pattern(copy) for copy, _ in detail))
        if kind == "class":
            return self._class(part, *detail)
        return self._mapping(part) if kind == "mapping" else self._sequence(part)

    def _children(self, part: int, kind: str) -> dict[int, int]:
        return {fact.detail[0]: fact.detail[1] for fact in self.facts.get(part, ()) if fact.kind == kind}

    def _class(self, part: int, kind: Expr, count: int, names: tuple[str, ...]) -> Pattern:
        items = self._children(part, "attrs item")
        patterns = [self._child(items, i) for i in range(count + len(names))]
        return MatchClass(kind, tuple(patterns[:count]), tuple(zip(names, patterns[count:], strict=True)))

    def _child(self, items: dict[int, int], index: int) -> Pattern:
        return self.pattern(items[index]) if index in items else MatchAs(None, None)

    def _mapping(self, part: int) -> Pattern:
        keys: tuple[Expr, ...] = self._one(part, "keys") or ()
        items = self._children(part, "values item")
        rest = self._one(part, "rest")
        name: str | None = None
        if rest is not None:
            names = self.names.get(rest[1], [])
            if len(names) != 1 or self.facts.get(rest[1]):
                raise NoPattern
            name = names[0]
        return MatchMapping(keys, tuple(self._child(items, i) for i in range(len(keys))), name)

    def _sequence(self, part: int) -> Pattern:
        unpack = self._one(part, "unpack")
        op, length = self._one(part, "length") or (">=", 0)
        if unpack is not None:
            star, children = unpack
            items = [self.pattern(child) for child in children]
            if star >= 0:
                names = self.names.get(children[star], [])
                if len(names) > 1 or self.facts.get(children[star]):
                    raise NoPattern
                items[star] = MatchStar(names[0] if names else None)
            return MatchSequence(tuple(items))
        indexed = self._children(part, "item")
        after = max((-index for index in indexed if index < 0), default=0)
        patterns = [self._child(indexed, i) for i in range(length - after)]
        tail = [self._child(indexed, -i) for i in range(after, 0, -1)]
        if len(patterns) + len(tail) != length or any(index >= len(patterns) for index in indexed):
            raise NoPattern
        return MatchSequence((*patterns, MatchStar(None), *tail) if op == ">=" else tuple(patterns))
