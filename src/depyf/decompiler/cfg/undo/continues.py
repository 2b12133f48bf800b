"""Recognises the jumps back that are ``continue``, and finds the handler or ``with`` that each is written in.

Input: the places where blocks begin so far, and how many edges lead to each instruction.  A ``continue`` that leaves a
handler or a clean-up is moved into the container that it ends, and begins no block there.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.blocks import Blocks
from depyf.decompiler.cfg.program import NONE, WITH_EXIT

_NO_LINE = 5
"""The maximum number of consecutive instructions without a line."""
_LEAVES = frozenset({ops.POP_EXCEPT, ops.POP})
_BEGINS = frozenset({ops.POP, ops.BRANCH, ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF})
_DELETES = frozenset({ops.DELETE_FAST, ops.DELETE_NAME, ops.DELETE_GLOBAL, ops.DELETE_DEREF})


class Continues:
    """Asked for the jumps of one function (``is_one``), once ``place_jumps`` has edited containers and ``leaders``."""

    def __init__(self, blocks: Blocks, leaders: set[int], incoming: dict[int, int]) -> None:
        self.blocks, self.leaders, self.incoming = blocks, leaders, incoming
        self.program, self.containers = blocks.program, blocks.containers
        self._tests: dict[int, list[int]] = {}
        """Where branches jump to: these branches."""
        for i in self.containers.of:
            if self.program.instrs[i].op == ops.BRANCH:
                self._tests.setdefault(self.program.jump[i], []).append(i)

    def place_jumps(self) -> None:
        """Move each ``continue`` to where it is written."""
        moved = self._in_handlers()
        self._after_cleanups(moved)

    def is_one(self, index: int) -> bool:
        """Whether a jump back is a ``continue``: it has a separate line, after that of the code before it.

        ``pass`` would leave the same: columns tell (3.11+).  What leaves a handler before the jump has its line.
        """
        program = self.program
        if index in program.own_continues:
            return True
        start = self._left_handlers(index)
        line, previous = program.line[index], self._line_before(start)
        if line is None or previous is None or program.jump[index] > index:
            return False
        if self._is_spelled(index):
            return True
        if any(program.line[i] == line for i in self._tests.get(index, ())):
            return False  # the end of the loop has the line of the test that skips to it
        if program.instrs[index - 1].op == ops.POP and program.next[index - 2] != index - 1:
            return False  # drops the operand of a failed chained comparison
        if start < index and program.place(index) is None and self._begins_handler(start):
            return False  # without columns, a handler without a body says ``pass``
        return previous < line and program.word(index) != "pass"

    def _is_spelled(self, index: int) -> bool:
        """Whether the place of a jump is a word as long as ``continue``, and that of nothing else.

        What takes the subject of a ``case`` off the stack before it has its place, too (3.14+).
        """
        place, line = self.program.place(index), self.program.line
        if place is None or place[0][0] != place[1][0] or place[1][1] - place[0][1] != len("continue"):
            return False
        first = index
        while self.program.instrs[first - 1].op == ops.POP and self.program.place(first - 1) == place:
            first -= 1
        return self._places[place] == 1 + index - first and line[index] != line[self.program.jump[index]]

    @cached_property
    def _places(self) -> Counter[object]:
        """How many instructions have each place."""
        return Counter(self.program.place(i) for i in range(len(self.program.line)))

    def _in_handlers(self) -> set[int]:
        """A ``continue`` at the end of a handler belongs to it, though the jump comes when the handler has been left.

        Returns the jumps.
        """
        moved: set[int] = set()
        program, containers = self.program, self.containers
        if len(containers.tree) == 1:
            return moved
        entered = set(self.blocks.roots())
        for i in list(containers.of):
            after = program.next[i]
            if program.instrs[i].op not in _LEAVES or after not in containers.of or self.incoming[after] != 1:
                continue
            if program.own_continues.get(after, after) != after:
                continue  # other handlers inside this one have been left before it
            inside = containers.tree[containers.of[i]].kind == "handler" and after not in entered
            if inside and program.instrs[after].op == ops.JUMP and self.is_one(after) and not self._stays(i, after):
                containers.of[after] = containers.of[i]
                self.leaders.discard(after)
                moved.add(after)
        return moved

    def _stays(self, source: int, jump: int) -> bool:
        """Whether a jump, moved to ``source``, stays in the ``try`` around it: the loop begins with that ``try``."""
        containers = self.containers
        around = containers.of[source]
        while not containers.encloses(around, containers.of[jump]):
            if containers.encloses(around, containers.of[self.program.jump[jump]]):
                return True
            around = containers.tree[around].parent
        return False

    def _after_cleanups(self, moved: set[int]) -> None:
        """The same for a ``continue`` whose clean-up code is gone, or is the exit of a ``with``; ``moved`` are there
        already.

        Where other code goes there as well, it is not known to be one.
        """
        program, containers = self.program, self.containers
        if not program.own_continues:
            return
        before = {after: i for i in containers.of for after in program.successors(i) if self.incoming[after] == 1}
        around = {one.region: one.parent for one in containers.tree if one.kind == "try"}
        entered = {at: around.get(region, NONE) for region, at in containers.handler_entries.items()}
        wanted = {jump: first for jump, first in program.own_continues.items() if jump not in moved}
        program.own_continues = {jump: first for jump, first in program.own_continues.items() if jump in moved}
        for jump in sorted(wanted.keys() & before.keys()):
            chain, source = [jump], before[jump]
            while chain[-1] != wanted[jump] and source in before:
                chain.append(source)
                source = before[source]
            if chain[-1] != wanted[jump]:
                continue  # other code leaves the handlers around there, too
            while program.instrs[source].op == WITH_EXIT and source in before:
                chain.append(source)
                source = before[source]
            inner = containers.of[source]
            if inner == containers.of[jump] or not containers.encloses(containers.of[jump], inner):
                continue
            if any(entered.get(at, inner) != inner for at in chain):
                continue  # what the manager of a ``with`` elsewhere suppressed goes on there as well
            program.own_continues[jump] = wanted[jump]
            if self._stays(source, jump):
                continue  # the loop begins with the ``try``: from inside, it would be a loop in it
            containers.of.update(dict.fromkeys(chain, inner))
            alone = len(program.successors(source)) == 1
            self.leaders.difference_update(set(chain if alone else chain[:-1]) - entered.keys())

    def _begins_handler(self, index: int) -> bool:
        """Whether only the beginning of a handler is before it: the exception is dropped or has got its name."""
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
