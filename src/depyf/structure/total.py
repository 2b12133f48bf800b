"""Total translation of lifted blocks into structured statements.

Input: lifted blocks, their containers, all stack values named.  Output: statements of the labelled dialect: every path
ends in ``Return``, ``Raise``, or an ``Exit`` to an enclosing label.  Always succeeds on valid input.

Every container (function, ``try`` body, handler, loop) is structured on its own, inner ones standing as one item in the
outer one.  What is left in each is a directed acyclic graph, translated along its dominator tree as in Ramsey,
"Beyond Relooper" (ICFP 2022): a node with several predecessors becomes the code after a labelled block.  A loop with
several entries gets one entry that dispatches on a variable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from depyf.errors import DecompilationError
from depyf.flow.dominance import immediate_dominators, reverse_postorder
from depyf.flow.loops import components
from depyf.flow.program import NONE
from depyf.lift.block import Lifted
from depyf.lift.conditions import negate
from depyf.structure.containers import ROOT, Containers
from depyf.tree.expr import Cmp, Const, Marker, Temp
from depyf.tree.nodes import Assign, Block, Body, Delete, ExceptClause, Exit, ExprStmt, If, Loop, Return, Stmt, Try
from depyf.tree.rewrite import map_statements

TRY = 1 << 40
DISPATCH = 1 << 41
FINALLY_END = 1 << 42
VARIABLES = 3_000_000
ENTRY_VARIABLES = 4_000_000
MANY_EXITS = 3
SMALL_TAIL = 2
_STARTS = ("iter_start", "with_start")


@dataclass(slots=True)
class _Item:
    """A node of one container's graph: a block, a whole ``try``, or a dispatch; ``succs`` are labels."""

    succs: list[int]
    lines: tuple[int, int] | None = None
    first_line: int | None = None
    start: int = 0
    last: int = 0
    compound: bool = False
    loop: bool = False


@dataclass(slots=True)
class _Loop:
    body: set[int]
    header: int


class Structurer:
    """Translates one function; ``dispatches`` counts the dispatch variables that irreducible loops needed."""

    def __init__(
        self, blocks: dict[int, Lifted], containers: Containers, entry: int, name: str, *, handlers_last: bool = False
    ) -> None:
        self.blocks = blocks
        self.containers = containers
        self.entry = entry
        self.name = name
        self.handlers_last = handlers_last
        self.dispatches = 0
        self.plain = False
        self.copies_tails = False
        self.joins: dict[int, dict[int, tuple[int, int, int]]] = {}
        self.scopes: list[tuple[dict[int, tuple[int, int, int]], dict[int, _Item]]] = []
        self.resets: dict[int, tuple[Temp, ...]] = {}
        self.members: dict[int, list[int]] = {}
        self.tries: dict[int, list[int]] = {}
        self.redirect: dict[int, tuple[int, int, int]] = {}
        self.choices: dict[int, tuple[int, list[int]]] = {}
        self.orelse: dict[int, tuple[dict[int, _Item], int]] = {}
        self.loops: dict[int, dict[int, _Item]] = {}
        for block in blocks.values():
            self.members.setdefault(block.container, []).append(block.id)
        used = set(self.members)
        for container in list(used):
            while container != ROOT:
                used.add(container)
                container = containers.tree[container].parent
        for found in containers.tree:
            if found.kind == "try" and found.id in used:
                self.tries.setdefault(found.parent, []).append(found.id)
        self._position = {name: i for i, name in enumerate(blocks)}
        self._inner: dict[int, list[int]] = {}
        self._handlers: dict[tuple[int, int], int] = {}
        self._resumes: dict[int, list[int]] = {}
        self._index_containers()
        self.entries: dict[int, set[int]] = {}
        self._heads: dict[int, list[int]] = {}
        self._find_entries()

    def run(self) -> list[Stmt]:
        """The whole function body."""
        return [*self._select(ROOT, self.entry), *self._container(ROOT, [self._label(ROOT, self.entry)])]

    def _label(self, source: int, target: int) -> int:
        """Label that an edge from container ``source`` to block ``target`` has: the outermost ``try`` it enters, or itself."""
        outer = self.containers.outermost_without(self.blocks[target].container, source)
        if outer == NONE:
            return target
        if self.containers.tree[outer].kind != "try":
            raise DecompilationError("jump into the body of an exception handler", self.name)
        return TRY + outer

    def _entry_labels(self, container: int) -> list[int]:
        """Labels at which a ``try`` is entered from outside; where there are several its body begins with a dispatch."""
        known = self._heads.get(container)
        if known is None:
            known = sorted({self._label(container, entry) for entry in self.entries[container]})
            self._heads[container] = known
        return known

    def _select(self, source: int, target: int) -> list[Stmt]:
        """Says for every ``try`` with several entries that an edge enters which of them it means."""
        result: list[Stmt] = []
        container = self.blocks[target].container
        inner = target
        while container != ROOT and not self.containers.encloses(container, source):
            if self.containers.tree[container].kind == "try":
                labels = self._entry_labels(container)
                if len(labels) > 1:
                    choice = Const(labels.index(inner))
                    result.append(Assign((Temp(ENTRY_VARIABLES + container),), choice))
                inner = TRY + container
            container = self.containers.tree[container].parent
        return result

    def _find_entries(self) -> None:
        tree = self.containers.tree
        protecting: dict[int, list[int]] = {}
        for one in tree:
            if one.kind == "try":
                protecting.setdefault(one.region, []).append(one.parent)

        def enter(source: int, target: int) -> None:
            container = self.blocks[target].container
            while container != ROOT and not self.containers.encloses(container, source):
                self.entries.setdefault(container, set()).add(target)
                container = tree[container].parent

        enter(ROOT, self.entry)
        for block in self.blocks.values():
            for after in block.succs:
                enter(block.container, after)
        for region, target in self.containers.handler_entries.items():
            if target == NONE or target not in self.blocks:
                continue
            for parent in protecting.get(region, ()):
                enter(parent, target)

    def _body_exits(self, container: int) -> set[int]:
        """Labels that the body of a ``try``, its handlers aside, leaves to."""
        encloses = self.containers.encloses
        return {
            self._label(source, after)
            for source, after in self._edges(container)
            if not encloses(container, self.blocks[after].container)
        }

    def _index_containers(self) -> None:
        for container in self.containers.tree:
            self._inner.setdefault(container.parent, []).append(container.id)
            if container.kind == "handler":
                self._handlers[container.parent, container.region] = container.id
            elif container.kind == "try":
                record = self.containers.regions.table[container.region]
                if record.kind == "with" and record.resume in self.blocks:
                    self._resumes.setdefault(container.parent, []).append(record.resume)

    def _subtree(self, container: int) -> list[int]:
        """A container and all containers inside it, in order."""
        found: list[int] = []
        work = [container]
        while work:
            current = work.pop()
            found.append(current)
            work.extend(self._inner.get(current, ()))
        return sorted(found)

    def _edges(self, container: int) -> list[tuple[int, int]]:
        """Edges that start in a container or inside it, as (container, target block).

        A suppressed exception leaves its ``with`` from the container around.
        """
        names: list[int] = []
        resumes: list[tuple[int, int]] = []
        for inner in self._subtree(container):
            names.extend(self.members.get(inner, ()))
            resumes.extend((inner, resume) for resume in self._resumes.get(inner, ()))
        names.sort(key=self._position.__getitem__)
        return [(self.blocks[n].container, after) for n in names for after in self.blocks[n].succs] + resumes

    def _handler_container(self, container: int) -> int:
        return self._handlers.get(
            (self.containers.tree[container].parent, self.containers.tree[container].region), NONE
        )

    def _container(self, container: int, entries: list[int]) -> list[Stmt]:
        items: dict[int, _Item] = {}
        for name in self.members.get(container, ()):
            block = self.blocks[name]
            lines = (block.lines[0], block.lines[-1]) if block.lines else None
            succs = [self._label(container, after) for after in block.succs]
            items[name] = _Item(succs, lines, _first_line(block), block.code[0] if block.code else block.id, block.last)
        for inner in self.tries.get(container, ()):
            items[TRY + inner] = self._try_item(container, inner)
        if len(entries) == 1:
            return self._build(items, entries[0])
        key = self._new_dispatch(ENTRY_VARIABLES + container, entries, items)
        return self._build(items, key)

    def _try_item(self, container: int, inner: int) -> _Item:
        handler = self._handler_container(inner)
        succs: list[int] = []
        lines: list[int] = []
        first: int | None = None
        start, last = 1 << 60, 0
        for side in (inner, handler):
            if side == NONE:
                continue
            for name in [name for part in self._subtree(side) for name in self.members.get(part, ())]:
                block = self.blocks[name]
                lines.extend(block.lines)
                if side == inner:
                    if block.id < start:
                        first = _first_line(block)
                    start = min(start, block.id)
                last = max(last, block.last)
        encloses = self.containers.encloses
        for side in (inner, handler):
            if side == NONE:
                continue
            for source, after in self._edges(side):
                target = self.blocks[after].container
                if side == inner and encloses(inner, target) or handler != NONE and encloses(handler, target):
                    continue
                succs.append(self._label(source, after))
        record = self.containers.regions.table[self.containers.tree[inner].region]
        if record.kind == "with" and record.resume in self.blocks:
            succs.append(self._label(container, record.resume))
        succs = list(dict.fromkeys(succs))
        bounds = (min(lines), max(lines)) if lines else None
        return _Item(succs, bounds, first, start, last, True)

    def _build(self, items: dict[int, _Item], entry: int) -> list[Stmt]:
        """Structure one graph whose edges to labels outside ``items`` are exits."""
        while True:
            succs = {key: item.succs for key, item in items.items()}
            preds = _predecessors(items)
            found = components(items, succs)
            heads = [_heads(scc, preds, entry) for scc in found]
            if all(len(head) == 1 for head in heads):
                break
            for head in heads:
                if len(head) > 1:
                    entry = self._dispatch(items, head, preds, entry)
        header = {key: head[0] for head, scc in zip(heads, found, strict=True) for key in scc}
        for key in sorted(items):
            if key not in header and self._is_for(key) and not items[key].compound:
                # the body of this ``for`` never comes round again
                body = items[key].succs[0]
                found.append([key, body] if preds.get(body, set()) <= {key} and body in items else [key])
        reachable = set(reverse_postorder(entry, succs)) if found else set()
        # inner and later loops first, so that a loop can be kept inside an earlier one as a whole
        for scc in found:
            if any(key not in items for key in scc):
                continue  # part of a loop that was collapsed before: its turn comes when that one is built
            loop = _Loop(set(scc), header.get(scc[0], scc[0]))
            self._keep_inside(loop, items, preds, reachable, entry)
            self._collapse(loop, items, preds)
        if self.plain:
            self._join_exits(items)
        self._take_else(items, entry)
        return self._acyclic(items, entry)

    def _collapse(self, loop: _Loop, items: dict[int, _Item], preds: dict[int, set[int]]) -> None:
        """Make one item of a loop; its label stays that of its header."""
        body = {key: items.pop(key) for key in sorted(loop.body) if key in items}
        for key, item in body.items():
            for label in item.succs:
                preds[label].discard(key)
        self.loops[loop.header] = body
        exits: list[int] = []
        for key in sorted(body, key=lambda key: (body[key].start, key)):
            for label in body[key].succs:
                if label not in body and label not in exits:
                    exits.append(label)
        bounds = [item.lines for item in body.values() if item.lines is not None]
        lines = (min(b[0] for b in bounds), max(b[1] for b in bounds)) if bounds else None
        head = body[loop.header]
        last = max(item.last for item in body.values())
        items[loop.header] = _Item(exits, lines, head.first_line, head.start, last, True, True)
        for label in exits:
            preds[label].add(loop.header)

    def _take_else(self, items: dict[int, _Item], entry: int) -> None:
        """Code laid out between the body of a ``try`` and its handlers is its ``else`` clause."""
        if self.handlers_last:
            return
        preds: dict[int, set[int]] = {}
        for key, item in items.items():
            for label in item.succs:
                preds.setdefault(label, set()).add(key)
        for key in sorted(items):
            if key not in items or not TRY <= key < DISPATCH or key - TRY in self.orelse:
                continue
            start = self._handler_start(key - TRY)
            item = items[key]
            heads = [
                s for s in item.succs if s in items and s != entry and preds[s] == {key} and items[s].start < start
            ]
            if start == NONE or len(heads) != 1 or items[heads[0]].start < item.start:
                continue
            if any(label in items and label != heads[0] for label in self._body_exits(key - TRY)):
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
            handler = self._handler_container(key - TRY)
            caught = [self.blocks[name] for name in self.members.get(handler, ())]
            if any(self._label(handler, after) in chosen for block in caught for after in block.succs):
                continue
            part = {k: items.pop(k) for k in sorted(chosen)}
            self._take_else(part, heads[0])
            self.orelse[key - TRY] = (part, heads[0])
            exits = [s for other in part.values() for s in other.succs if s not in chosen]
            item.succs = list(dict.fromkeys([s for s in item.succs if s not in chosen] + exits))
            item.last = max(item.last, max(other.last for other in part.values()))

    def _is_for(self, key: int) -> bool:
        block = self.blocks.get(key)
        return block is not None and isinstance(block.cond, Marker) and block.cond.kind == "for"

    def _dispatch(self, items: dict[int, _Item], heads: list[int], preds: dict[int, set[int]], entry: int) -> int:
        """Give a loop with several entries a single one that selects among them by a variable."""
        variable = VARIABLES + self.dispatches + 1
        for before in sorted(set().union(*[preds.get(head, ()) for head in heads])):
            item = items[before]
            item.succs = [DISPATCH + self.dispatches + 1 if label in heads else label for label in item.succs]
        key = self._new_dispatch(variable, heads, items)
        for choice, head in enumerate(heads):
            self.redirect[head] = (key, variable, choice)
        return key if entry in heads else entry

    def _new_dispatch(self, variable: int, heads: list[int], items: dict[int, _Item]) -> int:
        self.dispatches += 1
        key = DISPATCH + self.dispatches
        self.choices[key] = variable, heads
        starts = [items[head].start for head in heads if head in items]
        items[key] = _Item(list(heads), None, None, min(starts, default=0), 0)
        return key

    def _join_exits(self, items: dict[int, _Item]) -> None:
        """A compound item that goes on at many places leaves to one dispatch instead: flags would nest."""
        for key in sorted(items):
            item = items[key]
            if not item.loop and not TRY <= key < DISPATCH:
                continue
            labels = sorted({self._canonical(label) for label in item.succs if label != key})
            if len(labels) < MANY_EXITS:
                continue
            variable = VARIABLES + self.dispatches + 1
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

    def _leave(self, label: int, items: dict[int, _Item]) -> list[Stmt]:
        """Go to a label that is not the next thing to do."""
        if label not in items:
            for joined, around in reversed(self.scopes):
                if label in joined:
                    join, variable, choice = joined[label]
                    return [Assign((Temp(variable),), Const(choice)), Exit(join)]
                if label in around:
                    break
        return [Exit(label)]

    def _keep_inside(
        self, loop: _Loop, items: dict[int, _Item], preds: dict[int, set[int]], reachable: set[int], entry: int
    ) -> None:
        """Add to a loop the code that leaves it but was written inside it, as far as lines and layout tell.

        Only layout is at stake: the code runs after the last test either way.
        """
        head = self.blocks.get(loop.header)
        labels = [self._label(head.container, after) for after in head.succs] if head is not None else []
        outside = [label for label in labels if label not in loop.body]
        follow = outside[0] if len(outside) == 1 and len(labels) == 2 else NONE
        bounds = [items[key].lines for key in loop.body if items[key].lines is not None]
        high = max((b[1] for b in bounds if b is not None), default=None)
        last = max(items[key].last for key in loop.body)
        known = follow in items and follow != entry
        follow_line = items[follow].first_line if known else None
        behind = follow if known else NONE
        if not self._is_for(loop.header) and follow != NONE:
            block = self.blocks.get(loop.header)
            low = min((b[0] for b in bounds if b is not None), default=None)
            if (
                block is None
                or block.stmts
                or (follow_line is not None and low is not None and high is not None and low < follow_line <= high)
            ):
                follow = NONE
        if follow_line is not None and high is not None and follow_line <= high or self._falls_off(follow):
            follow_line = None
        work = sorted(loop.body)
        while work:
            for key in items[work.pop()].succs:
                if key in loop.body or key in (follow, behind) or key not in reachable or key not in items:
                    continue
                if not preds[key] <= loop.body:
                    continue
                if self._is_for(loop.header) and self._behind_loop(key):
                    continue
                if self._in_match(key, loop.header, preds[key]) or self._belongs(
                    items[key], follow, follow_line, high, last
                ):
                    loop.body.add(key)
                    work.append(key)
        self._keep_starts(loop, items)

    def _falls_off(self, key: int) -> bool:
        """Whether a block only returns None: before 3.10 the end of a function has the line of its last statement."""
        block = self.blocks.get(key)
        if block is None or block.succs or len(block.stmts) != 1:
            return False
        last = block.stmts[0]
        return isinstance(last, Return) and (
            last.value is None or isinstance(last.value, Const) and last.value.value is None
        )

    def _behind_loop(self, key: int) -> bool:
        """Whether a block drops the iterator before it does anything but return: a ``break`` led to it."""
        block = self.blocks.get(key)
        if block is None or not block.drops_iterator:
            return False
        return not (len(block.stmts) == 1 and isinstance(block.stmts[0], Return))

    def _keep_starts(self, loop: _Loop, items: dict[int, _Item]) -> None:
        """What starts a loop or a ``with`` stays next to it."""
        for key in sorted(loop.body):
            block = self.blocks.get(key)
            if block is None or key == loop.header or not block.stmts or len(block.succs) != 1:
                continue
            last = block.stmts[-1]
            if isinstance(last, ExprStmt) and isinstance(last.value, Marker) and last.value.kind in _STARTS:
                label = self._label(block.container, block.succs[0])
                if label in items and label not in loop.body:
                    loop.body.discard(key)

    def _in_match(self, key: int, header: int, preds: set[int]) -> bool:
        """Whether a block belongs to a ``match`` inside the loop: what a case goes to, or its subject is on the stack."""
        block, head = self.blocks.get(key), self.blocks.get(header)
        if block is None or head is None:
            return False
        tests = [self.blocks[p] for p in preds if p in self.blocks]
        if any(isinstance(t.cond, Marker) and t.cond.kind == "case" and t.succs[0] == key for t in tests):
            return True
        return any(isinstance(v, Marker) and v.kind == "subject" and v not in head.entry for v in block.entry)

    def _belongs(self, item: _Item, follow: int, follow_line: int | None, high: int | None, last: int) -> bool:
        line = item.first_line
        if follow != NONE:
            if line is not None and follow_line is not None:
                return line < follow_line
            if line is not None and high is not None and line <= high:
                return True
            return not item.succs or item.start < last or follow_line is None
        if line is not None and high is not None and line <= high:
            return True
        return item.start < last

    def _acyclic(self, items: dict[int, _Item], entry: int) -> list[Stmt]:
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
        if self.copies_tails:
            inner = {label for item in items.values() if item.compound for label in item.succs}
            tails = {key for key in order[1:] if incoming[key] > 1 and key not in inner and self._is_tail(key, items)}
        followers: dict[int, list[int]] = {}
        following: set[int] = set()
        last = {idom[key]: number[key] for key in order[1:] if incoming[key] > 1}
        for key in order[1:]:
            parent = idom[key]
            if key in tails:
                continue
            if incoming[key] > 1 or items[parent].loop or (items[parent].compound and not self._is_for(parent)):
                followers.setdefault(parent, []).append(key)
                following.add(key)
            elif self.plain:
                # what comes after a shared block in any case need not stand in an arm before it
                above, found, steps = parent, NONE, 0
                while steps < 100 and not self._is_for(above):
                    if above in followers:
                        found = above
                    if above in following or above == entry or last.get(above, 0) > number[key]:
                        break  # what the code may go on to stands behind that block
                    above, steps = idom[above], steps + 1
                if found != NONE:
                    followers[found].append(key)
                    following.add(key)

        def goto(label: int, source: int) -> list[Stmt]:
            known = self.redirect.get(label)
            if known is not None and known[0] != source:
                return [Assign((Temp(known[1]),), Const(known[2])), *goto(known[0], source)]
            if label in tails:
                return list(self.blocks[label].stmts)
            if (
                label != entry
                and label in items
                and label not in following
                and label in number
                and idom[label] == source
            ):
                return sequence(label)
            return self._leave(label, items)

        def follow(block: Lifted, side: int) -> list[Stmt]:
            after = block.succs[side]
            return self._select(block.container, after) + goto(self._label(block.container, after), block.id)

        def emit(key: int) -> list[Stmt]:
            if items[key].loop or TRY <= key < DISPATCH:
                self.scopes.append((self.joins.get(key, {}), items))
                inner = [self._loop(key, self.loops[key])] if items[key].loop else self._emit_try(key - TRY)
                self.scopes.pop()
                return inner
            if key >= DISPATCH:
                return self._emit_dispatch(key, goto)
            block = self.blocks[key]
            stmts = list(block.stmts)
            if block.cond is None:
                return stmts + (follow(block, 0) if block.succs else [])
            yes, no = follow(block, 0), follow(block, 1)
            if block.drops:
                yes, no = _dropping(block, 0) + yes, _dropping(block, 1) + no
            if block.falls == 1 and not isinstance(block.cond, Marker):
                stmts.append(If(negate(block.cond), tuple(no), tuple(yes), block.line))
            else:
                stmts.append(If(block.cond, tuple(yes), tuple(no), block.line))
            return stmts

        def sequence(key: int) -> list[Stmt]:
            result: list[Stmt] = []
            while True:
                body = emit(key)
                after = sorted(followers.get(key, ()), key=number.__getitem__)
                for label in after[:-1]:
                    body = [Block(label, tuple(body)), *sequence(label)]
                if not after:
                    return result + body
                key = after[-1]
                result.append(Block(key, tuple(body)))

        return sequence(entry)

    def _is_tail(self, key: int, items: dict[int, _Item]) -> bool:
        block = self.blocks.get(key)
        return block is not None and not items[key].loop and not block.succs and len(block.stmts) <= SMALL_TAIL

    def _exit(self, label: int, source: int) -> list[Stmt]:
        known = self.redirect.get(label)
        if known is not None and known[0] != source:
            key, variable, choice = known
            return [Assign((Temp(variable),), Const(choice)), *self._leave(key, {})]
        return self._leave(label, {})

    def _loop(self, header: int, body: dict[int, _Item]) -> Stmt:
        items = {key: replace(item, succs=[s for s in item.succs if s != header]) for key, item in body.items()}
        if self._is_for(header):
            items[header].compound = True
        return Loop(header, tuple(self._build(items, header)))

    def _handler_start(self, container: int) -> int:
        region = self.containers.regions.table[self.containers.tree[container].region]
        return region.target if region.kind == "except" else NONE

    def _emit_dispatch(self, key: int, goto: object) -> list[Stmt]:
        assert callable(goto)
        variable, heads = self.choices[key]
        # a choice that was made is forgotten, so that the proof need not tell old choices apart
        done: list[Stmt] = [Delete((Temp(variable),))] if self.plain else []
        stmts: list[Stmt] = done + goto(heads[-1], key)
        for choice in range(len(heads) - 2, -1, -1):
            test = Cmp(Temp(variable), ("==",), (Const(choice),))
            stmts = [If(test, (*done, *goto(heads[choice], key)), tuple(stmts))]
        return stmts

    def _emit_try(self, container: int) -> list[Stmt]:
        entries = sorted(self.entries[container])
        body = tuple(self._container(container, self._entry_labels(container)))
        region = self.containers.tree[container].region
        record = self.containers.regions.table[region]
        parent = self.containers.tree[container].parent
        line = self.blocks[entries[0]].line
        if record.kind == "with":
            after: list[Stmt] = []
            if record.resume in self.blocks:
                after = self._select(parent, record.resume)
                after += self._exit(self._label(parent, record.resume), TRY + container)
            return [Try(body, (ExceptClause(Marker("with"), None, ()),), line=line), *after]
        handler = self._handler_container(container)
        target = self.containers.handler_entries[region]
        if handler == NONE or target not in self.blocks:
            return list(body)
        reset = tuple([Assign((temp,), Const(None)) for temp in self.resets.get(container, ())])
        caught = (*reset, *self._container(handler, [self._label(handler, target)]))
        if record.kind == "finally":
            label = FINALLY_END + container
            return [Try(body, (), (), (Block(label, _end_at(caught, label)),), line=line)]
        orelse: Body = ()
        if container in self.orelse:
            part, head = self.orelse[container]
            body = (Block(head, body),)
            orelse = tuple(self._acyclic(part, head))
        return [Try(body, (ExceptClause(None, None, caught, self.blocks[target].line),), orelse, line=line)]


def _predecessors(items: dict[int, _Item]) -> dict[int, set[int]]:
    preds: dict[int, set[int]] = {}
    for key, item in items.items():
        for label in item.succs:
            preds.setdefault(label, set()).add(key)
    return preds


def _heads(scc: list[int], preds: dict[int, set[int]], entry: int) -> list[int]:
    """Where a loop is entered from outside."""
    inside = set(scc)
    return sorted(key for key in scc if key == entry or not preds.get(key, set()) <= inside)


def _dropping(block: Lifted, side: int) -> list[Stmt]:
    return [Delete(block.drops[side], block.line)] if block.drops[side] else []


def _first_line(block: Lifted) -> int | None:
    """Line of the first statement: what comes before may be the end of the statement that led here."""
    if block.stmts and block.stmts[0].line is not None:
        return block.stmts[0].line
    return block.line


def _end_at(stmts: tuple[Stmt, ...], label: int) -> tuple[Stmt, ...]:
    """The end of a ``finally`` body is an exit to the end of the block around it."""

    def end(stmt: Stmt) -> Stmt:
        if isinstance(stmt, ExprStmt) and isinstance(stmt.value, Marker) and stmt.value.kind == "end_finally":
            return Exit(label, stmt.line)
        return stmt

    return map_statements(stmts, end)
