"""A lifted basic block: statements, what is left on the stack, and how control leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.decompiler.ir.expr import Expr, Temp, TempKey
from depyf.decompiler.ir.markers import LoopIterator
from depyf.decompiler.ir.stmt import Stmt
from depyf.decompiler.lift.stack_values import Shared, Unpack


@dataclass(slots=True)
class Lifted:
    """``succs`` is empty (ended), ``[next]``, or ``[if true, if false]`` together with ``cond``.

    ``falls`` is the index in ``succs`` of the side that came first in the bytecode; ``keep`` is set while the branch
    operand also stays on the stack (``a or b``).  ``low`` is the lowest stack position touched, ``used`` whether a
    value found on entry was used other than by dropping it.  ``line`` is that of its first instruction, ``test_line``
    that of its test where statements come before it, ``begins`` and ``branch`` the instructions
    that test its first and last operand.  Of a block lifted plainly, ``steps`` is how many slots the
    iterator has that it ends with a step of, ``cond_temps`` are the temporaries its test uses up, and ``drops`` what to
    delete on the way to each successor.
    """

    id: int
    container: int
    depth: int
    code: list[int]
    entry: list[Expr]
    stack: list[Expr]
    stmts: list[Stmt]
    succs: list[int]
    cond: Expr | None = None
    falls: int = 0
    keep: Shared | None = None
    tested: Expr | None = None
    """A test to which nothing leads back; the next value is evaluated after it."""
    low: int = 0
    used: bool = False
    line: int | None = None
    test_line: int | None = None
    begins: int = -1
    branch: int = -1
    last: int = 0
    lines: list[int] = field(default_factory=list)
    iterators: tuple[LoopIterator, ...] = ()
    """The iterators it drops before it does anything else: what follows is after their loops."""
    open: dict[int, Shared] = field(default_factory=dict)
    unpack: Unpack | None = None
    """An unpacking whose next target is being evaluated, where that has tests."""
    steps: int = 0
    spills: int = 0
    cond_temps: frozenset[TempKey] = frozenset()
    drops: list[tuple[Temp, ...]] = field(default_factory=list)
    breaks_at: dict[int, int] = field(default_factory=dict)
    """The line of the ``break`` by which control leaves it to a successor, where it left one."""

    direct: bool = False
    """Whether it is known that no ``break`` goes there: it would have left a jump, or a line."""

    @property
    def tested_at(self) -> int | None:
        """The line on which the test begins."""
        return self.test_line or self.line
