"""Code that leaves a loop but was written inside it, as far as lines and layout tell.

Only layout is at stake: the code runs after the last test either way.
"""

from __future__ import annotations

from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.ir.expr import Const, Name
from depyf.decompiler.ir.markers import (
    CaseTest,
    FinallyEnd,
    ForTest,
    IteratorStart,
    LoopIterator,
    MatchSubject,
    WithStart,
)
from depyf.decompiler.ir.stmt import Assign, ExprStmt, Return, Stmt
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.structure.edges import Edges, Item, LoopItems, first_line, is_for
from depyf.decompiler.structure.label_kinds import is_block, is_try, number_of

_STARTS = (IteratorStart, WithStart)


class LoopMembership:
    """Adds blocks to the loops of one function."""

    def __init__(self, blocks: dict[int, Lifted], edges: Edges, ends: dict[int, int]) -> None:
        self.blocks = blocks
        self.ends = ends
        self.edges = edges

    def extend_loop(
        self, loop: LoopItems, items: dict[int, Item], preds: dict[int, set[int]], reachable: set[int], entry: int
    ) -> None:
        """Add to a loop the code that leaves it but was written inside it (edits ``loop``)."""
        head = self.blocks.get(loop.header)
        labels = [self.edges.label(head.container, after) for after in head.succs] if head is not None else []
        outside = [label for label in labels if label not in loop.body]
        follow = outside[0] if len(outside) == 1 and len(labels) == 2 else NONE
        bounds = [items[key].lines for key in loop.body if items[key].lines is not None]
        high = max((b[1] for b in bounds if b is not None), default=None)
        last = max(self.ends.get(loop.header, 0), *(items[key].last for key in loop.body))
        known = follow in items and follow != entry
        follow_line = items[follow].first_line if known else None
        exhausted = follow if known else NONE
        if head is not None and not is_for(self.blocks, loop.header) and follow != NONE:
            low = min((b[0] for b in bounds if b is not None), default=None)
            within = follow_line is not None and low is not None and high is not None and low < follow_line <= high
            if head.stmts or labels[head.falls] == follow:
                follow = exhausted = NONE  # an ``if`` in an endless loop
            elif within:
                follow = NONE
        if follow_line is not None and high is not None and follow_line <= high:
            follow_line = None
        if self.ends_function(follow) or self._ends_finally(follow):
            follow_line = None
        start = _first_block(loop.header, items)
        work = sorted(loop.body)
        entering: dict[int, list[int]] = {}  # where each block is entered from, as far as that may be outside
        while work:
            for key in items[work.pop()].succs:
                if key in loop.body or key in (follow, exhausted) or key not in reachable or key not in items:
                    continue
                sources = entering.get(key)
                if sources is None:
                    sources = entering[key] = list(preds[key])
                while sources and sources[-1] in loop.body:
                    sources.pop()
                if sources or self.ends_function(key):
                    continue
                if is_for(self.blocks, loop.header) and self._after_break(key, loop.header):
                    continue
                if (
                    self._in_match(key, start, preds[key])
                    or self._in_for(_first_block(key, items), start)
                    or self._belongs(items[key], follow, follow_line, high, last)
                    or follow == NONE
                    and self._directly_reached(key, preds[key])
                    or follow == NONE
                    and self._directly_under(items[key], [items[p] for p in preds[key] if p in items])
                ):
                    loop.body.add(key)
                    work.append(key)
        self._keep_starts(loop, items)

    def ends_function(self, key: int) -> bool:
        """Whether a block is the implicit end of the function; in a class, with what makes its annotations (3.14+)."""
        block = self.blocks.get(key)
        stmts = block.stmts if block is not None else []
        first = 1 if len(stmts) > 1 and _makes_annotations(stmts[0]) else 0
        return any(isinstance(stmt, Return) and stmt.implicit for stmt in stmts[first : first + 1])

    def _ends_finally(self, key: int) -> bool:
        """Whether a block is the end of a ``finally``: it has the line of what the body ends with (3.8, 3.9)."""
        block = self.blocks.get(key)
        only = block.stmts[0] if block is not None and len(block.stmts) == 1 else None
        return isinstance(only, ExprStmt) and isinstance(only.value, FinallyEnd)

    def _after_break(self, key: int, header: int) -> bool:
        """Whether a block drops the loop's iterator before it does anything but return, or finds it dropped: after a
        ``break``."""
        block, head = self.blocks.get(key), self.blocks.get(header)
        if block is None or head is None:
            return False
        test = head.cond.iterator if isinstance(head.cond, ForTest) else None
        dropped = test is not None and any(value is test for value in block.iterators)
        if not dropped and any(value is test for value in block.entry):
            return False
        only = block.stmts[0] if len(block.stmts) == 1 else None
        # a constant is loaded when the iterator is gone; any other value of ``return`` before
        return not (isinstance(only, Return) and (only.value is None or isinstance(only.value, Const)))

    def _keep_starts(self, loop: LoopItems, items: dict[int, Item]) -> None:
        """Keep what starts a loop or a ``with`` next to it."""
        for key in sorted(loop.body):
            block = self.blocks.get(key)
            if block is None or key == loop.header or not block.stmts or len(block.succs) != 1:
                continue
            last = block.stmts[-1]
            if isinstance(last, ExprStmt) and isinstance(last.value, _STARTS):
                label = self.edges.label(block.container, block.succs[0])
                if label in items and label not in loop.body:
                    loop.body.discard(key)

    def _in_match(self, key: int, start: int, preds: set[int]) -> bool:
        """Whether a block belongs to a ``match`` inside the loop that begins with ``start``: its subject is on the
        stack, or a case goes to it, and does not say ``break`` before."""
        block, head = self.blocks.get(key), self.blocks.get(start)
        if block is None or head is None:
            return False
        tests = [self.blocks[p] for p in preds if p in self.blocks]
        for test in tests:
            if isinstance(test.cond, CaseTest) and test.succs[0] == key:
                left = test.breaks_at.get(0)
                first = first_line(block)
                return left is None or first is None or first <= left
        return any(isinstance(v, MatchSubject) and v not in head.entry for v in block.entry)

    def _in_for(self, key: int, start: int) -> bool:
        """Whether a block belongs to a ``for`` inside the loop that begins with ``start``, whose body always leaves:
        its iterator is on the stack."""
        block, head = self.blocks.get(key), self.blocks.get(start)
        if block is None or head is None:
            return False
        held = [v for v in block.entry if isinstance(v, LoopIterator) and v not in head.entry]
        return bool(held) and not any(value in block.iterators for value in held)

    def _directly_reached(self, key: int, preds: set[int]) -> bool:
        """Whether a test in an endless loop, or the end of a ``try`` body, leads to a block without a ``break``."""
        block = self.blocks.get(key)
        if block is None or not block.direct or len(preds) != 1:
            return False
        before = min(preds)
        if not is_try(before):
            return before in self.blocks and self.blocks[before].cond is not None
        containers = self.edges.containers
        if containers.regions.table[containers.tree[number_of(before)].region].kind != "except":
            return False
        sources = [other for other in self.blocks.values() if key in other.succs]
        return all(other.container == number_of(before) and other.cond is None for other in sources)

    def _directly_under(self, item: Item, tests: list[Item]) -> bool:
        """Whether code begins on the line of the test that leads to it, or the next: there is no room for ``break``."""
        if item.first_line is None or len(tests) != 1 or tests[0].compound:
            return False
        return tests[0].lines is not None and item.first_line - tests[0].lines[1] in (0, 1)

    def _belongs(self, item: Item, follow: int, follow_line: int | None, high: int | None, last: int) -> bool:
        line = item.first_line
        if follow != NONE:
            if line is not None and follow_line is not None:
                return line < follow_line
            if line is not None and high is not None and line <= high:
                return True
            return not item.succs or item.start < last or follow_line is None
        if line is not None and high is not None:
            return line <= high
        return item.start < last


def _first_block(key: int, items: dict[int, Item]) -> int:
    """The block that a label means, or with which what it means begins."""
    return key if is_block(key) else items[key].start


def _makes_annotations(stmt: Stmt) -> bool:
    target = stmt.targets[0] if isinstance(stmt, Assign) else None
    return isinstance(target, Name) and target.id == "__annotate_func__"
