"""The only way in which depyf reads a value of the program: no code of the program runs, and nothing changes.

Input: any object.  Output: plain data, or ``UnreadableError``/None where only code of the program could tell.

Why each ordinary way is closed:

- a symbolic size: ``int(s)``, ``s == 4``, ``bool(s)``, ``range(s)`` add a guard, so the program becomes static;
- a tensor's attributes call ``__torch_function__`` (of its class, of active modes);
  those of a wrapper subclass also ``__torch_dispatch__``;
- ``is_leaf`` and ``grad_fn`` of a view whose base was written make a new node of the graph of autograd, or raise;
- ``isinstance`` reads ``__class__``, ``getattr`` runs properties and ``__getattr__``; ``repr``, ``len``, ``bool``,
  ``==`` and a dictionary's ``[]`` run methods of a class of the program, ``cls.__name__`` those of its metaclass.

Where depyf looks at values, and through what (``pure_tensors`` and ``pure_text`` belong to this module):

``graph_reading``     inputs and constants of a graph: ``tensor``, ``storage``, ``number``, ``expression``,
                      ``elements``, ``attribute``
``call_values``       variables of a call that is compiled again: ``attribute``, ``item``, ``length``, ``tensor``
``decorated``         cells and classes around a compiled function: ``cell_contents``, ``class_namespace``
``notebook_cells``    IPython's table of cells: ``attribute``
``wrapped``           what torch's wrapper of a callable calls: ``cell_contents``, ``own_attributes``, ``attribute``
``live_graphs``       closures of compiled code: ``attribute``, ``own_attributes``, ``cell_contents``
``resume``            resume functions among the globals: ``attribute``, ``cell_contents``
``substitute``        constants of bytecode: ``attribute``, exact classes
``disassembly``       constants of bytecode: exact classes, else the name of the class
``target``            what was given to ``torch.compile``: ``attribute``, ``is_a``, ``cell_contents``
``formatted``         graphs of a backend of the program: only torch's ``GraphModule`` is printed
``guard_values``      what a guard wants and finds: ``describe``, ``shown``, ``length``
``guard_checks``      the functions that guard expressions call: ``tensor``, ``storage``, ``shown``, ``attribute``
``looking``           items in guard expressions: ``is_a``
``operators``, ``seen``   modules and functions of torch only

What stays: a guard's own expression evaluates what torch's guard evaluates at every call of the program.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Iterator
from typing import Any

_NOTHING = object()
class_mro = type.__dict__["__mro__"].__get__
_name = type.__dict__["__name__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
class_namespace = type.__dict__["__dict__"].__get__
_module = type.__dict__["__module__"].__get__
_flags = type.__dict__["__flags__"].__get__
_HEAP_TYPE = 1 << 9
"""Made by a class statement, which says the module in the class."""
SCALARS = (type(None), bool, int, float, complex, str, bytes, type(...))


class UnreadableError(Exception):
    """The value cannot be had without running code of the program, or is not there."""


def classes_of(value: Any) -> tuple[type, ...]:
    """The class of ``value`` and those it inherits from, whatever it says in ``__class__``."""
    found: tuple[type, ...] = class_mro(type(value))
    return found


def is_a(value: Any, *wanted: type) -> bool:
    """``isinstance(value, wanted)``, by the real class."""
    for cls in class_mro(type(value)):  # a generator takes three times as long, and this is asked all the time
        for kind in wanted:
            if cls is kind:
                return True
    return False


def inherits(cls: Any, wanted: type) -> bool:
    """``issubclass(cls, wanted)``, by the real classes; False for what is no class."""
    return is_a(cls, type) and any(found is wanted for found in class_mro(cls))


def class_name(cls: type) -> str:
    """The name of a class as it is written in its module."""
    return str(_qualname(cls))


def short_name(cls: type) -> str:
    """``__name__`` of a class."""
    return str(_name(cls))


def class_module(cls: type) -> str:
    """The module of a class; "" where it says none."""
    module = class_namespace(cls).get("__module__", "")
    if type(module) is str and module:
        return module
    return "" if _flags(cls) & _HEAP_TYPE else str(_module(cls))


def full_name(cls: type) -> str:
    """``module.Name``; the name alone for a builtin."""
    module = class_module(cls)
    return class_name(cls) if module == "builtins" else f"{module}.{class_name(cls)}"


def attribute(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that is simply there: in the object, its slots or its class.

    ``default`` where nothing is, or where a property, ``__getattr__`` or another descriptor would have to run.
    """
    if is_a(value, type):
        inherited = _in_classes(class_mro(value), name)
        return default if inherited is _NOTHING or _runs(type(inherited)) else inherited
    of_class = _in_classes(classes_of(value), name)
    kind = type(of_class)
    if kind is types.MemberDescriptorType or (kind is types.GetSetDescriptorType and _is_field(of_class)):
        try:
            return of_class.__get__(value)
        except (AttributeError, TypeError):
            return default
    if of_class is _NOTHING or not _is_data(kind):
        own = own_attributes(value)
        if own is not None and name in own:
            return own[name]
    return default if of_class is _NOTHING or _runs(kind) else of_class


def _is_field(found: types.GetSetDescriptorType) -> bool:
    """Whether it is a field of a type written in C, which runs no Python.  Fields of tensors do: ``pure_tensors`` reads
    those."""
    owner = found.__objclass__
    return not _flags(owner) & _HEAP_TYPE and short_name(owner) != "TensorBase"


def own_attributes(value: Any) -> dict[str, Any] | None:
    """The contents of an object's ``__dict__``, whatever its class defines under that name; None where it has none."""
    for cls in classes_of(value):
        found = class_namespace(cls).get("__dict__")
        if type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType):
            own = found.__get__(value)
            return own if type(own) is dict else dict(own) if is_a(own, dict) else None
    return None


def in_classes(kind: type, name: str) -> bool:
    """Whether one of the classes that ``kind`` inherits from has this name."""
    return name in map(_name, class_mro(kind))


def _in_classes(classes: tuple[type, ...], name: str) -> Any:
    for cls in classes:
        namespace = class_namespace(cls)
        if name in namespace:
            return namespace[name]
    return _NOTHING


def _is_data(kind: type) -> bool:
    """Whether what is found in the class is asked before the object's own attributes."""
    return any("__set__" in class_namespace(cls) or "__delete__" in class_namespace(cls) for cls in class_mro(kind))


def _runs(kind: type) -> bool:
    """Whether ``object.attribute`` would call what was found."""
    return kind not in _FUNCTIONS and any("__get__" in class_namespace(cls) for cls in class_mro(kind))


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


def cell_contents(cell: Any, default: Any = None) -> Any:
    """The content of a cell; ``default`` for an empty cell and for any other object."""
    try:
        return cell.cell_contents if type(cell) is types.CellType else default
    except ValueError:
        return default


def equal(one: Any, other: Any) -> bool:
    """``one == other`` for numbers, texts and builtin containers of them; anything else equals itself alone."""
    if one is other:
        return True
    kind = type(one)
    if kind in SCALARS:
        return type(other) in SCALARS and bool(one == other)
    if kind is not type(other):
        return False
    if kind in (tuple, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if kind in (set, frozenset) and len(one) == len(other):
        return all(type(item) in SCALARS for item in (*one, *other)) and bool(one == other)
    if kind is dict and len(one) == len(other):
        pairs = list(dict.items(other))
        return all(any(equal(key, k) and equal(value, v) for k, v in pairs) for key, value in dict.items(one))
    return kind in (slice, range) and repr(one) == repr(other)


def item(container: Any, key: Any) -> Any:
    """``container[key]`` of a builtin container, or of a class derived from one, as the builtin class reads it.

    ``UnreadableError`` where nothing is there, or the container is none.
    """
    if is_a(container, dict):
        try:
            return next(found for known, found in dict.items(container) if equal(known, key))
        except StopIteration:
            raise UnreadableError from None
    for kind in (list, tuple):
        if is_a(container, kind) and type(key) in (int, slice):
            try:
                return kind.__getitem__(container, key)
            except IndexError:
                raise UnreadableError from None
    raise UnreadableError


def literal(value: Any) -> str:
    """A number, a text, a dtype or a device as it is written in Python; "" for anything else."""
    kind = type(value)
    if kind in SCALARS or (class_module(kind), short_name(kind)) in (("torch", "dtype"), ("torch", "device")):
        return repr(value)
    return ""


def length(value: Any) -> int | None:
    """How many items a builtin container, or one of a class derived from it, holds; None for anything else."""
    for kind in (list, tuple, dict, set, frozenset, str, bytes):
        if is_a(value, kind):
            return kind.__len__(value)
    return None


class _TorchFunction(threading.local):
    """Whether ``untouched`` has switched torch functions off in this thread."""

    off = False


_TORCH_FUNCTION = _TorchFunction()


@contextlib.contextmanager
def untouched() -> Iterator[None]:
    """While the block lasts, reading a tensor calls no ``__torch_function__`` of a mode or a subclass."""
    import torch

    off = torch._C._is_torch_function_enabled() and not torch._C._is_torch_function_all_disabled()
    before, _TORCH_FUNCTION.off = _TORCH_FUNCTION.off, off
    try:
        with torch._C.DisableTorchFunction() if off else contextlib.nullcontext():
            yield
    finally:
        _TORCH_FUNCTION.off = before


def as_torch_sees() -> contextlib.AbstractContextManager[None]:
    """Undo ``untouched``: torch's own guards compare this state, too."""
    import torch

    enabled: contextlib.AbstractContextManager[None] = torch._C._EnableTorchFunction()
    return enabled if _TORCH_FUNCTION.off else contextlib.nullcontext()
