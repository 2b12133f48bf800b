"""What classes of the compiled build have besides: they are dataclasses in the sources
(``tools/native/native_sources.py``).

In a pure build nothing calls these functions but ``build``.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")
_COPIED = ("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__repr__", "__replace__")


def describe(kind: type, fields: tuple[tuple[str, str], ...], eq: bool, frozen: bool, defined: list[str]) -> None:
    """Give ``kind`` what a dataclass has; ``fields`` are names and annotations, ``defined`` what the class defines
    itself.

    It can be shown, replaced, matched and pickled then; with ``eq`` it is compared, with ``eq`` and ``frozen`` hashed
    by its fields.
    """
    model = dataclasses.make_dataclass(kind.__name__, fields, eq=eq, frozen=frozen)
    for name in (*_COPIED, *(("__eq__", "__hash__") if eq else ())):
        if name not in defined and hasattr(model, name):
            setattr(kind, name, getattr(model, name))
    if "__reduce__" not in defined:
        setattr(kind, "__reduce__", _reduction(kind, tuple(name for name, _ in fields)))  # noqa: B010


def _reduction(kind: type, names: tuple[str, ...]) -> Callable[[Any], tuple[type, tuple[Any, ...]]]:
    def reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
        return kind, tuple(getattr(self, name) for name in names)

    return reduce


def replace(value: _T, /, **changes: Any) -> _T:
    """As ``dataclasses.replace``."""
    return dataclasses.replace(value, **changes)  # type: ignore[type-var]


def build() -> str:
    """Which build this is: ``"compiled"`` or ``"pure"``."""
    found = importlib.util.find_spec("depyf.decompiler.ir.expr")
    return "pure" if found is None or str(found.origin).endswith(".py") else "compiled"
