"""Expressions that leave the same traces in the tables of a lambda or comprehension as dead code did.

``x if 1 else ARM`` generates the code of ``x`` on every version, but the compiler sees the names in ARM: free variables
that nothing else uses, variables that only an inner function shares, a ``yield`` or ``await`` that makes it a
generator.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from depyf.decompiler.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CodeUnit
from depyf.decompiler.emit.scopes import IMPLICIT, Scope, captured
from depyf.decompiler.ir.expr import Comp, Const, Display, Expr, Name, Star

if TYPE_CHECKING:
    from depyf.decompiler.emit.printer import Printer

_IMPLICIT = IMPLICIT - {"__class__"}


def arm_of_lambda(p: Printer, unit: CodeUnit) -> str:
    """The arm for the lambda whose text is finished, "" if it needs none."""
    scope = p.scope
    shared = captured(scope)
    parts = _unread(p, scope, unit, shared)
    own = scope.reads["fast"] | (scope.reads["cell"] - set(unit.freevars)) | set(unit.cellvars)
    unbound = own - IMPLICIT - scope.bound - scope.comp_cells
    parts += [f"({p.spelled(name)} := 0)" for name in sorted(unbound)]
    parts += _shared(p, set(unit.cellvars) - IMPLICIT - shared - scope.comp_cells)
    if unit.flags & (CO_GENERATOR | CO_ASYNC_GENERATOR) and not scope.has_yield:
        parts.append("(yield)")
    return " or ".join(parts)


def arm_of_comprehension(p: Printer, node: Comp) -> tuple[str, list[str]]:
    """The arm for the comprehension whose clauses and element have been printed, "" if it needs none; clauses to add to
    it."""
    scope, unit = p.scope, node.unit
    cells = cell_targets(node)
    shared = captured(scope)
    lost: Collection[str] = cells - shared
    if unit is None:
        # in a class it borrows all names that it uses
        used = set().union(*scope.reads.values(), *scope.stores.values(), scope.inner_globals, shared)
        inner = {name for name in node.cleared if not name.startswith(".")} - used - scope.comp_bound
        return " or ".join(_shared(p, lost) + [_bound(p, name) for name in sorted(inner)]), []
    parts = _unread(p, scope, unit, shared)
    parts += _shared(p, lost)
    inner = set(unit.cellvars) - IMPLICIT - cells - shared - scope.comp_cells
    clauses: list[str] = []
    if is_never_reached(node):  # what comes after the filter is not reached either
        parts += _shared(p, inner)
        clauses = [f"for {p.spelled(name)} in ()" for name in sorted(inner)]
    else:
        parts += [_bound(p, name) for name in sorted(inner)]
    if unit.flags & (CO_COROUTINE | CO_ASYNC_GENERATOR) and not scope.has_await:
        parts.append("await 0")
    return " or ".join(parts), clauses


def is_never_reached(node: Comp) -> bool:
    """Whether the element of a comprehension replaces one that the compiler left out."""
    last = node.generators[-1].ifs[-1:]
    return bool(last) and isinstance(last[0], Const) and last[0].value is False


def cell_targets(node: Comp) -> set[str]:
    """The variables of a comprehension that functions in it share."""
    found: set[str] = set()
    pending: list[Expr] = [clause.target for clause in node.generators]
    while pending:
        target = pending.pop()
        if isinstance(target, Name) and target.scope == "cell":
            found.add(target.id)
        elif isinstance(target, Star):
            pending.append(target.value)
        elif isinstance(target, Display):
            pending.extend(target.elts)
    return found


def _unread(p: Printer, scope: Scope, unit: CodeUnit, shared: Collection[str]) -> list[str]:
    """Variables of the functions around that the block has, and that only code which is never reached used."""
    unread = set(unit.freevars) - _IMPLICIT - scope.reads["cell"] - scope.stores["cell"] - set(shared)
    if "super" in scope.reads["global"] | scope.reads["name"]:
        unread.discard("__class__")
    scope.reads["cell"] |= unread
    return [p.spelled(name) for name in sorted(unread)]


def _bound(p: Printer, name: str) -> str:
    """What makes a name a variable of an inlined comprehension in this one, shared if it is."""
    p.scope.comp_bound.add(name)
    if name in p.unit.cellvars:
        p.scope.comp_cells.add(name)
        return f"[lambda: {p.spelled(name)} for {p.spelled(name)} in ()]"
    return f"[0 for {p.spelled(name)} in ()]"


def _shared(p: Printer, cells: Collection[str]) -> list[str]:
    return [f"(lambda: {p.spelled(name)})" for name in sorted(cells)]
