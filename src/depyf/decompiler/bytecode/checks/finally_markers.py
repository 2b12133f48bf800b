"""Checks where the markers of ``finally`` bodies lie on the stack of CPython 3.8: slots of the interpreter that our
operations lack.

``subroutines`` removes the markers.  The code without them means the same only if each marker is on top when it is
used, and no instruction before that reaches down to it.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.draft import Draft
from depyf.decompiler.bytecode.ops import stack_effect
from depyf.decompiler.bytecode.stack import REACHING
from depyf.decompiler.bytecode.versions.spec import MARK, PSEUDO, UNMARK

FOUND, BELOW_VALUE, BELOW_RESULT = 0, 1, 2
"""Arguments of MARK and UNMARK: the marker is on top, below a value, or below the result of ``__exit__`` and a slot."""
Markers = tuple[tuple[int, bool], ...]
"""Innermost last: how many slots are below a marker, and whether ``__exit__`` has been called."""


def check(draft: Draft, depths: list[int]) -> None:
    """Raise ``BytecodeError`` where a marker is not found, or taken by another instruction, on some path."""
    if MARK not in draft.ops and UNMARK not in draft.ops:
        return
    known: dict[int, Markers] = {}
    work: list[tuple[int, Markers]] = [(0, ())]
    while work:
        i, markers = work.pop()
        while i not in known:
            known[i] = markers
            op, target = draft.ops[i], draft.targets[i]
            if target >= 0:
                work.append((target, markers))
            if op in (MARK, UNMARK):
                markers = _moved(draft, i, depths[i], markers)
            elif markers and op not in PSEUDO and _lowest(draft, i, depths[i]) < markers[-1][0]:
                raise draft.error(i, "it takes what says why its finally block runs")
            if op in ops.TERMINATORS:
                break
            i += 1
        else:
            if known[i] != markers:
                raise draft.error(i, "it is in different finally blocks on different paths")


def _moved(draft: Draft, i: int, depth: int, markers: Markers) -> Markers:
    """The markers after the MARK or UNMARK at ``i``."""
    place = depth if draft.args[i] == FOUND else depth - 1, draft.args[i] == BELOW_RESULT
    if draft.ops[i] == MARK:
        return (*markers, place)
    if not markers or markers[-1] != place:
        raise draft.error(i, "it does not find why its finally block runs")
    return markers[:-1]


def _lowest(draft: Draft, i: int, depth: int) -> int:
    """The lowest slot that the instruction at ``i`` reads or changes."""
    op, arg = draft.ops[i], draft.args[i]
    left: int = depth - stack_effect(op, arg)[0]
    return left - arg if op in REACHING else left
