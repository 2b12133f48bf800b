"""The parameters of a function by the names under which its annotations have them.

A compiler annotates parameters by their names, in a fixed order.  A program that calls parameters something else leaves
the names in the annotations, and these say what a source calls the parameters: ``annotated_parameters`` finds whose
they are.  Its answer is evidence only; a wrong one costs the proof.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_VARARGS, CO_VARKEYWORDS, CodeUnit
from depyf.decompiler.bytecode.lower import Lowered

_RETURN = "return"
_MOST = 10_000
"""The pairs of a name and a parameter that are worth a comparison."""


def annotated_parameters(
    lowered: Lowered, made: int, first: int, unit: CodeUnit, lowered_of: Callable[[CodeUnit], Lowered | None]
) -> dict[int, str]:
    """Parameter -> the name that the annotations have for it; {} where each has its own name, or nothing is plain to
    see.

    ``made``: the instruction of ``lowered`` that makes the function of ``unit``; ``first``: the one after its
    annotations. ``lowered_of`` gives lowered code that is nested there.
    """
    instrs = lowered.instrs
    attributes = set(instrs[made].arg or ())
    after = made + 1
    while instrs[after].op == ops.SET_FUNCTION_ATTRIBUTE:
        attributes.add(instrs[after].arg)
        after += 1
    keys: list[str] | None = None
    if "annotations" in attributes:
        keys = _keys(lowered, first - 1)
    elif "annotate" in attributes:
        at = first - 1
        while at > 0 and instrs[at].op in (ops.SET_FUNCTION_ATTRIBUTE, ops.MAKE_FUNCTION):
            at -= 1
        inner = lowered_of(instrs[at].arg) if type(instrs[at].arg) is CodeUnit else None
        keys = inner and _keys(inner, len(inner.instrs) - 2)
    if not keys:
        return {}
    if keys[-1] == _RETURN:
        keys.pop()
    return _aligned(keys, unit, "kwdefaults" in attributes)


def _keys(lowered: Lowered, at: int) -> list[str] | None:
    """The names in a dict, or in a tuple of names and values in turn, which the instruction ``at`` makes."""
    instrs, depths = lowered.instrs, lowered.depths
    instr = instrs[at]
    keys: list[object] = []
    if instr.op == ops.LOAD_CONST and type(instr.arg) is tuple:
        keys = list(instr.arg[::2])
    elif instr.op == ops.BUILD_CONST_KEY_MAP and instrs[at - 1].op == ops.LOAD_CONST:
        keys = list(instrs[at - 1].arg)
    elif instr.op in (ops.BUILD_TUPLE, ops.BUILD_MAP):
        count = instr.arg if instr.op == ops.BUILD_TUPLE else 2 * instr.arg
        wanted = depths[at] - 2
        while count > 0 and at > 0:  # a name is the last that is loaded where its value begins
            at -= 1
            if depths[at] == wanted:
                keys.insert(0, instrs[at].arg if instrs[at].op == ops.LOAD_CONST else None)
                wanted, count = wanted - 2, count - 2
    return [key for key in keys if isinstance(key, str)] if all(isinstance(key, str) for key in keys) else None


def _aligned(keys: list[str], unit: CodeUnit, has_kwdefaults: bool) -> dict[int, str]:
    """Which parameters ``keys`` are the names of: as many as possible keep theirs."""
    order = _in_order_of_annotations(unit)
    params = unit.params
    names = iter([params[at] for at in order])
    if all(key in names for key in keys) or len(keys) * len(order) > _MOST:
        return {}
    fixed = range(
        unit.argcount, unit.argcount + unit.kwonlyargcount * has_kwdefaults
    )  # found by name when it is called
    width = len(order)
    # the most names that stay, of the keys from one on among the parameters from one on (Wagner and Fischer 1974)
    best: list[list[int | None]] = [[None] * (width + 1) for _ in keys]
    best.append([0] * (width + 1))
    for row in range(len(keys) - 1, -1, -1):
        for column in range(width - 1, -1, -1):
            best[row][column] = _better(best[row][column + 1], _taken(best, keys, params, order, fixed, row, column))
    if best[0][0] is None:
        return {}
    found: dict[int, str] = {}
    column = 0
    for row, key in enumerate(keys):
        while _taken(best, keys, params, order, fixed, row, column) != best[row][column]:
            column += 1
        found[order[column]] = key
        column += 1
    return found


def _better(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def _taken(
    best: list[list[int | None]],
    keys: list[str],
    params: tuple[str, ...],
    order: list[int],
    fixed: range,
    row: int,
    column: int,
) -> int | None:
    """The most names that stay where a key is that of this parameter; None where it cannot be."""
    at = order[column]
    same = keys[row] == params[at]
    rest = best[row + 1][column + 1]
    return None if rest is None or not same and at in fixed else rest + same


def _in_order_of_annotations(unit: CodeUnit) -> list[int]:
    """The parameters in the order in which a compiler annotates them (CPython's Python/codegen.c,
    ``codegen_annotations``)."""
    first, then = range(unit.posonlyargcount), range(unit.posonlyargcount, unit.argcount)
    found = [*first, *then] if unit.annotates_in_order else [*then, *first]
    named = unit.argcount + unit.kwonlyargcount
    if unit.flags & CO_VARARGS:
        found.append(named)
        named += 1
    found += range(unit.argcount, unit.argcount + unit.kwonlyargcount)
    if unit.flags & CO_VARKEYWORDS:
        found.append(named)
    return found
