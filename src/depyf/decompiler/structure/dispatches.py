"""Places with several entries: one entry, which selects among them by a variable.

A loop with several heads gets one, and so do, in plain lifting, the many places that a loop or a ``try`` goes on at:
flags would nest there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.decompiler.ir.expr import Const, Purpose, Temp
from depyf.decompiler.ir.stmt import Assign, Stmt
from depyf.decompiler.structure.edges import Item
from depyf.decompiler.structure.label_kinds import LabelKind, is_try, make_label

MANY_EXITS = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a dispatch: ``variable`` is ``number`` on the way to it."""

    dispatch: int
    variable: Temp
    number: int

    def made(self) -> Stmt:
        """The statement that chooses it."""
        return Assign((self.variable,), Const(self.number))


Joins = dict[int, Choice]
"""What to choose for a label, inside of a loop or ``try`` whose exits are joined."""


@dataclass(slots=True)
class Dispatches:
    """The dispatches of one function: how many there are, and for each its variable and the labels it selects among."""

    count: int = 0
    choices: dict[int, tuple[Temp, list[int]]] = field(default_factory=dict)
    redirect: dict[int, Choice] = field(default_factory=dict)
    """By the head of a loop with several of them."""
    joins: dict[int, Joins] = field(default_factory=dict)
    """By the label of a loop or ``try`` whose exits are joined."""

    def new(self, variable: Temp, heads: list[int], items: dict[int, Item]) -> int:
        """A dispatch among ``heads``: its label, which ``items`` has an item for then."""
        self.count += 1
        key = make_label(LabelKind.DISPATCH, self.count)
        self.choices[key] = variable, heads
        starts = [items[head].start for head in heads if head in items]
        items[key] = Item(list(heads), None, None, min(starts, default=0), 0)
        return key

    def enter_loop(self, items: dict[int, Item], heads: list[int], preds: dict[int, set[int]], entry: int) -> int:
        """Give a loop with several ``heads`` a single one; the entry of ``items``, which may have been one of them."""
        variable = Temp(self.count + 1, Purpose.DISPATCH)
        label = make_label(LabelKind.DISPATCH, self.count + 1)
        for before in sorted(set().union(*[preds.get(head, ()) for head in heads])):
            item = items[before]
            item.succs = [label if after in heads else after for after in item.succs]
        key = self.new(variable, heads, items)
        for number, head in enumerate(heads):
            self.redirect[head] = Choice(key, variable, number)
        return key if entry in heads else entry

    def join_exits(self, items: dict[int, Item]) -> None:
        """A loop or ``try`` that goes on at many places leaves to one dispatch instead."""
        for key in sorted(items):
            item = items[key]
            if not item.loop and not is_try(key):
                continue
            labels = sorted({self._canonical(label) for label in item.succs if label != key})
            if len(labels) < MANY_EXITS:
                continue
            variable = Temp(self.count + 1, Purpose.DISPATCH)
            join = self.new(variable, labels, items)
            items[join].start = item.last
            self.joins[key] = {label: Choice(join, variable, number) for number, label in enumerate(labels)}
            item.succs = [join, *([key] if key in item.succs else [])]

    def choice(self, label: int, source: int) -> Choice | None:
        """What ``source`` has to choose on the way to ``label``; None where the label is no head of a dispatch, or that
        is the source."""
        known = self.redirect.get(label)
        return known if known is not None and known.dispatch != source else None

    def _canonical(self, label: int) -> int:
        known = self.redirect.get(label)
        while known is not None and known.dispatch != label:
            label = known.dispatch
            known = self.redirect.get(label)
        return label
