"""Basic blocks over a rewritten ``Program``, and the undoing of the compiler's copies.

Input: ``Program`` and ``Containers``.  Output: ``Graph`` of ``Node``: every node lies in one container, has explicit
successors, and holds instruction indices.  A ``RETURN`` is a node of its own, so that the copies of one ``return``
statement (same source line) can be merged again; the same goes for the test of an inverted ``while`` loop.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CO_OPTIMIZED
from depyf.flow.beyond import beyond_loops
from depyf.flow.copied_tests import Span, test_spans
from depyf.flow.dominance import reverse_postorder
from depyf.flow.program import ASYNC_FOR_ITER, NONE, WITH_EXIT, Program
from depyf.flow.tails import Tails, instruction_content
from depyf.structure.containers import Containers

_ALONE = frozenset({ops.RETURN, ops.FOR_ITER, ASYNC_FOR_ITER})
_CLASS_END = frozenset({"__static_attributes__", "__classdictcell__", "__classcell__"})
_LEAVING = frozenset({ops.POP_EXCEPT, ops.SWAP, ops.ROT})
_DECIDES = frozenset({ops.BRANCH, ops.RETURN, ops.RAISE, ops.RERAISE, ops.FOR_ITER})
_NESTED = 20
"""The compiler nests no more blocks: a ``return`` leaves at most that many ``with``."""
_QUIET = ops.SILENT | {WITH_EXIT}


@dataclass(slots=True)
class Node:
    """A basic block: instruction indices, the container, and successors (fall-through first)."""

    id: int
    code: list[int]
    container: int
    succs: list[int] = field(default_factory=list)
    end: int = 0


class Graph:
    """Nodes by id (the index of their first instruction); ``preds`` counts each edge.

    ``merge`` undoes the copies that an optimiser makes; with ``tails`` off none of parts of blocks (see ``tails.py``).
    """

    def __init__(self, program: Program, containers: Containers, *, merge: bool = True, tails: bool = True) -> None:
        self.program = program
        self.containers = containers
        self.merging = merge
        self.tails = tails
        self.nodes: dict[int, Node] = {}
        self.barriers: set[int] = set()
        """Blocks jumped to over a handler, a loop's end, or by ``break``: what comes before is a statement of its own.

        A ``return`` that the compiler carried to the jump is one, too.
        """
        self.implicit: set[int] = set()
        """Where falling off the end of the function is."""
        self.entry = 0
        self._spans: list[Span] = []
        self._build()
        self._thread()
        if merge or not program.unit.flags & CO_OPTIMIZED:
            self._merge_implicit_returns()  # a module or class body cannot say ``return``
        if merge:
            self._merge_copies(only_constants=True)
        self._absorb_returns()
        if merge or not program.unit.flags & CO_OPTIMIZED:
            self._merge_copies()
            self._absorb_returns()
        self.preds = self.predecessors()

    def roots(self) -> list[int]:
        """The entry and all handler entries."""
        entries = self.containers.handler_entries
        return [self.entry, *(entries[region] for region in sorted(entries) if entries[region] != NONE)]

    def predecessors(self) -> dict[int, list[int]]:
        preds: dict[int, list[int]] = {node: [] for node in self.nodes}
        for node in self.nodes.values():
            for after in node.succs:
                preds[after].append(node.id)
        return preds

    def order(self) -> list[int]:
        """Reverse postorder over ordinary edges, an exception edge from each ``try`` entry included."""
        edges: dict[int, list[int]] = {node.id: list(node.succs) for node in self.nodes.values()}
        entries = self.containers.handler_entries
        tree = self.containers.tree
        for node in self.nodes.values():
            container = tree[node.container]
            while container.kind != "root":
                if container.kind == "try":
                    target = entries.get(container.region, NONE)
                    if target != NONE and target != node.id:
                        edges[node.id].append(target)
                container = tree[container.parent]
        return reverse_postorder(self.entry, edges)

    def _build(self) -> None:
        program, of = self.program, self.containers.of
        incoming: dict[int, int] = dict.fromkeys(of, 0)
        leaders: set[int] = set(self.roots())
        instrs = program.instrs
        handlers = sorted(region.target for region in self.containers.regions.table.values())
        for i in of:
            after = program.successors(i)
            if (
                handlers
                and instrs[i].op == ops.JUMP
                and bisect_left(handlers, i) < bisect_left(handlers, program.jump[i])
            ):
                self.barriers.add(program.jump[i])
                leaders.add(program.jump[i])
            if instrs[i].op == ops.JUMP and i > 0 and instrs[i - 1].op == ops.POP and program.jump[i] > i:
                # ``break`` drops the iterator: what follows is not in the loop
                self.barriers.add(program.jump[i])
                leaders.add(program.jump[i])
            for j in after:
                incoming[j] += 1
                if len(after) > 1 or of[j] != of[i] or instrs[j].op in _ALONE:
                    leaders.add(j)
        leaders.update(i for i, count in incoming.items() if count != 1)
        beyond = beyond_loops(program, of)
        self.barriers.update(beyond)
        leaders.update(beyond)
        for i in sorted(leaders & of.keys()):
            # a failed chained comparison drops its operand before it goes where the other tests go, or to a copy of it
            if instrs[i].op == ops.POP and program.next[i] in of and i != self.entry:
                leaders.add(program.next[i])
        valued = {
            (instrs[i].line, of[i])
            for i in of
            if instrs[i].op == ops.RETURN and self.merging and incoming[i] != 1 and instrs[i].line is not None
        }
        for i in of:
            # a returned constant belongs to its return: the copies of one statement are then alike; where another
            # return of its line takes what several ways left on the stack, it is one of these ways
            ret = program.next[i]
            if instrs[i].op == ops.LOAD_CONST and ret in leaders and instrs[ret].op == ops.RETURN:
                if (instrs[ret].line, of[ret]) in valued and incoming[ret] == 1:
                    continue
                leaders.add(i)
                if incoming[ret] == 1 and of[ret] == of[i]:
                    leaders.discard(ret)
        if self.merging:
            spans = test_spans(program, of, leaders)
            leaders.update(start for start, _ in spans)
            self._spans = [span for span in spans if not leaders.isdisjoint(range(span[0] + 1, span[1] + 1))]
        if self.merging and self.tails:
            tails = Tails(program, self.containers, leaders)
            starts, whole = tails.find()
            carried = tails.carried()
            leaders.update(starts, (start for start, _ in carried))
            self.barriers.update(start for start, _ in carried)
            if program.unit.flags & CO_OPTIMIZED:  # the ends of a class body are alike whatever their lines
                leaders.difference_update(ret for ret in [*whole, *(end for _, end in carried)] if incoming[ret] == 1)
        leaders.update(self._class_ends())
        for leader in leaders:
            if leader not in of:
                continue
            code = [leader]
            last = leader
            while True:
                after = program.successors(last)
                if len(after) != 1 or after[0] in leaders:
                    break
                last = after[0]
                code.append(last)
            succs = list(after)
            code = [i for i in code if instrs[i].op != ops.JUMP or self.merging and self._continues(i)]
            self.nodes[leader] = Node(leader, code, of[leader], succs, last)

    def _continues(self, index: int) -> bool:
        """Whether a jump back is a ``continue``: it has a line of its own, behind that of the code before it.

        At the end of a handler ``pass`` would leave the same.
        """
        program = self.program
        line, previous = program.line[index], program.line[index - 1]
        if line is None or previous is None or program.jump[index] > index:
            return False
        if program.instrs[index - 1].op == ops.POP and program.next[index - 2] != index - 1:
            return False  # drops the operand of a failed chained comparison
        return previous < line and program.instrs[index - 1].op != ops.POP_EXCEPT

    def _class_ends(self) -> list[int]:
        """Where a class body is done and the compiler's own stores begin; it may copy them behind every branch."""
        program = self.program
        if program.unit.flags & CO_OPTIMIZED or program.unit.name == "<module>":
            return []
        return [
            i
            for i in self.containers.of
            if program.instrs[i].op in (ops.LOAD_CONST, ops.LOAD_CLOSURE) and self._is_class_end(program.next[i])
        ]

    def _is_class_end(self, index: int) -> bool:
        instr = self.program.instrs[index]
        if instr.op == ops.COPY:
            instr = self.program.instrs[self.program.next[index]]
        return instr.op == ops.STORE_NAME and instr.arg in _CLASS_END

    def _resolve(self, source: int, target: int) -> tuple[int, int]:
        containers = self.containers
        return containers.outermost_without(self.nodes[target].container, source), target

    def _thread(self) -> None:
        """Skip empty nodes where that does not change which ``try`` is entered."""
        protected = set(self.roots())
        final: dict[tuple[int, int], int] = {}
        for node in self.nodes.values():
            for k, target in enumerate(node.succs):
                key = (node.container, target)
                if key not in final:
                    final[key] = self._skip_empty(node.container, target)
                if final[key] != target and final[key] <= node.id:
                    # the jump back is part of the loop, wherever it stands
                    node.end = max(node.end, target)
                node.succs[k] = final[key]
        reachable: set[int] = set()
        work = [root for root in protected if root in self.nodes]
        while work:
            current = work.pop()
            if current in reachable:
                continue
            reachable.add(current)
            work.extend(self.nodes[current].succs)
        self.nodes = {i: node for i, node in self.nodes.items() if i in reachable}

    def _skip_empty(self, source: int, target: int) -> int:
        seen = set()
        while target not in seen:
            seen.add(target)
            node = self.nodes[target]
            if node.code or len(node.succs) != 1 or node.succs[0] == target:
                break
            after = node.succs[0]
            if node.container != source and self._resolve(source, after) != self._resolve(node.container, after):
                break
            if node.container != source and self.containers.outermost_without(node.container, source) != NONE:
                break
            target = after
        return target

    def _absorb_returns(self) -> None:
        """A value is on the stack and nothing can raise any more: returning belongs where the value was computed."""
        preds = self.predecessors()
        instrs = self.program.instrs
        roots = set(self.roots())
        pending = [node for node in self.nodes.values() if node.container >= 0]
        changed = True
        while changed:
            changed = False
            for node in pending:
                before = {self.nodes[p].container for p in preds[node.id]}
                if len(before) != 1 or node.id in roots:
                    continue
                if node.id in self.implicit and (len(preds[node.id]) > 1 or not self.program.unit.flags & CO_OPTIMIZED):
                    continue
                (outer,) = before
                if outer == node.container or not self.containers.encloses(node.container, outer):
                    continue
                if not all(instrs[i].op in _QUIET for i in node.code) or not self._only_returns(node, preds):
                    continue
                if len(preds[node.id]) > 1 and self.merging and self._returns_constant(node):
                    continue  # several ways lead to one statement
                if self._after_handler(node, outer) or self._in_star(outer):
                    continue
                node.container = outer
                changed = True

    def _in_star(self, container: int) -> bool:
        """Whether a container is inside a clause of ``except*``, where nothing can return."""
        tree = self.containers.tree
        while tree[container].kind != "root":
            if tree[container].kind == "handler" and self.containers.regions.table[tree[container].region].star:
                return True
            container = tree[container].parent
        return False

    def _only_returns(self, node: Node, preds: dict[int, list[int]]) -> bool:
        instrs = self.program.instrs
        for _ in range(_NESTED):
            if node.code and instrs[node.code[-1]].op == ops.RETURN:
                return True
            if len(node.succs) != 1 or len(preds[node.succs[0]]) != 1:
                return False
            node = self.nodes[node.succs[0]]
            if not all(instrs[i].op in _QUIET for i in node.code):
                return False
        return False

    def _after_handler(self, node: Node, outer: int) -> bool:
        """Whether the source lines say that ``node`` comes after the handler of the ``try`` it would move into."""
        container = self.containers.tree[outer]
        line = next((self.program.line[i] for i in node.code if self.program.line[i] is not None), None)
        if (
            container.kind != "try"
            or line is None
            or not any(self.program.instrs[i].op == ops.LOAD_CONST for i in node.code)
        ):
            return False
        region = self.containers.regions.table[container.region]
        if region.kind == "with":
            return False
        start = region.target
        for index in range(start, min(start + 4, len(self.program.line))):
            handler_line = self.program.line[index]
            if handler_line is not None:
                return line > handler_line
        return False

    def _merge_implicit_returns(self) -> None:
        """Falling off the end of a function is one place, however often the compiler copied its return.

        A copy has no line of its own: it has none at all, or that of the statement before it.
        """
        program = self.program
        preds = self.predecessors()
        found: dict[int, list[int]] = {}
        for node in sorted(self.nodes.values(), key=lambda node: node.id):
            if not self._returns_none(node) or node.code[0] in program.own_returns:
                continue
            line = program.line[node.code[0]]
            if line is not None and program.unit.flags & CO_OPTIMIZED and not self._appended(node, line):
                if not all(self._ends_on(self.nodes[p], node, line, preds) for p in preds[node.id]):
                    continue
            found.setdefault(node.container, []).append(node.id)
        for first, *others in found.values():
            self.implicit.add(first)
            self._rename(dict.fromkeys(others, first))

    def _appended(self, node: Node, line: int) -> bool:
        """Whether a return is the one that the compiler puts behind everything; it has the line of what it follows."""
        start = node.code[0]
        return start > 0 and node.code[-1] == len(self.program.instrs) - 1 and self.program.line[start - 1] == line

    def _ends_on(self, before: Node, node: Node, line: int, preds: dict[int, list[int]]) -> bool:
        code = before.code
        instrs = self.program.instrs
        last = next((i for i in reversed(code) if instrs[i].op not in _LEAVING), None)
        if last is None and code and len(before.succs) == 1 and preds[before.id]:
            return all(self._ends_on(self.nodes[p], before, line, preds) for p in preds[before.id])
        if last is None or self.program.line[last] != line:
            return False
        if len(before.succs) == 1 or self.program.next[code[-1]] != node.id:
            return True
        return 0 <= self.program.jump[code[-1]] <= code[-1]

    def _rename(self, renamed: dict[int, int]) -> None:
        for dead in renamed:
            del self.nodes[dead]
        for node in self.nodes.values():
            node.succs = [renamed.get(after, after) for after in node.succs]
        entries = self.containers.handler_entries
        for region, target in entries.items():
            entries[region] = renamed.get(target, target)

    def _merge_copies(self, only_constants: bool = False) -> None:
        """Make one node of those that are alike; ``only_constants``: only returns of constants."""
        preds = self.predecessors() if only_constants else {}
        changed = True
        while changed:
            renamed = ({} if only_constants else self._copied_spans()) or self._copied_blocks(only_constants, preds)
            self._rename(renamed)
            changed = bool(renamed)

    def _copied_blocks(self, only_constants: bool, preds: dict[int, list[int]]) -> dict[int, int]:
        """Blocks that are copies of another, with what they are copies of."""
        seen: dict[Any, int] = {}
        renamed: dict[int, int] = {}
        for node in sorted(self.nodes.values(), key=lambda node: node.id):
            if only_constants and not (self._returns_constant(node) and self._own_line(node, preds)):
                continue
            key = self._key(node)
            if key is not None:
                first = seen.setdefault(key, node.id)
                if first != node.id:
                    renamed[node.id] = first
        return renamed

    def _copied_spans(self) -> dict[int, int]:
        """As ``_copied_blocks`` for all blocks of a test at once, which compute values for each other."""
        ids = sorted(self.nodes)
        seen: dict[Any, list[int]] = {}
        renamed: dict[int, int] = {}
        for start, end in self._spans:
            inside = ids[bisect_left(ids, start) : bisect_right(ids, end)]
            if len(inside) < 2 or inside[0] != start:
                continue
            places = {node: -1 - at for at, node in enumerate(inside)}
            keys = []
            for node in (self.nodes[name] for name in inside):
                content, succs = self._normal(node)
                keys.append((node.container, content, tuple(places.get(after, after) for after in succs)))
            try:
                first = seen.setdefault(tuple(keys), inside)
            except TypeError:
                continue
            if renamed.keys().isdisjoint((*inside, *first)):
                renamed.update((name, other) for name, other in zip(inside, first, strict=True) if name != other)
        return renamed

    def _returns_constant(self, node: Node) -> bool:
        return [self.program.instrs[i].op for i in node.code] == [ops.LOAD_CONST, ops.RETURN]

    def _own_line(self, node: Node, preds: dict[int, list[int]]) -> bool:
        """Whether what leads to a return has other lines: in ``finally: return 1`` the handler has none."""
        line = self.program.line
        own = (None, line[node.code[0]])
        return all(any(line[i] not in own for i in self.nodes[p].code) for p in preds.get(node.id, ()))

    def _pushes(self, node: Node) -> bool:
        """Whether a block only computes a value for the next one: two of them may be two arms of one expression."""
        instrs = self.program.instrs
        if instrs[node.code[-1]].op in _DECIDES:
            return False
        depth = 0
        for i in node.code:
            try:
                pops, pushes = ops.stack_effect(instrs[i].op, instrs[i].arg)
            except ValueError:
                return False
            depth += pushes - pops
        return depth > 0

    def _is_returned(self, node: Node) -> bool:
        """Whether all that a block computes is a value to return: alike, they are copies of one statement."""
        instrs, line = self.program.instrs, self.program.line
        before = node.code[0] - 1
        if instrs[before].op == ops.BRANCH and line[before] == line[node.code[0]]:
            return False  # one arm of a conditional expression
        return len(node.succs) == 1 and [instrs[i].op for i in self.nodes[node.succs[0]].code] == [ops.RETURN]

    def _returns_none(self, node: Node) -> bool:
        """Whether a block is (the end of) the implicit return of a module or class body."""
        instrs = self.program.instrs
        return [instrs[i].op for i in node.code] == [ops.LOAD_CONST, ops.RETURN] and instrs[node.code[0]].arg is None

    def _key(self, node: Node) -> Any:
        program = self.program
        unlined = False
        if node.code and not program.unit.flags & CO_OPTIMIZED:
            if self._returns_none(node):
                return "return", node.container
            # nobody writes the end of a class body: each copy has the line of what is before it
            unlined = program.instrs[node.code[0]].op == ops.RETURN or self._is_class_end(program.next[node.code[0]])
        if not node.code or not unlined and (not self.merging or self._pushes(node) and not self._is_returned(node)):
            return None
        if any(program.instrs[i].op == WITH_EXIT for i in node.code) and not self._copied_exit(node):
            return None  # too long for the compiler to copy: each stands for a statement that leaves the ``with``
        if node.code[0] in program.own_returns or not self.tails and program.instrs[node.code[0]].op == ops.RETURN:
            return None
        lined = any(program.instrs[i].line is not None for i in node.code)
        if not lined and program.instrs[node.code[-1]].op != ops.RETURN:
            return None
        key = (node.container, *self._normal(node, unlined))
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def _copied_exit(self, node: Node) -> bool:
        """Whether behind the end of a ``with`` is the end of the function, which the compiler copies at any length."""
        if not self.implicit.isdisjoint(node.succs):
            return True
        for _ in range(_NESTED if self.program.unit.copies_with_exits else 0):
            if len(node.succs) != 1:
                break
            node = self.nodes[node.succs[0]]
        return bool(node.code) and self.program.instrs[node.code[-1]].op == ops.RETURN

    def _normal(self, node: Node, unlined: bool = False) -> tuple[Any, tuple[int, ...]]:
        """What a block does, and where it goes; of a branch, if it holds and if it does not."""
        content = [instruction_content(self.program, i) for i in node.code]
        if unlined:
            content = [(op, arg, None) for op, arg, _ in content]
        succs = tuple(node.succs)
        last = self.program.instrs[node.code[-1]] if node.code else None
        if last is not None and last.op == ops.BRANCH:
            # an inverted loop tests the same thing the other way round
            if last.arg in ("true", "not none"):
                succs = succs[::-1]
            content[-1] = (ops.BRANCH, last.arg in ("true", "false"), last.line)
        return tuple(content), succs
