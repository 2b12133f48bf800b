"""The statement that a store of a value is: an assignment, or an import or definition that binds the name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.ir.expr import Const, Expr, Func, Invoke, Name, TypeParam
from depyf.decompiler.ir.markers import (
    AliasValue,
    BuildClass,
    GenericBase,
    GenericClass,
    ImportedModule,
    ImportedName,
    Marker,
)
from depyf.decompiler.ir.stmt import Assign, ClassDef, FuncDef, Import, Stmt, TypeAlias
from depyf.decompiler.lift.stack_values import flatten

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic


def finish_store(s: Symbolic, target: Expr, value: Expr, line: int | None) -> None:
    """Emit the statement that ``target = value`` really is: assignment, import, ``def`` or ``class``."""
    if isinstance(value, Marker) and _completes(s, target, value, line):
        return
    if isinstance(target, Name):
        definition = _definition(target, value, line)
        if definition is not None:
            s.emit(definition)
            return
    targets, value = flatten(value)
    s.emit(Assign((*targets, target), value, line))


def _completes(s: Symbolic, target: Expr, value: Marker, line: int | None) -> bool:
    """Whether a store of this marker is no assignment: it is part of an import or of a definition."""
    if isinstance(value, GenericBase):
        return True  # the definition implies it
    if not isinstance(target, Name):
        return False
    if isinstance(value, ImportedModule) and not value.parts:
        shown = None if same_name(value.name.split(".")[0], target.id) else target.id
        s.emit(Import(((value.name, shown),), line, value.lazy))
        return True
    if isinstance(value, ImportedName):
        origin = value.origin()
        if origin.parts:
            origin.stored.append((value.name, None if same_name(value.name, target.id) else target.id))
        else:
            s.emit(Import(((origin.name, target.id),), line, origin.lazy))
        return True
    return False


def same_name(plain: str, stored: str) -> bool:
    """Whether a name stored as ``stored`` was written ``plain``, name mangling of ``__private`` names aside."""
    return plain == stored or (plain.startswith("__") and stored.startswith("_") and stored.endswith(plain))


def _definition(target: Name, value: Expr, line: int | None) -> Stmt | None:
    decorators: list[Expr] = []
    inner = value
    while isinstance(inner, Invoke) and len(inner.args) == 1 and not inner.keywords:
        decorators.append(inner.func)
        inner = inner.args[0]
    if isinstance(inner, Func):
        if inner.unit.name.startswith("<") or not same_name(inner.unit.name, target.id):
            return None
        return FuncDef(target, inner, tuple(decorators), line)
    built = class_call(inner)
    if built is not None and same_name(built[1], target.id):
        func, _, bases, keywords, params = built
        return ClassDef(target, func, bases, keywords, tuple(decorators), params, line)
    if isinstance(inner, AliasValue) and not decorators:
        return TypeAlias(target, inner.params, inner.value, line)
    return None


_Class = tuple[Func, str, tuple[Expr, ...], tuple[tuple[str | None, Expr], ...], tuple[TypeParam, ...]]


def class_call(value: Expr) -> _Class | None:
    """Body, name, bases, keywords and type parameters of a call of ``__build_class__``."""
    params: tuple[TypeParam, ...] = ()
    if isinstance(value, GenericClass):
        params, value = value.params, value.call
    if not (isinstance(value, Invoke) and isinstance(value.func, BuildClass)):
        return None
    if len(value.args) < 2 or not isinstance(value.args[0], Func) or not isinstance(value.args[1], Const):
        return None
    return value.args[0], value.args[1].value, value.args[2:], value.keywords, params
