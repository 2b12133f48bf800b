"""Rules of the walk for the values that a resume function receives in the middle of an expression, one rule for each
assumption.

The original uses a value as no source can.  The text needs one more step, which is silent only under the assumption.

- ``STRINGS_NOTE``: what the original joins to a string is a plain one, so that formatting it gives it: ``f"{S}..."``.
- ``CONTAINERS_NOTE``: a container that the original fills is torch's alone, so that a new one with its items is the
  same: where the original loads it, it has a new container of the items; where the text unpacks it (``[*S, ...]``),
  too.
- ``LISTS_NOTE``: of a list that is torch's alone the original reads the last item and then deletes it; ``L.pop()`` does
  both. Until the original has deleted it, nothing may happen but that arguments are collected (``Pair.owed``).

``cut_in_two`` has the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.control_flow import reached, successors
from depyf.decompiler.bytecode.edits.origins import Origins, origins, read_once
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.verify.promises.cut_in_two import Shape, early_variables, frame_values, parts_of_functions
from depyf.decompiler.verify.promises.passed_over import empty_stores, flag_stores, is_resumed, shows_locals
from depyf.decompiler.verify.relation.facts import DICT, LIST, SET

_KINDS: dict[str, Shape] = {
    ops.LIST_APPEND: LIST,
    ops.LIST_EXTEND: LIST,
    ops.SET_ADD: SET,
    ops.SET_UPDATE: SET,
    ops.MAP_ADD: DICT,
    ops.DICT_UPDATE: DICT,
    ops.DICT_MERGE: DICT,
}
STRING = ("str",)
UNPACKING = {ops.LIST_EXTEND: LIST, ops.SET_UPDATE: SET, ops.DICT_UPDATE: DICT, ops.DICT_MERGE: DICT}
_POP = ops.CallShape(2, 0, ())
_LAST = -1


class HandedOn(NamedTuple):
    """The places of the original that the rules need to know."""

    passed: frozenset[int] = frozenset()
    """What is passed over (``passed_over``)."""
    loads: Mapping[int, Shape] = MappingProxyType({})
    """The loads of strings and containers, with their kinds; of parts of functions; of what is changed in place."""
    late: Mapping[int, str] = MappingProxyType({})
    """The changes in place whose result a variable gets."""
    readings: Mapping[int, str] = MappingProxyType({})
    """Where it takes the values of a frame off a list, in their order, and the variables that the text unpacks them
    to."""
    frame: str = ""
    """That list."""
    clearings: frozenset[int] = frozenset()
    """Where the values are set to None there."""
    lists: frozenset[str] = frozenset()
    """Its parameters that are lists of torch's."""
    flags: bool = False
    """Whether it sets flags that are passed over."""


NOTHING = HandedOn()


def handed_on(code: Lowered, promises: GeneratorContract) -> HandedOn:
    """For the original; nothing where it is no resume function."""
    if not is_resumed(code, promises):
        return HandedOn()
    flags = flag_stores(code, promises)
    passed = flags | empty_stores(code)
    lists = frozenset(promises.boxed_parameters).intersection(code.unit.params)
    readings, clearings = frame_values(code, lists) if promises.display_only else ({}, frozenset[int]())
    on_stack = {at: variable for at, variable in readings.items() if code.instrs[at + 1].op != ops.STORE_FAST}
    alone = read_once(code).union(on_stack)
    stacks = origins(code, (ops.SUBSCR,)) if alone else {}
    late: dict[int, str] = {}
    loads = _strings_and_containers(code, alone, stacks, sets=promises.display_only)
    if promises.display_only:
        loads.update(parts_of_functions(code, alone))
    if not shows_locals(code):
        early, late = early_variables(code, alone, stacks, on_stack, keep_parameters=not promises.display_only)
        loads.update({at: ("early", variable) for at, variable in early.items()})
    frame = str(code.instrs[next(iter(readings)) - 2].arg) if readings else ""
    return HandedOn(passed, loads, late, readings, frame, clearings, lists, bool(flags))


def _strings_and_containers(
    code: Lowered, alone: frozenset[int], stacks: Mapping[int, Origins], *, sets: bool
) -> dict[int, Shape]:
    strings: set[int] = set()
    kinds: dict[int, Shape] = {}
    mixed = False
    for at, stack in stacks.items():
        instr = code.instrs[at]
        if instr.op == ops.BUILD_STRING:
            strings.update(load for slot in stack[len(stack) - instr.arg :] for load in slot & alone)
            continue
        kind, place = _filled(instr, len(stack))
        if kind is not None and 0 <= place < len(stack):
            for load in stack[place] & alone:
                mixed = mixed or kinds.setdefault(load, kind) != kind
    # the text copies a set, which may give its items in another order: not where it runs
    chosen = {load: kind for load, kind in kinds.items() if (sets or kind != SET) and not mixed}
    chosen = {load: kind for load, kind in chosen.items() if not _comes_again(code, load)}
    return {**dict.fromkeys(strings, STRING), **chosen}


def _filled(instr: Instr, depth: int) -> tuple[Shape | None, int]:
    """The kind of container that an instruction fills, and its slot."""
    if instr.op == ops.LIST_TO_TUPLE:
        return LIST, depth - 1
    kind = _KINDS.get(instr.op)
    items = 2 if instr.op == ops.MAP_ADD else 1
    return kind, depth - items - int(instr.arg) if kind is not None else -1


def _comes_again(code: Lowered, load: int) -> bool:
    """Whether the load is in a loop: the second time it would find the container that it has filled."""
    return load in reached(successors(code, load), lambda index: successors(code, index))


def loads_before(instrs: tuple[Instr, ...], at: int) -> str:
    """The local variable that the instruction before ``at`` loads; "" if it is no such load."""
    before = instrs[at - 1]
    return str(before.arg) if at and before.op == ops.LOAD_FAST else ""


def last_item_of(instrs: tuple[Instr, ...], at: int) -> str:
    """The local variable whose item -1 the instruction at ``at`` takes; "" for all else."""
    index = instrs[at - 1]
    if at < 2 or index.op != ops.LOAD_CONST or type(index.arg) is not int or index.arg != _LAST:
        return ""
    return loads_before(instrs, at - 1)


def popped_list(instrs: tuple[Instr, ...], at: int) -> str:
    """The local variable of which ``pop()`` takes the last item, its method being loaded at ``at``; "" for all else."""
    load = instrs[at]
    if load.op != ops.LOAD_METHOD or load.arg != "pop" or at + 1 >= len(instrs):
        return ""
    call = instrs[at + 1]
    return loads_before(instrs, at) if (call.op, call.arg, call.handler) == (ops.CALL, _POP, load.handler) else ""
