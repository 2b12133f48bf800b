"""Rewrites handlers that never handle the exception they caught, only use it as a value (3.11+, plain lifting).

In ``except`` the exception is handled, so such a handler becomes one that restores at once what was handled before:

    H: ...          ->          H: PUSH_EXC_INFO; SWAP 2; POP_EXCEPT; ...
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.region_table import Regions


def free_unhandled(program: Program, regions: Regions) -> None:
    """Insert the three instructions where a handler branches, or may raise, before it handles the exception."""
    for region in sorted(regions.table.values(), key=lambda region: region.index):
        if region.kind == "with" or region.pushes[-1] != "exc" or _handles(program, region.target):
            continue
        for op, arg in ((ops.POP_EXCEPT, 1), (ops.SWAP, 2), (ops.PUSH_EXC_INFO, None)):
            region.target = program.append(region.target, op, arg)
    regions.forget_chains()


def drop_idle_handlers(program: Program, regions: Regions) -> None:
    """Remove handlers that nothing can raise to: their code need not be valid.  A ``with`` keeps its: it is a part of
    the statement."""
    raised: set[int] = set()
    seen: set[int] = set()
    work = [0]
    while work:
        position = work.pop()
        if position == NONE or position in seen:
            continue
        seen.add(position)
        work.extend(program.successors(position))
        handler = program.handler[position]
        if handler != NONE:
            silent = program.instrs[position].op in ops.SILENT
            for region in regions.chain(handler):
                if region not in raised and not (silent and regions.table[region].kind != "with"):
                    raised.add(region)
                    record = regions.table[region]
                    work.extend((record.target, record.resume))
    for idle in [record for record in regions.table.values() if record.index not in raised]:
        regions.dissolve(idle)


def trim_idle_ranges(program: Program, regions: Regions) -> None:
    """Leave those parts of a range where nothing raises to the region around it: the stack there may be any."""
    near: list[list[int]] = [[] for _ in program.instrs]
    for i in range(len(program.instrs)):
        for after in program.successors(i):
            near[i].append(after)
            near[after].append(i)
    for region in sorted(regions.table.values(), key=lambda region: (len(regions.chain(region.index)), region.index)):
        inside, seen, idle = set(regions.members(region.index)), set[int](), list[int]()
        for start in sorted(inside):
            if start in seen:
                continue
            part = [start]
            seen.add(start)
            for i in part:  # grows
                fresh = [other for other in near[i] if other in inside and other not in seen]
                seen.update(fresh)
                part += fresh
            if all(program.instrs[i].op in ops.SILENT for i in part):
                idle += part
        if region.kind == "with" and len(idle) == len(inside):
            continue
        for i in idle:
            program.handler[i] = region.parent
        if idle:
            regions.forget_chains()


def _handles(program: Program, position: int) -> bool:
    seen: set[int] = set()
    while position != NONE and position not in seen and program.instrs[position].op in ops.SILENT:
        if program.instrs[position].op == ops.PUSH_EXC_INFO:
            return True
        seen.add(position)
        after = program.successors(position)
        position = after[0] if len(after) == 1 else NONE
    return False
