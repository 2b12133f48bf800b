"""The control-flow graph at instruction level, open to rewriting.

Input: a ``Lowered`` program.  ``Program`` makes every edge explicit (``next`` for falling through, ``jump`` for the
taken side), so that an edge can be redirected without moving code.  ``structure/regions/classify.py`` uses that to take
the copies of ``finally`` bodies and ``with`` exits out of the way before basic blocks are formed.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Handler, Instr
from depyf.decompiler.bytecode.tables.columns import LEAVING, Columns

WITH_EXIT = "WITH_EXIT"
"""The call of a context manager's exit on the normal path: pops ``arg`` exit slots."""
END_FINALLY = "END_FINALLY"
"""End of a ``finally`` body whose copies were taken away; ends the path like ``RERAISE``."""
ASYNC_FOR_ITER = "ASYNC_FOR_ITER"
"""``FOR_ITER`` over an asynchronous iterator; jumps to target when it is exhausted."""
MATCH_CASE = "MATCH_CASE"
"""The whole pattern of one ``case`` (arg ``Case``); falls through when it matched, jumps when it did not."""

STATEMENTS = frozenset({WITH_EXIT, END_FINALLY, ASYNC_FOR_ITER, MATCH_CASE})
"""Operations for parts of statements; no stack effect is defined for them."""
ENDS = frozenset({ops.RETURN, ops.RAISE, ops.RERAISE, END_FINALLY})
_KEEPS_VALUE = frozenset({ops.POP, ops.SWAP, ops.ROT, ops.POP_EXCEPT, ops.JUMP, WITH_EXIT})
"""What may lie between the value of a ``return`` and the return, without the copies of ``finally`` bodies."""
_CLEANUP = 200
_OPPOSITE = {"true": "false", "false": "true", "none": "not none", "not none": "none"}
NONE = -1


class Program:
    """Instructions with explicit edges and resolved handlers; index -1 means "no such edge"."""

    def __init__(self, lowered: Lowered) -> None:
        self.unit = lowered.unit
        self.instrs: list[Instr] = list(lowered.instrs)
        self.handlers: tuple[Handler, ...] = lowered.handlers
        self.depths = lowered.depths
        """How many values are on the stack before each instruction of the original code."""
        count = len(self.instrs)
        names = [instr.op for instr in self.instrs]
        self.jump: list[int] = [instr.target for instr in self.instrs]
        self.next: list[int] = [NONE if op in ops.TERMINATORS else i for i, op in enumerate(names, 1)]
        if self.next[-1] == count:
            self.next[-1] = NONE
        self.handler: list[int] = [instr.handler for instr in self.instrs]
        self.line: list[int | None] = [instr.line for instr in self.instrs]
        self.own_returns: set[int] = set()
        """Returns after a copy of clean-up code: each of them is a separate statement, whatever its line."""
        self.after_finally: set[int] = set()
        """Returns of constants after a copy of a ``finally`` body, whose place they have: that tells nothing about
        them."""
        self.joined: set[int] = set()
        """Copies of operands, and their tests, whose short circuit leads to that of the ``and`` or ``or`` around it
        (``unprotected_tests``)."""
        self.own_continues: dict[int, int] = {}
        """Jumps back after a copy of clean-up code where another copy goes on with the loop at the end of the body.

        Each with where the code begins that leaves what is around it: at the jump itself if nothing is to be left.
        """
        self.clause_ends: set[int] = set()
        """``POP_EXCEPT`` at the end of a clause, where that is known: what comes next is not in the clause (3.8)."""
        self.shared_ends: set[int] = set()
        """Those of them whose clause has a name that other code sees, too."""
        self.class_ends: set[int] = set()
        """Where the function is made that computes the annotations of a class: all that the source has is before it
        (3.14+)."""
        self.unreached: frozenset[int] = frozenset()
        """What the program that wrote the code says control never gets to (``bytecode.unreached``)."""
        self._in_front = lowered.in_front
        self.columns = Columns(self.unit, lowered.locations)
        if not self.unit.branches_backward:
            self._join_backward()
        if ops.LOAD_COMMON in names:
            self._drop_inlined()

    def _drop_inlined(self) -> None:
        """``any(x for ...)`` is compiled to a loop, and to the call where the name is not the builtin (3.14+): see the
        call.

        LOAD any; COPY 1; LOAD_COMMON any; IS; BRANCH false S; POP; loop..;  S: NULL; ..; CALL      ->  LOAD any; S: ..
        """
        instrs = self.instrs
        for i in range(2, len(instrs) - 3):
            if instrs[i].op == ops.LOAD_COMMON and instrs[i + 1].op == ops.IS and instrs[i + 2].op == ops.BRANCH:
                copied = instrs[i - 1].op == ops.COPY and instrs[i - 1].arg == 1
                if copied and instrs[i + 2].arg == "false" and instrs[i + 3].op == ops.POP:
                    self.next[i - 2] = self.jump[i + 2]

    def _join_backward(self) -> None:
        """A branch back is written as a branch over a jump back: see it as one instruction again."""
        instrs = self.instrs
        targets = {index for index in self.jump if index != NONE}
        for i, instr in enumerate(instrs[:-2]):
            back = instrs[i + 1]
            if instr.op == ops.BRANCH and back.op == ops.JUMP and self.jump[i] == i + 2 and i + 1 not in targets:
                if self.jump[i + 1] <= i and back.line == instr.line and self.place(i) == self.place(i + 1):
                    instrs[i] = replace(instr, arg=_OPPOSITE[instr.arg])
                    self.next[i], self.jump[i] = i + 2, self.jump[i + 1]

    @property
    def is_one_path(self) -> bool:
        """Whether there are no jumps and no handlers: each instruction leads to the one after it."""
        if self.handlers or max(self.jump) != NONE or self.next[-1] != NONE:
            return False
        return self.next[:-1] == list(range(1, len(self.next)))

    def line_in_front(self, index: int) -> int | None:
        """The line of the ``NOP`` in front of an instruction: a statement stood there of which nothing else is left."""
        return self._in_front.get(self.instrs[index].offset)

    def place_return(self, at: int, line: int) -> None:
        """Give the constant loaded at ``at`` and its return the line of their statement; clean-up gave them its own."""
        for i in (at, self.next[at]):
            self.instrs[i], self.line[i] = replace(self.instrs[i], line=line), line

    def word(self, index: int) -> str | None:
        """The word that is all there is on the line of an instruction, where the location table tells."""
        return self.columns.word(self.line[index])

    def leaving_word(self, index: int) -> str | None:
        """``break``, ``return`` or ``return None``, if the instruction is known to belong to such a statement."""
        place = self.place(index)
        if place is None:
            return None
        (line, column), (end_line, end) = place
        return LEAVING.get(end - column) if line == end_line else None

    def end(self, index: int) -> tuple[int, int] | None:
        """Line and column where the source of an instruction ends, where the location table tells."""
        place = self.place(index)
        return None if place is None else place[1]

    def place(self, index: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Line and column where the source of an instruction begins and ends, where the location table tells."""
        return self.columns.place(self.instrs[index].offset // 2)

    def formats_in_place(self, index: int) -> bool | None:
        """Whether a value is formatted or converted where it stands, as for ``%``; in an f-string braces are around
        it."""
        end = self.end(index)
        before = None if end is None else self.columns.place(self.instrs[index].offset // 2 - 1)
        return None if before is None else end == before[1]

    def follow(self, index: int) -> int:
        """The first instruction at or after ``index`` that is not an unconditional jump (or a jump to itself)."""
        seen = 0
        while index != NONE and self.instrs[index].op == ops.JUMP and self.jump[index] != index:
            index = self.jump[index]
            seen += 1
            if seen > len(self.instrs):
                break
        return index

    def thread(self) -> None:
        """Let no edge lead to an unconditional jump, so that code cut apart by jumps is one again (plain lifting)."""
        self.next = [self.follow(after) for after in self.next]
        jumps = [instr.op == ops.JUMP for instr in self.instrs]
        self.jump = [
            after if jumps[index] and after == index else self.follow(after) for index, after in enumerate(self.jump)
        ]
        self.handlers = tuple(handler._replace(target=self.follow(handler.target)) for handler in self.handlers)

    def successors(self, index: int) -> tuple[int, ...]:
        """Targets of the ordinary edges of one instruction, the fall-through first."""
        after, taken = self.next[index], self.jump[index]
        if after == NONE:
            return (taken,) if taken != NONE else ()
        return (after, taken) if taken != NONE else (after,)

    def line_own_returns(self) -> None:
        """Give each return after clean-up code the line of the statement that it ends, in place of the clean-up's."""
        if not self.own_returns:
            return
        before: dict[int, list[int]] = {0: []}
        work = [0, *(handler.target for handler in self.handlers)]
        before.update((start, []) for start in work)
        while work:
            i = work.pop()
            for after in self.successors(i):
                if after not in before:
                    before[after] = []
                    work.append(after)
                before[after].append(i)
        for index in sorted(self.own_returns):
            at, steps = index, 0
            while steps < _CLEANUP and (at == index or self.instrs[at].op in _KEEPS_VALUE):
                places = before.get(at, [])
                if len(places) != 1:
                    break
                at, steps = places[0], steps + 1
            line = self.instrs[at].line
            if at != index and line is not None and self.instrs[index].line is not None:
                self.line[index] = line
                self.instrs[index] = replace(self.instrs[index], line=line)

    def insert(self, before: int, op: str, arg: object = None) -> int:
        """A new instruction that all edges to ``before`` go through; its index is after all others."""
        index = len(self.instrs)
        self.next = [index if after == before else after for after in self.next]
        self.jump = [index if after == before else after for after in self.jump]
        return self.append(before, op, arg)

    def append(self, before: int, op: str, arg: object = None) -> int:
        """A new instruction that goes on at ``before``, and which no edge goes to; its index is after all others."""
        index = len(self.instrs)
        self.instrs.append(replace(self.instrs[before], op=op, arg=arg, target=NONE))
        self.next.append(before)
        self.jump.append(NONE)
        self.handler.append(self.handler[before])
        self.line.append(self.line[before])
        return index

    def replace(self, index: int, op: str, arg: object = None) -> None:
        """Give one instruction another operation; its edges stay as they are."""
        old = self.instrs[index]
        self.instrs[index] = replace(old, op=op, arg=arg)
