"""Checks the prologue of code of 3.11 and later, and marks that the interpreter relies on unchecked.

Input: a decoded code object.  ``check`` raises ``BytecodeError`` where free variables are not copied, a cell is never
made, a generator makes no generator, or a mark stands where the interpreter does not expect it: no compiler writes such
code, and most of it ends the process.  ``starts_late`` says that the frame has no RESUME at its beginning: exceptions
raised before it leave no entry in a traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from depyf.errors import BytecodeError

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.decode import Raw

PROLOGUE = frozenset({"COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR", "POP_TOP", "RESUME", "NOP", "CACHE"})
_BEFORE_GENERATOR = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "GET_ITER", "GET_AITER"})
"""The operations of a generator expression before it makes its generator (3.15)."""
SINCE = (3, 11)
_GENERATORS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_MARKED = frozenset(
    {"COPY_FREE_VARS", "RETURN_GENERATOR", "MAKE_CELL", "ASYNC_GEN_WRAP", "CALL_INTRINSIC_1", "YIELD_VALUE"}
)
"""What is looked at: where none of it occurs in code that needs none, there is nothing to check."""
_ASYNC_GEN_WRAP = 4  # the intrinsic's number in every version that has it


def length(raw: Raw) -> int:
    """How many instructions the prologue has."""
    return end(raw, 0)


def end(raw: Raw, start: int) -> int:
    """The first instruction after the prologue that begins at ``start``: a resume function has a second prologue."""
    while start < len(raw.names) and raw.names[start] in PROLOGUE:
        start += 1
    return start


def starts_late(raw: Raw) -> bool:
    """Whether something that may raise comes before the first RESUME."""
    return "RESUME" not in raw.names[: length(raw)]


def check(raw: Raw) -> None:
    """Raise ``BytecodeError`` where the code does not begin, or yield, as the interpreter needs it."""
    unit, names = raw.unit, raw.names
    if _MARKED.isdisjoint(names) and not unit.freevars and not unit.cellvars and not unit.flags & _GENERATORS:
        return
    start = length(raw)
    copied = {
        raw.args[i] for i, name in enumerate(names) if name == "COPY_FREE_VARS"
    }  # a resume function does it twice
    free = len(unit.freevars)
    if copied != ({free} if free else set()) or free and "COPY_FREE_VARS" not in names[:start]:
        raise BytecodeError(f"{unit.qualname}: it does not copy its {free} free variables at its beginning")
    made = [i for i, name in enumerate(names) if name == "RETURN_GENERATOR"]
    generator = bool(unit.flags & _GENERATORS)
    if len(made) != generator or made and not PROLOGUE.union(_BEFORE_GENERATOR).issuperset(names[: made[0]]):
        raise BytecodeError(f"{unit.qualname}: RETURN_GENERATOR does not agree with its flags")
    cells = _cells(raw)
    missing = next((name for name in unit.cellvars if name not in cells), None)
    if missing is not None:
        raise BytecodeError(f"{unit.qualname}: the cell of {missing!r} is never made")
    if not cells <= {*unit.cellvars, None} or None in _cells(raw, start):
        raise BytecodeError(f"{unit.qualname}: MAKE_CELL makes a cell of what is no cell variable")
    _check_yields(raw)


def _cells(raw: Raw, end: int | None = None) -> set[str | None]:
    """The variables of which the code, up to instruction ``end``, makes cells; None for free ones.

    An inlined comprehension may make new cells of these.
    """
    unit = raw.unit
    own = set(unit.varnames)
    slots = unit.varnames + tuple(name for name in unit.cellvars if name not in own)
    made = [arg for name, arg in zip(raw.names[:end], raw.args) if name == "MAKE_CELL"]
    return {slots[slot] if slot < len(slots) else None for slot in made}


def _check_yields(raw: Raw) -> None:
    """An asynchronous generator wraps each value that it yields, and nothing else is wrapped.

    What a loop over a delegate yields is not wrapped: SEND stands before it.
    """
    asynchronous = bool(raw.unit.flags & CO_ASYNC_GENERATOR)
    wraps = [
        name == "ASYNC_GEN_WRAP" or name == "CALL_INTRINSIC_1" and arg == _ASYNC_GEN_WRAP
        for name, arg in zip(raw.names, raw.args)
    ]
    for i, name in enumerate(raw.names):
        if wraps[i] and not (asynchronous and raw.names[i + 1 : i + 2] == ["YIELD_VALUE"]):
            raise BytecodeError(f"{raw.unit.qualname}: {name} at offset {raw.offsets[i]} wraps what is not yielded")
        if name == "YIELD_VALUE" and asynchronous and i and not wraps[i - 1] and raw.names[i - 1] != "SEND":
            raise BytecodeError(f"{raw.unit.qualname}: YIELD_VALUE at offset {raw.offsets[i]} of a bare value")
