"""Cuts the code into basic blocks: at every join, and where a separate statement must begin.

A ``RETURN`` is a separate node, so that the copies of one ``return`` statement (same source line) can be merged
again; the same goes for the test of an inverted ``while`` loop.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.blocks import Blocks, Node
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, NONE, WITH_EXIT
from depyf.decompiler.cfg.undo.break_past_else import beyond_loops
from depyf.decompiler.cfg.undo.continues import Continues
from depyf.decompiler.cfg.undo.copied_tails import Tails
from depyf.decompiler.cfg.undo.copied_tests import Span, test_spans
from depyf.decompiler.cfg.undo.dropped_iterators import iterator_drops
from depyf.decompiler.cfg.undo.short_circuit_exits import alike

_DROPS = 8
"""The maximum number of copies examined of the code that drops one value."""
_ALONE = frozenset({ops.RETURN, ops.FOR_ITER, ASYNC_FOR_ITER})
_SWAPS = frozenset({ops.SWAP, ops.ROT})
_CLEANS_UP = frozenset({ops.POP, ops.SWAP, ops.ROT, ops.POP_EXCEPT, ops.RETURN, WITH_EXIT})


class Leaders:
    """Finds where blocks begin (``leaders``) and cuts there; ``spans`` are tests that several blocks make up."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.program, self.containers = blocks.program, blocks.containers
        self.leaders: set[int] = set(blocks.roots())
        self.incoming: dict[int, int] = dict.fromkeys(self.containers.of, 0)
        self.spans: list[Span] = []

    def cut(self) -> None:
        """Fill the blocks' nodes and barriers."""
        self._jumped_to()
        continues = Continues(self.blocks, self.leaders, self.incoming)
        if self.blocks.merging:
            continues.place_jumps()
        self._dropped_operands()
        self._dropped_results()
        self._returned_constants()
        if self.blocks.merging:
            self._copies()
        for leader in self.leaders:
            if leader in self.containers.of:
                self._fill(leader, continues)

    def _jumped_to(self) -> None:
        program, of, leaders, incoming = self.program, self.containers.of, self.leaders, self.incoming
        barriers = self.blocks.barriers
        instrs, falls, jumps = program.instrs, program.next, program.jump
        handlers = sorted(region.target for region in self.containers.regions.table.values())
        for i, container in of.items():
            after, taken = falls[i], jumps[i]
            if taken != NONE:
                if instrs[i].op == ops.JUMP and (
                    handlers
                    and bisect_left(handlers, i) < bisect_left(handlers, taken)
                    or taken > i
                    and self._drops_iterator(i)
                ):
                    barriers.add(taken)
                    leaders.add(taken)
                incoming[taken] += 1
                if after != NONE or of[taken] != container or instrs[taken].op in _ALONE:
                    leaders.add(taken)
            if after != NONE:
                incoming[after] += 1
                if taken != NONE or of[after] != container or instrs[after].op in _ALONE:
                    leaders.add(after)
        leaders.update(i for i, count in incoming.items() if count != 1)
        beyond = [*beyond_loops(program, of), *(at for at in program.class_ends if at in of)]
        beyond += self._after_breaks()
        barriers.update(beyond)
        leaders.update(beyond)

    def _after_breaks(self) -> list[int]:
        """Where ``break`` leads without a jump: the end of an asynchronous loop is laid out last, and what ends the
        function is copied (3.12+).

        Without columns, what only cleans up may belong to a ``return``.
        """
        instrs, after = self.program.instrs, self.program.next
        pops = [i for i in self.containers.of if instrs[i].op == ops.POP and self._may_break(i, after[i])]
        drops = iterator_drops(self.program, self.containers) if pops else {}
        return [after[i] for i in pops if i in drops and after[i] not in drops]

    def _may_break(self, pop: int, after: int) -> bool:
        """Whether a value that is dropped may be the iterator of a loop that ``break`` leaves; ``after`` comes next."""
        program = self.program
        if after not in self.containers.of:
            return False
        op = program.instrs[after].op
        known = program.place(pop) is not None
        if program.leaving_word(pop) != "break" if known else program.instrs[pop - 1].op in _SWAPS:
            return False
        leaving = _CLEANS_UP if not known else frozenset()
        if op == ops.LOAD_CONST and program.next[after] != NONE:  # what is returned, or the start of a statement
            op, leaving = program.instrs[program.next[after]].op, leaving | {ops.RETURN}
        return op not in leaving and op != ops.JUMP

    def _drops_iterator(self, jump: int) -> bool:
        """Whether a jump is a ``break`` that drops the iterator: what follows is not in the loop.

        A failed chained comparison drops its operand from below the result.
        """
        instrs = self.program.instrs
        return jump > 0 and instrs[jump - 1].op == ops.POP and (jump < 2 or instrs[jump - 2].op not in _SWAPS)

    def _dropped_operands(self) -> None:
        """A failed chained comparison drops its operand before it goes where the other tests go, or to a copy of it."""
        program, of = self.program, self.containers.of
        for i in sorted(self.leaders & of.keys()):
            if program.instrs[i].op == ops.POP and program.next[i] in of and i != self.blocks.entry:
                self.leaders.add(program.next[i])

    def _dropped_results(self) -> None:
        """The statement ``a and b`` drops its value once for both ways; where a loop goes on, each has a copy of that
        (3.13+)."""
        program, of = self.program, self.containers.of
        instrs = program.instrs
        if not self.blocks.merging:
            return
        kept = {
            program.jump[i]: instrs[i].line
            for i in of
            if instrs[i].op == ops.BRANCH and instrs[i - 1].op == ops.COPY and instrs[program.jump[i]].op == ops.POP
        }
        wanted: dict[tuple[int | None, int], list[int]] = {}
        for drop, line in kept.items():
            if drop in of:
                wanted.setdefault((line, program.depths[drop]), []).append(drop)
        if not wanted:
            return
        for i in of:
            if instrs[i].op == ops.POP and i < len(program.depths) and program.next[i] != NONE:
                drops = wanted.get((instrs[i].line, program.depths[i]), ())
                if any(drop != i and alike(program, drop, i) for drop in drops[:_DROPS]):
                    self.leaders.add(i)

    def _returned_constants(self) -> None:
        """A returned constant belongs to its return: the copies of one statement are then alike.

        Where another return of its line takes what several ways left on the stack, it is one of these ways; and so it
        is where another copy of its return, which ends in the same place of the source, returns something else. Without
        columns (before 3.11) that place is the line, if it has a test.
        """
        program, of, leaders, incoming = self.program, self.containers.of, self.leaders, self.incoming
        instrs = program.instrs
        valued = self._valued
        returned = [(i, ret) for i in of if (ret := program.next[i]) != NONE and instrs[ret].op == ops.RETURN]
        chosen: frozenset[tuple[int, int] | None] | None = None
        for i, ret in returned:
            if instrs[i].op == ops.LOAD_CONST and ret in leaders:
                if incoming[ret] == 1:
                    if (instrs[ret].line, of[ret]) in valued:
                        continue
                    if chosen is None:
                        chosen = self._ends_of_chosen(returned) if self.blocks.merging else frozenset()
                    if chosen and self._end(ret) in chosen:
                        continue
                leaders.add(i)
                if incoming[ret] == 1 and of[ret] == of[i]:
                    leaders.discard(ret)

    @cached_property
    def _valued(self) -> frozenset[tuple[int | None, int]]:
        """Lines, and containers, with a return that takes what several ways left on the stack."""
        instrs, of = self.program.instrs, self.containers.of
        if not self.blocks.merging:
            return frozenset()
        returns = (i for i in of if instrs[i].op == ops.RETURN and instrs[i].line is not None)
        return frozenset((instrs[i].line, of[i]) for i in returns if self.incoming[i] != 1)

    def _ends_of_chosen(self, returned: list[tuple[int, int]]) -> frozenset[tuple[int, int] | None]:
        """Source positions shared by several returns that do not all return the same value."""
        instrs, after_finally = self.program.instrs, self.program.after_finally
        found = [
            (instrs[i].op == ops.LOAD_CONST and id(instrs[i].arg), ret)
            for i, ret in returned
            if ret not in after_finally
        ]
        if len({value for value, _ in found}) < 2:
            return frozenset()
        values: dict[tuple[int, int] | None, set[object]] = {}
        for value, ret in found:
            values.setdefault(self._end(ret), set()).add(value)
        return frozenset(end for end, several in values.items() if end is not None and len(several) > 1)

    @cached_property
    def _tested(self) -> frozenset[int | None] | None:
        """The lines with tests, where no column is known."""
        program = self.program
        if program.columns.known:
            return None
        return frozenset(program.line[i] for i in self.containers.of if program.instrs[i].op == ops.BRANCH)

    def _end(self, index: int) -> tuple[int, int] | None:
        """Where in the source the statement of an instruction ends, as far as it is known."""
        if self._tested is None:
            return self.program.end(index)
        line = self.program.line[index]
        return None if line is None or line not in self._tested else (line, 0)

    def _copies(self) -> None:
        """Where what the optimiser copied begins."""
        program, leaders = self.program, self.leaders
        spans = test_spans(program, self.containers.of, leaders)
        leaders.update(start for start, _ in spans)
        self.spans = [span for span in spans if not leaders.isdisjoint(range(span[0] + 1, span[1] + 1))]
        if self.blocks.merging:
            tails = Tails(program, self.containers, leaders, anywhere=self.blocks.tails)
            starts, whole = tails.find()
            carried = tails.carried() if self.blocks.tails else []
            leaders.update(starts, (start for start, _ in carried))
            self.blocks.barriers.update(start for start, _ in carried)
            if self.blocks.optimised:  # the ends of a class body are alike whatever their lines
                ends = [*whole, *(end for _, end in carried)]
                own = (ret for ret in ends if (program.instrs[ret].line, self.containers.of[ret]) not in self._valued)
                leaders.difference_update(ret for ret in own if self.incoming[ret] == 1)

    def _fill(self, leader: int, continues: Continues) -> None:
        program, instrs, leaders = self.program, self.program.instrs, self.leaders
        falls, jumps = program.next, program.jump
        code = [leader]
        last = leader
        while True:
            after, taken = falls[last], jumps[last]
            following = taken if after == NONE else after if taken == NONE else NONE
            if following == NONE or following in leaders:
                break
            last = following
            code.append(last)
        code = [i for i in code if instrs[i].op != ops.JUMP or self.blocks.merging and continues.is_one(i)]
        self.blocks.nodes[leader] = Node(leader, code, self.containers.of[leader], list(program.successors(last)), last)
