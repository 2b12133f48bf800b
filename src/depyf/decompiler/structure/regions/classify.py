"""Exception regions: what each handler is for, how the regions nest, and the copies the compiler made of their ends.

Input: a fresh ``Program``.  Output: the same program in which

* clean-up handlers that only re-raise are gone (their instructions belong to the enclosing handler);
* the copy of a ``finally`` body after every exit of its region is skipped, the call of a ``with`` exit is one
  ``WITH_EXIT`` operation, the name clean-up after ``except E as e`` is skipped, ``async for`` is ``ASYNC_FOR_ITER``;
* each remaining handler is a ``Region`` of a known kind with a parent.

    try: A                 A; F; B                 A  -> B
    finally: F     was     H: F; RERAISE     is    H: F; END_FINALLY     kind "finally"
    B
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.cleanups import reraised_at
from depyf.decompiler.cfg.except_star import plain_handlers
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, NONE, Program
from depyf.decompiler.cfg.region_table import Regions
from depyf.decompiler.structure.regions.finally_copies import strip_finally, withs_inside
from depyf.decompiler.structure.regions.name_cleanup import is_name_cleanup, strip_name_cleanup, strip_unused_names
from depyf.decompiler.structure.regions.with_exits import strip_withs


def find_regions(program: Program, *, idioms: bool = True, clauses: bool = True) -> Regions:
    """Classify the handlers of ``program`` and take the compiler's copies out of its graph (edits it).

    Without ``clauses`` that of a ``with`` is a handler like any other, and so is what unbinds the name of an exception.
    """
    if not program.handlers:
        return Regions(program)
    stars = plain_handlers(program)
    names = strip_unused_names(program) if clauses else set()
    regions = Regions(program)
    regions.bound_names |= names
    for region in regions.table.values():
        region.star = region.target in stars
    if not regions.table:
        return regions
    _drop_cleanups(regions)
    _async_for(regions)
    _parents(regions)
    _fill_gaps(regions)
    if clauses:
        strip_withs(regions)
    withs = withs_inside(regions)
    for region in sorted(regions.table.values(), key=lambda region: region.target):
        if clauses and region.kind == "except" and is_name_cleanup(program, region):
            strip_name_cleanup(regions, region, withs.get(region.index, []))
    if idioms:
        # a copy is recognised once the copies inside it are gone, wherever the compiler put them
        pending = sorted(regions.table.values(), key=lambda region: -region.target)
        classified = True
        withs = withs_inside(regions)
        while pending:
            for region in pending:
                if region.kind == "except":
                    strip_finally(regions, region, withs.get(region.index, []), classified=classified)
            rest = [region for region in pending if region.kind == "except"]
            if len(rest) == len(pending) and not classified:
                break
            classified = len(rest) != len(pending)
            pending = rest
    program.line_own_returns()
    return regions


def _drop_cleanups(regions: Regions) -> None:
    program = regions.program
    replaced: dict[int, int] = {}
    for index, region in regions.table.items():
        last = reraised_at(program, region.target, region.depth, region.pushes)
        if last != NONE:
            replaced[index] = program.handler[last]
    if not replaced:
        return

    def resolve(handler: int) -> int:
        steps = 0
        while handler in replaced:
            handler = replaced[handler]
            steps += 1
            if steps > len(replaced):
                return NONE
        return handler

    program.handler = [resolve(handler) for handler in program.handler]
    for index in replaced:
        del regions.table[index]


def _parents(regions: Regions) -> None:
    """The region around a handler protects its first instruction.

    What stores the handled exception need not be protected; of a ``try`` that starts right there the depth tells that
    it lies inside the handler.
    """
    program = regions.program
    first: dict[int, int] = {}
    for region in regions.table.values():
        position, steps = region.target, 0
        while program.handler[position] == NONE and program.instrs[position].op in ops.SILENT and steps < 40:
            if program.instrs[position].op == ops.POP_EXCEPT:
                break  # what comes next is after the handler
            after = program.successors(position)
            if len(after) != 1:
                break
            position, steps = after[0], steps + 1
        first[region.index] = program.handler[position]
    for region in regions.table.values():
        parent, seen = first[region.index], {region.index}
        while parent != NONE and parent not in seen and regions.table[parent].depth > region.depth:
            seen.add(parent)
            parent = first[parent]
        region.parent = NONE if parent == region.index or parent in seen else parent
    regions.forget_chains()


def _fill_gaps(regions: Regions) -> None:
    """A jump within a protected range needs no protection itself: it belongs to the range if all around it does.

    The jump at the end of the range does not: it is what leaves the ``try``.  But one that goes where nothing else
    comes from outside cannot have left it: a ``try`` is entered at its start.  A jump to an inner range belongs to that
    around it.
    """
    program = regions.program
    handler = program.handler
    jumps = {
        i: program.jump[i]
        for i, instr in enumerate(program.instrs)
        if instr.op == ops.JUMP and program.jump[i] != NONE and handler[i] != handler[program.jump[i]]
    }
    if not jumps:
        return
    before: dict[int, list[int]] = {place: [] for edge in jumps.items() for place in edge}
    for i in range(len(program.instrs)):
        for after in program.successors(i):
            if after in before:
                before[after].append(i)

    def within(region: int, places: list[int]) -> bool:
        return all(region in regions.chain(handler[p]) for p in places)

    changed = True
    while changed:
        changed = False
        for i, target in jumps.items():
            wanted = next((region for region in regions.chain(handler[target]) if within(region, before[i])), NONE)
            around = wanted != handler[target] and wanted in regions.chain(handler[i])
            if wanted in (NONE, handler[i]) or not before[i] or around:
                continue
            others = [p for p in before[target] if p not in jumps or not within(wanted, before[p])]
            entered = target == 0 or not within(wanted, others)
            if target <= i and entered and not _turned_round(program, i):
                continue  # ``continue`` leaves the ``try`` that the loop begins with
            if within(wanted, [min(i + 1, len(handler) - 1)]) or (target and others and within(wanted, others)):
                handler[i] = wanted
                changed = True


def _turned_round(program: Program, jump: int) -> bool:
    """Whether a jump back is half of a branch back that the compiler cut in two (3.12+), or has no statement."""
    instrs = program.instrs
    if instrs[jump].line is None:
        return True
    before = instrs[jump - 1]
    if program.unit.branches_backward or before.op != ops.BRANCH or before.line != instrs[jump].line:
        return False
    return program.end(jump) == program.end(jump - 1)


def fill_silent_gaps(regions: Regions) -> None:
    """What never raises, comes from a protected range only and leads only back to it belongs to it (plain lifting)."""
    program = regions.program
    handler = program.handler
    before: list[list[int]] = [[] for _ in program.instrs]
    for i in range(len(program.instrs)):
        for after in program.successors(i):
            before[after].append(i)
    entered = {0, *(region.target for region in regions.table.values())}
    silent = {i for i, instr in enumerate(program.instrs) if instr.op in ops.SILENT and i not in entered and before[i]}
    for region in sorted(regions.table.values(), key=lambda region: (-len(regions.chain(region.index)), region.index)):
        inside = set(regions.members(region.index))
        around = regions.chain(region.index)[1:] or (NONE,)
        possible: set[int] = set()
        work = list(inside)
        while work:  # what nothing silent joins to the range is not looked at: there may be many ranges
            i = work.pop()
            for near in (*before[i], *program.successors(i)):
                if near in silent and near not in inside and near not in possible and handler[near] in around:
                    possible.add(near)
                    work.append(near)
        work = list(possible)
        while work:
            i = work.pop()
            if i not in possible:
                continue
            joined = (*before[i], *program.successors(i))
            if not program.successors(i) or not all(other in inside or other in possible for other in joined):
                possible.discard(i)
                work.extend(other for other in joined if other in possible)
        for i in possible:
            handler[i] = region.index
        if possible:
            regions.forget_chains()


def _async_for(regions: Regions) -> None:
    program = regions.program
    ends = {index for index, region in regions.table.items() if program.instrs[region.target].op == ops.END_ASYNC_FOR}
    if not ends:
        return
    for i, handler in enumerate(program.handler):
        if handler not in ends:
            continue
        target = regions.table[handler].target
        outer = program.handler[target]
        if program.instrs[i].op == ops.GET_ANEXT:
            await_at = program.follow(program.next[i])
            program.replace(i, ASYNC_FOR_ITER, 1)
            program.jump[i] = program.next[target]
            program.next[i] = program.next[await_at]
        program.handler[i] = outer
    for index in ends:
        del regions.table[index]
