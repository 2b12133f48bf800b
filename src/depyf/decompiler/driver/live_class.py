"""A live class as the module that would make it, of which the decompiler then makes a text.

In: a class.  Out: a ``CodeUnit`` of a module with one ``class`` statement.  A program keeps the functions of a class,
not the code of its body: that is compiled anew, from a text with functions that do nothing, and the code of the real
ones is put into their places.  Nothing of it is executed.  Attributes without a literal are left out, and named.
"""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit, nested_units
from depyf.decompiler.bytecode.variables.spelling import is_legal
from depyf.decompiler.driver.pipeline import FUTURE_FLAGS
from depyf.decompiler.emit.defaults import UNNAMED, Defaults, defaults_of, literal_of
from depyf.decompiler.emit.entry import MAKER
from depyf.decompiler.ir.expr import Const, DictOf, Display, Expr, Name
from depyf.errors import DepyfError
from depyf.safety.depth import any_depth

_OWN = frozenset({
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__",
    "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__type_params__",
    "__orig_bases__", "__parameters__", "__abstractmethods__", "_abc_impl", "__classcell__", "__classdictcell__",
    "__conditional_annotations__",
})  # fmt: skip
"""What the compiler or the interpreter puts into every class."""
_MEMBERS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_INDENT = "    "


@dataclass(slots=True)
class LiveClass:
    """``unit`` is the module, ``needs`` what its text does not say."""

    unit: CodeUnit
    needs: tuple[str, ...]


@dataclass(slots=True)
class _Template:
    inside: Callable[[Any], Any]
    features: int
    """The flags of the ``__future__`` features that most functions were compiled under."""
    lines: list[str] = field(default_factory=list)
    functions: list[types.FunctionType] = field(default_factory=list)
    """In the order of the ``def`` statements in ``lines``."""
    left_out: list[str] = field(default_factory=list)
    undecorated: list[str] = field(default_factory=list)
    default_names: list[str] = field(default_factory=list)


def live_class(cls: type, inside: Callable[[Any], Any]) -> LiveClass:
    """``cls`` as a module; ``inside`` gives the function in an object that wraps one.  Raises DepyfError for a class
    that was made in another language, or has no name that can be written."""
    if not cls.__flags__ & _HEAP or not is_legal(cls.__name__):
        raise DepyfError(f"{cls.__qualname__} has no bytecode: it is no class that Python code made")
    functions = [value for value in vars(cls).values() if isinstance(value, types.FunctionType)]
    features = Counter(map(_features, [f for f in functions if f.__module__ == cls.__module__] or functions))
    template = _Template(inside, max(features, key=features.__getitem__, default=0))
    _class_lines(template, cls, "")
    free = sorted({name for function in template.functions for name in function.__code__.co_freevars} - {"__class__"})
    lines = template.lines
    if free:
        lines = [f"def {MAKER}{cls.__name__}({', '.join(free)}):", *lines, f"return {cls.__name__}"]
        lines[1:] = [_INDENT + line for line in lines[1:]]
    if not all(map(is_legal, free)):
        raise DepyfError(f"{cls.__qualname__}: its functions use variables around it that no source can name")
    module = compile("\n".join([*lines, ""]), "<class>", "exec", template.features, dont_inherit=True)
    unit = _with_functions(CodeUnit.from_code(module), [CodeUnit.from_code(f.__code__) for f in template.functions])
    needs = []
    if template.left_out:
        needs.append(f"it leaves out what has no literal: {', '.join(template.left_out)}")
    if template.undecorated:
        needs.append(f"it leaves out the decorators of {', '.join(template.undecorated)}")
    if shared := _told_apart(template.functions):
        needs.append(f"its functions have different variables around them that are called {', '.join(shared)}")
    if template.default_names:
        needs.append(f"it does not define {', '.join(template.default_names)}")
    return LiveClass(unit, tuple(needs))


_HEAP = 1 << 9


def _features(function: types.FunctionType) -> int:
    return function.__code__.co_flags & FUTURE_FLAGS


def _told_apart(functions: list[types.FunctionType]) -> list[str]:
    """The names of free variables, ``__class__`` apart, that are not one variable."""
    cells: dict[str, set[int]] = {}
    for function in functions:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            cells.setdefault(name, set()).add(id(cell))
    return sorted(name for name, found in cells.items() if len(found) > 1 and name != "__class__")


def _class_lines(template: _Template, cls: type, pad: str) -> None:
    bases = [_place(cls, base) for base in cls.__bases__ if base is not object]
    meta = type(cls)
    if meta is not type and not any(type(base) is meta for base in cls.__bases__):
        bases.append(f"metaclass={_place(cls, meta)}")
    lines = template.lines
    lines.append(f"{pad}class {cls.__name__}{f'({chr(44).join(bases)})' if bases else ''}:")
    inner = pad + _INDENT
    doc = vars(cls).get("__doc__")
    lines.append(f"{inner}{doc!r}" if type(doc) is str else f"{inner}pass")
    noted = vars(cls).get("__static_attributes__", ())
    noted = [name for name in noted if is_legal(name)] if type(noted) is tuple else []
    made: dict[int, str] = {}
    for name, value in vars(cls).items():
        if name in _OWN or isinstance(value, _MEMBERS):
            continue
        shown = list(_attribute(template, cls, name, value, inner, made, noted)) if is_legal(name) else []
        if not shown:
            template.left_out.append(f"{cls.__qualname__}.{name}")
        lines += shown


def _attribute(
    template: _Template, cls: type, name: str, value: Any, pad: str, made: dict[int, str], noted: list[str]
) -> Iterator[str]:
    """The lines that give ``name`` its value; none where that cannot be said."""
    if id(value) in made:
        yield f"{pad}{name} = {made[id(value)]}"
        return
    if isinstance(value, types.FunctionType):
        yield from _function(template, cls, name, value, pad, "", noted)
    elif isinstance(value, (staticmethod, classmethod)) and isinstance(value.__func__, types.FunctionType):
        yield from _function(template, cls, name, value.__func__, pad, f"@{type(value).__name__}", noted)
    elif type(value) is property:
        parts = [part for part in (value.fget, value.fset, value.fdel) if part is not None]
        if not parts or value.fget is None or not all(_is_called(cls, part, name) for part in parts):
            return
        yield from _function(template, cls, name, value.fget, pad, "@property", noted)
        for part, kind in ((value.fset, "setter"), (value.fdel, "deleter")):
            if part is not None:
                yield from _function(template, cls, name, part, pad, f"@{name}.{kind}", noted)
    elif isinstance(value, type):
        if value.__module__ == cls.__module__ and value.__qualname__ == f"{cls.__qualname__}.{name}":
            first = len(template.lines)
            _class_lines(template, value, pad)
            template.lines[first:], shown = [], template.lines[first:]
            yield from shown
    else:
        found = literal_of(value)
        inner = template.inside(value) if found is None else None
        if inner is not None and _is_called(cls, inner, name):
            yield from _function(template, cls, name, inner, pad, "", noted)
            template.undecorated.append(f"{cls.__qualname__}.{name}")
            made[id(value)] = name
        if found is None:
            return
        yield f"{pad}{name} = {_text(found)}"
        return
    made[id(value)] = name


def _function(
    template: _Template, cls: type, name: str, function: Any, pad: str, decorator: str, noted: list[str]
) -> Iterator[str]:
    code = function.__code__
    own = code.co_name
    if own != "<lambda>" and not is_legal(own) or _features(function) != template.features:
        return
    template.functions.append(function)
    parameters = ", ".join(_parameters(template, defaults_of(function)))
    uses = [*code.co_freevars, *(f"lambda self: [0 for self.{attribute} in ()]" for attribute in noted)]
    noted.clear()
    body = ", ".join([*uses, "0"])
    if own == "<lambda>":
        yield f"{pad}{name} = {decorator[1:]}(lambda {parameters}: ({body}))"
        return
    if decorator:
        yield pad + decorator
    yield f"{pad}def {own}({parameters}): ({body})"
    if not _is_called(cls, function, name):
        yield f"{pad}{name} = {own}"
        yield f"{pad}del {own}"


def _is_called(cls: type, function: Any, name: str) -> bool:
    """Whether ``def`` in the class binds ``function`` to ``name``; two underscores in front make it the class's."""
    if not isinstance(function, types.FunctionType):
        return False
    own = function.__code__.co_name
    private = own.startswith("__") and not own.endswith("__")
    return name == (f"_{cls.__name__.lstrip('_')}{own}" if private else own)


def _parameters(template: _Template, defaults: Defaults) -> Iterator[str]:
    """Parameters with the same defaults: their names are those of the code that comes in."""
    for expr in [*defaults.positional, *(value for _, value in defaults.keyword)]:
        if isinstance(expr, Name) and expr.id.startswith(UNNAMED):
            template.default_names.append(expr.id)
    for index, expr in enumerate(defaults.positional):
        yield f"__default{index}__={_text(expr)}"
    if defaults.keyword:
        yield "*"
    for name, expr in defaults.keyword:
        yield f"{name}={_text(expr)}"


@any_depth
def _text(node: Expr) -> str:
    """The literal or name that ``emit.defaults`` gave."""
    if isinstance(node, Const):
        if node.value is ...:
            return "..."
        return (
            repr(node.value).replace("inf", "1e999") if isinstance(node.value, (float, complex)) else repr(node.value)
        )
    if isinstance(node, Display):
        items = "".join(_text(item) + ", " for item in node.elts)
        return f"({items})" if node.kind == "tuple" else f"[{items}]"
    if isinstance(node, DictOf):
        return "{}"
    assert isinstance(node, Name)
    return node.id


def _place(cls: type, other: type) -> str:
    """A name for a base class: one that the module of ``cls`` has for it, else its own."""
    space = vars(sys.modules.get(cls.__module__, types.ModuleType("")))
    own = other.__name__
    if space.get(own) is other:
        return own
    for name, value in list(space.items())[:20_000]:
        if value is other and is_legal(name):
            return name
    path = other.__qualname__.split(".")
    return other.__qualname__ if all(map(is_legal, path)) else "object"


def _with_functions(module: CodeUnit, functions: list[CodeUnit]) -> CodeUnit:
    """``module`` with ``functions`` in the places of its own, which come in the same order."""
    left = iter(functions)

    def changed(unit: CodeUnit) -> CodeUnit:
        """A class, or what is around it."""
        consts: list[Any] = []
        for const in unit.consts:
            if not isinstance(const, CodeUnit):
                consts.append(const)
            elif const.flags & CO_OPTIMIZED and (unit is not module):
                consts.append(_in_place(next(left), const))
            else:
                consts.append(changed(const))
        return replace(unit, consts=tuple(consts), live=None)

    return changed(module)


def _in_place(unit: CodeUnit, stub: CodeUnit) -> CodeUnit:
    """``unit`` with the qualified name that the text gives it."""
    if unit.freevars != stub.freevars:
        raise DepyfError(f"{unit.qualname}: its variables are in an order that no class gives them")
    if unit.qualname == stub.qualname:
        return unit
    old = f"{unit.qualname}."
    return _moved(replace(unit, qualname=stub.qualname), old, f"{stub.qualname}.")


@any_depth
def _moved(unit: CodeUnit, old: str, new: str) -> CodeUnit:
    """``unit`` with other qualified names for what is nested in it; up to 3.10 constants of it say them."""
    consts: list[Any] = []
    named = () if unit.has_qualname else {nested.qualname for nested in nested_units(unit)}
    for const in unit.consts:
        if isinstance(const, CodeUnit) and const.qualname.startswith(old):
            const = _moved(replace(const, qualname=new + const.qualname[len(old) :], live=None), old, new)
        elif type(const) is str and const in named and const.startswith(old):
            const = new + const[len(old) :]
        consts.append(const)
    return replace(unit, consts=tuple(consts), live=None)
