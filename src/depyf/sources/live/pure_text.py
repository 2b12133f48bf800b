"""Values of the program as text, without running a ``__repr__``, ``__str__`` or ``__len__`` of it: see
``pure_access``."""

from __future__ import annotations

import enum
import types
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.safety.escape import cut
from depyf.sources.live.pure_access import (
    SCALARS,
    UnreadableError,
    attribute,
    class_module,
    class_name,
    class_namespace,
    classes_of,
    in_classes,
    is_a,
    length,
    own_attributes,
    short_name,
)

_LONGEST = 80
_MOST = 8
_DEEPEST = 8
_CONTAINERS = (tuple, list, set, frozenset, dict)


def short(text: str) -> str:
    """On one line, cut where it is long."""
    return cut(" ".join(text.split()), _LONGEST)


def describe(value: Any) -> str:
    """``value`` in a few words that are the same in every run, whatever its own methods would say."""
    return _described(value, _DEEPEST)


def _described(value: Any, depth: int) -> str:
    kind = type(value)
    if kind in SCALARS:
        return short(repr(value))
    if in_classes(kind, "TensorBase"):
        return _tensor(value)
    if is_a(value, enum.Enum):
        return short(_enum(value))
    if is_a(value, types.FunctionType, types.BuiltinFunctionType, types.MethodType):
        named = value.__func__ if kind is types.MethodType else value
        return f"{short_name(kind)} {attribute(named, '__qualname__', '')}".strip()
    if is_a(value, type):
        return f"{short_name(kind)} {class_name(value)}"
    if is_a(value, types.ModuleType):
        return f"module {module_name(value)}"
    if is_a(value, int, float, complex, str, bytes):
        return short(f"{class_name(kind)}({_plain_repr(value)})")
    if is_a(value, *_CONTAINERS):
        few = depth and kind in _CONTAINERS and (length(value) or 0) <= _MOST
        return _container(value, depth) if few else f"{short_name(kind)} with {counted(value)}"
    text = str(value) if class_module(kind) == "torch" and _of_torch(value) else f"a {class_name(kind)}"
    return short(without_addresses(text))


def module_name(value: Any) -> str:
    """The name of a Python module; "" for another value."""
    name = (own_attributes(value) or {}).get("__name__", "") if is_a(value, types.ModuleType) else ""
    return name if type(name) is str else ""


def _tensor(value: Any) -> str:
    from depyf.sources.live.pure_tensors import expression, tensor

    name = short_name(type(value))
    try:
        view = tensor(value)
    except UnreadableError:
        return f"a {name}"
    where = f" on {view.device.type}" if view.device is not None and view.device.type != "cpu" else ""
    size = "" if view.size is None else f"[{', '.join(map(expression, view.size))}]"
    return f"{name} {str(view.dtype).rpartition('.')[2]}{size}{where}"


def _of_torch(value: Any) -> bool:
    """A dtype, a device and the like: written in C."""
    return short_name(type(value)) in ("dtype", "device", "layout", "memory_format", "Generator", "Size", "Stream")


def _enum(value: Any) -> str:
    """A member of an enum as ``enum.Enum`` itself shows it."""
    inner = attribute(value, "_value_")
    text = repr(inner) if type(inner) in SCALARS else f"a {class_name(type(inner))}"
    return f"<{class_name(type(value))}.{attribute(value, '_name_', '?')}: {text}>"


def _plain_repr(value: Any) -> str:
    """What the builtin class that ``value`` derives from would show."""
    kind = next(kind for kind in (int, float, complex, str, bytes) if is_a(value, kind))
    return kind.__repr__(value)


def counted(value: Any) -> str:
    """``1 item``, ``3 items``; of a builtin container, or of a class derived from one."""
    count = length(value)
    return "1 item" if count == 1 else f"{count} items"


def _container(value: Any, depth: int) -> str:
    if type(value) is dict:
        pairs = (f"{_described(key, depth - 1)}: {_described(item, depth - 1)}" for key, item in value.copy().items())
        return short("{" + ", ".join(pairs) + "}")
    items = [_described(item, depth - 1) for item in value]
    if type(value) in (set, frozenset):
        items.sort()
    name = short_name(type(value))
    return short(_DISPLAYS.get((type(value), min(len(items), 2)), f"{name}({{}})").format(", ".join(items)))


_DISPLAYS: dict[tuple[type, int], str] = {
    (list, 0): "[{}]", (list, 1): "[{}]", (list, 2): "[{}]",
    (tuple, 0): "({})", (tuple, 1): "({},)", (tuple, 2): "({})",
    (set, 1): "{{{}}}", (set, 2): "{{{}}}",
    (frozenset, 1): "frozenset({{{}}})", (frozenset, 2): "frozenset({{{}}})",
}  # fmt: skip
"""(class, how many items: none, one, several) -> how Python shows it."""


def shown(value: Any, depth: int = _DEEPEST) -> str:
    """``repr(value)``, for what needs no code of the program to say it; "" for anything else."""
    kind = type(value)
    if kind in SCALARS or kind in _IN_C or (class_module(kind) == "torch" and _of_torch(value)):
        return repr(value)
    if is_a(value, enum.Enum):
        return _enum(value) if _repr_of(value) is enum.Enum.__repr__ else ""
    if is_a(value, type):
        return type.__repr__(value)
    if kind in _CONTAINERS and depth:
        return _all_shown(value, depth)
    if _is_plain_record(value) and depth:
        names = attribute(value, "__dataclass_fields__")
        parts = [(name, shown(attribute(value, name), depth - 1)) for name, field in names.items() if field.repr]
        return f"{class_name(kind)}({', '.join(f'{name}={text}' for name, text in parts)})" if _whole(parts) else ""
    return object.__repr__(value) if _repr_of(value) is object.__repr__ else ""


_IN_C = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.CodeType, slice, range)


def _all_shown(value: Any, depth: int) -> str:
    items = value.copy().items() if type(value) is dict else [(item,) for item in value]
    texts = [[shown(part, depth - 1) for part in item] for item in items]
    if not all(part for text in texts for part in text):
        return ""
    joined = ", ".join(": ".join(text) for text in texts)
    if type(value) is dict:
        return f"{{{joined}}}"
    return _DISPLAYS.get((type(value), min(len(items), 2)), f"{short_name(type(value))}({{}})").format(joined)


def _whole(parts: list[tuple[str, str]]) -> bool:
    return all(text for _, text in parts)


def _repr_of(value: Any) -> Any:
    return next(class_namespace(cls)["__repr__"] for cls in classes_of(value) if "__repr__" in class_namespace(cls))


def _is_plain_record(value: Any) -> bool:
    """A dataclass that is shown as ``dataclasses`` shows it."""
    written = _repr_of(value)
    inner = written.__dict__.get("__wrapped__") if type(written) is types.FunctionType else None
    code = getattr(inner if type(inner) is types.FunctionType else written, "__code__", None)
    return type(attribute(value, "__dataclass_fields__")) is dict and code is not None and code.co_filename in _MADE


_MADE = ("<string>", "<dataclass>")
"""The "file" of the methods that ``dataclasses`` writes; a method that the class defines itself has a real one."""
