"""Restores a display, a call's arguments or a formatted string, where a half-filled container is passed on and filled
further.

Dynamo cuts ``[*a, f(x), *b]`` in two after the call of ``f``; what follows takes the list as a parameter
(``torch/_dynamo/resume_execution.py``).  No source fills a parameter like that.  A new container made from its items is
a display::

    LOAD_FAST L   ...   LIST_APPEND    ->    BUILD_LIST; LOAD_FAST L; LIST_EXTEND   ...   LIST_APPEND      # [*L, ...]

That the copy is another object is not observable where nothing else holds the container.  The copy of a set may give
its items in another order: code that runs keeps its sets.

A part of a formatted string is passed on, too: ``f"{a} and {f(b)}"`` split after the call.  In source, ``BUILD_STRING``
only joins strings that the f-string has formatted.  A plain string formats as itself::

    LOAD_FAST S   ...   BUILD_STRING    ->    LOAD_FAST S; FORMAT   ...   BUILD_STRING      # f"{S} and {...}"
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.origins import origins, read_once
from depyf.decompiler.bytecode.edits.splice import inserted
from depyf.decompiler.bytecode.lower import Lowered

_LIST, _SET = (ops.BUILD_LIST, ops.LIST_EXTEND), (ops.BUILD_SET, ops.SET_UPDATE)
_BUILDING = {
    ops.LIST_APPEND: _LIST,
    ops.LIST_EXTEND: _LIST,
    ops.LIST_TO_TUPLE: _LIST,
    ops.SET_ADD: _SET,
    ops.SET_UPDATE: _SET,
    ops.MAP_ADD: (ops.BUILD_MAP, ops.DICT_UPDATE),
    ops.DICT_UPDATE: (ops.BUILD_MAP, ops.DICT_UPDATE),
    ops.DICT_MERGE: (ops.BUILD_MAP, ops.DICT_MERGE),
}
"""What makes a container that is filled by these, and what fills it with those of another."""

_PLAIN = ((ops.FORMAT, ("", False)),)


def complete_displays(lowered: Lowered, *, sets: bool) -> Lowered:
    """``lowered`` with each such container made where it is loaded, sets only if ``sets``; itself where there are
    none."""
    if not any(instr.op in _BUILDING for instr in lowered.instrs):
        return lowered
    made = {at: steps for at, steps in _filled(lowered).items() if sets or steps is not _SET}
    return (
        inserted(lowered, {at: (((make, 0),), ((fill, 1),)) for at, (make, fill) in made.items()}) if made else lowered
    )


def _filled(lowered: Lowered) -> dict[int, tuple[str, str]]:
    """The loads of parameters that are filled as containers, each with what makes such a container."""
    alone = read_once(lowered)
    found: dict[int, tuple[str, str]] = {}
    for at, stack in origins(lowered).items():
        instr = lowered.instrs[at]
        if instr.op not in _BUILDING:
            continue
        slot = _slot(instr, len(stack))
        for load in stack[slot] & alone if 0 <= slot < len(stack) else ():
            if found.setdefault(load, _BUILDING[instr.op])[0] != _BUILDING[instr.op][0]:
                return {}
    return found


def _slot(instr: ops.Instr, depth: int) -> int:
    """Where on a stack of that depth the container is that ``instr`` fills."""
    if instr.op == ops.LIST_TO_TUPLE:
        return depth - 1
    takes, _ = ops.stack_effect(instr.op, instr.arg)
    return depth - takes - int(instr.arg)


def complete_fstrings(lowered: Lowered) -> Lowered:
    """``lowered`` with each such part formatted where it is loaded; itself where there are none."""
    instrs = lowered.instrs
    if not any(instr.op == ops.BUILD_STRING for instr in instrs):
        return lowered
    alone = read_once(lowered)
    joined = [stack[-instrs[at].arg :] for at, stack in origins(lowered).items() if instrs[at].op == ops.BUILD_STRING]
    loads = {load for stack in joined for slot in stack for load in slot & alone}
    return inserted(lowered, dict.fromkeys(loads, ((), _PLAIN))) if loads else lowered
