"""The variables of one call, and functions that are made in it."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.actions.claims.function_text import FunctionText


@dataclass(slots=True)
class CallScope:
    """The names of one function call in the evaluation."""

    text: FunctionText
    function: types.FunctionType
    """Whose globals and cells are looked at."""
    outer: CallScope | None = None
    variables: dict[str, Any] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)

    def chain(self) -> Iterator[CallScope]:
        """This scope, and those around it, the innermost first."""
        one: CallScope | None = self
        while one is not None:
            yield one
            one = one.outer


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function that the evaluated code makes."""

    tree: ast.FunctionDef | ast.Lambda
    scope: CallScope
    defaults: tuple[Any, ...]
    keyword_defaults: Mapping[str, Any]
