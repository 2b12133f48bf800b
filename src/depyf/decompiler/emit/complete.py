"""What a text needs to run as its verdict says: definitions where they can be written, descriptions of the rest.

Input: an ``Emitted``.  Output: lines of Python that define constants without a literal, and what the text cannot
define.  Nothing is imported or called for it: a name denotes an object where ``sys.modules`` says so now.
"""

from __future__ import annotations

import builtins
import struct
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_units
from depyf.decompiler.bytecode.variables.spelling import is_legal
from depyf.decompiler.emit.expressions.literals import filled_in_order, literal
from depyf.decompiler.emit.naming import DEF
from depyf.decompiler.emit.result import Emitted
from depyf.safety.depth import any_depth

_MODES = {
    "eval": 'this is an expression, for compile() in the mode "eval"',
    "single": 'this is for compile() in the mode "single", which shows the values of expressions',
}


def definitions(consts: Mapping[str, Any]) -> dict[str, str]:
    """A statement for each name that Python can define, as an object that no program can tell from the constant."""
    found: dict[str, str] = {}
    for name, value in consts.items():
        if getattr(builtins, name, None) is value:
            continue
        text = _imported(name, value)
        if text is None and (expression := _expression(value) or _size(value)) is not None:
            text = f"{name} = {expression}"
        if text is not None:
            found[name] = text
    return found


def needed(
    emitted: Emitted,
    defined: Mapping[str, str],
    units: Sequence[CodeUnit],
    defaults: Iterable[str],
    looking: Iterable[CodeUnit] = (),
) -> list[str]:
    """Says in words what the text still needs, besides the definitions ``defined``, to run.

    ``units`` are the code object and all that are nested in it, ``looking`` those of them that may look at the names of
    their local variables; ``defaults`` the names of default values without a text.
    """
    found = [_MODES[emitted.mode]] if emitted.mode in _MODES else []
    for name, value in emitted.consts.items():
        if name not in defined and name not in emitted.imported and getattr(builtins, name, None) is not value:
            found.append(f"{name} is a constant of the type {type(value).__name__} without a literal")
    found += [f"{name} is a default value without a literal" for name in defaults]
    found += [f"{name} is the cell of the variable {variable}" for name, variable in emitted.cells.items()]
    seen = {name for unit in units for name in (*unit.names, *unit.params)}
    seen.update(inner.name for unit in units for inner in nested_units(unit))
    for unit in units:  # the attributes of class patterns
        seen.update(name for const in unit.consts if type(const) is tuple for name in const if type(name) is str)
    for unit in looking:
        seen.update(unit.varnames, unit.cellvars, unit.freevars)
    seen.discard(".0")
    for new, old in emitted.renames.items():
        if old in seen and new.removeprefix(DEF) != old:
            found.append(f"{new.removeprefix(DEF)} is the name {old!r}, which no source can have")
    return found


def _imported(name: str, value: Any) -> str | None:
    """An import statement that binds ``name`` to ``value``."""
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        own = _namespace(value).get("__name__")
        if not isinstance(own, str) or sys.modules.get(own) is not value or not all(map(is_legal, own.split("."))):
            return None
        outer, _, last = own.rpartition(".")
        if not outer:
            return f"import {own} as {name}"
        held = _namespace(sys.modules.get(outer)).get(last) is value
        return f"from {outer} import {last} as {name}" if held else None
    if issubclass(kind, type):
        module, own = (type.__dict__[field].__get__(value) for field in ("__module__", "__qualname__"))
    elif kind in (types.FunctionType, types.BuiltinFunctionType):
        module, own = value.__module__, value.__qualname__
    else:
        return None
    if type(module) is not str or type(own) is not str or module == "__main__":
        return None
    if _namespace(sys.modules.get(module)).get(own) is not value or not all(map(is_legal, [*module.split("."), own])):
        return None
    return f"from {module} import {own} as {name}"


def _size(value: Any) -> str | None:
    """An expression for a shape of torch, a tuple of integers that Dynamo puts into its code."""
    kind = type(value)
    if not issubclass(kind, tuple) or _namespace(sys.modules.get("torch")).get("Size") is not kind:
        return None
    items = list(tuple.__iter__(value))
    return f'__import__("torch").Size({items})' if all(type(item) is int for item in items) else None


def _namespace(module: Any) -> dict[str, Any]:
    """The namespace of a module, read without running code of the module's class."""
    if not issubclass(type(module), types.ModuleType):
        return {}
    descriptor: Any = vars(types.ModuleType)["__dict__"]
    found: dict[str, Any] = descriptor.__get__(module)
    return found


_SINGLETONS = ((type(None), "None"), (type(...), "..."), (type(NotImplemented), "NotImplemented"))


def _expression(value: Any) -> str | None:
    """An expression of literals and builtins for an immutable ``value``."""
    text = literal(value)
    if text is not None:
        return text
    kind = type(value)
    if issubclass(kind, type):
        own = next((f"type({name})" for known, name in _SINGLETONS if known is value), None)
        return own or next((name for name, known in vars(builtins).items() if known is value), None)
    if kind is float:
        return next((text for text, other in _NANS if struct.pack("<d", other) == struct.pack("<d", value)), None)
    if kind is frozenset:
        return _frozenset(value)
    if kind is tuple:
        parts = _expressions(value)
        return None if parts is None else f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if kind is slice:
        parts = _expressions((value.start, value.stop, value.step))
        return None if parts is None else f"slice({', '.join(parts)})"
    if value is NotImplemented:
        return "NotImplemented"
    return None


_NANS = (('float("nan")', float("nan")), ('-float("nan")', -float("nan")))


@any_depth
def _expressions(values: Iterable[Any]) -> list[str] | None:
    found = [_expression(value) for value in values]
    return None if None in found else [text for text in found if text is not None]


def _frozenset(value: frozenset[Any]) -> str | None:
    """A call that makes a set of the same items in the same order."""
    if not value:
        return "frozenset()"
    items = filled_in_order(value, False)
    parts = None if items is None else _expressions(items)
    if parts is None:
        return None
    return f"frozenset([{', '.join(parts)}])"
