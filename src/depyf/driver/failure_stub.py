"""Statements in the place of code that has no translation.

Input: the code unit and why it failed.  Output: statements that raise where it would have run, after the definitions
nested in it, which have separate texts and verdicts.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.bytecode.codeunit import CO_OPTIMIZED, CodeUnit, nested_units
from depyf.errors import DecompilationError
from depyf.ir.expr import Attr, Comp, Const, Func, Generator, Invoke, Name
from depyf.ir.stmt import Body, ClassDef, FuncDef, Raise, Return, Stmt


def failure_stub(unit: CodeUnit, failure: DecompilationError, nested: Callable[[CodeUnit], Body]) -> Body:
    """The statements for ``unit``; ``nested`` decompiles the code in it."""
    names = "global" if unit.flags & CO_OPTIMIZED else "name"
    error = Invoke(Name("NotImplementedError", names), (Const(f"depyf: {failure}"),))
    if unit.name == "<lambda>":
        nothing = Comp("generator", Name("_", "fast"), None, (Generator(Name("_", "fast"), Const(()), ()),))
        return (Return(Invoke(Attr(nothing, "throw"), (error,))),)
    found = filter(_is_defined, nested_units(unit))
    return (*(_definition(unit, inner, nested) for inner in found), Raise(error, None))


def _is_defined(unit: CodeUnit) -> bool:
    """Whether the source has a ``def`` or ``class`` for this code; what the compiler makes for annotations has not."""
    return unit.name.isidentifier() and unit.name != "__annotate__"


def _definition(unit: CodeUnit, inner: CodeUnit, nested: Callable[[CodeUnit], Body]) -> Stmt:
    scope = "name"
    if unit.flags & CO_OPTIMIZED:
        scope = "cell" if inner.name in (*unit.cellvars, *unit.freevars) else "fast"
    target, func = Name(inner.name, scope), Func(inner, nested(inner))
    return FuncDef(target, func) if inner.flags & CO_OPTIMIZED else ClassDef(target, func, ())
