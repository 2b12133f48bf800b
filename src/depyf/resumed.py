"""The head of a resume function, as a program that cut another function in two wrote it: its own books left out.

What is left out rests on promises of that program (``Promises.resumed``); the names of those that were used go with it.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.bytecode.lower import Lowered
from depyf.bytecode.taken_off import with_items_taken_off
from depyf.bytecode.unbound import without_unbinding
from depyf.bytecode.unread_marks import without_unread_marks
from depyf.promises import LISTS_NOTE, VARIABLE_NOTE, Promises, looks_up_locals


def without_books(lowered: Lowered, promises: Promises) -> tuple[Lowered, tuple[str, ...]]:
    """``lowered``, with a plainer head where it is a resume function, and what that assumes."""
    if not promises.resumed or not lowered.unit.name.startswith(promises.resumed):
        return lowered, ()
    lowered = without_unbinding(lowered)
    taken = with_items_taken_off(lowered, promises.lists)
    unmarked = taken
    if not looks_up_locals(global_names(lowered), lowered.unit.consts):
        unmarked = without_unread_marks(taken, promises.marks)
    notes = [LISTS_NOTE] if taken is not lowered else []
    return unmarked, (*notes, *([VARIABLE_NOTE] if unmarked is not taken else []))


def global_names(code: Lowered) -> set[str]:
    """The names that a code object looks up among the globals and builtins."""
    return {str(instr.arg) for instr in code.instrs if instr.op in (ops.LOAD_GLOBAL, ops.LOAD_NAME)}
