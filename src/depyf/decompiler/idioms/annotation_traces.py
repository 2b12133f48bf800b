"""Restores annotations of which only the compiler's preparation for annotations is left.

Input and output: the statements of a module or class body, annotations in place.  An annotation of an attribute or an
item is evaluated and dropped (up to 3.13), or not evaluated at all; one in dead code never is.  Each still makes the
compiler prepare for annotations: ``SETUP_ANNOTATIONS`` up to 3.13 and under the ``__future__`` import, cells from 3.14
on.  Where nothing in the text does that, a placeholder is added: ``(_): None``.
"""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode.codeunit import CO_FUTURE_ANNOTATIONS, CO_OPTIMIZED, CodeUnit, nested_units
from depyf.decompiler.ir.expr import Const, Func, Name
from depyf.decompiler.ir.stmt import AnnAssign, Assign, Body, ClassDef, If, ImportFrom, Match, Stmt, TypeAlias
from depyf.decompiler.ir.walk_expr import LEAVES, children
from depyf.decompiler.ir.walk_stmt import bodies, walk, walk_within

CONDITIONAL = "__conditional_annotations__"
CLASSDICT = "__classdict__"


def restore_traces(unit: CodeUnit, body: Body, prepared: bool) -> Body:
    """``body`` with annotations that make the compiler do what it did for the original.

    ``prepared`` says that it prepared for annotations that are evaluated where they stand.
    """
    is_class = unit.name != "<module>"
    if CONDITIONAL in unit.cellvars:
        prepared = not _passes_on(unit) and not any(
            isinstance(stmt, AnnAssign) for stmt in walk(_inner(body) if is_class else body)
        )
    elif prepared:
        looks_into = unit.prepares_for_annotations_in_match or None
        prepared = not any(
            isinstance(stmt, AnnAssign)
            for stmt, _ in walk_within(body, True, lambda stmt, _, at: looks_into if isinstance(stmt, Match) else True)
        )
    nothing = AnnAssign(Name("_", "name"), Const(None), None, simple=False)
    if prepared and (CONDITIONAL in unit.cellvars or not unit.flags & CO_FUTURE_ANNOTATIONS):
        body = _first(If(Const(False), (nothing,), ()), body)
    elif prepared:
        body = _first(nothing, body)
    if is_class and CLASSDICT in unit.cellvars and not _needs_classdict(unit, body):
        if _annotations_see(unit):
            return _first(nothing, body)  # in dead code it would be a conditional one
        return _first(If(Const(False), (TypeAlias(Name("_", "name"), (), Const(None)),), ()), body)
    return body


def _annotations_see(unit: CodeUnit) -> bool:
    """Whether annotations, those of functions among them, see the names of a class; as texts they see nothing."""
    return unit.functions_see_class and not unit.flags & CO_FUTURE_ANNOTATIONS


def _passes_on(unit: CodeUnit) -> bool:
    """Whether a class in here has conditional annotations: the compiler looks for their cell around it, and makes
    one."""
    return any(CONDITIONAL in inner.freevars for inner in nested_units(unit) if inner.name != "__annotate__")


def _first(stmt: Stmt, body: Body) -> Body:
    """``stmt`` inserted after the docstring and the ``__future__`` imports."""
    at = 0
    while at < len(body) and _is_first(body[at]):
        at += 1
    return (*body[:at], stmt, *body[at:])


def _is_first(stmt: Stmt) -> bool:
    """Whether a statement is a docstring or a ``__future__`` import."""
    if isinstance(stmt, ImportFrom):
        return stmt.module == "__future__"
    target = stmt.targets[0] if isinstance(stmt, Assign) else None
    return isinstance(target, Name) and target.id == "__doc__"


def _inner(body: Body) -> Body:
    """The statements inside of compound statements."""
    return tuple(stmt for outer in body for inner in bodies(outer) for stmt in inner)


def _needs_classdict(unit: CodeUnit, body: Body) -> bool:
    """Whether an annotation, a function or type parameters make the compiler keep the namespace of a class."""
    pending: list[Any] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, TypeAlias) or isinstance(node, (Func, ClassDef)) and node.type_params:
            return True
        if _annotations_see(unit):
            if isinstance(node, AnnAssign):
                return True
            if isinstance(node, Func) and node.unit.flags & CO_OPTIMIZED and not node.unit.name.startswith("<"):
                return True
        if isinstance(node, Func):
            pending += [*node.defaults, *(value for _, value in (*node.kwdefaults, *node.annotations))]
        elif type(node) not in LEAVES:
            pending += children(node)
    return False
