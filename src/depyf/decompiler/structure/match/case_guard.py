"""Finds where the guard of a ``case`` leads to.

Input: where the code between a pattern and the body begins, the subject on top of the stack.  Output: where it goes
when the guard is false.
"""

from __future__ import annotations

import heapq

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, NONE, STATEMENTS, Program
from depyf.decompiler.structure.match.case_patterns import same_place


class CaseGuard:
    """The code of one guard; ``fail`` is where it goes when it is false, -1 where that is to be found.

    A compiler writes the guard before the body and the body before the next case, so the code is read in its order:
    what drops the subject first is the body, and the one place that is left then is the next case.
    """

    def __init__(self, program: Program, start: int, fail: int) -> None:
        self.program = program
        self.fail = fail
        self.work = [start]
        self.depth = {start: 0}
        """How many values lie above the subject at what was reached."""
        self.read: list[int] = []
        self.bodies: list[int] = []
        """Where the body begins, and copies of its beginning; ``fails`` are those of the next case."""
        self.fails: list[int] = []

    def run(self) -> int | None:
        """Where the next case begins; -1 if there is none, None if this is no guard.  Copies of what it leads to are
        joined."""
        while self.work and not self._is_decided():
            at = heapq.heappop(self.work)
            if self.depth[at] == 0 and self.fail != NONE and self._alike(self.fail, at):
                self.fails.append(at)
            elif self._drops(at):
                if self.fail == NONE and not self._is_body(at):
                    self.fail = at
                else:
                    self.bodies.append(at)
            elif not self._step(at):
                return None
        if not self.bodies or self.work and self.depth[self.work[0]]:
            return None
        self._join(self.bodies, max(self.bodies))  # where the compiler wrote it
        self._join(self.fails, self.fail)
        return self.work[0] if self.work else self.fail

    def _is_decided(self) -> bool:
        if not self.bodies or self.fail != NONE or len(self.work) > 1:
            return False
        return not (self._drops(self.work[0]) and self._is_body(self.work[0]))

    def _drops(self, at: int) -> bool:
        return self.depth[at] == 0 and self.program.instrs[at].op == ops.POP

    def _is_body(self, at: int) -> bool:
        return not self.bodies or self._alike(self.bodies[0], at)

    def _alike(self, left: int, right: int) -> bool:
        """Whether two places are the same or copies; what drops the subject has the pattern's line or the body's."""
        program = self.program
        if program.handler[left] != program.handler[right]:
            return False
        if program.instrs[left].op == program.instrs[right].op == ops.POP:
            left, right = program.next[left], program.next[right]
        return same_place(program, left, right)

    def _step(self, at: int) -> bool:
        """Go on after one instruction; False if that is no part of an expression."""
        instr, program, depth = self.program.instrs[at], self.program, self.depth[at]
        if instr.op == ASYNC_FOR_ITER:
            reached = [(program.next[at], depth + 1), (program.jump[at], depth - 1)]
        elif instr.op in STATEMENTS or instr.op in (ops.RETURN, ops.END_ASYNC_FOR):
            return False
        else:
            pops, pushes = ops.stack_effect(instr.op, instr.arg)
            if depth < pops and instr.op not in (ops.RAISE, ops.RERAISE):
                return False
            after = depth - pops + pushes
            if instr.op == ops.FOR_ITER:
                reached = [(program.next[at], after), (program.jump[at], depth - instr.arg)]
            else:
                reached = [(position, after) for position in program.successors(at)]
        self.read.append(at)
        for position, after in reached:
            position = program.follow(position)
            if position == NONE:
                continue
            if position not in self.depth:
                self.depth[position] = after
                heapq.heappush(self.work, position)
            elif self.depth[position] != after:
                return False
        return True

    def _join(self, copies: list[int], one: int) -> None:
        """Let all ways to ``copies`` lead to ``one`` where that is the same."""
        program = self.program
        others = {at for at in copies if at != one and self._alike(at, one)}
        for at in self.read if others else ():
            if program.follow(program.next[at]) in others:
                program.next[at] = one
            if program.jump[at] != NONE and program.follow(program.jump[at]) in others:
                program.jump[at] = one


__all__ = ["CaseGuard"]
