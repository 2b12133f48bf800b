"""Finds the targets of jumps out of a loop that skip the code after it: ``break`` past the ``else``.

Input: instructions with explicit edges, and those that are looked at.  Output: the targets of such jumps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import Program


def beyond_loops(program: Program, of: Collection[int]) -> list[int]:
    """Targets of jumps from inside a loop over the instruction after it, in the order of the jumps."""
    instrs = program.instrs
    backward = [(i, program.jump[i]) for i in of if 0 <= program.jump[i] <= i]
    backward += [(program.jump[i] - 1, i) for i in of if instrs[i].op == ops.FOR_ITER]
    if not backward:
        return []
    backward.sort()
    found = []
    for i in of:
        target = program.jump[i]
        if instrs[i].op != ops.JUMP or target <= i or target not in of:
            continue
        first = bisect_left(backward, (i, 0))
        if any(end < target - 1 and head <= i for end, head in backward[first : first + 8]):
            found.append(target)
    return found
