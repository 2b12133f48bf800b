"""Handlers that share code each get a copy of it, so that every instruction lies in the body of one handler.

Input: a ``Program`` and its ``Regions`` (edited).  Output: the bodies of different handlers are disjoint, and a handler
that protects code in several bodies is several handlers.  Compilers never share, so only plain lifting asks for it.

    H1: A; goto B      H2: goto B      B: ...; POP_EXCEPT        ->        H1: A; B      H2: B'
"""

from __future__ import annotations

from dataclasses import replace

from depyf.bytecode import ops
from depyf.errors import DecompilationError
from depyf.flow.program import NONE, Program
from depyf.structure.region_table import Region, Regions

GROWTH = 8
"""Sharing may multiply: at so many times the size of the program it is given up."""

Bodies = tuple[int, ...]
"""The handlers whose bodies control is in, outermost first."""


def separate_handlers(program: Program, regions: Regions) -> None:
    """Copy what several handlers share; raises DecompilationError where that has no end."""
    if not regions.table:
        return
    _settle_parents(program, regions)
    relays: dict[int, int] = {}
    while True:
        work = _Separation(program, regions, relays)
        try:
            work.run()
            return
        except _Again as again:
            relays[again.region] = _relay(program, regions, again.region)


class _Again(Exception):
    """The body of a handler raises to the same handler, which has no relay yet."""

    def __init__(self, region: int) -> None:
        super().__init__(region)
        self.region = region


def _relay(program: Program, regions: Regions, region: int) -> int:
    """A handler that leaves all bodies up to the range of ``region``, and raises there what it caught.

    Without it each round would nest one handler deeper; what comes back to its handler is an ordinary loop with it.
    """
    record = regions.table[region]
    start = program.append(record.target, ops.RAISE, 1)
    program.next[start], program.handler[start] = NONE, region
    for op, arg in ((ops.POP_EXCEPT, 1), (ops.SWAP, 2), (ops.PUSH_EXC_INFO, None)):
        start = program.append(start, op, arg)
        program.handler[start] = NONE
    found = max(regions.table) + 1
    regions.table[found] = replace(record, index=found, target=start, parent=NONE)
    regions.depths[found], regions.records[found] = record.depth, record.record
    regions.forget_chains()
    return found


def _settle_parents(program: Program, regions: Regions) -> None:
    """The region around a handler is what protects all of its body.

    A range that covers only a part of the body, yet gives up its stack, is a ``try`` in there: when its handler is
    left, so is the one around it.
    """
    order = sorted(regions.table.values(), key=lambda region: (-region.depth, region.index))
    around = {region.index: _protected_by(program, regions, region) for region in order if region.kind != "with"}
    for _ in order:  # the regions around a body change with their own parents
        changed = False
        for region in order:
            parent = _shared_parent(regions, region, around.get(region.index, []))
            if parent != region.parent:
                region.parent, changed = parent, True
                regions.forget_chains()
        if not changed:
            return


def _protected_by(program: Program, regions: Regions, region: Region) -> list[int]:
    """The handlers of what may raise in the body of a handler."""
    body = _body(program, regions, region.index)
    return sorted({program.handler[i] for i in body if program.instrs[i].op not in ops.SILENT})


def _shared_parent(regions: Regions, region: Region, handlers: list[int]) -> int:
    """The innermost region outside a handler that protects all of its body; ``handlers`` protect parts of it."""
    if not handlers:
        return region.parent
    outside = [
        [other for other in regions.chain(handler) if regions.table[other].depth <= region.record]
        for handler in handlers
    ]
    shared = [other for other in outside[0] if all(other in chain for chain in outside)]
    return next((other for other in shared if region.index not in regions.chain(other)), NONE)


def _body(program: Program, regions: Regions, region: int) -> list[int]:
    """The instructions in the body of a handler, and those in the bodies of handlers inside it."""
    table = regions.table
    seen: set[tuple[int, int]] = set()
    work = [(table[region].target, 1)]
    while work:
        index, level = work.pop()
        if index == NONE or (index, level) in seen:
            continue
        seen.add((index, level))
        inner = program.handler[index]
        if inner != NONE and table[inner].depth > table[region].record and level < 9:
            work.append((table[inner].target, level + 1))
        if program.instrs[index].op == ops.POP_EXCEPT:
            level -= 1
        if level:
            work.extend((after, level) for after in program.successors(index))
    return sorted({index for index, _ in seen})


class _Separation:
    def __init__(self, program: Program, regions: Regions, relays: dict[int, int]) -> None:
        self.program = program
        self.regions = regions
        self.relays = relays
        self.limit = GROWTH * len(program.instrs) + 100
        self.origin = {index: index for index in regions.table}
        self.chains = {index: regions.chain(index) for index in regions.table}
        self.instances: dict[tuple[int, Bodies], int] = {}
        self.used: set[int] = set()
        self.places: dict[tuple[int, Bodies], int] = {}
        self.count = len(program.instrs)
        self.taken: set[int] = set()
        self.work: list[tuple[int, Bodies]] = []
        self.parents: dict[int, int] = {}
        self.entries: dict[int, int] = {}

    def run(self) -> None:
        program = self.program
        handler: dict[int, int] = {}
        after: dict[int, tuple[int, int]] = {}
        source: dict[int, int] = {}
        self.place(0, ())
        while self.work:
            index, bodies = self.work.pop()
            here = self.places[index, bodies]
            source[here] = index
            region = program.handler[index]
            handler[here] = NONE if region == NONE else self.instance(region, bodies)
            if program.instrs[index].op == ops.POP_EXCEPT and bodies:
                bodies = self.regions.behind(bodies)
            after[here] = self.place(program.next[index], bodies), self.place(program.jump[index], bodies)
        same = self.count == len(program.instrs) and self.origin.keys() == self.regions.table.keys()
        if same and not self.relays:
            return
        self._write(source, handler, after)

    def place(self, index: int, bodies: Bodies) -> int:
        """Where the copy of an instruction for these bodies is; the first one is the instruction itself."""
        if index == NONE:
            return NONE
        found = self.places.get((index, bodies))
        if found is None:
            found = index
            if index in self.taken:
                found, self.count = self.count, self.count + 1
                if self.count > self.limit:
                    raise DecompilationError("handlers share their bodies without end", self.program.unit.qualname)
            self.taken.add(index)
            self.places[index, bodies] = found
            self.work.append((index, bodies))
        return found

    def instance(self, region: int, bodies: Bodies) -> int:
        """The copy of a handler for code in these bodies: of those it lies in itself."""
        kept = tuple(body for body in bodies if region not in self.chains[self.origin[body]][1:])
        if self._comes_back(region, kept):
            if region not in self.relays:
                raise _Again(region)
            region = self.relays[region]
        found = self.instances.get((region, kept))
        if found is None:
            found = region if region not in self.used else max(self.origin) + 1
            self.used.add(region)
            self.instances[region, kept] = found
            self.origin[found] = region
            record = self.regions.table[region]
            self.regions.depths[found], self.regions.records[found] = record.depth, record.record
            if region in self.relays.values():
                self.parents[found] = self.parents[kept[-1]]  # around a range in a body is what is around the body
            else:
                self.parents[found] = NONE if record.parent == NONE else self.instance(record.parent, kept)
            if record.kind == "with":
                self.entries[found] = self.place(record.resume, kept)
            else:
                self.entries[found] = self.place(record.target, (*kept, found))
        return found

    def _comes_back(self, region: int, bodies: Bodies) -> bool:
        """Whether a handler is entered again from its own body, all of which its exception unwinds."""
        depth = self.regions.table[region].depth
        for body in reversed(bodies):
            if self.regions.records[body] < depth:
                return False
            if self.origin[body] == region:
                return self.regions.table[region].pushes[-1] == "exc"
        return False

    def _write(self, source: dict[int, int], handler: dict[int, int], after: dict[int, tuple[int, int]]) -> None:
        program, table = self.program, self.regions.table
        for here in range(len(program.instrs), self.count):
            index = source[here]
            program.instrs.append(program.instrs[index])
            program.line.append(program.line[index])
            program.next.append(NONE)
            program.jump.append(NONE)
            program.handler.append(NONE)
        for here in source:
            program.handler[here] = handler[here]
            program.next[here], program.jump[here] = after[here]
        for found, region in self.origin.items():
            if found in self.entries:
                record = replace(table[region], index=found, parent=self.parents[found])
                if record.kind == "with":
                    record.resume = self.entries[found]
                else:
                    record.target = self.entries[found]
                table[found] = record
        self.regions.forget_chains()
