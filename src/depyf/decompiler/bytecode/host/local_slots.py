"""Slots of locals, cells and free variables: where they are, and how to order them as another code object has them.

Before 3.11 locals have one array, cells and free variables a second one.  Since 3.11 there is one array (localsplus):
locals, then cells that are no locals, then free variables; a local that is also a cell has one slot.  ``co_cellvars``
lists the cells by slot, so those that are locals come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from depyf.decompiler.bytecode.codeunit import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
    CO_VARARGS,
    CO_VARKEYWORDS,
)
from depyf.decompiler.bytecode.host.assemble import SPEC, VERSION, Op, assemble, disassemble
from depyf.errors import DepyfError

_ONE_ARRAY = VERSION >= (3, 11)
_CELL_OPS = frozenset(
    ("LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE")
)
_SLOT_OPS = _CELL_OPS | {
    *("MAKE_CELL", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_AND_CLEAR"),
    *("STORE_FAST", "DELETE_FAST"),
}
_PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST_BORROW", "LOAD_FAST_BORROW"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
"""3.13+: two instructions in one, for slots up to 15."""

_BEHAVIOUR = (
    CO_OPTIMIZED | CO_NEWLOCALS | CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
)
_CO_NOFREE = 0x40  # 3.10: set where there are no cells
_CO_HAS_DOCSTRING = 0x4000000  # 3.14+: the first constant is one
_OWN = _BEHAVIOUR | _CO_NOFREE | _CO_HAS_DOCSTRING
"""Flags that a template does not change."""

Names = tuple[str, ...]


def layout(varnames: Names, cellvars: Names, freevars: Names) -> Names:
    """The array that holds cells and free variables."""
    if not _ONE_ARRAY:
        return cellvars + freevars
    own = frozenset(varnames)
    return varnames + tuple(name for name in cellvars if name not in own) + freevars


def slots_of(code: CodeType) -> dict[str, int]:
    """The slot of each cell and free variable; a local, too, may have the name of a free variable."""
    array = layout(code.co_varnames, code.co_cellvars, code.co_freevars)
    found = {name: array.index(name) for name in code.co_cellvars}
    first_free = len(array) - len(code.co_freevars)
    return found | {name: first_free + index for index, name in enumerate(code.co_freevars)}


def same_slots(code: CodeType, changes: Mapping[str, Any]) -> bool:
    """Whether the variables of ``code``, renamed by ``changes``, keep their slots."""
    fields = ("co_varnames", "co_cellvars", "co_freevars")
    before = [getattr(code, field) for field in fields]
    after = [changes.get(field, names) for field, names in zip(fields, before)]
    if any(len(set(new)) != len(set(old)) for new, old in zip(after, before)):
        return False
    if len({*after[0], *after[1]}) != len({*before[0], *before[1]}):
        return False
    renamed = dict(zip(before[0] + before[1], after[0] + after[1]))
    expected = [renamed[name] for name in layout(before[0], before[1], ())]
    return expected == list(layout(after[0], after[1], ()))


def reorder_cells(code: CodeType, cellvars: Names, freevars: Names) -> CodeType:
    """The same code with its cells and free variables in this order; they must be the same ones.

    A closure for the result has its cells in the order of ``freevars``.  From 3.11 on a cell that is a local, but no
    argument, may have to be taken out of ``co_varnames`` for this.
    """
    if (cellvars, freevars) == (code.co_cellvars, code.co_freevars):
        return code
    for kind, ours, wanted in (("cell", code.co_cellvars, cellvars), ("free", code.co_freevars, freevars)):
        if sorted(ours) != sorted(wanted):
            raise DepyfError(f"{code.co_name}: its {kind} variables are {_shown(ours)}, not {_shown(wanted)}")
    varnames = code.co_varnames
    if _ONE_ARRAY and _cells_of(varnames, cellvars) != cellvars:
        count = argument_count(code)
        varnames = varnames[:count] + tuple(name for name in varnames[count:] if name not in cellvars)
        if _cells_of(varnames, cellvars) != cellvars:
            raise DepyfError(f"{code.co_name}: cells in the order {_shown(cellvars)} do not exist in this version")
    return _with_slots(code, varnames, cellvars, freevars)


def conform(code: CodeType, template: CodeType) -> CodeType:
    """``code`` with name, flags, order of cells and at least the number of locals of ``template``."""
    _check_signature(code, template)
    code = reorder_cells(code, template.co_cellvars, template.co_freevars)
    missing = template.co_nlocals - code.co_nlocals
    if missing > 0:
        varnames = code.co_varnames + _unused_names(code, template, missing)
        code = _with_slots(code, varnames, code.co_cellvars, code.co_freevars)
    changes: dict[str, Any] = {
        "co_name": template.co_name,
        "co_flags": code.co_flags & _OWN | template.co_flags & ~_OWN,
    }
    if VERSION >= (3, 11):
        changes["co_qualname"] = getattr(template, "co_qualname", None)
    return code.replace(**changes)


def argument_count(code: CodeType) -> int:
    """The number of locals that are arguments."""
    stars = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + stars


def _check_signature(code: CodeType, template: CodeType) -> None:
    for field in ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"):
        if getattr(code, field) != getattr(template, field):
            raise DepyfError(
                f"{template.co_name}: {field} is {getattr(code, field)} in the recompiled code, "
                f"{getattr(template, field)} in the original"
            )
    if (code.co_flags ^ template.co_flags) & _BEHAVIOUR:
        raise DepyfError(
            f"{template.co_name}: flags {code.co_flags & _BEHAVIOUR:#x} in the recompiled code, "
            f"{template.co_flags & _BEHAVIOUR:#x} in the original"
        )
    ours, wanted = (item.co_varnames[: argument_count(item)] for item in (code, template))
    if ours != wanted:
        raise DepyfError(f"{template.co_name}: arguments {_shown(ours)} in the recompiled code, not {_shown(wanted)}")


def _shown(names: Names) -> str:
    return f"({', '.join(names)})"


def _cells_of(varnames: Names, cellvars: Names) -> Names:
    """``co_cellvars`` as a code object with these locals will have it."""
    shared = tuple(name for name in varnames if name in cellvars)
    return shared + tuple(name for name in cellvars if name not in shared)


def _unused_names(code: CodeType, template: CodeType, count: int) -> Names:
    """Names for locals that only fill the array: those of the template, as far as they mean nothing in ``code``."""
    taken = {*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names}
    candidates = (*template.co_varnames, *(f"__unused_{index}" for index in range(count + len(taken))))
    free = [name for name in dict.fromkeys(candidates) if name not in taken]
    return tuple(free[:count])


def _with_slots(code: CodeType, varnames: Names, cellvars: Names, freevars: Names) -> CodeType:
    """Change the arrays of names; instructions follow their variables to the new slots."""
    old = layout(code.co_varnames, code.co_cellvars, code.co_freevars)
    new = layout(varnames, cellvars, freevars)
    bound, new_bound = len(old) - len(code.co_freevars), len(new) - len(freevars)
    position = {name: index for index, name in enumerate(new[:new_bound])}
    moved = [position[name] for name in old[:bound]]
    moved += [new_bound + freevars.index(name) for name in code.co_freevars]
    names: dict[str, Any] = {
        "co_varnames": varnames,
        "co_nlocals": len(varnames),
        "co_cellvars": cellvars,
        "co_freevars": freevars,
    }
    if moved == list(range(len(moved))):  # no instruction changes
        return code.replace(**names)
    raw = _in_place(code.co_code, moved)
    if raw is not None:
        return code.replace(co_code=raw, **names)
    ops = list(_rewritten(disassemble(code), moved))
    return assemble(code, ops, **names)


_OURS = _SLOT_OPS if _ONE_ARRAY else _CELL_OPS
_OUR_NUMBERS = frozenset(number for number in range(256) if SPEC.opnames[number] in _OURS)
_PAIR_NUMBERS = frozenset(number for number in range(256) if SPEC.opnames[number] in _PAIRS)


def _in_place(code: bytes, moved: list[int]) -> bytes | None:
    """The bytes with the variables in their new slots; None where an instruction would get another length."""
    raw = bytearray(code)
    offset, extended = 0, False
    while offset < len(raw):
        number, arg = raw[offset], raw[offset + 1]
        if number in _OUR_NUMBERS:
            if extended or moved[arg] > 255:
                return None
            raw[offset + 1] = moved[arg]
        elif number in _PAIR_NUMBERS:
            first, second = moved[arg >> 4], moved[arg & 15]
            if first > 15 or second > 15:
                return None
            raw[offset + 1] = first << 4 | second
        extended = number == SPEC.extended_arg
        offset += 2 + SPEC.caches[number]
    return bytes(raw)


def _rewritten(ops: list[Op], moved: list[int]) -> Iterator[Op]:
    for op in ops:
        yield op
        if op.name in _OURS:
            op.arg = moved[op.arg]
        elif op.name in _PAIRS:
            first, second = moved[op.arg >> 4], moved[op.arg & 15]
            if first < 16 and second < 16:
                op.arg = first << 4 | second
                continue
            names = _PAIRS[op.name]
            op.become(names[0], first)
            yield op.twin(names[1], second)
