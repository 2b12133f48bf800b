"""Matches the copy of a dict that a compiler's call makes with the dict that generated code passes directly.

    f(**{x: y}, **m)     a program: BUILD_MAP 1; m; DICT_MERGE     a compiler: BUILD_MAP 0; BUILD_MAP 1; DICT_MERGE; m; DICT_MERGE

To copy an exact dict into an empty one calls nothing (``dict_merge`` in CPython's ``dictobject.c``); where neither
has escaped, the copy is equivalent to the dict.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.verify.relation.facts import DICT
from depyf.verify.relation.values import Values
from depyf.verify.state.proof_state import Pair, Side


def copies_made(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    """Take the merge that the recompiled code stands before as such a copy, if it is one that the original does not make."""
    stack, program = side.stack, side.program
    made, into = stack[-1], stack[-1 - depth]
    if not program.side or program.instrs[side.pc - 1].op != ops.BUILD_MAP:
        return False
    if values.desc[made] != ("type", "dict") or pair.fresh.get(into) != (DICT, ()):
        return False
    if other.pc >= 0 and other.program.instrs[other.pc].op == ops.DICT_MERGE and other.stack[-1] == made:
        return False
    held = {*pair.temps.values(), *pair.loc.values()}
    if stack.count(made) != 1 or stack.count(into) != 1 or held & {made, into}:
        return False
    if any(instr.target == side.pc for instr in program.instrs):
        return False
    stack[-1 - depth] = made
    stack.pop()
    return True
