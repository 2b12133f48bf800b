"""Decides whether a value of the original and one of the recompiled code are the same.

Equal numbers are equal values.  Otherwise both are structures of the same parts, nested code that has to match, or
objects that each side has built and that have not escaped: those are matched with each other once and are one value
from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.verify.relation.facts import update_operands
from depyf.decompiler.verify.relation.lifetimes import leaves
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import Pair, reachable, resolve
from depyf.safety.depth import any_depth

STRUCTURED = frozenset({"tuple", "slice", "str", "splat", "is", "not", "type of", "tb of"}) | {
    "bound append",
    "bound extend",
    "bound add",
    "bound update",
}
PRINTABLE = frozenset({int, str, bytes, bool, float, complex, type(None), tuple, frozenset, CodeUnit})


class Sameness:
    """Compares values of one walk; pairs of nested code objects it relied on are added to ``nested``."""

    def __init__(
        self,
        values: Values,
        nested_proven: Callable[[CodeUnit, CodeUnit], bool],
        nested: list[tuple[CodeUnit, CodeUnit]],
    ) -> None:
        self.values = values
        self.nested_proven = nested_proven
        self.nested = nested
        self._open: set[tuple[int, int]] = set()
        """Fresh objects that are being compared: one may hold itself."""
        self._assumed = False
        self._matched: list[tuple[int, Any]] = []

    def pair_fresh(self, pair: Pair) -> None:
        """Match the unescaped objects that both sides have built, in stack order."""
        if not pair.fresh:
            return
        of_a = reachable(pair.a.stack, pair.fresh, self.values)
        # temporaries are numbered in the order of the stack slots they hold, where they hold slots
        names = sorted(pair.temps, key=lambda name: (len(name), name))
        temps = [pair.temps[name] for name in names]
        of_b = reachable([*pair.b.stack, *temps], pair.fresh, self.values)
        if len(of_b) == len(of_a):
            # the stack of the text is that of the expression under way, above the temporaries
            of_b = reachable([*temps, *pair.b.stack], pair.fresh, self.values)
        for waiting in update_operands(pair, pair.b, self.values):
            of_b.pop(waiting, None)
        for strict in (True, False):
            for left in of_a:
                for right in of_b:
                    if left in pair.fresh and right in pair.fresh and self.same(pair, left, right, strict):
                        break

    def paired(self, pair: Pair, temps: dict[str, int]) -> dict[str, int]:
        """The temporaries of ``pair``, and those of ``temps`` with an object that the original keeps on its stack."""
        kept, stack = pair.temps, pair.a.stack
        if not reachable(stack, pair.fresh, self.values):
            return kept
        pair.temps = temps
        self.pair_fresh(pair)
        pair.temps = kept
        held = leaves(pair, self.values, stack)
        also = {name for name, value in temps.items() if pair.alias.get(value, -1) in held}
        return {name: value for name, value in temps.items() if name in kept or name in also}

    def same(self, pair: Pair, left: int, right: int, strict: bool = False) -> bool:
        """Whether a value of the original and one of the recompiled code are the same; matches fresh objects."""
        if left == right:
            return True
        values = self.values
        if pair.alias or pair.facts:
            memo: dict[int, int] = {}
            left, right = resolve(pair, values, left, memo), resolve(pair, values, right, memo)
            if left == right:
                return True
        inside, other = pair.fresh.get(left), pair.fresh.get(right)
        if inside is not None or other is not None:
            if inside is None or other is None or inside[0] != other[0] or len(inside[1]) != len(other[1]):
                return False
            if (left, right) in self._open:
                self._assumed = True
                return True  # if all else in them is
            if not self._all_same_inside(pair, left, right, strict):
                return False
            common = values.typed(str(inside[0][0]))
            pair.alias[left] = pair.alias[right] = common
            pair.fresh.pop(left, None)
            pair.fresh.pop(right, None)
            if self._open:
                self._matched += [(left, inside), (right, other)]
            return True
        desc, desc_b = values.desc[left], values.desc[right]
        if desc is None or desc_b is None or desc[0] != desc_b[0]:
            return False
        if desc[0] == "const":
            if type(desc[1]) is CodeUnit and type(desc_b[1]) is CodeUnit:
                return self._same_code(desc[1], desc_b[1], strict)
            return False
        if desc[0] == "op" and desc[1] == desc_b[1] and len(desc[2]) == len(desc_b[2]):
            if desc[1] not in STRUCTURED:
                return False
            if self._all_same(pair, desc[2], desc_b[2], strict):
                return True
            return desc[1] == "is" and self._all_same(pair, desc[2], reversed(desc_b[2]), strict)
        return False

    def _all_same_inside(self, pair: Pair, left: int, right: int, strict: bool) -> bool:
        """Whether two fresh objects hold the same values; one that contains itself has a twin that does, too."""
        matched = len(self._matched)
        self._open.add((left, right))
        try:
            found = self._all_same(pair, pair.fresh[left][1], pair.fresh[right][1], strict)
        finally:
            self._open.discard((left, right))
        if not found and self._assumed:  # what was matched inside may rest on these being the same
            for value, held in self._matched[matched:]:
                del pair.alias[value]
                pair.fresh[value] = held
            del self._matched[matched:]
        if not self._open:
            self._assumed = False
            self._matched.clear()
        return found

    @any_depth
    def _all_same(self, pair: Pair, left: Iterable[int], right: Iterable[int], strict: bool) -> bool:
        return all(self.same(pair, p, q, strict) for p, q in zip(left, right))

    def _same_code(self, left: CodeUnit, right: CodeUnit, strict: bool) -> bool:
        # the text has another name for one that no source has; what a compiler calls code is none of these
        named = exact(left.name) is not None or left.name.startswith("<")
        if named and left.name != right.name or strict and not self.nested_proven(left, right):
            return False
        if not any(left is p and right is q for p, q in self.nested):
            self.nested.append((left, right))
        return True

    def show(self, pair: Pair, value: int) -> str:
        known = self.values.desc[value]
        if known is None:
            names = sorted(name for name, held in pair.loc.items() if held == value)
            return f"the value of {names[0]}" if names else "a computed value"
        if known[0] == "const":
            text = known[1].name if type(known[1]) is CodeUnit else repr(known[1])
            return f"the constant {text[:40]}" if type(known[1]) in PRINTABLE else "a constant"
        if known[0] == "mark":
            return str(known[1])
        return f"a {known[1]}" if known[0] in ("op", "type") else "a variable that may be unbound"
