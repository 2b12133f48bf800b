"""Copies code that handlers share, so that every instruction lies in the body of one handler.

Input: a ``Program`` and its ``Regions`` (edited).  Output: the bodies of different handlers are disjoint, and a handler
that protects code in several bodies is several handlers.  Compilers never share, so only plain lifting asks for it.

    H1: A; goto B      H2: goto B      B: ...; POP_EXCEPT        ->        H1: A; B      H2: B'
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.region_table import Region, Regions
from depyf.decompiler.fallback.escape_paths import Detours
from depyf.decompiler.fallback.stack_slots import moved, stack_depths
from depyf.errors import DecompilationError
from depyf.safety.depth import any_depth

GROWTH = 8
"""Sharing may multiply: beyond this multiple of the program's size copying stops, or continues with detours."""
GROWTH_WITH_DETOURS = 64

Bodies = tuple[tuple[int, int], ...]
"""The handlers that control is in, outermost first, each with the slot of its record; -1 once that is unwound."""


def split_handlers(program: Program, regions: Regions) -> None:
    """Copy what several handlers share; raises DecompilationError where that has no end."""
    if not regions.table:
        return
    depths = stack_depths(program, regions)
    _find_parents(program, regions, depths)
    relays: dict[int, int] = {}
    detours: Detours | None = None
    size = len(program.instrs)
    limit = GROWTH * size + 100
    while True:
        work = _Separation(program, regions, relays, depths, detours, limit)
        try:
            work.run()
            return
        except _Again as again:
            relays[again.region] = _relay(program, regions, again.region)
        except _Tangled as tangled:
            assert detours is not None
            detours.add(tangled.after, tangled.slots, depths[tangled.after])
            depths = stack_depths(program, regions)
            _find_parents(program, regions, depths)
        except DecompilationError:
            if detours is not None:
                raise
            detours = Detours(program, regions)
            limit = GROWTH_WITH_DETOURS * size + 100


class _Again(Exception):
    """The body of a handler raises to the same handler, which has no relay yet."""

    def __init__(self, region: int) -> None:
        super().__init__(region)
        self.region = region


class _Tangled(Exception):
    """A handler around others has lost its record, and no detour leaves it yet."""

    def __init__(self, after: int, slots: tuple[int, ...]) -> None:
        super().__init__(after, slots)
        self.after = after
        self.slots = slots


def _relay(program: Program, regions: Regions, region: int) -> int:
    """A handler that leaves all bodies up to the range of ``region``, and raises there what it caught.

    Without it each round would nest one handler deeper; what comes back to its handler is an ordinary loop with it.
    """
    record = regions.table[region]
    start = program.append(record.target, ops.RERAISE, 1)
    program.next[start], program.handler[start] = NONE, region
    for op, arg in ((ops.POP_EXCEPT, 1), (ops.SWAP, 2), (ops.PUSH_EXC_INFO, None)):
        start = program.append(start, op, arg)
        program.handler[start] = NONE
    found = max(regions.table) + 1
    regions.table[found] = replace(record, index=found, target=start, parent=NONE)
    regions.depths[found], regions.records[found] = record.depth, record.record
    regions.forget_chains()
    return found


def _find_parents(program: Program, regions: Regions, depths: dict[int, int]) -> None:
    """The region around a handler is what protects all of its body.

    A range that covers only a part of the body, yet gives up its stack, is a ``try`` in there: when its handler is
    left, so is the one around it.
    """
    order = sorted(regions.table.values(), key=lambda region: (-region.depth, region.index))
    around = {one.index: _protected_by(program, regions, one, depths) for one in order if one.kind != "with"}
    for _ in order:  # the regions around a body change with their own parents
        changed = False
        for region in order:
            parent = _shared_parent(regions, region, around.get(region.index, []))
            if parent != region.parent:
                region.parent, changed = parent, True
                regions.forget_chains()
        if not changed:
            return


def _shared_parent(regions: Regions, region: Region, around: list[tuple[int, int]]) -> int:
    """The innermost region that protects all of a handler's body from outside; ``around`` protect parts of it."""
    if not around:
        return region.parent
    outside = [
        [other for other in regions.chain(handler) if regions.table[other].depth <= record]
        for handler, record in around
    ]
    shared = [other for other in outside[0] if all(other in chain for chain in outside)]
    return next((other for other in shared if region.index not in regions.chain(other)), NONE)


def _protected_by(program: Program, regions: Regions, region: Region, depths: dict[int, int]) -> list[tuple[int, int]]:
    """The handlers of what may raise in the body of a handler, inner ones included, and where its record is then."""
    table = regions.table
    found: set[tuple[int, int]] = set()
    seen: set[tuple[int, int, int]] = set()
    work = [(region.target, 1, region.record)]
    while work:
        index, level, record = work.pop()
        if index == NONE or (index, level, record) in seen:
            continue
        seen.add((index, level, record))
        inner, op = program.handler[index], program.instrs[index].op
        if inner != NONE and table[inner].depth > record and level < 9:
            work.append((table[inner].target, level + 1, record))
        if op not in ops.SILENT:
            found.add((inner, record))
        if op == ops.POP_EXCEPT:
            level -= 1
        if level:
            after = moved(program.instrs[index], depths.get(index, NONE), record, level == 1)
            work.extend((place, level, after) for place in program.successors(index))
    return sorted(found)


def _above_lost(bodies: Bodies) -> tuple[int, ...]:
    """The slots of the records of those handlers around which another one has lost its record; outermost first."""
    slots = [at for _, at in bodies]
    if NONE not in slots or slots[-1] == NONE:
        return ()
    return tuple([at for at in slots[slots.index(NONE) :] if at != NONE])


class _Separation:
    def __init__(
        self,
        program: Program,
        regions: Regions,
        relays: dict[int, int],
        depths: dict[int, int],
        detours: Detours | None,
        limit: int,
    ) -> None:
        self.program = program
        self.regions = regions
        self.relays = relays
        self.depths = depths
        self.detours = detours
        regions.left.clear()
        self.limit = limit
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
            within, bodies = bodies, self.bodies_after(index, bodies)
            if within and program.instrs[index].op == ops.POP_EXCEPT:
                self.regions.left[here] = len(bodies)
            following = self.untangled(index, bodies)
            after[here] = self.place(following, bodies), self.place(program.jump[index], bodies)
        same = self.count == len(program.instrs) and self.origin.keys() == self.regions.table.keys()
        if same and not self.relays:
            return
        self._write(source, handler, after)

    def bodies_after(self, index: int, bodies: Bodies) -> Bodies:
        """The bodies that control is in after an instruction."""
        if not bodies:
            return bodies
        instr, depth, last = self.program.instrs[index], self.depths.get(index, NONE), len(bodies) - 1
        if instr.op == ops.POP_EXCEPT:
            bodies = bodies[:-1]
            while bodies and bodies[-1][1] == NONE:
                bodies = bodies[:-1]
            return bodies
        return tuple([(body, moved(instr, depth, at, i == last)) for i, (body, at) in enumerate(bodies)])

    def untangled(self, index: int, bodies: Bodies) -> int:
        """What follows an instruction: a detour where a handler is entered inside others one of which has lost its
        record."""
        after = self.program.next[index]
        if self.detours is None or self.program.instrs[index].op != ops.PUSH_EXC_INFO or index in self.detours.places:
            return after
        slots = _above_lost(bodies)
        if not slots or self.origin[bodies[-1][0]] in self.relays.values():
            return after
        found = self.detours.starts.get((after, slots))
        if found is None:
            raise _Tangled(after, slots)
        return found

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

    @any_depth
    def instance(self, region: int, bodies: Bodies) -> int:
        """The copy of a handler for code in these bodies: of those it lies in itself."""
        record = self.regions.table[region]
        kept = tuple(
            (body, at if at < record.depth else NONE)
            for body, at in bodies
            if region not in self.chains[self.origin[body]][1:]
        )
        if self._comes_back(region, kept):
            if region not in self.relays:
                raise _Again(region)
            region = self.relays[region]
            record = self.regions.table[region]
        found = self.instances.get((region, kept))
        if found is None:
            found = region if region not in self.used else max(self.origin) + 1
            self.used.add(region)
            self.instances[region, kept] = found
            self.origin[found] = region
            self.regions.depths[found], self.regions.records[found] = record.depth, record.record
            if region in self.relays.values() or self.detours is not None and region in self.detours.within:
                self.parents[found] = self.parents[kept[-1][0]]  # around a range in a body is what is around the body
            else:
                self.parents[found] = NONE if record.parent == NONE else self.instance(record.parent, kept)
            if record.kind == "with":
                self.entries[found] = self.place(record.resume, kept)
            else:
                self.entries[found] = self.place(record.target, (*kept, (found, record.record)))
        return found

    def _comes_back(self, region: int, bodies: Bodies) -> bool:
        """Whether a handler is entered again from its own body, all of which its exception unwinds; with detours, from
        any."""
        caught = self.regions.table[region].pushes[-1] == "exc"
        for body, at in reversed(bodies):
            if at != NONE:
                return False
            if self.origin[body] == region or self.detours is not None and region not in self.relays.values():
                return caught
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
