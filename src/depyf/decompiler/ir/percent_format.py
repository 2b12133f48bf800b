"""``"%s and %r" % (a, b)``, which compiles to the same code as an f-string (3.11+)."""

from __future__ import annotations

from depyf.decompiler.ir.expr import Bin, Const, Display, Expr, Fmt


def was_percent(parts: tuple[str | Fmt, ...]) -> bool:
    """Whether a formatted string was written with ``%``.

    Where the place of a field does not tell: ``!s`` is rare in f-strings, and the compiler makes it of ``%s``.
    """
    fields = [part for part in parts if isinstance(part, Fmt)]
    if not all(field.conversion and field.spec is None for field in fields):
        return False
    if any(field.percent is not None for field in fields):
        return any(field.percent for field in fields)
    return any(field.conversion == "s" for field in fields)


def percent(parts: tuple[str | Fmt, ...]) -> Expr:
    """The literal parts and fields of a formatted string, written with ``%``."""
    text = "".join(f"%{part.conversion}" if isinstance(part, Fmt) else part.replace("%", "%%") for part in parts)
    return Bin("%", Const(text), Display("tuple", tuple(part.value for part in parts if isinstance(part, Fmt))))
