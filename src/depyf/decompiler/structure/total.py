"""Total translation of lifted blocks into structured statements.

Input: lifted blocks, their containers, all stack values named.  Output: statements of the labelled dialect: every path
ends in ``Return``, ``Raise``, or an ``Exit`` to an enclosing label.  Always succeeds on valid input.

Every container (function, ``try`` body, handler, loop) is structured on its own, inner ones standing as one item in the
outer one.  What is left in each is a directed acyclic graph, translated along its dominator tree as in Ramsey,
"Beyond Relooper" (ICFP 2022): a node with several predecessors becomes the code after a labelled block.  A loop with
several entries gets one entry that dispatches on a variable.
"""

from __future__ import annotations

from depyf.decompiler.cfg.containers import ROOT, Containers
from depyf.decompiler.cfg.graph_algorithms import components, reverse_postorder
from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.ir.expr import Cmp, Const, Expr, Purpose, Temp
from depyf.decompiler.ir.markers import ClauseEnd, FinallyEnd, ManagerClause, WrittenJump
from depyf.decompiler.ir.stmt import Assign, Block, Body, Delete, ExceptClause, Exit, ExprStmt, If, Loop, Stmt, Try
from depyf.decompiler.ir.transformer import map_statements
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.structure.acyclic import Acyclic
from depyf.decompiler.structure.clauses import marker_of, named_exception
from depyf.decompiler.structure.edges import (
    Edges,
    Item,
    LoopItems,
    first_line,
    is_for,
    loop_heads,
    predecessors,
)
from depyf.decompiler.structure.label_kinds import LabelKind, is_try, make_label, number_of
from depyf.decompiler.structure.layout.loop_membership import LoopMembership
from depyf.safety.depth import any_depth, spend

MANY_EXITS = 3


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
    """Translates one function; ``dispatches`` counts the dispatch variables that irreducible loops needed."""

    def __init__(
        self,
        blocks: dict[int, Lifted],
        containers: Containers,
        entry: int,
        name: str,
        *,
        handlers_last: bool = False,
        ends: dict[int, int] | None = None,
    ) -> None:
        self.blocks = blocks
        self.containers = containers
        self.entry = entry
        self.name = name
        self.handlers_last = handlers_last
        self.dispatches = 0
        self.plain = False
        self.copies_tails = False
        self.joins: dict[int, dict[int, tuple[int, Temp, int]]] = {}
        self.scopes: list[tuple[dict[int, tuple[int, Temp, int]], dict[int, Item]]] = []
        self.resets: dict[int, tuple[Expr, ...]] = {}
        self.edges = Edges(blocks, containers, entry, name)
        self.membership = LoopMembership(blocks, self.edges, ends or {})
        self.redirect: dict[int, tuple[int, Temp, int]] = {}
        self.choices: dict[int, tuple[Temp, list[int]]] = {}
        self.orelse: dict[int, tuple[dict[int, Item], int]] = {}
        self.loops: dict[int, dict[int, Item]] = {}

    def run(self) -> list[Stmt]:
        """The whole function body."""
        return [*self.select(ROOT, self.entry), *self._container(ROOT, [self.edges.label(ROOT, self.entry)])]

    def select(self, source: int, target: int) -> list[Stmt]:
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
        key = self._new_dispatch(Temp(container, Purpose.ENTRY), entries, items)
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

        Its loops are translated while the caller waits: what is kept for them is then all there is of them, as they may nest
        as deep as there are blocks.
        """
        if len(items) == 1 and not items[entry].succs:
            return items, entry
        while True:
            spend(4 * len(items) + sum(len(item.succs) for item in items.values()))
            succs = {key: item.succs for key, item in items.items()}
            preds = predecessors(items)
            found = components(items, succs)
            heads = [loop_heads(scc, preds, entry) for scc in found]
            if all(len(head) == 1 for head in heads):
                break
            for head in heads:
                if len(head) > 1:
                    entry = self._dispatch(items, head, preds, entry)
        header = {key: head[0] for head, scc in zip(heads, found, strict=True) for key in scc}
        for key in sorted(items):
            if key not in header and is_for(self.blocks, key) and not items[key].compound:
                # the body of this ``for`` is never repeated
                body = next(iter(items[key].succs), NONE)  # both ways may leave to labels outside
                found.append([key, body] if preds.get(body, set()) <= {key} and body in items else [key])
        reachable = set(reverse_postorder(entry, succs)) if found else set()
        # inner and later loops first, so that a loop can be kept inside an earlier one as a whole
        for scc in found:
            if any(key not in items for key in scc):
                continue  # part of a loop that was collapsed before: its turn comes when that one is built
            loop = LoopItems(set(scc), header.get(scc[0], scc[0]))
            self.membership.extend_loop(loop, items, preds, reachable, entry)
            self._collapse(loop, items, preds)
        if self.plain:
            self._join_exits(items)
        self._take_else(items, entry)
        left = dict(items)  # smaller than one from which much was taken
        items.clear()
        return left, entry

    def _collapse(self, loop: LoopItems, items: dict[int, Item], preds: dict[int, set[int]]) -> None:
        """Make one item of a loop; its label stays that of its header."""
        body = {key: items.pop(key) for key in sorted(loop.body) if key in items}
        for key, item in body.items():
            for label in item.succs:
                preds[label].discard(key)
        self.loops[loop.header] = body
        ordered = sorted(body, key=lambda key: (body[key].start, key))
        exits = list(dict.fromkeys(label for key in ordered for label in body[key].succs if label not in body))
        bounds = [item.lines for item in body.values() if item.lines is not None]
        lines = (min(b[0] for b in bounds), max(b[1] for b in bounds)) if bounds else None
        head = body[loop.header]
        last = max(item.last for item in body.values())
        items[loop.header] = Item(exits, lines, head.first_line, head.start, last, True, True)
        for label in exits:
            preds[label].add(loop.header)

    @any_depth
    def _take_else(self, items: dict[int, Item], entry: int) -> None:
        """Code laid out between the body of a ``try`` and its handlers is its ``else`` clause."""
        if self.handlers_last:
            return
        preds: dict[int, set[int]] = {}
        for key, item in items.items():
            for label in item.succs:
                preds.setdefault(label, set()).add(key)
        for key in sorted(items):
            if key not in items or not is_try(key) or number_of(key) in self.orelse:
                continue
            start = self._handler_start(number_of(key))
            item = items[key]
            heads = [
                s for s in item.succs if s in items and s != entry and preds[s] == {key} and items[s].start < start
            ]
            if start == NONE or len(heads) != 1 or items[heads[0]].start < item.start:
                continue
            if self.membership.ends_function(heads[0]):
                continue
            if any(label in items and label != heads[0] for label in self.edges.body_exits(number_of(key))):
                continue
            chosen = set(heads)
            work = list(heads)
            while work:
                for other in items[work.pop()].succs:
                    if other in chosen or other == entry or other not in items:
                        continue
                    if item.start < items[other].start < start and preds[other] <= chosen:
                        chosen.add(other)
                        work.append(other)
            handler = self.edges.handler_container(number_of(key))
            leaving = () if handler == NONE else self.edges.leaving(handler)
            if any(self.edges.label(source, after) in chosen for source, after in leaving):
                continue
            part = {k: items.pop(k) for k in sorted(chosen)}
            self._take_else(part, heads[0])
            self.orelse[number_of(key)] = (part, heads[0])
            exits = [s for other in part.values() for s in other.succs if s not in chosen]
            item.succs = list(dict.fromkeys([s for s in item.succs if s not in chosen] + exits))
            item.last = max(item.last, max(other.last for other in part.values()))

    def _dispatch(self, items: dict[int, Item], heads: list[int], preds: dict[int, set[int]], entry: int) -> int:
        """Give a loop with several entries a single one that selects among them by a variable."""
        variable = Temp(self.dispatches + 1, Purpose.DISPATCH)
        for before in sorted(set().union(*[preds.get(head, ()) for head in heads])):
            item = items[before]
            item.succs = [
                make_label(LabelKind.DISPATCH, self.dispatches + 1) if label in heads else label for label in item.succs
            ]
        key = self._new_dispatch(variable, heads, items)
        for choice, head in enumerate(heads):
            self.redirect[head] = (key, variable, choice)
        return key if entry in heads else entry

    def _new_dispatch(self, variable: Temp, heads: list[int], items: dict[int, Item]) -> int:
        self.dispatches += 1
        key = make_label(LabelKind.DISPATCH, self.dispatches)
        self.choices[key] = variable, heads
        starts = [items[head].start for head in heads if head in items]
        items[key] = Item(list(heads), None, None, min(starts, default=0), 0)
        return key

    def _join_exits(self, items: dict[int, Item]) -> None:
        """A compound item that goes on at many places leaves to one dispatch instead: flags would nest."""
        for key in sorted(items):
            item = items[key]
            if not item.loop and not is_try(key):
                continue
            labels = sorted({self._canonical(label) for label in item.succs if label != key})
            if len(labels) < MANY_EXITS:
                continue
            variable = Temp(self.dispatches + 1, Purpose.DISPATCH)
            join = self._new_dispatch(variable, labels, items)
            items[join].start = item.last
            self.joins[key] = {label: (join, variable, choice) for choice, label in enumerate(labels)}
            item.succs = [join, *([key] if key in item.succs else [])]

    def _canonical(self, label: int) -> int:
        known = self.redirect.get(label)
        while known is not None and known[0] != label:
            label = known[0]
            known = self.redirect.get(label)
        return label

    def leave(self, label: int, items: dict[int, Item]) -> list[Stmt]:
        """Exit to a label that control does not fall through to."""
        if label not in items:
            for joined, around in reversed(self.scopes):
                if label in joined:
                    join, variable, choice = joined[label]
                    return [Assign((variable,), Const(choice)), Exit(join)]
                if label in around:
                    break
        return [Exit(label)]

    def _acyclic(self, items: dict[int, Item], entry: int) -> list[Stmt]:
        return Acyclic(self, items, entry).sequence(entry)

    def _exit(self, label: int, source: int) -> list[Stmt]:
        known = self.redirect.get(label)
        if known is not None and known[0] != source:
            key, variable, choice = known
            return [Assign((variable,), Const(choice)), *self.leave(key, {})]
        return self.leave(label, {})

    def loop(self, header: int) -> Stmt:
        """The statement for the loop that begins at ``header``, of which only this is left then."""
        items = self.loops.pop(header)
        for item in items.values():
            if header in item.succs:
                item.succs = [label for label in item.succs if label != header]
        if is_for(self.blocks, header):
            items[header].compound = True
        return Loop(header, tuple(self._build(items, header)))

    def _handler_start(self, container: int) -> int:
        region = self.containers.regions.table[self.containers.tree[container].region]
        return region.target if region.kind == "except" else NONE

    def emit_dispatch(self, key: int, goto: object) -> list[Stmt]:
        assert callable(goto)
        variable, heads = self.choices[key]
        # a choice that was made is forgotten, so that the proof need not tell old choices apart
        done: list[Stmt] = [Delete((variable,))] if self.plain else []
        stmts: list[Stmt] = done + goto(heads[-1], key)
        for choice in range(len(heads) - 2, -1, -1):
            test = Cmp(variable, ("==",), (Const(choice),))
            stmts = [If(test, (*done, *goto(heads[choice], key)), tuple(stmts))]
        return stmts

    def emit_try(self, container: int) -> list[Stmt]:
        entries = sorted(self.edges.entries[container])
        body = tuple(self._container(container, self.edges.entry_labels(container)))
        region = self.containers.tree[container].region
        record = self.containers.regions.table[region]
        parent = self.containers.tree[container].parent
        line = self.blocks[entries[0]].line
        if record.kind == "with":
            after: list[Stmt] = []
            if record.resume in self.blocks:
                after = self.select(parent, record.resume)
                after += self._exit(self.edges.label(parent, record.resume), make_label(LabelKind.TRY, container))
            return [Try(body, (ExceptClause(ManagerClause(), None, ()),), line=line), *after]
        handler = self.edges.handler_container(container)
        target = self.containers.handler_entries.get(region, NONE)  # none where nothing raises to it
        if handler == NONE or target not in self.blocks:
            return list(body)
        reset = tuple([Assign((temp,), Const(None)) for temp in self.resets.get(container, ())])
        chosen = self.select(handler, target)
        caught = (*reset, *chosen, *self._container(handler, [self.edges.label(handler, target)]))
        if record.kind == "finally":
            label = make_label(LabelKind.FINALLY_END, container)
            return [Try(body, (), (), (Block(label, _end_at(caught, label)),), line=line)]
        orelse: Body = ()
        if container in self.orelse:
            part, head = self.orelse[container]
            body = (Block(head, body),)
            orelse = tuple(self._acyclic(part, head))
        name: Temp | None = None
        if self.plain:
            caught, name = named_exception(caught, region)
        return [Try(body, (ExceptClause(None, name, caught, self.blocks[target].line),), orelse, line=line)]


def _end_at(stmts: tuple[Stmt, ...], label: int) -> tuple[Stmt, ...]:
    """The end of a ``finally`` body is an exit to the end of the block around it."""

    def end(stmt: Stmt) -> Stmt:
        if isinstance(stmt, ExprStmt) and isinstance(stmt.value, FinallyEnd):
            return Exit(label, stmt.line)
        return stmt

    return map_statements(stmts, end)
