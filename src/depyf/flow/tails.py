"""Where the copies of the end of one statement begin, so that basic blocks can be cut there and merged again."""

from __future__ import annotations

from typing import Any

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CodeUnit
from depyf.flow.program import Program

_EXITS = frozenset({ops.RETURN, ops.RAISE})


class Tails:
    """The tails of one program; ``of`` is the container of each reachable instruction."""

    def __init__(self, program: Program, of: dict[int, int]) -> None:
        self.program = program
        self.of = of

    def starts(self, leaders: set[int], incoming: dict[int, int]) -> list[int]:
        """Where the copies of one statement's end begin: ``return f(a if c else b)`` calls and returns in both arms.

        Each arm puts one value on the stack before the copy, or the copy is a whole statement.
        """
        program, of = self.program, self.of
        instrs = program.instrs
        places: dict[Any, list[int]] = {}
        for i in of:
            if instrs[i].op in _EXITS and instrs[i].line is not None:
                places.setdefault((instrs[i].op, instrs[i].arg, instrs[i].line, of[i]), []).append(i)
        starts: list[int] = []
        for found in places.values():
            if len(found) < 2:
                continue
            tails: dict[Any, list[tuple[int, int]]] = {}
            for i in found:
                key: tuple[Any, ...] = ()
                for at in self._arm(i, leaders):
                    key = (*key, self._content(at))
                    tails.setdefault(key, []).append((i, at))
            best: dict[int, tuple[int, Any]] = {}
            for key, same in tails.items():
                if len(same) > 1:
                    best.update((i, (at, key)) for i, at in same)
            # the stack is equally high before each copy: what one of them shows holds for all
            arms = {key for i, (at, key) in best.items() if self._complete(at, i) or self._is_arm(i, at, leaders)}
            starts.extend(at for i, (at, key) in best.items() if key in arms and at != i and at not in leaders)
            for i, (at, _) in best.items():
                if at != i and incoming[i] == 1 and instrs[i].op == ops.RETURN and self._complete(at, i):
                    leaders.discard(i)  # a whole statement: the value belongs to its return
        return starts

    def _arm(self, end: int, leaders: set[int]) -> list[int]:
        """Instructions from ``end`` back to the start of its block, at most a few."""
        found, at = [end], end
        while len(found) < 10 and (at not in leaders or at == end) and self.program.next[at - 1] == at:
            if self.of.get(at - 1) != self.of[end]:
                break
            at -= 1
            found.append(at)
        return found

    def _complete(self, start: int, end: int) -> bool:
        """Whether the code from ``start`` to ``end`` needs nothing that was on the stack before."""
        height = 0
        for i in range(start, end + 1):
            pops, pushes = ops.stack_effect(self.program.instrs[i].op, self.program.instrs[i].arg)
            if pops > height:
                return False
            height += pushes - pops
        return True

    def _height(self, end: int, at: int, leaders: set[int]) -> int:
        """How many values the block has put on the stack when it reaches ``at``; -1 if that is unknown."""
        start = at
        while start not in leaders:
            if self.program.next[start - 1] != start:
                return -1
            start -= 1
        height = 0
        for i in range(start, at):
            if i not in self.of:
                return -1
            pops, pushes = ops.stack_effect(self.program.instrs[i].op, self.program.instrs[i].arg)
            height += pushes - pops
        return height

    def _is_arm(self, end: int, at: int, leaders: set[int]) -> bool:
        """Whether a block puts one value on the stack and then reaches ``at``.

        The value of a chained comparison is its last link, or left by what drops the operand of a link that failed.
        """
        instrs = self.program.instrs
        if self._height(end, at, leaders) == 1:
            return True
        if instrs[at - 1].op in (ops.COMPARE, ops.IS, ops.CONTAINS):
            return self._height(end, at, leaders) == 0
        return at - 2 in leaders and instrs[at - 2].op in (ops.SWAP, ops.ROT) and instrs[at - 1].op == ops.POP

    def _content(self, index: int) -> Any:
        instr = self.program.instrs[index]
        arg = instr.arg
        if instr.op == ops.LOAD_CONST:
            arg = id(arg) if isinstance(arg, CodeUnit) else (type(arg).__name__, repr(arg))
        return instr.op, arg, instr.line
