"""Bounds the work of a decompilation by its size, in steps and levels rather than seconds: the load of the machine does
not matter.

What real code takes grows with its size.  A file can be written so that some search or walk of depyf grows with the
square of it, or worse: then the budget is spent, and ``TooMuchWork`` says where.  It is far above what code from a
compiler takes.
"""

from __future__ import annotations

from depyf.errors import BytecodeError

ROOM, EACH = 2_500_000, 50
"""Steps of a whole decompilation: a constant, plus a number per byte of code."""
PART_ROOM, PART_EACH = 800_000, 30
"""The same for one way to decompile one code object; a step takes about a microsecond."""
LEVELS_ROOM, LEVELS_EACH = 10_000, 1 / 20
"""How many levels deep a walk may go: a constant, plus a number per byte of code; a level takes up to 3 kB of stack."""


class TooMuchWork(BytecodeError):
    """The code takes more steps, or more levels of a walk, than its size allows."""


class Budget:
    """The steps that are left of some work, in however many threads, of which one works at a time."""

    __slots__ = ("floor", "left", "levels", "name", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.left = ROOM + EACH * size
        self.levels = int(LEVELS_ROOM + LEVELS_EACH * size)
        self.floor = 0
        """What must be left when the part of the work that is under way is done."""

    def exceeded(self) -> TooMuchWork:
        """The error for a spent budget, or for a spent part of it."""
        return self._error("takes more steps")

    def too_deep(self) -> TooMuchWork:
        """The error for code that nests too deeply."""
        return self._error("goes deeper")

    def _error(self, what: str) -> TooMuchWork:
        return TooMuchWork(
            f"{self.name}: its {self.size} bytes of code expand too far: to decompile them {what} than real code does"
        )


def steps_of_part(size: int) -> int:
    """The steps of one way to decompile a code object of ``size`` bytes."""
    return PART_ROOM + PART_EACH * size


class Unlimited(Budget):
    """A budget for work without a limit."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("", 0)
        self.left = self.levels = 1 << 62


class Part:
    """A part of a piece of work, with a separate budget inside that of the whole; to be used as a context."""

    __slots__ = ("after", "before", "budget", "name", "outer", "size")

    def __init__(self, budget: Budget, name: str, size: int) -> None:
        self.budget = budget
        self.name, self.size = name, size

    def __enter__(self) -> None:
        budget = self.budget
        self.before, self.outer = budget.left, (budget.floor, budget.name, budget.size)
        budget.floor = max(budget.floor, budget.left - steps_of_part(self.size))
        budget.name, budget.size = self.name, self.size

    def __exit__(self, *_: object) -> None:
        """What this part took is not taken from the part around it."""
        budget = self.budget
        floor, budget.name, budget.size = self.outer
        budget.floor = max(floor - (self.before - budget.left), 0)
