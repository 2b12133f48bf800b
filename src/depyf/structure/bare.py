"""Handlers that never make the caught exception the handled one (3.11+): the exception is a value to them (plain lifting).

In ``except`` the exception is handled, so such a handler becomes one that restores at once what was handled before:

    H: ...          ->          H: PUSH_EXC_INFO; SWAP 2; POP_EXCEPT; ...
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.flow.program import NONE, Program
from depyf.structure.region_table import Regions


def handle_bare(program: Program, regions: Regions) -> None:
    """Put in the three instructions where a handler reaches something that may raise, or branches, before it handles."""
    for region in sorted(regions.table.values(), key=lambda region: region.index):
        if region.kind == "with" or region.pushes[-1] != "exc" or _handles(program, region.target):
            continue
        for op, arg in ((ops.POP_EXCEPT, 1), (ops.SWAP, 2), (ops.PUSH_EXC_INFO, None)):
            region.target = program.append(region.target, op, arg)
    regions.forget_chains()


def drop_idle(program: Program, regions: Regions) -> None:
    """Take away the handlers that nothing can raise to: their code need not make sense."""
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
        if handler != NONE and program.instrs[position].op not in ops.SILENT:
            for region in regions.chain(handler):
                if region not in raised:
                    raised.add(region)
                    record = regions.table[region]
                    work.extend((record.target, record.resume))
    for idle in [record for record in regions.table.values() if record.index not in raised]:
        regions.dissolve(idle)


def _handles(program: Program, position: int) -> bool:
    seen: set[int] = set()
    while position != NONE and position not in seen and program.instrs[position].op in ops.SILENT:
        if program.instrs[position].op == ops.PUSH_EXC_INFO:
            return True
        seen.add(position)
        after = program.successors(position)
        position = after[0] if len(after) == 1 else NONE
    return False
