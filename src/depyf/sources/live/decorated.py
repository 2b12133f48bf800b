"""Finds the function of the program that a decorator's inner function wraps.

Dynamo compiles code objects, and all functions under one decorator share that of its inner function: transformers'
models are ``can_return_tuple.<locals>.wrapper``, whatever their class.  ``functools.wraps`` gives each of these
functions the name of what it decorates; the function itself is found where a call finds it, under that name in the
class or the module.  Where a library wraps the ``forward`` of one module, such as accelerate for mixed precision, it is
found through what the wrapper closes over.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from depyf.run.installed_files import installed
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord
from depyf.sources.live.pure_access import (
    cell_contents,
    class_mro,
    class_name,
    class_namespace,
    in_classes,
    is_a,
    own_attributes,
)

_FRAMES = 16
"""How many frames up to search for torch's ``_compile``, which has the frame's closure and locals."""
_LAYERS = 32


def decorated(code: types.CodeType) -> Place | None:
    """The decorated function whose call compiles ``code``, the inner function of a decorator; None for other code.
    Call it from torch's bytecode hook."""
    if not code.co_freevars or "<locals>" not in getattr(code, "co_qualname", "<locals>"):
        return None
    known = _compiling(code)
    return stands_for(code, known.get("closure"), known.get("locals")) if known else None


def by_object(record: CodeRecord, code: types.CodeType, again: bool = False) -> CodeRecord:
    """``record`` with the class of the object in its name, for an optimizer that inherits the method: ``AdamW.step``,
    not ``Adam.step``.  Asked from torch's bytecode hook; ``again``: it was asked before, perhaps for an object of
    another class."""
    return of_object(record, lambda: _first(code, _compiling(code).get("locals") or {}), again)


def of_object(record: CodeRecord, first: Callable[[], Any], again: bool = False) -> CodeRecord:
    """As ``by_object``.  ``first``: returns the object."""
    name = record.decorated.function if record.decorated is not None else record.qualname
    method = name.rpartition(".")[2]
    optimizer = getattr(sys.modules.get("torch.optim"), "Optimizer", None)
    if optimizer is None or "." not in name:
        return record
    kind = type(first())
    wanted = f"{kind.__name__}.{method}"
    if optimizer not in class_mro(kind) or wanted in name.split(" / "):
        return record
    wanted = f"{name} / {wanted}" if again else wanted
    if record.decorated is None:
        return replace(record, qualname=wanted)
    return replace(record, decorated=replace(record.decorated, function=wanted))


def decorated_functions(function: types.FunctionType) -> list[types.FunctionType]:
    """The functions in the closure of ``function``, and in their closures."""
    found: list[types.FunctionType] = []
    todo = [function]
    while todo and len(found) < _LAYERS:
        for cell in todo.pop().__closure__ or ():
            inner = cell_contents(cell)
            if type(inner) is types.FunctionType and inner is not function and inner not in found:
                found.append(inner)
                todo.append(inner)
    return found


def _compiling(code: types.CodeType) -> dict[str, Any]:
    """The variables of torch's ``_compile`` that compiles ``code`` at this moment; {} where none does."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None or frame.f_code.co_name == "_compile":
            break
        frame = frame.f_back
    known = frame.f_locals if frame is not None and frame.f_code.co_name == "_compile" else {}
    return dict(known) if known.get("code") is code else {}


def stands_for(code: types.CodeType, closure: Any, variables: Any) -> Place | None:
    """As ``decorated``, given the cells and the variables of the call."""
    if not isinstance(closure, tuple) or not isinstance(variables, dict):
        return None
    for cell in closure:
        inner = cell_contents(cell)
        if type(inner) is not types.FunctionType:
            continue
        for scope in (type(_first(code, variables)), inner.__globals__):
            found = _layer(_static(scope, inner.__name__), code, closure)
            if found is not None:
                return _place(found)
    return _forward(code, _first(code, variables), closure)


def _forward(code: types.CodeType, first: Any, closure: tuple[Any, ...]) -> Place | None:
    """The ``forward`` of a module's class that the cells lead to, where ``code`` is of a library or stands in the place
    of the module's ``forward``; ``first``: the module, where it is an argument."""
    todo, seen = [cell_contents(cell) for cell in closure], list[Any]()
    while todo and len(seen) < _LAYERS:
        known = todo.pop(0)
        if any(known is one for one in seen):
            continue
        seen.append(known)
        if type(known) is types.MethodType:
            first = known.__self__
            known = known.__func__
        if type(known) is types.FunctionType:
            own = _static(type(first), "forward") if in_classes(type(first), "Module") else None
            if any(known is layer for layer in _layers(own)) and (installed(code.co_filename) or _is_own(code, first)):
                name = f"{class_name(type(first))}.forward"
                inner = list(_layers(own))[-1].__code__
                return Place(inner.co_filename, inner.co_firstlineno, name)
            todo += [cell_contents(cell) for cell in known.__closure__ or ()]
            todo.append(known.__dict__.get("__wrapped__"))
        elif known is not None and not is_a(known, type, types.ModuleType) and not in_classes(type(known), "Module"):
            todo += [value for value in (own_attributes(known) or {}).values() if callable(value)]
    return None


def _is_own(code: types.CodeType, module: Any) -> bool:
    """Whether the module itself, not its class, has ``code`` as its ``forward``."""
    own = (own_attributes(module) or {}).get("forward")
    function = own.__func__ if type(own) is types.MethodType else own
    return type(function) is types.FunctionType and function.__code__ is code


def _layers(function: Any) -> Iterator[types.FunctionType]:
    """A function, and what it decorates."""
    for _ in range(_LAYERS):
        if type(function) is not types.FunctionType:
            return
        yield function
        function = function.__dict__.get("__wrapped__")


def _first(code: types.CodeType, variables: dict[str, Any]) -> Any:
    """The first positional argument: ``self``, in a method."""
    if code.co_argcount:
        return variables.get(code.co_varnames[0])
    if code.co_flags & inspect.CO_VARARGS:
        rest = variables.get(code.co_varnames[code.co_kwonlyargcount])
        return rest[0] if type(rest) is tuple and rest else None
    return None


def _static(scope: Any, name: str) -> Any:
    """What ``scope`` has under a name, without running anything of the program."""
    if isinstance(scope, dict):
        return scope.get(name)
    return next((class_namespace(cls)[name] for cls in class_mro(scope) if name in class_namespace(cls)), None)


def _layer(function: Any, code: types.CodeType, closure: tuple[Any, ...]) -> types.FunctionType | None:
    """The one among ``function`` and what it decorates that has this code and these cells."""
    if type(function) in (staticmethod, classmethod):
        function = function.__func__
    for layer in _layers(function):
        own = layer.__closure__ or ()
        if layer.__code__ is code and len(own) == len(closure) and all(a is b for a, b in zip(own, closure)):
            return layer
    return None


def _place(function: types.FunctionType) -> Place | None:
    *_, inner = _layers(function)
    if inner is function or function.__qualname__ != inner.__qualname__:
        return None
    return Place(inner.__code__.co_filename, inner.__code__.co_firstlineno, inner.__qualname__)
