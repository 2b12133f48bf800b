"""The slots of a code object: what each is called, and what it holds.

Up to 3.10 locals have one array, cells and free variables a second one; a parameter that is a cell has a slot in both.
Here they are counted through: locals, cells, free variables.  Since 3.11 there is one array, and a local that is a cell
has one slot.  Nothing but the order of the slots counts for what code does: ``renamed`` gives them other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.errors import BytecodeError

LOCAL, CELL, FREE = 0x20, 0x40, 0x80
"""What a slot may hold: bits of ``co_localspluskinds`` (3.11+)."""
ONE_ARRAY = (3, 11)
BORROWING = (3, 12)
"""Since this version an inlined comprehension may borrow a slot that has the name of a free variable."""
IMPLICIT_CELLS = frozenset({"__class__", "__classdict__", "__conditional_annotations__"})
"""Cells that the compiler makes in a class; its free variables of these names are the cells of the class around it."""
Slots = tuple[tuple[str, int], ...]


def slots_of(unit: CodeUnit) -> Slots:
    """Name and kinds of every slot, in order."""
    if unit.version < ONE_ARRAY:
        return (
            *[(name, LOCAL) for name in unit.varnames],
            *[(name, CELL) for name in unit.cellvars],
            *[(name, FREE) for name in unit.freevars],
        )
    if unit.slots:
        return unit.slots
    # as ``PyCode_New`` does it: a cell shares the slot of the first local that has its name
    place = {name: at for at, name in reversed(list(enumerate(unit.varnames)))}
    kinds = [LOCAL] * len(unit.varnames)
    apart: list[tuple[str, int]] = []
    for name in unit.cellvars:
        if name in place:
            kinds[place[name]] |= CELL
        else:
            apart.append((name, CELL))
    return (*zip(unit.varnames, kinds), *apart, *[(name, FREE) for name in unit.freevars])


def cells_of_parameters(unit: CodeUnit) -> list[tuple[int, int]]:
    """Pairs of slots, up to 3.10: a cell, and the parameter whose value it gets when the function is called.

    The first cell takes the value away: others of that name stay empty.
    """
    if unit.version >= ONE_ARRAY:
        return []
    place = {name: at for at, name in reversed(list(enumerate(unit.params)))}
    first = len(unit.varnames)
    return [(first + at, place.pop(name)) for at, name in enumerate(unit.cellvars) if name in place]


def ambiguous(unit: CodeUnit) -> str | None:
    """A name by which the instructions may mean two slots, if there is one.

    What an inlined comprehension borrows may be called like a free variable, and so may a cell that the compiler makes
    in a class.
    """
    if unit.slots:
        return _twice([name for name, _ in unit.slots]) or unit.slots[0][0]
    of_class = frozenset() if unit.flags & CO_OPTIMIZED else IMPLICIT_CELLS.intersection(unit.freevars)
    if unit.version < BORROWING and not of_class.isdisjoint(unit.cellvars):
        groups = [unit.varnames, [n for n in unit.cellvars if n not in of_class] + list(unit.freevars), unit.cellvars]
    elif unit.version < ONE_ARRAY:
        groups = [unit.varnames, unit.cellvars + unit.freevars]
    elif unit.version < BORROWING:
        own = frozenset(unit.varnames)
        groups = [
            unit.varnames + unit.freevars,
            unit.cellvars,
            (*[n for n in unit.cellvars if n not in own], *unit.freevars),
        ]
    else:
        groups = [unit.varnames, unit.cellvars, unit.freevars]
    return next((_twice(names) for names in groups if len(set(names)) != len(names)), None)


def _twice(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def renamed(unit: CodeUnit, names: Sequence[str]) -> CodeUnit:
    """``unit`` with these names for its slots, which differ from each other; but a cell that gets the value of a
    parameter has its name.

    Raises ``BytecodeError`` where no code object has such slots.
    """
    slots = slots_of(unit)
    count = len(slots)
    first = next((at for at, (_, kind) in enumerate(slots) if kind & FREE), count)
    if unit.version < ONE_ARRAY:
        bound = len(unit.varnames)
        cells = tuple(names[bound:first])
    else:
        if any(kind & (LOCAL | CELL | FREE) != FREE for _, kind in slots[first:]):
            raise BytecodeError(f"{unit.qualname}: its free variables are not the last ones")
        bound = max((at + 1 for at, (_, kind) in enumerate(slots) if kind & LOCAL), default=0)
        if not all(kind & CELL for _, kind in slots[bound:first]):
            raise BytecodeError(f"{unit.qualname}: it has a variable of no kind")
        cells = tuple([name for name, (_, kind) in zip(names, slots) if kind & CELL])
    changes = {"varnames": tuple(names[:bound]), "cellvars": cells, "freevars": tuple(names[first:])}
    live = unit.live
    if live is not None:
        live = live.replace(
            co_varnames=changes["varnames"],
            co_nlocals=bound,
            co_cellvars=changes["cellvars"],
            co_freevars=changes["freevars"],
        )
    return replace(
        unit,
        varnames=changes["varnames"],
        nlocals=bound,
        cellvars=changes["cellvars"],
        freevars=changes["freevars"],
        slots=(),
        live=live,
    )


def shares_names(unit: CodeUnit) -> bool:
    """Whether a free variable has the name of another slot: one that an inlined comprehension borrows (3.12+), or a
    class's own cell."""
    if not unit.freevars:
        return False
    free = frozenset(unit.freevars)
    return not free.isdisjoint(unit.varnames) or not free.isdisjoint(unit.cellvars)


def with_borrowed_marked(unit: CodeUnit) -> CodeUnit:
    """``unit`` with a mark behind the names that slots share with free variables: no name means two slots."""
    free = frozenset(unit.freevars)
    names = [name if kind & FREE or name not in free else name + "\0" for name, kind in slots_of(unit)]
    return renamed(replace(unit, live=None), names)
