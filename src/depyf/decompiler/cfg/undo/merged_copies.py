"""Merges blocks that the optimiser copied: same instructions, same source lines, same successors."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.blocks import Blocks, Node
from depyf.decompiler.cfg.program import WITH_EXIT
from depyf.decompiler.cfg.source_places import Alike, begins_at, computed_at
from depyf.decompiler.cfg.undo.copied_tails import instruction_content
from depyf.decompiler.cfg.undo.copied_tests import Span
from depyf.decompiler.cfg.undo.returns import NESTED
from depyf.safety.depth import spend
from depyf.safety.rewrites import step

_DECIDES = frozenset({ops.BRANCH, ops.RETURN, ops.RAISE, ops.RERAISE, ops.FOR_ITER})


class Copies:
    """Merges alike blocks; ``spans`` are the tests made up of several blocks, which are merged as a whole."""

    def __init__(self, blocks: Blocks, spans: list[Span]) -> None:
        self.blocks = blocks
        self.program = blocks.program
        self.spans = spans
        self._starts: list[int] = []
        self._ends: list[int] = []
        """Where what spans cover begins and ends."""
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def merge(self, only_constants: bool = False) -> None:
        """Make one node of those that are alike; ``only_constants``: only returns of constants.

        What is merged may make what leads to it alike, and so on: each turn looks at what the turn before changed.
        """
        self.only_constants = only_constants
        spans = () if only_constants else self.spans
        found_blocks = _AlikeBlocks(self)
        if not spans and not found_blocks.pending:
            return
        self.preds = self.blocks.predecessors()
        self.order = {name: at for at, name in enumerate(self.blocks.nodes)}
        found_spans = _Spans(self, spans)
        while True:
            renamed = found_spans.copied()
            if not renamed:
                found = found_blocks.copied()
                # what a test goes to is one block before its parts are, or half of it would be merged
                renamed = {name: first for name, first in found.items() if not self._in_span(name)} or found
            if not renamed:
                break
            for copy in renamed:
                while renamed[copy] in renamed:
                    renamed[copy] = renamed[renamed[copy]]
            again, moved = self._rename(renamed)
            found_spans.look_again(again)
            found_blocks.look_again(again | moved)
            for copy, first in renamed.items():
                step(f"merge the block at instruction {copy} with that of which it is a copy", first)

    def _rename(self, renamed: dict[int, int]) -> tuple[set[int], set[int]]:
        """Put the first of alike blocks in the place of each; the blocks that go elsewhere now, or are gone, and those
        that are entered from elsewhere, or share where they go to with others."""
        nodes, preds = self.blocks.nodes, self.preds
        changed = {before for copy in renamed for before in preds[copy]}
        entered = {*renamed.values()}
        for copy in renamed:
            for after in nodes[copy].succs:
                preds[after].remove(copy)
                entered.add(after)
        self.blocks.rename(renamed, changed)
        for copy, first in renamed.items():
            preds[first] += [before for before in preds.pop(copy) if before not in renamed]
        for first in {*renamed.values()}:
            preds[first].sort(key=self.order.__getitem__)
        entered.update(after for name in changed - renamed.keys() for after in nodes[name].succs)
        # how a returned value is told from an arm of an expression: by what else leads to the return
        returns = [first for first in {*renamed.values()} if self._only_returns(nodes[first])]
        moved = {before for first in returns for before in preds[first]} | (entered - renamed.keys())
        return changed | renamed.keys(), moved

    @cached_property
    def _unlined(self) -> bool:
        """Whether the code has no line at all: then like statements at the end of the function are taken for copies."""
        return all(line is None for line in self.program.line)

    def _is_at_end(self, node: Node) -> bool:
        """Whether a block begins with a statement, and the function returns after it."""
        depths, start = self.program.depths, node.code[0]
        if start >= len(depths) or depths[start] != 0 or len(node.succs) != 1:
            return False
        after = self.blocks.nodes[node.succs[0]]
        return bool(after.code) and self.program.instrs[after.code[-1]].op == ops.RETURN

    def _in_span(self, name: int) -> bool:
        at = bisect_right(self._starts, name) - 1
        return at >= 0 and name <= self._ends[at]

    def candidates(self) -> list[int]:
        """Blocks that are like another at first sight: as long, in the same container, with the same first line and
        operations."""
        instrs = self.program.instrs
        alike: dict[tuple[object, ...], list[int]] = {}
        for node in self.blocks.nodes.values():
            code = node.code
            if code and (not self.only_constants or self.blocks.returns_constant(node)):
                first, last = instrs[code[0]], instrs[code[-1]].op
                # the end of a class body is one place, whatever its lines
                line = first.line if self.blocks.optimised or last != ops.RETURN else None
                alike.setdefault((node.container, len(code), first.op, last, line), []).append(node.id)
        return sorted(name for names in alike.values() if len(names) > 1 for name in names)

    def key(self, node: Node) -> Any:
        """What a block does and where it goes; None for one that is no copy of any other."""
        if self.only_constants and not self._own_line(node, self.preds):
            return None
        return self._key(node, self.preds)

    def _own_line(self, node: Node, preds: dict[int, list[int]]) -> bool:
        """Whether what leads to a return has other lines: in ``finally: return 1`` the handler has none."""
        line = self.program.line
        own = (None, line[node.code[0]])
        return all(any(line[i] not in own for i in self.blocks.nodes[p].code) for p in preds.get(node.id, ()))

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

    def _only_returns(self, node: Node) -> bool:
        return [self.program.instrs[i].op for i in node.code] == [ops.RETURN]

    def _is_returned(self, node: Node, preds: dict[int, list[int]]) -> bool:
        """Whether all that a block computes is a value to return: alike, they are copies of one statement.

        Where a test leaves its operand to the same return, they may be parts of one expression: ``a and None if b else
        None``. Columns, which are part of the key, tell.
        """
        instrs, line = self.program.instrs, self.program.line
        after = self.blocks.nodes[node.succs[0]] if len(node.succs) == 1 else None
        if after is None or not self._only_returns(after):
            return False
        if self.program.place(node.code[0]) is not None:
            return True
        before = node.code[0] - 1
        if instrs[before].op == ops.BRANCH and line[before] == line[node.code[0]]:
            return False  # one arm of a conditional expression
        others = (self.blocks.nodes[p] for p in preds.get(after.id, ()))
        return not any(other.code and instrs[other.code[-1]].op == ops.BRANCH for other in others)

    @cached_property
    def _negations(self) -> set[int]:
        """Where several values go on that ``not`` was the last to change: arms of one expression, no copies."""
        seen: set[int] = set()
        program = self.program
        ends = [node.code[-1] for node in self.blocks.nodes.values() if node.code]
        after = [program.follow(program.next[end]) for end in ends if program.instrs[end].op == ops.UNARY]
        return {place for place in after if place in seen or seen.add(place)}  # type: ignore[func-returns-value]

    @cached_property
    def _loop_tests(self) -> dict[int, tuple[int, int]]:
        """The branches in the two copies of the test of an inverted loop: its body, and the index of each, counted from
        the end.

        The copy at the end of the loop goes back to the body, which begins after the one above the loop.
        """
        jump, instrs = self.program.jump, self.program.instrs
        ends = {body: at for at, body in enumerate(jump) if 0 < body < at and instrs[at].op == ops.BRANCH}
        found: dict[int, tuple[int, int]] = {}
        for body, end in sorted(ends.items()):
            lines = self._test_lines(body, end)
            for last, first in ((body - 1, 0), (end, body)):
                number, returned, at = 0, False, last
                for at in range(last, first - 1, -1):
                    branches = instrs[at].op == ops.BRANCH
                    returned = not branches and (returned or instrs[at].op == ops.RETURN)
                    if not returned and instrs[at].line is not None and instrs[at].line not in lines:
                        break
                    if branches:
                        found[at] = body, number
                        number += 1
                spend(last - at)
        return found

    def _test_lines(self, body: int, end: int) -> range:
        """The source lines of the test that the branch at ``end`` ends; those of the loop's body are below."""
        line = self.program.line
        last, below = line[end], line[body]
        if last is None:
            return range(0)
        first = last
        for at in range(end, body, -1):
            here = line[at]
            if here is None or here == last:
                continue
            if below is None or not here < below:
                break
            first = min(first, here)
        return range(first, last + 1 if below is None else max(below, last + 1))

    def _tested_for(self, node: Node, preds: dict[int, list[int]]) -> object:
        """The other way of the test in front of an arm of a conditional expression.

        Of two tests that agree on it, alike arms are one: ``y if (a if b else c) else z``.
        """
        instrs, line = self.program.instrs, self.program.line
        for before in map(self.blocks.nodes.__getitem__, preds.get(node.id, ())):
            branch = before.code[-1] if before.code else -1
            falls = branch == node.code[0] - 1 and len(before.succs) == 2
            if falls and instrs[branch].op == ops.BRANCH and line[branch] == line[node.code[0]]:
                return next((after for after in before.succs if after != node.id), None)
        return None

    def _key(self, node: Node, preds: dict[int, list[int]]) -> Any:
        program = self.program
        unlined = False
        if node.code and not self.blocks.optimised:
            if self.blocks.returns_none(node):
                return "return", node.container
            # the end of a class body is not in the source: each copy has the line of what is before it
            unlined = program.instrs[node.code[0]].op == ops.RETURN
        if not node.code or not unlined and not self.blocks.merging:
            return None
        last = node.code[-1]
        copy = None
        if program.instrs[last].op == ops.BRANCH and program.place(last) is None:
            copy = self._loop_tests.get(last)
            if copy is None:
                return None  # compilers copy no other test
        if program.instrs[last].op == ops.UNARY and program.follow(program.next[last]) in self._negations:
            return None
        pushes = not unlined and self._pushes(node)
        tested: object = None
        if pushes and not self._is_returned(node, preds):
            tested = self._tested_for(node, preds)
            if tested is None:
                return None
        if any(program.instrs[i].op == WITH_EXIT for i in node.code) and not self._copied_exit(node):
            return None  # too long for the compiler to copy: each comes from a statement that leaves the ``with``
        if program.unit.keeps_dead_code and program.instrs[node.code[-1]].op != ops.RETURN:
            return None  # that compiler copied returns, and bodies of ``finally``, which are gone
        if (
            node.code[0] in program.own_returns
            or not self.blocks.tails
            and program.instrs[node.code[0]].op == ops.RETURN
        ):
            return None
        lined = any(program.instrs[i].line is not None for i in node.code) or self._unlined and self._is_at_end(node)
        if not lined and not unlined and program.instrs[node.code[-1]].op != ops.RETURN:
            return None
        # before 3.10 falling off the end has the line of the last statement, which may be a ``return``
        ends = program.unit.keeps_dead_code and node.id in self.blocks.implicit
        places = () if unlined else computed_at(program, node.code)
        if pushes:
            places = (*places, program.place(node.code[0]), tested)
        key = (node.container, ends, copy, places, *self.normal(node, unlined))
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def _copied_exit(self, node: Node) -> bool:
        """Whether after the end of a ``with`` is the end of the function, which the compiler copies at any length."""
        if not self.blocks.implicit.isdisjoint(node.succs):
            return True
        for _ in range(NESTED if self.program.unit.copies_long_ends else 0):
            if len(node.succs) != 1:
                break
            node = self.blocks.nodes[node.succs[0]]
        return bool(node.code) and self.program.instrs[node.code[-1]].op == ops.RETURN

    def normal(self, node: Node, unlined: bool = False) -> tuple[Any, tuple[int, ...]]:
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


class _AlikeBlocks:
    """The blocks of one function that may be copies of others, by what they do."""

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        self.alike: dict[Any, set[int]] = {}
        self.keys: dict[int, Any] = {}
        self.pending = set(copies.candidates())
        self.known = frozenset(self.pending)
        self.touched: set[Any] = set()
        """The keys of blocks of which some may be copies: not looked at, or found and not merged yet."""

    def look_again(self, changed: set[int]) -> None:
        """Some blocks are gone, or other ones now."""
        self.pending |= changed & self.known

    def copied(self) -> dict[int, int]:
        """Blocks that are copies of another, with what they are copies of."""
        nodes = self.copies.blocks.nodes
        for name in sorted(self.pending):
            spend(1)
            old = self.keys.pop(name, None)
            if old is not None:
                self.alike[old].discard(name)
            key = self.copies.key(nodes[name]) if name in nodes else None
            if key is not None:
                self.keys[name] = key
                self.alike.setdefault(key, set()).add(name)
                self.touched.add(key)
        self.pending.clear()
        renamed: dict[int, int] = {}
        quiet = []
        for key in self.touched:
            found = self._copies_among(sorted(self.alike[key])) if len(self.alike[key]) > 1 else {}
            renamed.update(found)
            if not found:
                quiet.append(key)
        self.touched.difference_update(quiet)
        return dict(sorted(renamed.items()))

    def _copies_among(self, names: list[int]) -> dict[int, int]:
        spend(len(names))
        blocks = self.copies.blocks
        seen: Alike[int] = Alike()
        renamed = {}
        for name in names:
            place = begins_at(blocks.program, blocks.nodes[name].code[0]) if blocks.optimised else None
            first = seen.add((), place, name)
            if first != name:
                renamed[name] = first
        return renamed


class _Spans:
    """The tests of one function that are made up of several blocks, which compute values for each other."""

    def __init__(self, copies: Copies, spans: Sequence[Span]) -> None:
        self.copies = copies
        self.spans = spans
        ids = sorted(copies.blocks.nodes)
        self.inside = [ids[bisect_left(ids, start) : bisect_right(ids, end)] for start, end in spans]
        self.around: dict[int, list[int]] = {}
        for at, names in enumerate(self.inside):
            spend(len(names) >> 2)
            for name in names:
                self.around.setdefault(name, []).append(at)
        self.keys: dict[int, Any] = {}
        self.alike: dict[Any, set[int]] = {}
        self.pending = set(range(len(spans)))
        self.touched: set[Any] = set()

    def look_again(self, changed: set[int]) -> None:
        """Some blocks are gone, or go elsewhere now."""
        self.pending.update(at for name in changed for at in self.around.get(name, ()))

    def copied(self) -> dict[int, int]:
        """As ``_AlikeBlocks.copied``, for all blocks of a test at once."""
        if not self.pending:
            return {}
        nodes = self.copies.blocks.nodes
        normal = cache(lambda name: self.copies.normal(nodes[name]))  # a block may be in many spans
        for at in sorted(self.pending):
            old = self.keys.pop(at, None)
            if old is not None:
                self.alike[old].discard(at)
                self.touched.add(old)
            inside = self.inside[at] = [name for name in self.inside[at] if name in nodes]
            if len(inside) < 2 or inside[0] != self.spans[at][0]:
                continue
            spend(len(inside) >> 2)
            key = tuple([(nodes[name].container, normal(name)[0]) for name in inside])
            try:
                self.alike.setdefault(key, set()).add(at)
            except TypeError:
                continue
            self.keys[at] = key
            self.touched.add(key)
        self.pending.clear()
        renamed: dict[int, int] = {}
        groups = [sorted(self.alike[key]) for key in self.touched if len(self.alike[key]) > 1]
        self.touched.clear()
        for group in sorted(groups):
            alike = [self.inside[at] for at in group]
            own = {inside[0]: -1 for inside in alike}  # a loop without a body goes on with its own test
            seen: dict[Any, list[int]] = {}
            for inside in alike:
                places = {node: -1 - at for at, node in enumerate(inside)} | own
                succs = [normal(name)[1] for name in inside]
                targets = tuple(tuple(places.get(after, after) for after in ways) for ways in succs)
                first = seen.setdefault(targets, inside)
                if renamed.keys().isdisjoint((*inside, *first)):
                    renamed.update((name, other) for name, other in zip(inside, first, strict=True) if name != other)
        return renamed
