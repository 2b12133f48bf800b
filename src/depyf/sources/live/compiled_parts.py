"""What was given to ``torch.compile`` inside an object: modules, methods, functions that it keeps.

Input: a module, what ``torch.compile`` made of one, or any other object of the program (an optimizer, a trainer).
Output: parts, in the order in which the object holds them.  Nothing is called; of the objects that are no modules only
the attributes of the one that was asked about are looked at.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from depyf.errors import DepyfError
from depyf.sources.live.pure_access import attribute, class_mro, class_namespace, in_classes, own_attributes, short_name
from depyf.sources.live.target import ORIGINAL, Target, find_target

_MOST = 100_000
_OWN = ("forward", "_forward", "_orig_mod", "dynamo_ctx", "_compiled_call_impl")
"""What a module that is compiled keeps of it."""


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """A module or function inside an object that is compiled separately."""

    path: str
    """How the object reaches it: ``layers.0``, ``layers.0.attend``."""
    kind: str
    """Its class; of a function or a method, its name."""
    target: Target
    module: bool = False
    in_place: bool = False
    """A module of which ``compile()`` was called."""


def compiled_parts(fn: Any) -> tuple[CompiledPart, ...]:
    """The separately compiled parts inside ``fn``; () for a function, and for an object without any."""
    if isinstance(fn, type) or type(fn) in (types.FunctionType, types.MethodType, types.BuiltinFunctionType):
        return ()
    return tuple(_parts(fn))


def _parts(root: Any) -> Iterator[CompiledPart]:
    todo: list[tuple[str, Any]] = [("", root)]
    seen: set[int] = set()
    while todo and len(seen) < _MOST:
        path, value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        own = own_attributes(value) or {}
        if path and _is_module(value) and _may_be_compiled(value, own):
            in_place = own.get("_compiled_call_impl") is not None
            yield from _part(path, value, short_name(type(_inner(value, own))), True, in_place)
        for name, method in _methods(value):
            yield from _part(_joined(path, name), types.MethodType(method, value), method.__qualname__)
        below = []
        kept = _OWN if _is_module(value) else ()
        for name, item in own.items():
            if (
                name not in kept
                and type(item) in (types.FunctionType, types.MethodType)
                and _original(item) is not None
            ):
                yield from _part(_joined(path, name), item, str(attribute(_original(item), "__qualname__", name)))
            elif not path and name not in kept and _is_module(item):
                below.append((name, item))
        modules = own.get("_modules")
        for name, child in dict.items(modules) if isinstance(modules, dict) else ():
            below.append((path if name == "_orig_mod" else _joined(path, name), child))
        todo += reversed(below)


def _part(path: str, value: Any, kind: str, module: bool = False, in_place: bool = False) -> Iterator[CompiledPart]:
    try:
        target = find_target(value)
    except DepyfError:
        return
    if target.backend is not None:
        yield CompiledPart(path, kind, target, module, in_place)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_module(value: Any) -> bool:
    return in_classes(type(value), "Module")


def _inner(value: Any, own: dict[str, Any]) -> Any:
    """The module that ``torch.compile`` was given."""
    modules = own.get("_modules")
    return modules.get("_orig_mod", value) if isinstance(modules, dict) else value


def _original(function: Any) -> Any:
    """What a compiled function was made of."""
    function = function.__func__ if type(function) is types.MethodType else function
    return attribute(function, ORIGINAL) if type(function) is types.FunctionType else None


def _may_be_compiled(value: Any, own: dict[str, Any]) -> bool:
    if "dynamo_ctx" in own or own.get("_compiled_call_impl") is not None:
        return True
    forward = own.get("forward")
    if forward is None:
        forward = next(
            (n["forward"] for cls in class_mro(type(value)) if "forward" in (n := class_namespace(cls))), None
        )
    return type(forward) in (types.FunctionType, types.MethodType) and _original(forward) is not None


def _methods(value: Any) -> Iterator[tuple[str, types.FunctionType]]:
    """The methods that a decorator compiles; ``forward`` is the module itself."""
    for cls in class_mro(type(value)):
        for name, item in class_namespace(cls).items():
            if (
                type(item) is types.FunctionType
                and not (name in _OWN and _is_module(value))
                and ORIGINAL in item.__dict__
            ):
                yield name, item
