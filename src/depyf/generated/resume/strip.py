"""The head of a resume function, as a program that cut another function in two wrote it: its own books left out.

What is left out rests on promises of that program (``Promises.resumed``); the names of those that were used go with it.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.bytecode import ops
from depyf.bytecode.lower import Lowered
from depyf.generated.contract import (
    ASSIGNED_NOTE,
    CONTAINERS_NOTE,
    FUNCTIONS_NOTE,
    LISTS_NOTE,
    STRINGS_NOTE,
    VARIABLE_NOTE,
    Promises,
    looks_up_locals,
)
from depyf.generated.resume.frame_values import with_values_unpacked
from depyf.generated.resume.list_pops import with_items_taken_off
from depyf.generated.resume.partial_augassign import with_values_assigned
from depyf.generated.resume.partial_displays import with_containers_made
from depyf.generated.resume.partial_fstrings import with_parts_formatted
from depyf.generated.resume.partial_functions import with_functions_made
from depyf.generated.resume.unbound import without_unbinding
from depyf.generated.resume.unread_marks import without_unread_marks


def without_books(lowered: Lowered, promises: Promises) -> tuple[Lowered, tuple[str, ...]]:
    """``lowered``, with a plainer head where it is a resume function, and what that assumes."""
    if not promises.resumed or not lowered.unit.name.startswith(promises.resumed):
        return lowered, ()
    notes: list[str] = []
    for shown_only, run, note in _STEPS:
        plainer = run(lowered, promises) if promises.shown_only or not shown_only else lowered
        if plainer is not lowered and note:
            notes.append(note)
        lowered = plainer
    return lowered, tuple(dict.fromkeys(notes))


def _unmarked(lowered: Lowered, promises: Promises) -> Lowered:
    return without_unread_marks(lowered, promises.marks) if _is_hidden(lowered) else lowered


def _assigned(lowered: Lowered, promises: Promises) -> Lowered:
    return with_values_assigned(lowered, only_new=not promises.shown_only) if _is_hidden(lowered) else lowered


def _is_hidden(lowered: Lowered) -> bool:
    """Whether nothing in the code can look up its local variables by name."""
    return not looks_up_locals(global_names(lowered), lowered.unit.consts)


_STEPS: tuple[tuple[bool, Callable[[Lowered, Promises], Lowered], str], ...] = (
    (False, lambda lowered, _: without_unbinding(lowered), ""),
    (False, lambda lowered, promises: with_items_taken_off(lowered, promises.lists), LISTS_NOTE),
    (True, lambda lowered, promises: with_values_unpacked(lowered, promises.lists), LISTS_NOTE),
    (False, _unmarked, VARIABLE_NOTE),
    (False, lambda lowered, _: with_parts_formatted(lowered), STRINGS_NOTE),
    (True, lambda lowered, _: with_functions_made(lowered), FUNCTIONS_NOTE),
    (
        False,
        lambda lowered, promises: with_containers_made(lowered, sets=promises.shown_only),
        CONTAINERS_NOTE,
    ),
    (False, _assigned, ASSIGNED_NOTE),
)
"""Whether it is only for code that is shown and never run (``Promises.shown_only``), what is done, and what that assumes."""


def global_names(code: Lowered) -> set[str]:
    """The names that a code object looks up among the globals and builtins."""
    return {str(instr.arg) for instr in code.instrs if instr.op in (ops.LOAD_GLOBAL, ops.LOAD_NAME)}
