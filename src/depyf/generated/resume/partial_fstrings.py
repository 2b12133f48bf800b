"""Restores a formatted string a part of which is passed on: ``f"{a} and {f(b)}"`` split after the call.

No source joins strings as ``BUILD_STRING`` does, but for what it has formatted itself.  A plain string formats as itself::

    LOAD_FAST S   ...   BUILD_STRING    ->    LOAD_FAST S; FORMAT   ...   BUILD_STRING      # f"{S} and {...}"
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.bytecode.edits.origins import origins, read_once
from depyf.bytecode.edits.splice import inserted
from depyf.bytecode.lower import Lowered

_PLAIN = ((ops.FORMAT, ("", False)),)


def complete_fstrings(lowered: Lowered) -> Lowered:
    """``lowered`` with each such part formatted where it is loaded; itself where there are none."""
    instrs = lowered.instrs
    if not any(instr.op == ops.BUILD_STRING for instr in instrs):
        return lowered
    alone = read_once(lowered)
    joined = [stack[-instrs[at].arg :] for at, stack in origins(lowered).items() if instrs[at].op == ops.BUILD_STRING]
    loads = {load for stack in joined for slot in stack for load in slot & alone}
    return inserted(lowered, dict.fromkeys(loads, ((), _PLAIN))) if loads else lowered
