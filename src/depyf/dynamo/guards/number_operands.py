"""Floats that torch made inputs of a graph, and constants again.

A float that changed becomes an input where a tensor can stand for it.  Where an operator takes it as a Python number (the
bounds of ``torch.clamp``) it is a constant after all: by guards of ``torch/fx/passes/_tensorify_python_scalars.py``, which
have that file for their place, and may be on what was computed from the float.

Input: why an earlier entry did not fit; the guards and the symbols of an entry.  Output: the same with the program's line,
and the advice to pass a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from depyf.dump.advice import for_guards as advice
from depyf.dump.advice.source_names import named
from depyf.dump.records import GuardRecord, Place, RecompileRecord, SymbolRecord
from depyf.dynamo.events.call_values import comparison

_PASS = "torch/fx/passes/_tensorify_python_scalars.py"


def taken_as_number(
    record: RecompileRecord, guards: Iterable[GuardRecord] = (), symbols: Iterable[SymbolRecord] = ()
) -> RecompileRecord:
    """``record`` with better advice, where it or one of ``guards`` is a guard of that pass on the value that differs."""
    read = _read(record.guard)
    own = _of_the_pass(record.place)
    if read is None or not (own or any(_of_the_pass(g.place) and _read(g.expression) == read for g in guards)):
        return record
    line = next((symbol.place for symbol in symbols if named(symbol.source) == read), None)
    return replace(record, place=line if own else record.place, advice=advice.for_number_operand(read))


def _of_the_pass(place: Place | None) -> bool:
    return place is not None and place.filename.replace("\\", "/").endswith(_PASS)


def _read(guard: str) -> str | None:
    """The one variable that a comparison with a constant reads, in the program's words; None for another guard."""
    compared = comparison(guard)
    if compared is None:
        return None
    found = {named(ast.unparse(node)) for node in _variables(ast.parse(compared[0], mode="eval").body)}
    return found.pop() if len(found) == 1 else None


def _variables(node: ast.AST) -> list[ast.AST]:
    """The variables in an expression, each with the attributes and items that are read of it."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return [node]
    if isinstance(node, ast.Call):
        return [found for argument in node.args for found in _variables(argument)]
    return [found for child in ast.iter_child_nodes(node) for found in _variables(child)]
