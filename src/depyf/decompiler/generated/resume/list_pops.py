"""Turns reading and then deleting the last item of a list into ``pop``, where nothing else holds the list.

Dynamo calls the resume function of an inner frame from that of the outer one, with what it takes off two lists
(``torch/_dynamo/resume_execution.py``, ``nested_graph_breaks``)::

    LOAD_FAST L; LOAD_CONST -1; SUBSCR  ...         LOAD_FAST L; LOAD_METHOD pop; CALL  ...
    LOAD_FAST L; LOAD_CONST -1; DELETE_SUBSCR   ->
    DELETE_FAST L

What stands between may only put values on the stack, and items into a list that was built there: the arguments of a
call, which compilers make a tuple of.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.splice import without
from depyf.decompiler.bytecode.lower import Lowered

_LAST = -1
_FILLS = frozenset({ops.LIST_EXTEND, ops.LIST_APPEND})
_BETWEEN = frozenset({ops.NULL, ops.SWAP, ops.ROT, ops.BUILD_LIST, *_FILLS})
_READS = frozenset({ops.LOAD_FAST, ops.LOAD_FAST_CLEAR})
_POP = (ops.LOAD_METHOD, "pop"), (ops.CALL, ops.CallShape(2, 0, ()))


def join_list_pops(lowered: Lowered, lists: Collection[str]) -> Lowered:
    """``lowered`` with those steps on the local variables ``lists``; itself where there are none."""
    if not lists or frozenset(lists).isdisjoint(lowered.unit.params):
        return lowered
    instrs = list(lowered.instrs)
    entered = {instr.target for instr in instrs} | {handler.target for handler in lowered.handlers}
    gone: set[int] = set()
    for at in range(len(instrs)):
        end = _deleted(lowered, at) if instrs[at].arg in lists else -1
        if end < 0 or not entered.isdisjoint(range(at + 1, end + 3)):
            continue
        for place, (op, arg) in enumerate(_POP, at + 1):
            instrs[place] = replace(instrs[place], op=op, arg=arg)
        gone |= {end, end + 1, end + 2}
        after = end + 3
        while after not in entered and _is_unbound(lowered, after, lists):
            gone.add(after)
            after += 1
        if instrs[end - 1].op in _FILLS and _is_call(lowered, after):
            instrs[end] = replace(instrs[end], op=ops.LIST_TO_TUPLE, arg=None)
            gone.remove(end)
    return without(lowered._replace(instrs=tuple(instrs)), gone) if gone else lowered


def _deleted(lowered: Lowered, at: int) -> int:
    """Where the deletion of a last item begins that is read at ``at``; -1 if it is no such item."""
    instrs = lowered.instrs
    end = at + 3
    while end < len(instrs) and instrs[end].op in _BETWEEN:
        end += 1
    read, deleted = _is_last(lowered, at, ops.SUBSCR), _is_last(lowered, end, ops.DELETE_SUBSCR)
    return end if read and deleted and instrs[at].arg == instrs[end].arg else -1


def _is_last(lowered: Lowered, at: int, op: str) -> bool:
    """Whether the code there applies ``op`` to the last item of a list in a local variable."""
    if at + 3 > len(lowered.instrs):
        return False
    load, index, last = lowered.instrs[at : at + 3]
    minus_one = index.op == ops.LOAD_CONST and type(index.arg) is int and index.arg == _LAST
    return load.op == ops.LOAD_FAST and minus_one and last.op == op


def _is_unbound(lowered: Lowered, at: int, lists: Collection[str]) -> bool:
    """Whether one of ``lists`` is deleted there, which nothing reads after."""
    if at >= len(lowered.instrs) or lowered.instrs[at].op != ops.DELETE_FAST or lowered.instrs[at].arg not in lists:
        return False
    name = lowered.instrs[at].arg
    return not any(instr.op in _READS and instr.arg == name for instr in lowered.instrs[at + 1 :])


def _is_call(lowered: Lowered, at: int) -> bool:
    """Whether what is on the stack is the arguments of a call; a local variable may be set to a constant before."""
    instrs = lowered.instrs
    while [instr.op for instr in instrs[at : at + 2]] == [ops.LOAD_CONST, ops.STORE_FAST]:
        at += 2
    return at < len(instrs) and instrs[at].op == ops.CALL_EX and not instrs[at].arg[1]
