"""Cuts the code into basic blocks: at every join, and where a statement must begin of its own.

A ``RETURN`` is a node of its own, so that the copies of one ``return`` statement (same source line) can be merged
again; the same goes for the test of an inverted ``while`` loop.
"""

from __future__ import annotations

from bisect import bisect_left

from depyf.bytecode import ops
from depyf.flow.beyond import beyond_loops
from depyf.flow.blocks import Blocks, Node
from depyf.flow.copied_tests import Span, test_spans
from depyf.flow.program import ASYNC_FOR_ITER, NONE, WITH_EXIT
from depyf.flow.tails import Tails

_ALONE = frozenset({ops.RETURN, ops.FOR_ITER, ASYNC_FOR_ITER})
_NO_LINE = 5
"""At most so many instructions without a line are laid out in a row."""
_LEAVES = frozenset({ops.POP_EXCEPT, ops.POP})
_BEGINS = frozenset({ops.POP, ops.BRANCH, ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF})
_DELETES = frozenset({ops.DELETE_FAST, ops.DELETE_NAME, ops.DELETE_GLOBAL, ops.DELETE_DEREF})
_SWAPS = frozenset({ops.SWAP, ops.ROT})


class Leaders:
    """Finds where blocks begin (``leaders``) and cuts there; ``spans`` are tests that several blocks make up."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.program, self.containers = blocks.program, blocks.containers
        self.leaders: set[int] = set(blocks.roots())
        self.incoming: dict[int, int] = dict.fromkeys(self.containers.of, 0)
        self.spans: list[Span] = []
        self._tested: dict[int, set[int | None]] = {}
        """Where branches jump to: the lines of these tests."""

    def cut(self) -> None:
        """Fill the blocks' nodes and barriers."""
        self._jumped_to()
        self._handlers_continue()
        self._cleanups_continue()
        self._dropped_operands()
        self._dropped_results()
        self._returned_constants()
        if self.blocks.merging:
            self._copies()
        self.leaders.update(self._class_ends())
        for leader in self.leaders:
            if leader in self.containers.of:
                self._fill(leader)

    def _jumped_to(self) -> None:
        program, of, leaders, incoming = self.program, self.containers.of, self.leaders, self.incoming
        barriers = self.blocks.barriers
        instrs = program.instrs
        handlers = sorted(region.target for region in self.containers.regions.table.values())
        for i in of:
            after = program.successors(i)
            if (
                handlers
                and instrs[i].op == ops.JUMP
                and bisect_left(handlers, i) < bisect_left(handlers, program.jump[i])
            ):
                barriers.add(program.jump[i])
                leaders.add(program.jump[i])
            if instrs[i].op == ops.JUMP and program.jump[i] > i and self._drops_iterator(i):
                barriers.add(program.jump[i])
                leaders.add(program.jump[i])
            if instrs[i].op == ops.BRANCH:
                self._tested.setdefault(program.jump[i], set()).add(instrs[i].line)
            for j in after:
                incoming[j] += 1
                if len(after) > 1 or of[j] != of[i] or instrs[j].op in _ALONE:
                    leaders.add(j)
        leaders.update(i for i, count in incoming.items() if count != 1)
        beyond = beyond_loops(program, of)
        barriers.update(beyond)
        leaders.update(beyond)

    def _drops_iterator(self, jump: int) -> bool:
        """Whether a jump is a ``break`` that drops the iterator: what follows is not in the loop.

        A failed chained comparison drops its operand from below the result.
        """
        instrs = self.program.instrs
        return jump > 0 and instrs[jump - 1].op == ops.POP and (jump < 2 or instrs[jump - 2].op not in _SWAPS)

    def _handlers_continue(self) -> None:
        """A ``continue`` at the end of a handler belongs to it, though the jump comes when the handler has been left."""
        program, containers = self.program, self.containers
        if not self.blocks.merging:
            return
        entered = set(self.blocks.roots())
        for i in list(containers.of):
            after = program.next[i]
            if program.instrs[i].op not in _LEAVES or after not in containers.of or self.incoming[after] != 1:
                continue
            inside = containers.tree[containers.of[i]].kind == "handler" and after not in entered
            if inside and program.instrs[after].op == ops.JUMP and self._continues(after):
                containers.of[after] = containers.of[i]
                self.leaders.discard(after)

    def _cleanups_continue(self) -> None:
        """The same for a ``continue`` whose clean-up code is gone, or is the exit of a ``with``.

        Where other code goes there as well, it is not known to be one.
        """
        program, containers = self.program, self.containers
        if not self.blocks.merging or not program.own_continues:
            return
        before = {after: i for i in containers.of for after in program.successors(i) if self.incoming[after] == 1}
        around = {one.region: one.parent for one in containers.tree if one.kind == "try"}
        entered = {at: around.get(region, NONE) for region, at in containers.handler_entries.items()}
        wanted, program.own_continues = program.own_continues, set()
        for jump in sorted(wanted & before.keys()):
            chain, source = [jump], before[jump]
            while program.instrs[source].op == WITH_EXIT and source in before:
                chain.append(source)
                source = before[source]
            inner = containers.of[source]
            if inner == containers.of[jump] or not containers.encloses(containers.of[jump], inner):
                continue
            if any(entered.get(at, inner) != inner for at in chain):
                continue  # what the manager of a ``with`` elsewhere suppressed goes on there as well
            program.own_continues.add(jump)
            if containers.encloses(inner, containers.of[program.jump[jump]]):
                continue  # the loop begins with the ``try``: from inside, it would be a loop in it
            containers.of.update(dict.fromkeys(chain, inner))
            alone = len(program.successors(source)) == 1
            self.leaders.difference_update(set(chain if alone else chain[:-1]) - entered.keys())

    def _dropped_operands(self) -> None:
        """A failed chained comparison drops its operand before it goes where the other tests go, or to a copy of it."""
        program, of = self.program, self.containers.of
        for i in sorted(self.leaders & of.keys()):
            if program.instrs[i].op == ops.POP and program.next[i] in of and i != self.blocks.entry:
                self.leaders.add(program.next[i])

    def _dropped_results(self) -> None:
        """The statement ``a and b`` drops its value once for both ways; where a loop goes on, each has a copy of that (3.13+)."""
        program, of = self.program, self.containers.of
        instrs = program.instrs
        if not self.blocks.merging:
            return
        kept = {
            program.jump[i]: (instrs[i].line, program.follow(program.next[program.jump[i]]))
            for i in of
            if instrs[i].op == ops.BRANCH and instrs[i - 1].op == ops.COPY and instrs[program.jump[i]].op == ops.POP
        }
        wanted = {(line, after, program.depths[drop]) for drop, (line, after) in kept.items() if drop in of}
        if not wanted:
            return
        for i in of:
            if instrs[i].op == ops.POP and i < len(program.depths) and program.next[i] != NONE:
                if (instrs[i].line, program.follow(program.next[i]), program.depths[i]) in wanted:
                    self.leaders.add(i)

    def _returned_constants(self) -> None:
        """A returned constant belongs to its return: the copies of one statement are then alike.

        Where another return of its line takes what several ways left on the stack, it is one of these ways; and so it is
        where another copy of its return, which ends in the same place of the source, returns something else.
        """
        program, of, leaders, incoming = self.program, self.containers.of, self.leaders, self.incoming
        instrs = program.instrs
        valued = {
            (instrs[i].line, of[i])
            for i in of
            if instrs[i].op == ops.RETURN and self.blocks.merging and incoming[i] != 1 and instrs[i].line is not None
        }
        values: dict[tuple[int, int] | None, set[object]] = {}
        for i in of if self.blocks.merging else ():
            ret = program.next[i]
            if ret != NONE and instrs[ret].op == ops.RETURN:
                value = instrs[i].op == ops.LOAD_CONST and id(instrs[i].arg)
                values.setdefault(program.end(ret), set()).add(value)
        values.pop(None, None)
        for i in of:
            ret = program.next[i]
            if instrs[i].op == ops.LOAD_CONST and ret in leaders and instrs[ret].op == ops.RETURN:
                chosen = (instrs[ret].line, of[ret]) in valued or len(values.get(program.end(ret), ())) > 1
                if chosen and incoming[ret] == 1:
                    continue
                leaders.add(i)
                if incoming[ret] == 1 and of[ret] == of[i]:
                    leaders.discard(ret)

    def _copies(self) -> None:
        """Where what the optimiser copied begins."""
        program, leaders = self.program, self.leaders
        spans = test_spans(program, self.containers.of, leaders)
        leaders.update(start for start, _ in spans)
        self.spans = [span for span in spans if not leaders.isdisjoint(range(span[0] + 1, span[1] + 1))]
        if self.blocks.tails:
            tails = Tails(program, self.containers, leaders)
            starts, whole = tails.find()
            carried = tails.carried()
            leaders.update(starts, (start for start, _ in carried))
            self.blocks.barriers.update(start for start, _ in carried)
            if self.blocks.optimised:  # the ends of a class body are alike whatever their lines
                ends = [*whole, *(end for _, end in carried)]
                leaders.difference_update(ret for ret in ends if self.incoming[ret] == 1)

    def _class_ends(self) -> list[int]:
        """Where a class body is done and the compiler's own stores begin; it may copy them behind every branch."""
        program = self.program
        if self.blocks.optimised or program.unit.name == "<module>":
            return []
        return [
            i
            for i in self.containers.of
            if program.instrs[i].op in (ops.LOAD_CONST, ops.LOAD_CLOSURE) and self.blocks.is_class_end(program.next[i])
        ]

    def _fill(self, leader: int) -> None:
        program, instrs = self.program, self.program.instrs
        code = [leader]
        last = leader
        while True:
            after = program.successors(last)
            if len(after) != 1 or after[0] in self.leaders:
                break
            last = after[0]
            code.append(last)
        code = [i for i in code if instrs[i].op != ops.JUMP or self.blocks.merging and self._continues(i)]
        self.blocks.nodes[leader] = Node(leader, code, self.containers.of[leader], list(after), last)

    def _continues(self, index: int) -> bool:
        """Whether a jump back is a ``continue``: it has a line of its own, behind that of the code before it.

        ``pass`` would leave the same: columns tell (3.11+).  What leaves a handler before the jump has its line.
        """
        program = self.program
        if index in program.own_continues:
            return True
        start = self._left_handlers(index)
        line, previous = program.line[index], self._line_before(start)
        if line is None or previous is None or program.jump[index] > index:
            return False
        if line in self._tested.get(index, ()):
            return False  # the end of the loop has the line of the test that skips to it
        if program.instrs[index - 1].op == ops.POP and program.next[index - 2] != index - 1:
            return False  # drops the operand of a failed chained comparison
        if start < index and program.place(index) is None and self._begins_handler(start):
            return False  # without columns, a handler without a body says ``pass``
        return previous < line and program.word(index) != "pass"

    def _begins_handler(self, index: int) -> bool:
        """Whether all that is before is what every handler begins with: the exception is dropped or has got its name."""
        instrs = self.program.instrs
        return instrs[index - 1].op == ops.POP and instrs[index - 2].op in _BEGINS

    def _left_handlers(self, index: int) -> int:
        """Where the code before ``index`` begins that leaves handlers, and deletes what their exceptions are called."""
        instrs = self.program.instrs
        while index > 3:
            if instrs[index - 1].op == ops.POP_EXCEPT:
                index -= 1
            elif instrs[index - 1].op in _DELETES and instrs[index - 3].op == ops.LOAD_CONST:
                index -= 3
            else:
                break
        return index

    def _line_before(self, index: int) -> int | None:
        """The line of the code laid out before, past what has none: the end of an inner loop or of a handler."""
        line = self.program.line
        for before in range(index - 1, max(index - _NO_LINE, 0) - 1, -1):
            if line[before] is not None:
                return line[before]
        return None
