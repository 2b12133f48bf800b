"""Recognises targets of augmented assignments, whose parts are evaluated once, then loaded from and stored to.

    f(); COPY 1; LOAD_ATTR x; ...; SWAP 2; STORE_ATTR x        ->      f().x += ...

A ``Shared`` value is *open* from its first use, as the operand of the load, to its last one, that of the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.ir.expr import Attr, Const, Expr, Name, SliceOf, Sub
from depyf.decompiler.lift.stack_values import Shared
from depyf.safety.depth import any_depth

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic


def operand(s: Symbolic) -> Expr:
    """Pop the object, the key or a bound of a slice that may be part of such a target."""
    value = s.stack[-1] if s.stack else None
    if isinstance(value, Shared):
        if any(value is other for other in s.stack[:-1]):
            s.raw()
            s.open[id(value)] = value
            return value.expr
        if id(value) in s.open:
            s.raw()
            del s.open[id(value)]
            return value.expr
    return s.pop()


def same_target(target: Expr, left: Expr) -> bool:
    """Whether what is stored to is what was loaded from."""
    if isinstance(target, Name):
        return isinstance(left, Name) and target.id == left.id and target.scope == left.scope
    if isinstance(target, Attr):
        return isinstance(left, Attr) and target.value is left.value and target.name == left.name
    if isinstance(target, Sub):
        return isinstance(left, Sub) and target.value is left.value and _same_key(target.key, left.key)
    return False


@any_depth
def _same_key(a: Expr | None, b: Expr | None) -> bool:
    if isinstance(a, Name):
        return isinstance(b, Name) and a.id == b.id
    if isinstance(a, Const):
        return isinstance(b, Const)
    if isinstance(a, SliceOf) and isinstance(b, SliceOf):
        return _same_key(a.lower, b.lower) and _same_key(a.upper, b.upper) and _same_key(a.step, b.step)
    return a is b
