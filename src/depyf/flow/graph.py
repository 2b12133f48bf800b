"""Basic blocks over a rewritten ``Program``, and the undoing of the compiler's copies.

Input: ``Program`` and ``Containers``.  Output: ``Graph`` of ``Node``: every node lies in one container, has explicit
successors, and holds instruction indices.  A ``RETURN`` is a node of its own, so that the copies of one ``return``
statement (same source line) can be merged again; the same goes for the test of an inverted ``while`` loop.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.flow.dominance import reverse_postorder
from depyf.flow.program import ASYNC_FOR_ITER, NONE, WITH_EXIT, Program
from depyf.flow.tails import Tails
from depyf.structure.containers import Containers

_OPERAND_OPS = frozenset(
    {ops.LOAD_CONST, ops.LOAD_FAST, ops.LOAD_DEREF, ops.LOAD_GLOBAL, ops.LOAD_NAME, ops.LOAD_CLASSDEREF, ops.NULL}
    | {ops.LOAD_ATTR, ops.LOAD_METHOD, ops.SUBSCR, ops.BINARY, ops.UNARY, ops.COMPARE, ops.IS, ops.CONTAINS, ops.CALL}
    | {ops.CALL_EX, ops.COPY, ops.SWAP, ops.ROT, ops.BUILD_TUPLE, ops.BUILD_LIST, ops.BUILD_SLICE, ops.BUILD_MAP}
    | {ops.BUILD_SET, ops.BUILD_STRING, ops.FORMAT, ops.CONVERT, ops.LIST_EXTEND, ops.LIST_APPEND, ops.LIST_TO_TUPLE}
    | {ops.DICT_MERGE, ops.DICT_UPDATE, ops.SET_UPDATE, ops.MAKE_FUNCTION, ops.SET_FUNCTION_ATTRIBUTE, ops.GET_ITER}
    | {ops.LOAD_CLOSURE, ops.YIELD, ops.DELEGATE, ops.GET_AWAITABLE, ops.GET_YIELD_FROM_ITER, ops.LOAD_SUPER_ATTR}
    | {
        ops.LOAD_SUPER_METHOD,
        ops.STORE_FAST,
        ops.STORE_DEREF,
        ops.STORE_NAME,
        ops.STORE_GLOBAL,
        ops.BUILD_CONST_KEY_MAP,
    }
    | {ops.LOAD_FROM_DICT_OR_DEREF, ops.LOAD_FROM_DICT_OR_GLOBALS, ops.LOAD_LOCALS}
)
_ALONE = frozenset({ops.RETURN, ops.FOR_ITER, ASYNC_FOR_ITER})
_CLASS_END = frozenset({"__static_attributes__", "__classdictcell__", "__classcell__"})
_LEAVING = frozenset({ops.POP_EXCEPT, ops.SWAP, ops.ROT})
_DECIDES = frozenset({ops.BRANCH, ops.RETURN, ops.RAISE, ops.RERAISE, ops.FOR_ITER})
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
    """Nodes by id (the index of their first instruction); ``preds`` counts each edge."""

    def __init__(self, program: Program, containers: Containers, *, merge: bool = True) -> None:
        self.program = program
        self.containers = containers
        self.merging = merge
        self.nodes: dict[int, Node] = {}
        self.barriers: set[int] = set()
        """Blocks jumped to over an exception handler or by ``break``: what comes before is a statement of its own."""
        self.implicit: set[int] = set()
        """Where falling off the end of the function is."""
        self.entry = 0
        self._build()
        self._thread()
        if merge or not program.unit.flags & CO_OPTIMIZED:
            self._merge_implicit_returns()  # a module or class body cannot say ``return``
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
        for i in sorted(leaders & of.keys()):
            # a failed chained comparison drops its operand before it goes where the other tests go, or to a copy of it
            if instrs[i].op == ops.POP and program.next[i] in of and i != self.entry:
                leaders.add(program.next[i])
        for i in of:
            # a returned constant belongs to its return: the copies of one statement are then alike
            ret = program.next[i]
            if instrs[i].op == ops.LOAD_CONST and ret in leaders and instrs[ret].op == ops.RETURN:
                leaders.add(i)
                if incoming[ret] == 1 and of[ret] == of[i]:
                    leaders.discard(ret)
        if self.merging:
            leaders.update(self._test_starts(leaders))
            leaders.update(Tails(program, of).starts(leaders, incoming))
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
            self.nodes[leader] = Node(leader, [i for i in code if instrs[i].op != ops.JUMP], of[leader], succs, last)

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

    def _test_starts(self, leaders: set[int]) -> list[int]:
        """Where the operands of a test begin, for tests that stand more than once: an inverted loop copies its test."""
        program, of = self.program, self.containers.of
        instrs = program.instrs
        places: dict[int | None, list[int]] = {}
        for i in of:
            if instrs[i].op == ops.BRANCH and instrs[i].line is not None:
                places.setdefault(instrs[i].line, []).append(i)
        starts: list[int] = []
        for found in places.values():
            if len(found) < 2:
                continue
            for i in found:
                need, at = 1, i
                while need and at not in leaders and program.next[at - 1] == at and instrs[at - 1].op in _OPERAND_OPS:
                    at -= 1
                    pops, pushes = ops.stack_effect(instrs[at].op, instrs[at].arg)
                    need = max(need - pushes, 0) + pops
                if not need and at not in leaders:
                    starts.append(at)
        return starts

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
        for _ in range(4):
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
            if not self._returns_none(node):
                continue
            line = program.line[node.code[0]]
            if line is not None and program.unit.flags & CO_OPTIMIZED:
                if not all(self._ends_on(self.nodes[p], node, line, preds) for p in preds[node.id]):
                    continue
            found.setdefault(node.container, []).append(node.id)
        for first, *others in found.values():
            self.implicit.add(first)
            self._rename(dict.fromkeys(others, first))

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

    def _merge_copies(self) -> None:
        changed = True
        while changed:
            changed = False
            seen: dict[Any, int] = {}
            renamed: dict[int, int] = {}
            for node in sorted(self.nodes.values(), key=lambda node: node.id):
                key = self._key(node)
                if key is None:
                    continue
                first = seen.setdefault(key, node.id)
                if first != node.id:
                    renamed[node.id] = first
            if renamed:
                changed = True
                self._rename(renamed)

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

    def _returns_none(self, node: Node) -> bool:
        """Whether a block is (the end of) the implicit return of a module or class body."""
        instrs = self.program.instrs
        return [instrs[i].op for i in node.code] == [ops.LOAD_CONST, ops.RETURN] and instrs[node.code[0]].arg is None

    def _key(self, node: Node) -> Any:
        program = self.program
        content: list[tuple[Any, ...]] = []
        lined = False
        unlined = False
        if node.code and not program.unit.flags & CO_OPTIMIZED:
            if self._returns_none(node):
                return "return", node.container
            # nobody writes the end of a class body: each copy has the line of what is before it
            unlined = program.instrs[node.code[0]].op == ops.RETURN or self._is_class_end(program.next[node.code[0]])
        for i in node.code:
            instr = program.instrs[i]
            arg = instr.arg
            if instr.op == ops.LOAD_CONST:
                arg = id(arg) if isinstance(arg, CodeUnit) else (type(arg).__name__, repr(arg))
            lined = lined or instr.line is not None
            content.append((instr.op, arg, None if unlined else instr.line))
        if not content or not unlined and (not self.merging or self._pushes(node)):
            return None
        if not lined and program.instrs[node.code[-1]].op != ops.RETURN:
            return None
        succs = tuple(node.succs)
        last = program.instrs[node.code[-1]]
        if last.op == ops.BRANCH:
            # an inverted loop tests the same thing the other way round
            if last.arg in ("true", "not none"):
                succs = succs[::-1]
            content[-1] = (ops.BRANCH, last.arg in ("true", "false"), last.line)
        try:
            key = (node.container, tuple(content), succs)
            hash(key)
        except TypeError:
            return None
        return key
