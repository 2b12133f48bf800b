"""Statements: the structured program between ``structure/`` and ``emit/``.

Two dialects share these nodes.  The *labelled* dialect, which ``structure/total.py`` writes, may hold ``Block``,
``Loop`` and ``Exit`` to an enclosing label.  The *Python* dialect, which ``structure/labels.py`` produces and the
printer takes, holds none of the three.  ``line`` is the source line of the bytecode, None where it has none.
"""

from __future__ import annotations

from depyf.decompiler.ir.expr import Expr, Func, Name, NestedTemp, Temp, TypeParam
from depyf.decompiler.ir.node import node

Body = tuple["Stmt", ...]


class Stmt:
    """Base of all statements."""

    __slots__ = ()
    line: int | None


@node(frozen=True, slots=True, eq=False)
class ExprStmt(Stmt):
    value: Expr
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Echo(Stmt):
    """An expression as a statement whose value the interactive interpreter shows (``compile(..., "single")``)."""

    value: Expr
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Assign(Stmt):
    """``targets[0] = targets[1] = value``; a target is Name, Temp, Attr, Sub, or a tuple/list Display of targets."""

    targets: tuple[Expr, ...]
    value: Expr
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class AugAssign(Stmt):
    """``target op value`` where ``op`` is "+=" and the like."""

    target: Expr
    op: str
    value: Expr
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class AnnAssign(Stmt):
    """``simple`` is false where the target is no plain name (``a.x``, ``(x)``), and the annotation is not kept."""

    target: Expr
    annotation: Expr
    value: Expr | None
    line: int | None = None
    simple: bool = True


@node(frozen=True, slots=True, eq=False)
class Delete(Stmt):
    targets: tuple[Expr, ...]
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Return(Stmt):
    """``value`` is None for a bare ``return``; ``implicit``: not in the source, the end of the function is reached."""

    value: Expr | None
    line: int | None = None
    implicit: bool = False


@node(frozen=True, slots=True, eq=False)
class Raise(Stmt):
    exc: Expr | None
    cause: Expr | None
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Assert(Stmt):
    test: Expr
    message: Expr | None
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Import(Stmt):
    """``import name as asname, ...``; ``lazy import`` (3.15+) if ``lazy``."""

    names: tuple[tuple[str, str | None], ...]
    line: int | None = None
    lazy: bool = False


@node(frozen=True, slots=True, eq=False)
class ImportFrom(Stmt):
    """``from <level dots>module import name as asname, ...``; ``*`` is the name of a star import."""

    module: str
    names: tuple[tuple[str, str | None], ...]
    level: int
    line: int | None = None
    lazy: bool = False


@node(frozen=True, slots=True, eq=False)
class FuncDef(Stmt):
    """``def`` (or ``async def``, by the flags of ``func.unit``) bound to ``target``; decorators outermost first."""

    target: Name
    func: Func
    decorators: tuple[Expr, ...] = ()
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class ClassDef(Stmt):
    """``func`` holds the class body's code; its prologue and ``__classcell__`` epilogue are already stripped."""

    target: Name
    func: Func
    bases: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...] = ()
    decorators: tuple[Expr, ...] = ()
    type_params: tuple[TypeParam, ...] = ()
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class TypeAlias(Stmt):
    target: Name
    type_params: tuple[TypeParam, ...]
    value: Expr
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class PassStmt(Stmt):
    line: int | None = None
    dots: bool = False
    """Written ``...``."""


@node(frozen=True, slots=True, eq=False)
class Break(Stmt):
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Continue(Stmt):
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class If(Stmt):
    test: Expr
    body: Body
    orelse: Body = ()
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class While(Stmt):
    test: Expr
    body: Body
    orelse: Body = ()
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class For(Stmt):
    target: Expr
    iter: Expr
    body: Body
    orelse: Body = ()
    is_async: bool = False
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class ExceptClause:
    """``except type as name:``; a None type is the bare clause."""

    type: Expr | None
    name: Name | Temp | NestedTemp | None
    body: Body
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Try(Stmt):
    body: Body
    handlers: tuple[ExceptClause, ...]
    orelse: Body = ()
    final: Body = ()
    star: bool = False
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class With(Stmt):
    """``with context as target, ...``."""

    items: tuple[tuple[Expr, Expr | None], ...]
    body: Body
    is_async: bool = False
    line: int | None = None


class Pattern:
    """Base of ``match`` patterns."""

    __slots__ = ()


@node(frozen=True, slots=True, eq=False)
class MatchValue(Pattern):
    """A literal (None, True and False included) or a dotted name."""

    value: Expr


@node(frozen=True, slots=True, eq=False)
class MatchAs(Pattern):
    """``pattern as name``; without a pattern a capture, without both ``_``."""

    pattern: Pattern | None
    name: str | None


@node(frozen=True, slots=True, eq=False)
class MatchStar(Pattern):
    name: str | None


@node(frozen=True, slots=True, eq=False)
class MatchSequence(Pattern):
    patterns: tuple[Pattern, ...]


@node(frozen=True, slots=True, eq=False)
class MatchMapping(Pattern):
    keys: tuple[Expr, ...]
    patterns: tuple[Pattern, ...]
    rest: str | None


@node(frozen=True, slots=True, eq=False)
class MatchClass(Pattern):
    cls: Expr
    patterns: tuple[Pattern, ...]
    keywords: tuple[tuple[str, Pattern], ...]


@node(frozen=True, slots=True, eq=False)
class MatchOr(Pattern):
    patterns: tuple[Pattern, ...]


@node(frozen=True, slots=True, eq=False)
class MatchCase:
    pattern: Pattern
    guard: Expr | None
    body: Body


@node(frozen=True, slots=True, eq=False)
class Match(Stmt):
    subject: Expr
    cases: tuple[MatchCase, ...]
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Block(Stmt):
    """``body``; an ``Exit(label)`` inside it continues right after it."""

    label: int
    body: Body
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Loop(Stmt):
    """Endless loop: falling off the end of ``body``, or ``Exit(label)`` inside it, goes back to its start."""

    label: int
    body: Body
    line: int | None = None


@node(frozen=True, slots=True, eq=False)
class Exit(Stmt):
    """Go to the end of the enclosing Block (or the start of the enclosing Loop) with this label.

    ``written`` where the jump has a separate line: the source has a ``continue`` there.  ``falls`` where the source has
    no statement for it: a clause ends.  ``unbinds`` where others see that its name is unbound first.
    """

    label: int
    line: int | None = None
    written: bool = False
    falls: bool = False
    unbinds: bool = False
