"""The table of a program's exception regions, and how they nest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED
from depyf.decompiler.cfg.program import NONE, WITH_EXIT, Program
from depyf.safety.depth import spend

SHUFFLES = frozenset({ops.POP, ops.SWAP, ops.ROT, ops.COPY, ops.POP_EXCEPT})


@dataclass(slots=True)
class Region:
    """One handler: ``kind`` is "except", "finally" or "with"; ``parent`` the enclosing region or -1.

    ``resume`` is, for "with", where control continues when the manager suppressed the exception; ``star`` marks
    ``except*``, which nothing may leave but by its end.
    """

    index: int
    target: int
    depth: int
    pushes: tuple[str, ...]
    kind: str = "except"
    parent: int = NONE
    resume: int = NONE
    star: bool = False

    @property
    def record(self) -> int:
        """The stack slot that holds, in a handler, what was handled before; what unwinds it leaves the handler."""
        return self.depth + (self.pushes[0] == "lasti")


class Regions:
    """All live regions of a program, and the chain of regions around each instruction."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.bound_names: set[str] = set()
        """Names whose clean-up after ``except E as name`` was taken away."""
        self.table: dict[int, Region] = {
            i: Region(i, handler.target, handler.depth, handler.pushes) for i, handler in enumerate(program.handlers)
        }
        self.depths = {index: region.depth for index, region in self.table.items()}
        self.records = {index: region.record for index, region in self.table.items()}
        self.left: dict[int, int] = {}
        """A ``POP_EXCEPT`` -> the number of handlers whose bodies control is in after it, where that is known."""
        self.starts = frozenset(handler.target for handler in program.handlers)
        self.cold = min(self.starts, default=0) if program.unit.handlers_last else NONE
        """Where the handlers begin that stand after all other code; -1 where they do not."""
        self._chains: dict[int, tuple[int, ...]] = {}
        self._own: dict[int, list[int]] | None = None
        self._inner: dict[int, list[int]] = {}

    def chain(self, handler: int) -> tuple[int, ...]:
        """``handler`` and the regions around it, innermost first."""
        if handler == NONE:
            return ()
        known = self._chains.get(handler)
        if known is None:
            start, found = handler, dict[int, None]()
            while handler != NONE and handler not in found:
                found[handler] = None
                handler = self.table[handler].parent
            spend(len(found))
            known = self._chains[start] = tuple(found)
        return known

    def inside(self, index: int, region: int) -> bool:
        """Whether instruction ``index`` lies in the protected range of ``region``, nested ranges included."""
        return region in self.chain(self.program.handler[index])

    def after_pop(self, index: int, bodies: tuple[int, ...]) -> tuple[int, ...]:
        """The handlers whose bodies control is still in after the ``POP_EXCEPT`` at ``index`` in those of ``bodies``.

        They stand outermost first.  A handler that does not keep the record of one around it was entered when that
        one's body raised: what was handled before both is restored.
        """
        if index in self.left:
            return bodies[: self.left[index]]
        rest = bodies[:-1]
        while rest and self.depths[bodies[-1]] <= self.records[rest[-1]]:
            rest = rest[:-1]
        return rest

    def forget_chains(self) -> None:
        self._chains.clear()
        self._own = None

    def members(self, region: int) -> list[int]:
        """The instructions in the protected range of ``region``, nested ranges included, in order."""
        if self._own is None:
            self._own, self._inner = {}, {}
            for i, handler in enumerate(self.program.handler):
                if handler != NONE:
                    self._own.setdefault(handler, []).append(i)
            for inner in self.table.values():
                self._inner.setdefault(inner.parent, []).append(inner.index)
        found: list[int] = []
        work, seen = [region], {region}
        while work:
            current = work.pop()
            found.extend(self._own.get(current, ()))
            for index in self._inner.get(current, ()):
                if index not in seen:
                    seen.add(index)
                    work.append(index)
        spend(len(seen) + len(found))
        return sorted(found)

    def dissolve(self, region: Region) -> None:
        """Leave the range of ``region`` to the region around it."""
        members, parent = self.members(region.index), region.parent
        assert self._own is not None
        handler = self.program.handler
        for i in members:
            if handler[i] == region.index:
                handler[i] = parent
        self._own.setdefault(parent, []).extend(self._own.pop(region.index, ()))
        inner = self._inner.pop(region.index, [])
        for index in inner:
            self.table[index].parent = parent
        if region.index in self._inner.get(parent, ()):
            self._inner[parent].remove(region.index)
        self._inner.setdefault(parent, []).extend(inner)
        del self.table[region.index]
        self._chains.clear()


def exits_of(regions: Regions, region: Region) -> list[tuple[int, int]]:
    """Edges (from, to) that leave the protected range of ``region``."""
    program = regions.program
    found: list[tuple[int, int]] = []
    members = regions.members(region.index)
    inside = set(members)
    for i in members:
        for after in program.successors(i):
            if after not in inside:
                found.append((i, after))
    return found


def note_continues(regions: Regions, exits: dict[int, int]) -> None:
    """Of the ways out of one region that all go on with a loop only one is its end; the others say ``continue``.

    ``exits``: for each copy of its clean-up code where control goes on after it.  That of the end is laid out last, but
    for handlers that stand after all other code.
    """
    program = regions.program
    ways: dict[int, set[tuple[bool, int, int]]] = {}
    for start, after in exits.items():
        copy, head = program.follow(start), program.follow(after)  # a jump may lead to the copy
        if head != NONE and head < copy:
            ways.setdefault(head, set()).add((copy < regions.cold, copy, after))
    for found in ways.values():
        for _, _, after in sorted(found)[:-1]:
            if program.instrs[after].op == ops.JUMP and program.jump[after] <= after:
                program.own_continues[after] = after
                program.line[after] = None  # it is that of the clean-up
                program.instrs[after] = replace(program.instrs[after], line=None)


def redirect(program: Program, source: int, old: int, new: int) -> None:
    if program.next[source] == old:
        program.next[source] = new
    if program.jump[source] == old:
        program.jump[source] = new


def on_own_line(program: Program, source: int) -> bool:
    """Whether a loop or a handler is left on the line of a separate statement; the end of a handler has no line."""
    line, drops = program.line[source], (ops.POP, ops.POP_EXCEPT)
    if program.instrs[source].op not in drops or line is None or line == program.line[source - 1]:
        return False
    return program.word(source) != "pass"


def returned_constant(program: Program, at: int) -> int:
    """Where a constant is loaded that is returned once iterators are dropped and managers are left; -1 if none is."""
    at = program.follow(at)
    while program.instrs[at].op in (ops.POP, WITH_EXIT) and program.next[at] != NONE:
        at = program.next[at]
    ret = program.next[at]
    loads = program.instrs[at].op == ops.LOAD_CONST and ret != NONE and program.instrs[ret].op == ops.RETURN
    return at if loads and program.unit.flags & CO_OPTIMIZED else NONE


def written_return(regions: Regions, at: int) -> bool:
    """Whether ``at`` returns None out of the middle of a ``with`` or ``try``: what leaves it at its end is before its
    handler."""
    program = regions.program
    instr, ret = program.instrs[at], program.next[at]
    if instr.op != ops.LOAD_CONST or instr.arg is not None or ret == NONE or program.instrs[ret].op != ops.RETURN:
        return False
    if program.unit.copies_long_ends or not program.unit.flags & CO_OPTIMIZED:
        return False
    return ret + 1 < len(program.instrs) and ret + 1 not in regions.starts
