"""The head of a resume function, as a program that cut another function in two wrote it: its own books left out.

What is left out rests on promises of that program (``Promises.resumed``); the names of those that were used go with it.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.bytecode.frame_values import with_values_unpacked
from depyf.bytecode.half_assigned import with_values_assigned
from depyf.bytecode.half_filled import with_containers_made
from depyf.bytecode.lower import Lowered
from depyf.bytecode.taken_off import with_items_taken_off
from depyf.bytecode.unbound import without_unbinding
from depyf.bytecode.unread_marks import without_unread_marks
from depyf.promises import ASSIGNED_NOTE, CONTAINERS_NOTE, LISTS_NOTE, VARIABLE_NOTE, Promises, looks_up_locals


def without_books(lowered: Lowered, promises: Promises) -> tuple[Lowered, tuple[str, ...]]:
    """``lowered``, with a plainer head where it is a resume function, and what that assumes."""
    if not promises.resumed or not lowered.unit.name.startswith(promises.resumed):
        return lowered, ()
    lowered = without_unbinding(lowered)
    taken = with_items_taken_off(lowered, promises.lists)
    if promises.halves:
        taken = with_values_unpacked(taken, promises.lists)
    unmarked = taken
    hidden = not looks_up_locals(global_names(lowered), lowered.unit.consts)
    if hidden:
        unmarked = without_unread_marks(taken, promises.marks)
    made = with_containers_made(unmarked) if promises.halves else unmarked
    assigned = with_values_assigned(made, only_new=not promises.halves) if hidden else made
    steps = (
        (lowered, taken, LISTS_NOTE),
        (taken, unmarked, VARIABLE_NOTE),
        (unmarked, made, CONTAINERS_NOTE),
        (made, assigned, ASSIGNED_NOTE),
    )
    return assigned, tuple(note for before, after, note in steps if after is not before)


def global_names(code: Lowered) -> set[str]:
    """The names that a code object looks up among the globals and builtins."""
    return {str(instr.arg) for instr in code.instrs if instr.op in (ops.LOAD_GLOBAL, ops.LOAD_NAME)}
