"""Finds the copies of a function's end that the compiler put into the blocks that jump there.

    if a:                      A; f(); return None
        A               was    B; f(); return None       is    A; goto L    B; L: f(); return None
    else:
        B
    f()

A copy has the same instructions and source lines.  Each arm puts one value on the stack before it, as in
``return f(a if c else b)``, or the copy is one or more whole statements.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.program import END_FINALLY, NONE, STATEMENTS, WITH_EXIT, Program
from depyf.decompiler.cfg.source_places import Alike, begins_at, computed_at

_EXITS = frozenset({ops.RETURN, ops.RAISE, END_FINALLY})
_SWAPS = frozenset({ops.SWAP, ops.ROT})
_ENDS = frozenset({ops.POP, ops.STORE_FAST, ops.STORE_NAME, ops.STORE_DEREF, ops.STORE_GLOBAL, ops.STORE_ATTR})
_FILLS = frozenset(
    {ops.LIST_EXTEND, ops.LIST_APPEND, ops.SET_UPDATE, ops.SET_ADD, ops.DICT_UPDATE, ops.DICT_MERGE, ops.MAP_ADD}
)
_COMPARES = frozenset({ops.COMPARE, ops.IS, ops.CONTAINS})
_LONGEST = 12
_LONGEST_LINK = 40
_LONGEST_COPIED = 400
"""How long a copy may be, in instructions; the second where the compiler copies at any length."""


def constant_key(value: object) -> object:
    """Equal for constants that are the same."""
    return id(value) if isinstance(value, CodeUnit) else (type(value).__name__, repr(value))


def instruction_content(program: Program, index: int) -> tuple[object, object, int | None]:
    """What an instruction does, and its source line: equal for copies of one."""
    instr = program.instrs[index]
    arg = constant_key(instr.arg) if instr.op == ops.LOAD_CONST else instr.arg
    return instr.op, arg, instr.line


class Tails:
    """Looks for copies in one program; ``leaders`` are the block starts known so far.

    ``anywhere`` off: only for those after a ``with``, in code that a program wrote around what a compiler had made.
    """

    def __init__(self, program: Program, containers: Containers, leaders: set[int], *, anywhere: bool = True) -> None:
        self.program = program
        self.anywhere = anywhere
        self.containers = containers
        self.leaders = leaders
        self.longest = _LONGEST_COPIED if program.unit.copies_long_ends else _LONGEST

    def find(self) -> tuple[list[int], list[int]]:
        """Where copies begin, and where those that are whole statements end: such an end belongs to its start."""
        program, of = self.program, self.containers.of
        instrs = program.instrs
        if program.unit.keeps_dead_code:
            return [], []  # that compiler copied nothing but the return itself
        places: dict[Any, list[int]] = {}
        tries = len(self.containers.tree) > 1
        for i in of:
            if instrs[i].op in _EXITS or tries and instrs[i].op in _ENDS and self._leaves_try(i):
                places.setdefault((instrs[i].op, instrs[i].arg, instrs[i].line, of[i]), []).append(i)
        past_exits = set() if self.anywhere else {program.next[i] for i in of if instrs[i].op == WITH_EXIT}
        starts: list[int] = []
        whole: list[int] = []
        for found in places.values():
            if len(found) < 2:
                continue
            tails: Alike[tuple[int, int]] = Alike()
            numbers: dict[
                tuple[int, object], int
            ] = {}  # of each content, which is the one after it and one instruction more
            for i in found:
                content = 0
                for at in self._arm(i):
                    content = numbers.setdefault((content, instruction_content(program, at)), len(numbers) + 1)
                    if instrs[at].line is not None and instrs[at].op != ops.BRANCH:
                        # an arm of a conditional expression that is tested has a separate branch
                        tails.add((content, computed_at(program, [at])), begins_at(program, at), (i, at))
            best: dict[int, tuple[int, Any]] = {}
            # the stack is equally high before each copy: what one of them shows holds for all
            copies = [(key, same) for key, same in tails if len(same) > 1 and not self._fills(same[0][1], same[0][0])]
            arms = {key for key, same in copies if any(at not in self.leaders and self._is_arm(at) for _, at in same)}
            chance = self._by_chance(copies, arms)
            for key, same in copies:
                if key in chance:
                    continue
                sides = any(self._is_returned_side(at, i) for i, at in same)
                if sides and not any(self._ends_chain(at - 1) for _, at in same):
                    continue
                if not self.anywhere and not any(at in past_exits for _, at in same):
                    continue
                whole_blocks = all(self._is_joined(at) for _, at in same)
                if key in arms or whole_blocks or same[0][0] == same[0][1] or self._complete(same[0][1], same[0][0]):
                    best.update((i, (at, key)) for i, at in same if i not in best or at < best[i][0])
            starts += self._ends_of_arms(best, copies, arms)
            for i, (at, key) in best.items():
                if at == i and instrs[i].op in _EXITS and instrs[i].op != ops.RAISE:
                    continue  # the graph knows of returns
                if self._complete(at, i):
                    starts.append(at)
                    if at != i and instrs[i].op in _EXITS:
                        whole.append(i)
                elif key in arms:
                    starts += [at] if instrs[i].op != END_FINALLY else [at, i]
                    if at == i and instrs[i].op == ops.POP:
                        starts.append(program.next[i])  # as after every value that is dropped
        return starts, whole

    def _by_chance(self, copies: list[tuple[Any, list[tuple[int, int]]]], arms: set[Any]) -> set[Any]:
        """Tails whose first instructions only look alike: ``f(x.n if a else y if b else z.n)`` has one copy of the call
        for each arm.

        The arms of one expression stand together, so that no copy of what is after them comes between.
        """
        ends: dict[int, list[list[int]]] = {}
        """For each end, where the tails of arms that have it end."""
        for key, same in copies:
            if key in arms:
                members = sorted(i for i, _ in same)
                for i in members:
                    ends.setdefault(i, []).append(members)
        found = set()
        for key, same in copies:
            first, last = min(same)[0], max(same)[0]
            if key in arms and not self._complete(same[0][1], same[0][0]):
                within = (bisect_right(other, last) - bisect_left(other, first) for other in ends[first])
                if any(count > len(same) for count in within):
                    found.add(key)
        return found

    def _ends_of_arms(
        self, best: dict[int, tuple[int, Any]], copies: list[tuple[Any, list[tuple[int, int]]]], arms: set[Any]
    ) -> list[int]:
        """Where arms end that the compiler copied together with what follows them.

        ``x = y if (a if b else c) else z`` has ``x = y`` twice: what is the end of the arm ``z`` alone ends them, too.
        Not so where each is all of a ``return``: ``return x() if (a if b else c) else y()``.
        """
        ends = {key for at, key in best.values() if key in arms}
        split = {i for i, (at, _) in best.items() if not self._is_return(at, i)}
        return [at for key, same in copies if key in ends for i, at in same if i in split and best[i][0] < at]

    def _is_return(self, at: int, end: int) -> bool:
        """Whether the code from ``at`` to ``end`` is one ``return`` statement."""
        instrs = self.program.instrs
        stores = any(instrs[i].op in _ENDS for i in range(at, end))
        return instrs[end].op == ops.RETURN and not stores and self._complete(at, end)

    def _is_returned_side(self, at: int, end: int) -> bool:
        """Whether a returned value follows a test on its line: an arm of a conditional expression, without columns."""
        instrs = self.program.instrs
        before = instrs[at - 1] if at > 0 else None
        if before is None or before.op != ops.BRANCH or before.line != instrs[at].line:
            return False
        return instrs[end].op == ops.RETURN and self.program.place(at) is None

    def _ends_chain(self, branch: int) -> bool:
        """Whether a branch ends a chained comparison: the compiler lets it jump over what cleans up, to a copy of what
        follows."""
        program = self.program
        if branch < 0 or program.instrs[branch].op != ops.BRANCH or program.instrs[branch - 1].op not in _COMPARES:
            return False
        for link in range(branch - 1, max(branch - _LONGEST_LINK, 0), -1):
            if program.instrs[link].op == ops.BRANCH:
                drop = program.jump[link]
                return drop > branch and program.instrs[drop].op == ops.POP and program.instrs[link - 1].op in _COMPARES
        return False

    def _leaves_try(self, at: int) -> bool:
        """Whether the statement that ends at ``at`` is in a ``try``, and the function returns a constant after it."""
        program, of = self.program, self.containers.of
        after = program.next[at]
        if after == NONE:
            return False
        while program.instrs[after].op in (WITH_EXIT, ops.POP_EXCEPT) and program.next[after] != NONE:
            after = program.next[after]  # copied together with the end
        if of.get(after, of[at]) == of[at]:
            return False
        ret = program.next[after]
        constant = program.instrs[after].op == ops.LOAD_CONST and ret >= 0 and program.instrs[ret].op == ops.RETURN
        return constant and self.containers.encloses(of[after], of[at])

    def carried(self) -> list[tuple[int, int]]:
        """First and last instruction of each ``return`` that by its line stands after code that is laid out after it.

        The compiler put a copy of it where the code before it jumped there.  Its other copies are found with it.
        """
        instrs, of = self.program.instrs, self.containers.of
        arms: dict[int, list[int]] = {}
        candidates: list[tuple[int, int, int]] = []
        for i in of:
            line = instrs[i].line
            if instrs[i].op == ops.RETURN and line is not None:
                arm = [at for at in self._arm(i) if instrs[at].line == line]
                at = arm[-1]
                if len(arm) == i - at + 1 and self._complete(at, i):
                    arms[i] = arm
                    before = self._line_before(at)
                    if before is not None and before + 1 < line:
                        candidates.append((i, before, line))
        if not candidates:
            return []
        candidates.sort()
        lines_after = _LinesAfter({i: instrs[i].line for i in of})
        late = [i for i, before, line in candidates if lines_after.any_between(i, before, line)]
        if not late:
            return []
        keys = {i: (tuple([instruction_content(self.program, at) for at in arm]), of[i]) for i, arm in arms.items()}
        copies: dict[Any, list[tuple[int, int]]] = {}
        for i, arm in arms.items():
            copies.setdefault(keys[i], []).append((arm[-1], i))
        return [copy for key in dict.fromkeys(keys[i] for i in late) for copy in copies[key]]

    def _line_before(self, at: int) -> int | None:
        """The last line of the code of one block before ``at``; None where a block begins there."""
        instrs = self.program.instrs
        last: int | None = None
        while at not in self.leaders and self.program.next[at - 1] == at:
            at -= 1
            line = instrs[at].line
            last = line if last is None or line is not None and line > last else last
        return last

    def _arm(self, end: int) -> list[int]:
        """Instructions from ``end`` back to the start of its block, at most a few.

        Returning from a ``try`` is no part of it, but the value before is.
        """
        of = self.containers.of
        inner = of.get(end - 1, of[end])
        if (
            inner == of[end]
            or self.program.instrs[end].op != ops.RETURN
            or not self.containers.encloses(of[end], inner)
        ):
            inner = of[end]
        found, at = [end], end
        starts = {end, end - 1} if self.program.instrs[end - 1].op == ops.LOAD_CONST else {end}
        while (
            len(found) < self.longest and (at not in self.leaders or at in starts) and self.program.next[at - 1] == at
        ):
            if of.get(at - 1) != inner:
                break
            at -= 1
            found.append(at)
        return found

    def _fills(self, start: int, end: int) -> bool:
        """Whether the code from ``start`` to ``end`` puts more into the container that is on the stack before it."""
        height = 0
        for i in range(start, end):
            op, arg = self.program.instrs[i].op, self.program.instrs[i].arg
            if op in STATEMENTS:
                return False
            if op in _FILLS and height - (2 if op == ops.MAP_ADD else 1) - arg == -1:
                return True
            pops, pushes = ops.stack_effect(op, arg)
            height += pushes - pops
        return False

    def _complete(self, start: int, end: int) -> bool:
        """Whether the code from ``start`` to ``end`` needs nothing that was on the stack before.

        A ``return`` in loops and handlers drops their iterators and exceptions from below its value.
        """
        height = 0
        instrs = self.program.instrs
        dropped = NONE
        for i in range(start, end + 1):
            instr = instrs[i]
            if instr.op in STATEMENTS - {END_FINALLY}:
                return False
            if i == dropped:
                continue
            if height == 1 and instr.op in _SWAPS and i < end:
                below = instrs[i + 1].op
                if below == ops.POP_EXCEPT or below == ops.POP and instr.arg == 2:
                    dropped = i + 1
                    continue
            pops, pushes = (0, 0) if instr.op == END_FINALLY else ops.stack_effect(instr.op, instr.arg)
            if pops > height:
                return False
            height += pushes - pops
        return True

    def _is_joined(self, at: int) -> bool:
        """Whether a block begins at ``at`` that the code before it and a jump lead to."""
        before = self.program.instrs[at - 1].op if at else ops.BRANCH
        return at in self.leaders and self.program.next[at - 1] == at and before != ops.BRANCH

    def _is_arm(self, at: int) -> bool:
        """Whether the block puts one value on the stack before ``at``, as the arm of a conditional expression does.

        An arm of a chained comparison ``a < b < c`` finds ``b`` and the first result there: one replaces ``b``, and
        begins with dropping the result, the other begins with a swap and drops ``b``.  What begins where several ways
        left a value, as for ``not (a and b)``, makes another one of it, and of those below it: ``(a, b and c)``.
        """
        instrs = self.program.instrs
        start = at
        while start not in self.leaders:
            if self.program.next[start - 1] != start:
                return False
            start -= 1
        height, taken, least = 0, 0, 0
        for i in range(start, at):
            if i not in self.containers.of or instrs[i].op in STATEMENTS:
                return False
            pops, pushes = ops.stack_effect(instrs[i].op, instrs[i].arg)
            taken = min(taken, height - pops)
            height += pushes - pops
            least = min(least, height)
        if height == -1 and instrs[start].op in (ops.SWAP, ops.ROT):
            return True
        if taken == height - 1 and least == height <= 0:
            return True
        return height == 1 or height == 0 and self.program.next[start - 1] == start and instrs[start - 1].op == ops.POP


class _LinesAfter:
    """Which source lines the code after an instruction has; asked for growing indices.

    A line is gone where its last instruction is passed, and then means the next one that is left: sets that are
    only ever joined (union by path halving, Tarjan and van Leeuwen 1984), so that all questions together are linear.
    """

    def __init__(self, line_of: dict[int, int | None]) -> None:
        last: dict[int, int] = {}
        for index in sorted(line_of):
            line = line_of[index]
            if line is not None:
                last[line] = index
        self.lines = sorted(last)
        self.next = list(range(len(self.lines) + 1))
        place = {line: at for at, line in enumerate(self.lines)}
        self.gone = sorted(((index, place[line]) for line, index in last.items()), reverse=True)

    def any_between(self, index: int, low: int, high: int) -> bool:
        """Whether code after ``index`` has a line greater than ``low`` and less than ``high``."""
        while self.gone and self.gone[-1][0] <= index:
            at = self.gone.pop()[1]
            self.next[at] = at + 1
        at = self._left(bisect_right(self.lines, low))
        return at < len(self.lines) and self.lines[at] < high

    def _left(self, at: int) -> int:
        following = self.next
        while following[at] != at:
            following[at] = following[following[at]]
            at = following[at]
        return at
