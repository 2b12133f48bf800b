"""Total translation of lifted blocks into structured statements.

Input: lifted blocks, their containers, all stack values named.  Output: statements of the labelled dialect: every path
ends in ``Return``, ``Raise``, or an ``Exit`` to an enclosing label.  Always succeeds on valid input.

Every container (function, ``try`` body, handler, loop) is structured on its own, inner ones standing as one item in the
outer one.  Of its graph, loops are collapsed first (``collapsed_loops``), then ``else`` clauses are taken out
(``else_clauses``).  What is left is acyclic, and is translated along its dominator tree (``acyclic``).
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.cfg.containers import ROOT, Containers
from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.ir.expr import Cmp, Const, Expr, Purpose, Temp
from depyf.decompiler.ir.markers import ClauseEnd, FinallyEnd, ManagerClause, Marker, WrittenJump
from depyf.decompiler.ir.stmt import Assign, Block, Body, Delete, ExceptClause, Exit, ExprStmt, If, Loop, Stmt, Try
from depyf.decompiler.ir.transformer import map_statements
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.negation import negate
from depyf.decompiler.structure.acyclic import Acyclic
from depyf.decompiler.structure.clauses import marker_of, named_exception
from depyf.decompiler.structure.collapsed_loops import CollapsedLoops
from depyf.decompiler.structure.dispatches import Dispatches, Joins
from depyf.decompiler.structure.edges import Edges, Item, first_line
from depyf.decompiler.structure.else_clauses import ElseClauses
from depyf.decompiler.structure.label_kinds import LabelKind, is_block, is_try, make_label, number_of
from depyf.decompiler.structure.layout.loop_membership import LoopMembership
from depyf.safety.depth import any_depth


def only_statements(blocks: dict[int, Lifted]) -> list[Stmt] | None:
    """The statements of the one block that there is, if it leads nowhere; None where there is more to translate."""
    if len(blocks) > 1:
        return None
    (block,) = blocks.values()
    if block.succs or block.cond is not None or block.container != ROOT:
        return None
    ends_marked = block.stmts and any(marker_of(block.stmts[-1], kind) for kind in (WrittenJump, ClauseEnd))
    return None if ends_marked else list(block.stmts)


class Structurer:
    """Translates one function.

    ``handlers_last``: no ``else`` clause is told by where it lies.  ``ends`` are the last instructions of loops, as far
    as they are known.  ``resets`` are variables that the handler of each ``try`` unbinds, by its container.  ``plain``:
    statements for plain lifting, whose proof must not depend on choices that were made before; ``copies_tails`` with
    it, in a function.
    """

    def __init__(
        self,
        blocks: dict[int, Lifted],
        containers: Containers,
        entry: int,
        name: str,
        *,
        handlers_last: bool = False,
        ends: dict[int, int] | None = None,
        resets: dict[int, tuple[Expr, ...]] | None = None,
        plain: bool = False,
        copies_tails: bool = False,
    ) -> None:
        self.blocks = blocks
        self.containers = containers
        self.entry = entry
        self.handlers_last = handlers_last
        self.plain = plain
        self.copies_tails = copies_tails
        self.resets = resets or {}
        self.edges = Edges(blocks, containers, entry, name)
        membership = LoopMembership(blocks, self.edges, ends or {})
        self.dispatches = Dispatches()
        self.loops = CollapsedLoops(blocks, membership, self.dispatches)
        self.elses = ElseClauses(self.edges, membership)
        self.scopes: list[tuple[Joins, dict[int, Item]]] = []
        """The joined exits of each loop and ``try`` around, innermost last, with the items that it is one of."""

    def run(self) -> list[Stmt]:
        """The whole function body."""
        return [*self._select(ROOT, self.entry), *self._container(ROOT, [self.edges.label(ROOT, self.entry)])]

    # Containers

    def _select(self, source: int, target: int) -> list[Stmt]:
        """Assignments that select an entry of every ``try`` with several entries that an edge enters."""
        result: list[Stmt] = []
        inner = target
        for container in self.containers.entered(self.blocks[target].container, source):
            if self.containers.tree[container].kind == "try":
                labels = self.edges.entry_labels(container)
                if len(labels) > 1:
                    choice = Const(labels.index(inner))
                    result.append(Assign((Temp(container, Purpose.ENTRY),), choice))
                inner = make_label(LabelKind.TRY, container)
        return result

    def _container(self, container: int, entries: list[int]) -> list[Stmt]:
        items: dict[int, Item] = {}
        for name in self.edges.members.get(container, ()):
            block = self.blocks[name]
            lines = (min(block.lines), max(block.lines)) if block.lines else None
            succs = [self.edges.label(container, after) for after in block.succs]
            items[name] = Item(succs, lines, first_line(block), block.code[0] if block.code else block.id, block.last)
        for inner in self.edges.tries.get(container, ()):
            items[make_label(LabelKind.TRY, inner)] = self._try_item(container, inner)
        if len(entries) == 1:
            return self._build(items, entries[0])
        key = self.dispatches.new(Temp(container, Purpose.ENTRY), entries, items)
        return self._build(items, key)

    def _try_item(self, container: int, inner: int) -> Item:
        handler = self.edges.handler_container(inner)
        succs: list[int] = []
        lines: list[int] = []
        first: int | None = None
        start, last = 1 << 60, 0
        for side in (inner, handler):
            if side == NONE:
                continue
            for name in [name for part in self.edges.subtree(side) for name in self.edges.members.get(part, ())]:
                block = self.blocks[name]
                lines.extend(block.lines)
                if side == inner:
                    if block.id < start:
                        first = first_line(block)
                    start = min(start, block.id)
                last = max(last, block.last)
        encloses = self.containers.encloses
        for side in (inner, handler):
            if side == NONE:
                continue
            for source, after in self.edges.leaving(side):
                target = self.blocks[after].container
                if side == inner and encloses(inner, target) or handler != NONE and encloses(handler, target):
                    continue
                succs.append(self.edges.label(source, after))
        record = self.containers.regions.table[self.containers.tree[inner].region]
        if record.kind == "with" and record.resume in self.blocks:
            succs.append(self.edges.label(container, record.resume))
        succs = list(dict.fromkeys(succs))
        bounds = (min(lines), max(lines)) if lines else None
        return Item(succs, bounds, first, start, last, True)

    @any_depth
    def _build(self, items: dict[int, Item], entry: int) -> list[Stmt]:
        """Structure one graph whose edges to labels outside ``items`` are exits; takes all out of ``items``."""
        return self._acyclic(*self._without_loops(items, entry))

    def _without_loops(self, items: dict[int, Item], entry: int) -> tuple[dict[int, Item], int]:
        """The graph with one item for each loop, and its entry.

        Its loops are translated while the caller waits: what is kept for them is then all there is of them, as they may
        nest as deep as there are blocks.
        """
        if len(items) == 1 and not items[entry].succs:
            return items, entry
        entry = self.loops.collapse(items, entry)
        if self.plain:
            self.dispatches.join_exits(items)
        if not self.handlers_last:
            self.elses.take(items, entry)
        left = dict(items)  # smaller than one from which much was taken
        items.clear()
        return left, entry

    def _acyclic(self, items: dict[int, Item], entry: int) -> list[Stmt]:
        graph = Acyclic(self.blocks, items, entry, plain=self.plain, copies_tails=self.copies_tails)
        return self._sequence(graph, entry)

    # Items, along the dominator tree

    @any_depth
    def _sequence(self, graph: Acyclic, key: int) -> list[Stmt]:
        """An item, and what stands after it."""
        result: list[Stmt] = []
        while True:
            body = self._item(graph, key)
            after = graph.after(key)
            for label in after[:-1]:
                body = [Block(label, tuple(body)), *self._sequence(graph, label)]
            if not after:
                return result + body
            key = after[-1]
            result.append(Block(key, tuple(body)))

    def _item(self, graph: Acyclic, key: int) -> list[Stmt]:
        if graph.items[key].loop or is_try(key):
            self.scopes.append((self.dispatches.joins.get(key, {}), graph.items))
            inner = [self._loop(key)] if graph.items[key].loop else self._try(number_of(key))
            self.scopes.pop()
            return inner
        return self._block(graph, self.blocks[key]) if is_block(key) else self._dispatch(graph, key)

    def _block(self, graph: Acyclic, block: Lifted) -> list[Stmt]:
        stmts = list(block.stmts)
        if block.cond is None:
            written = bool(stmts) and marker_of(stmts[-1], WrittenJump) is not None
            after = self._follow(graph, block, 0) if block.succs else []
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
        yes, no = self._follow(graph, block, 0), self._follow(graph, block, 1)
        if block.drops:
            yes, no = _dropping(block, 0) + yes, _dropping(block, 1) + no
        if block.falls == 1 and not isinstance(block.cond, Marker):
            stmts.append(If(negate(block.cond), tuple(no), tuple(yes), block.tested_at))
        else:
            stmts.append(If(block.cond, tuple(yes), tuple(no), block.tested_at))
        return stmts

    def _follow(self, graph: Acyclic, block: Lifted, side: int) -> list[Stmt]:
        after = block.succs[side]
        label = self.edges.label(block.container, after)
        follows = self._select(block.container, after) + self._goto(graph, label, block.id)
        line = block.breaks_at.get(side)
        if line is not None and len(follows) == 1 and isinstance(follows[0], Exit):
            follows[0] = replace(follows[0], line=line)
        return follows

    def _ending_clause(self, block: Lifted, stmt: Stmt) -> Stmt:
        """An exit without a line that follows code of a handler, with the line on which that ends."""
        handles = self.containers.tree[block.container].kind == "handler"
        if not handles or not isinstance(stmt, Exit) or stmt.line is not None or not block.lines:
            return stmt
        return replace(stmt, line=max(block.lines))

    def _goto(self, graph: Acyclic, label: int, source: int) -> list[Stmt]:
        """What goes from ``source`` to a label: its code, where that stands there, or an exit."""
        choice = self.dispatches.choice(label, source)
        if choice is not None:
            return [choice.made(), *self._goto(graph, choice.dispatch, source)]
        if label in graph.tails:
            return list(self.blocks[label].stmts)
        return self._sequence(graph, label) if graph.is_here(label, source) else self._leave(label, graph.items)

    def _leave(self, label: int, items: dict[int, Item]) -> list[Stmt]:
        """Exit to a label that control does not fall through to."""
        if label not in items:
            for joined, around in reversed(self.scopes):
                if label in joined:
                    return [joined[label].made(), Exit(joined[label].dispatch)]
                if label in around:
                    break
        return [Exit(label)]

    def _loop(self, header: int) -> Stmt:
        """The statement for the loop that begins at ``header``, of which only this is left then."""
        return Loop(header, tuple(self._build(self.loops.take(header), header)))

    def _dispatch(self, graph: Acyclic, key: int) -> list[Stmt]:
        variable, heads = self.dispatches.choices[key]
        # a choice that was made is forgotten, so that the proof need not tell old choices apart
        done: list[Stmt] = [Delete((variable,))] if self.plain else []
        stmts: list[Stmt] = done + self._goto(graph, heads[-1], key)
        for choice in range(len(heads) - 2, -1, -1):
            test = Cmp(variable, ("==",), (Const(choice),))
            stmts = [If(test, (*done, *self._goto(graph, heads[choice], key)), tuple(stmts))]
        return stmts

    def _try(self, container: int) -> list[Stmt]:
        entries = sorted(self.edges.entries[container])
        body = tuple(self._container(container, self.edges.entry_labels(container)))
        region = self.containers.tree[container].region
        record = self.containers.regions.table[region]
        line = self.blocks[entries[0]].line
        if record.kind == "with":
            clause = ExceptClause(ManagerClause(), None, ())
            return [Try(body, (clause,), line=line), *self._resume(container, record.resume)]
        handler = self.edges.handler_container(container)
        target = self.containers.handler_entries.get(region, NONE)  # none where nothing raises to it
        if handler == NONE or target not in self.blocks:
            return list(body)
        reset = tuple([Assign((temp,), Const(None)) for temp in self.resets.get(container, ())])
        chosen = self._select(handler, target)
        caught = (*reset, *chosen, *self._container(handler, [self.edges.label(handler, target)]))
        if record.kind == "finally":
            label = make_label(LabelKind.FINALLY_END, container)
            return [Try(body, (), (), (Block(label, _end_at(caught, label)),), line=line)]
        orelse: Body = ()
        if container in self.elses.parts:
            part, head = self.elses.parts[container]
            body = (Block(head, body),)
            orelse = tuple(self._acyclic(part, head))
        name: Temp | None = None
        if self.plain:
            caught, name = named_exception(caught, region)
        return [Try(body, (ExceptClause(None, name, caught, self.blocks[target].line),), orelse, line=line)]

    def _resume(self, container: int, target: int) -> list[Stmt]:
        """What goes on after a ``with`` that suppressed an exception."""
        if target not in self.blocks:
            return []
        parent, source = self.containers.tree[container].parent, make_label(LabelKind.TRY, container)
        label, chosen = self.edges.label(parent, target), self._select(parent, target)
        choice = self.dispatches.choice(label, source)
        if choice is not None:
            return [*chosen, choice.made(), *self._leave(choice.dispatch, {})]
        return [*chosen, *self._leave(label, {})]


def _dropping(block: Lifted, side: int) -> list[Stmt]:
    return [Delete(block.drops[side], block.line)] if block.drops[side] else []


def _end_at(stmts: tuple[Stmt, ...], label: int) -> tuple[Stmt, ...]:
    """The end of a ``finally`` body is an exit to the end of the block around it."""

    def end(stmt: Stmt) -> Stmt:
        if isinstance(stmt, ExprStmt) and isinstance(stmt.value, FinallyEnd):
            return Exit(label, stmt.line)
        return stmt

    return map_statements(stmts, end)
