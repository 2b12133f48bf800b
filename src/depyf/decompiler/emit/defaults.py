"""Default values of a live function, as its signature shows them.

The code object does not hold them, so the proof does not speak of them.  A value that has a literal is written as such
(the value it has now: a list that was changed shows the change), one that is bound to a global name of the function or
a builtin by that name; any other is called ``__default_`` and the parameter's name, a name that the text does not
define.
"""

from __future__ import annotations

import builtins
import math
import types
from dataclasses import dataclass

from depyf.decompiler.bytecode.variables.spelling import is_legal
from depyf.decompiler.ir.expr import Const, DictOf, Display, Expr, Name

UNNAMED = "__default_"
"""The prefix of the names of default values without a text."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_LONGEST = 1000
_DEEPEST = 3
_WIDEST = 20
_SEARCHED = 20_000


@dataclass(frozen=True, slots=True)
class Defaults:
    """The values of the last positional parameters, and of keyword-only ones by name."""

    positional: tuple[Expr, ...] = ()
    keyword: tuple[tuple[str, Expr], ...] = ()


NO_DEFAULTS = Defaults()


def defaults_of(function: types.FunctionType) -> Defaults:
    """The defaults of ``function``, printable."""
    code = function.__code__
    positional = tuple(function.__defaults__ or ())[-code.co_argcount :] if code.co_argcount else ()
    names = code.co_varnames[code.co_argcount - len(positional) : code.co_argcount]
    only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    keyword = function.__kwdefaults__ or {}
    return Defaults(
        tuple(_written(function, name, value) for name, value in zip(names, positional)),
        tuple((name, _written(function, name, keyword[name])) for name in only if name in keyword),
    )


def literal_of(value: object) -> Expr | None:
    """A literal for ``value``; None where it has none."""
    return _literal(value, _DEEPEST)


def _written(function: types.FunctionType, parameter: str, value: object) -> Expr:
    return _literal(value, _DEEPEST) or _named(function, value) or Name(f"{UNNAMED}{parameter}", "name")


def _literal(value: object, depth: int) -> Expr | None:
    """``value`` as a literal; None for subclasses of plain types, and for values not equal to themselves."""
    kind = type(value)
    if kind in _PLAIN:
        if isinstance(value, (str, bytes)) and len(value) > _LONGEST:
            return None
        if isinstance(value, int) and value.bit_length() > _LONGEST:
            return None
        parts = (value.real, value.imag) if isinstance(value, (float, complex)) else ()
        return None if any(math.isnan(part) for part in parts) else Const(value)
    if depth and isinstance(value, (tuple, list)) and kind in (tuple, list) and len(value) <= _WIDEST:
        items = [_literal(item, depth - 1) for item in value]
        found = tuple(item for item in items if item is not None)
        return Display(kind.__name__, found) if len(found) == len(items) else None
    if kind is dict and not value:
        return DictOf(())
    return None


def _named(function: types.FunctionType, value: object) -> Name | None:
    """The first global name, or else the builtin, that is bound to ``value``."""
    spaces = (function.__globals__, vars(builtins))
    own = getattr(value, "__name__", None)
    if isinstance(own, str) and is_legal(own) and any(space.get(own) is value for space in spaces):
        return Name(own, "name")
    if len(spaces[0]) <= _SEARCHED:
        for name, other in list(spaces[0].items()):
            if other is value and isinstance(name, str) and is_legal(name):
                return Name(name, "name")
    return None
