"""The acyclic part of one container, along its dominator tree (Ramsey, "Beyond Relooper", ICFP 2022).

A node with several predecessors becomes the code after a labelled block around its dominator; loops and nested
containers are single items here, which the ``Structurer`` translates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from depyf.decompiler.cfg.graph_algorithms import immediate_dominators, reverse_postorder
from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.ir.expr import Const
from depyf.decompiler.ir.markers import ClauseEnd, Marker, WrittenJump
from depyf.decompiler.ir.stmt import Assign, Block, Delete, Exit, If, Stmt
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.negation import negate
from depyf.decompiler.structure.clauses import marker_of
from depyf.decompiler.structure.edges import Item, is_for
from depyf.decompiler.structure.label_kinds import is_block, is_try, number_of
from depyf.safety.depth import any_depth

if TYPE_CHECKING:
    from depyf.decompiler.structure.total import Structurer

SMALL_TAIL = 2


class Acyclic:
    """Translates ``items``, of which ``entry`` is entered first; made for one container and dropped with it."""

    def __init__(self, structurer: Structurer, items: dict[int, Item], entry: int) -> None:
        self.structurer, self.items, self.entry = structurer, items, entry
        succs = {key: [label for label in item.succs if label in items] for key, item in items.items()}
        for key, item in items.items():
            if item.loop:
                succs[key] = [label for label in succs[key] if label != key]
        order = reverse_postorder(entry, succs)
        number = {key: i for i, key in enumerate(order)}
        idom = immediate_dominators(order, succs)
        incoming: dict[int, int] = {}
        for key in order:
            for label in succs[key]:
                incoming[label] = incoming.get(label, 0) + 1
        # a copy of a few statements that end the function nests nothing; a shared one would hold the rest in a block
        tails: set[int] = set()
        if structurer.copies_tails:
            inner = {label for item in items.values() if item.compound for label in item.succs}
            tails = {key for key in order[1:] if incoming[key] > 1 and key not in inner and self._is_tail(key)}
        followers: dict[int, list[int]] = {}
        following: set[int] = set()
        last = {idom[key]: number[key] for key in order[1:] if incoming[key] > 1}
        for key in order[1:]:
            parent = idom[key]
            if key in tails:
                continue
            if (
                incoming[key] > 1
                or items[parent].loop
                or (items[parent].compound and not is_for(structurer.blocks, parent))
            ):
                followers.setdefault(parent, []).append(key)
                following.add(key)
            elif structurer.plain:
                # what comes after a shared block in any case need not stand in an arm before it
                above, found, steps = parent, NONE, 0
                while steps < 100 and not is_for(structurer.blocks, above):
                    if above in followers:
                        found = above
                    if above in following or above == entry or last.get(above, 0) > number[key]:
                        break  # what the code may go on to stands after that block
                    above, steps = idom[above], steps + 1
                if found != NONE:
                    followers[found].append(key)
                    following.add(key)
        self.number, self.idom = number, idom
        self.tails, self.followers, self.following = tails, followers, following

    def _is_tail(self, key: int) -> bool:
        block = self.structurer.blocks.get(key)
        return block is not None and not self.items[key].loop and not block.succs and len(block.stmts) <= SMALL_TAIL

    def goto(self, label: int, source: int) -> list[Stmt]:
        known = self.structurer.redirect.get(label)
        if known is not None and known[0] != source:
            return [Assign((known[1],), Const(known[2])), *self.goto(known[0], source)]
        if label in self.tails:
            return list(self.structurer.blocks[label].stmts)
        if (
            label != self.entry
            and label in self.items
            and label not in self.following
            and label in self.number
            and self.idom[label] == source
        ):
            return self.sequence(label)
        return self.structurer.leave(label, self.items)

    def _follow(self, block: Lifted, side: int) -> list[Stmt]:
        after = block.succs[side]
        follows = self.structurer.select(block.container, after) + self.goto(
            self.structurer.edges.label(block.container, after), block.id
        )
        line = block.breaks_at.get(side)
        if line is not None and len(follows) == 1 and isinstance(follows[0], Exit):
            follows[0] = replace(follows[0], line=line)
        return follows

    def _ending_clause(self, block: Lifted, stmt: Stmt) -> Stmt:
        """An exit without a line that follows code of a handler, with the line on which that ends."""
        handles = self.structurer.containers.tree[block.container].kind == "handler"
        if not handles or not isinstance(stmt, Exit) or stmt.line is not None or not block.lines:
            return stmt
        return replace(stmt, line=max(block.lines))

    def _emit(self, key: int) -> list[Stmt]:
        if self.items[key].loop or is_try(key):
            self.structurer.scopes.append((self.structurer.joins.get(key, {}), self.items))
            inner = [self.structurer.loop(key)] if self.items[key].loop else self.structurer.emit_try(number_of(key))
            self.structurer.scopes.pop()
            return inner
        if not is_block(key):
            return self.structurer.emit_dispatch(key, self.goto)
        block = self.structurer.blocks[key]
        stmts = list(block.stmts)
        if block.cond is None:
            written = bool(stmts) and marker_of(stmts[-1], WrittenJump) is not None
            after = self._follow(block, 0) if block.succs else []
            if stmts and (end := marker_of(stmts[-1], ClauseEnd)) is not None:
                stmts.pop()
                after = [
                    replace(stmt, falls=True, unbinds=end.unbinds) if isinstance(stmt, Exit) else stmt for stmt in after
                ]
            if not written and len(after) == 1:
                after = [self._ending_clause(block, after[0])]
            if written:
                last = stmts.pop()
                if len(after) == 1 and isinstance(after[0], Exit):
                    after = [replace(after[0], line=last.line, written=True)]
            return stmts + after
        yes, no = self._follow(block, 0), self._follow(block, 1)
        if block.drops:
            yes, no = _dropping(block, 0) + yes, _dropping(block, 1) + no
        if block.falls == 1 and not isinstance(block.cond, Marker):
            stmts.append(If(negate(block.cond), tuple(no), tuple(yes), block.tested_at))
        else:
            stmts.append(If(block.cond, tuple(yes), tuple(no), block.tested_at))
        return stmts

    @any_depth
    def sequence(self, key: int) -> list[Stmt]:
        result: list[Stmt] = []
        while True:
            body = self._emit(key)
            after = sorted(self.followers.get(key, ()), key=self.number.__getitem__)
            for label in after[:-1]:
                body = [Block(label, tuple(body)), *self.sequence(label)]
            if not after:
                return result + body
            key = after[-1]
            result.append(Block(key, tuple(body)))


def _dropping(block: Lifted, side: int) -> list[Stmt]:
    return [Delete(block.drops[side], block.line)] if block.drops[side] else []
