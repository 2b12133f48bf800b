"""Eager annotations (before 3.14): turns stores to ``__annotations__`` back into annotations.

Input: the statements of a module or class body; a mark says that the compiler found an annotation in it.  Output: the
same with annotated assignments, and without the mark.

    x = value; __annotations__["x"] = T                          ->  x: T = value
    a.x = value; T          # on one line: evaluated, not kept   ->  a.x: T = value
"""

from __future__ import annotations

from depyf.decompiler.bytecode.codeunit import CO_FUTURE_ANNOTATIONS, CodeUnit
from depyf.decompiler.bytecode.variables.spelling import is_legal, mangling_prefix
from depyf.decompiler.ir.expr import Attr, Const, Expr, Name, Sub
from depyf.decompiler.ir.markers import AnnotationsSetUp
from depyf.decompiler.ir.stmt import AnnAssign, Assign, Body, ExprStmt, Stmt
from depyf.decompiler.ir.transformer import Transformer
from depyf.safety.unheard import parse


def eager_annotations(unit: CodeUnit, body: Body) -> Body:
    """``body`` with annotated assignments, if the compiler found any annotation in it."""
    mark = next((i for i, stmt in enumerate(body) if is_mark(stmt)), None)
    return body if mark is None else (*body[:mark], *_Annotated(unit).run(body[mark + 1 :]))


def is_mark(stmt: Stmt) -> bool:
    """Whether this is where the compiler prepares for annotations."""
    return isinstance(stmt, ExprStmt) and isinstance(stmt.value, AnnotationsSetUp)


class _Annotated(Transformer):
    title = "turn a store to __annotations__ into an annotation"

    def __init__(self, unit: CodeUnit) -> None:
        self.unit = unit

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        before = done[-1] if done else None
        note = _kept(self.unit, stmt, before) or _dropped(stmt, before)
        if note is not None and note.value is not None:
            done.pop()
        done.append(stmt if note is None else note)


def _kept(unit: CodeUnit, stmt: Stmt, before: Stmt | None) -> AnnAssign | None:
    """``__annotations__["x"] = T``, together with ``x = value`` if that is right before it."""
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
        return None
    target = stmt.targets[0]
    if not isinstance(target, Sub) or not isinstance(target.value, Name) or target.value.id != "__annotations__":
        return None
    if not isinstance(target.key, Const) or type(target.key.value) is not str or not is_legal(target.key.value):
        return None
    name = target.key.value
    if mangling_prefix(unit.name) and unit.name != "<module>" and name.startswith("__") and not name.endswith("__"):
        return None  # the compiler would have mangled it
    if unit.flags & CO_FUTURE_ANNOTATIONS and not _is_source(stmt.value):
        return None
    value = _assigned(before)
    if isinstance(before, Assign) and isinstance(value, Name) and value.id == name:
        return AnnAssign(value, stmt.value, before.value, before.line)
    return AnnAssign(Name(name, "name"), stmt.value, None, stmt.line)


def _is_source(value: Expr) -> bool:
    """Whether ``value`` is the text of an expression, as which a deferred annotation is kept."""
    if not isinstance(value, Const) or type(value.value) is not str:
        return False
    try:
        parse(value.value, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _dropped(stmt: Stmt, before: Stmt | None) -> AnnAssign | None:
    """An annotation of anything but a plain name is only evaluated."""
    target = _assigned(before)
    if not isinstance(stmt, ExprStmt) or not isinstance(before, Assign) or stmt.line is None:
        return None
    if stmt.line != before.line or not isinstance(target, (Name, Attr, Sub)):
        return None
    return AnnAssign(target, stmt.value, before.value, before.line, simple=False)


def _assigned(stmt: Stmt | None) -> Expr | None:
    """The only target of an assignment."""
    return stmt.targets[0] if isinstance(stmt, Assign) and len(stmt.targets) == 1 else None
