"""Floats that torch made inputs of a graph, and constants again.

A float that changed becomes an input where a tensor can stand for it.  Where an operator takes it as a Python number
(the bounds of ``torch.clamp``) it is a constant after all: by guards of
``torch/fx/passes/_tensorify_python_scalars.py``, which have that file for their place, and may be on what was computed
from the float.

Input: why an earlier entry did not fit; what guards and symbols of an entry tell.  Output: the same with the program's
line, and the advice to pass a tensor.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from depyf.run.advice import for_guards as advice
from depyf.run.advice.source_names import named
from depyf.run.advice.symbol_places import NO_SYMBOLS, SymbolPlaces
from depyf.run.guards.guard_kind import is_literal, tree_of
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord, RecompileRecord

_PASS = "torch/fx/passes/_tensorify_python_scalars.py"


def numbers_of(guards: Iterable[GuardRecord]) -> frozenset[str]:
    """The values, in the program's words, on which ``guards`` of that pass are."""
    found = (number_read(guard.expression) for guard in guards if _of_the_pass(guard.place))
    return frozenset(read for read in found if read is not None)


def taken_as_number(
    record: RecompileRecord, numbers: AbstractSet[str] = frozenset(), places: SymbolPlaces = NO_SYMBOLS
) -> RecompileRecord:
    """``record`` with better advice, for a guard of that pass or for one of ``numbers``."""
    own = _of_the_pass(record.place)
    read = number_read(record.guard) if own or numbers else None
    if read is None or not (own or read in numbers):
        return record
    line = places.met.get(read)
    return replace(record, place=line if own else record.place, advice=advice.for_number_operand(read))


def _of_the_pass(place: Place | None) -> bool:
    return place is not None and place.filename.replace("\\", "/").endswith(_PASS)


@functools.lru_cache(maxsize=4096)
def number_read(guard: str) -> str | None:
    """The only variable in a comparison with a constant, by the program's name; None for another guard."""
    tree = tree_of(guard)
    if not isinstance(tree, ast.Compare):
        return None
    sides = [tree.left, *tree.comparators]
    if not any(map(is_literal, sides)):
        return None
    found = {named(ast.unparse(node)) for side in sides for node in _variables(side)}
    return found.pop() if len(found) == 1 else None


def _variables(node: ast.AST) -> list[ast.AST]:
    """The variables in an expression, each with the attributes and items that are read of it."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return [node]
    if isinstance(node, ast.Call):
        return [found for argument in node.args for found in _variables(argument)]
    return [found for child in ast.iter_child_nodes(node) for found in _variables(child)]
