"""One code object among those nested in each other: its slots, what becomes of it, and the names that it gets
(``told_apart``)."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.bytecode.variables.borrowed import OF_SLOTS
from depyf.decompiler.bytecode.variables.function_use import Use
from depyf.decompiler.bytecode.variables.slots import slots_of


class NestedCode:
    """One code object: its unit, what it is nested in, and the names that it gets."""

    __slots__ = (
        "around", "at", "cells", "children", "class_name", "fast", "first", "lowered", "name", "names", "slots",
        "taken", "unit", "use",
    )  # fmt: skip

    def __init__(self, unit: CodeUnit, around: NestedCode | None, at: int, first: int) -> None:
        self.unit = unit
        self.around = around
        self.at = at
        """Its number, outer code first."""
        self.slots = slots_of(unit)
        self.first = first
        """The number of its first slot among those of all code."""
        self.lowered: Lowered | None = None
        self.fast: dict[str, int] = {}
        """The slots that locals of ``lowered`` have, by what they are called there; ``cells``: the same for cells."""
        self.cells: dict[str, int] = {}
        self.children: dict[int, NestedCode] = {}
        """By the id of their units."""
        self.use: Use | None = None
        self.name = unit.name
        self.class_name = ""
        """That of the class around it, which mangles private names."""
        self.names = [name for name, _ in self.slots]
        self.taken: set[str] = set()
        """Names that slots have already; those that only comprehensions use are left out."""

    @property
    def is_function(self) -> bool:
        return bool(self.unit.flags & CO_OPTIMIZED)

    def slot(self, instr: Instr) -> int:
        """The slot that an instruction of ``lowered`` means, -1 for none."""
        if instr.op in ops.LOCALS:
            return self.fast.get(instr.arg, -1)
        return self.cells.get(instr.arg, -1) if instr.op in OF_SLOTS else -1

    def lowered_child(self, unit: CodeUnit) -> Lowered | None:
        """The lowered form of code that is directly inside."""
        child = self.children.get(id(unit))
        return None if child is None else child.lowered
