"""Compares the order of local variables: ``locals()`` shows it, and they are released in it when the frame ends.

A compiler numbers them as it meets them, in code that is never reached, too: ``if 0: w = 3`` puts ``w`` first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CO_OPTIMIZED, CodeUnit, nested_units
from depyf.bytecode.lower import Lowered
from depyf.generated.contract import READ_LOCALS

SHOWN = "what looks at its local variables sees them in another order"
_LOOKS = READ_LOCALS | {"_getframe", "currentframe", "f_locals"}


def looks_at_locals(unit: CodeUnit) -> bool:
    """Whether the names in ``unit`` say that it may ask for its local variables, one after the other."""
    return not _LOOKS.isdisjoint(unit.names) or any(type(const) is str and const in _LOOKS for const in unit.consts)


def same_order(original: Lowered, recompiled: Lowered, renames: Mapping[str, str]) -> bool:
    """Whether the variables that both bind are in one order."""
    return _in_order(original, _bound(recompiled, renames), {}) == _in_order(recompiled, _bound(original, {}), renames)


def _bound(code: Lowered, renames: Mapping[str, str]) -> set[str]:
    return {renames.get(i.arg, i.arg) for i in code.instrs if i.op == ops.STORE_FAST}


def _in_order(code: Lowered, wanted: set[str], renames: Mapping[str, str]) -> list[str]:
    own = _bound(code, renames)
    return [name for v in code.unit.varnames if (name := renames.get(v, v)) in wanted and name in own]


def misplaced(original: CodeUnit, recompiled: CodeUnit) -> Iterator[CodeUnit]:
    """The functions in ``original``, itself included, that may look at their variables, and have them in another order in
    ``recompiled``; nested ones are matched by name and rank."""
    if original.flags & CO_OPTIMIZED and looks_at_locals(original):
        one, other = original.varnames, recompiled.varnames
        if [v for v in one if v in other] != [v for v in other if v in one]:
            yield original
    others: dict[str, list[CodeUnit]] = {}
    for inner in nested_units(recompiled):
        others.setdefault(inner.name, []).append(inner)
    for inner in nested_units(original):
        if others.get(inner.name):
            yield from misplaced(inner, others[inner.name].pop(0))
