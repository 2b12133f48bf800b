"""Strips the prologue that the generator put at the head of a resume function.

What is left out rests on the generator's contract (``GeneratorContract.resumed``); the result names the terms that were
used.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.generated.contract import GeneratorContract, looks_up_locals
from depyf.decompiler.generated.resume.frame_values import unpack_frame_values
from depyf.decompiler.generated.resume.idle_stores import drop_tracing_flags, drop_unbinding
from depyf.decompiler.generated.resume.list_pops import join_list_pops
from depyf.decompiler.generated.resume.partial_augassign import complete_augassign
from depyf.decompiler.generated.resume.partial_displays import complete_displays, complete_fstrings
from depyf.decompiler.generated.resume.partial_functions import with_functions_made


def strip_resume_prologue(lowered: Lowered, promises: GeneratorContract) -> Lowered:
    """``lowered``, with a plainer head where it is a resume function."""
    if not promises.resumed or not lowered.unit.name.startswith(promises.resumed):
        return lowered
    for shown_only, run in _STEPS:
        if promises.display_only or not shown_only:
            lowered = run(lowered, promises)
    return lowered


def _unmarked(lowered: Lowered, promises: GeneratorContract) -> Lowered:
    return drop_tracing_flags(lowered, promises.tracing_flags) if _is_hidden(lowered) else lowered


def _assigned(lowered: Lowered, promises: GeneratorContract) -> Lowered:
    return complete_augassign(lowered, only_new=not promises.display_only) if _is_hidden(lowered) else lowered


def _is_hidden(lowered: Lowered) -> bool:
    """Whether nothing in the code can look up its local variables by name."""
    return not looks_up_locals(global_names(lowered), lowered.unit.consts)


_STEPS: tuple[tuple[bool, Callable[[Lowered, GeneratorContract], Lowered]], ...] = (
    (False, lambda lowered, _: drop_unbinding(lowered)),
    (False, lambda lowered, promises: join_list_pops(lowered, promises.boxed_parameters)),
    (True, lambda lowered, promises: unpack_frame_values(lowered, promises.boxed_parameters)),
    (False, _unmarked),
    (False, lambda lowered, _: complete_fstrings(lowered)),
    (True, lambda lowered, _: with_functions_made(lowered)),
    (False, lambda lowered, promises: complete_displays(lowered, sets=promises.display_only)),
    (False, _assigned),
)
"""Whether it is only for code that is shown and never run (``GeneratorContract.display_only``), and what is done."""


def global_names(code: Lowered) -> set[str]:
    """The names that a code object looks up among the globals and builtins."""
    return {str(instr.arg) for instr in code.instrs if instr.op in (ops.LOAD_GLOBAL, ops.LOAD_NAME)}
