"""The call for which an entry of a live function was made, as far as guards and the classes of this process tell it.

Input: the guards of an entry, and the code.  Output: a ``Look`` for guards of earlier entries.
"""

from __future__ import annotations

import ast
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

import torch

from depyf.run.advice.source_names import module_variable, named
from depyf.run.guards.difference import RECEIVER
from depyf.run.guards.guard_kind import tree_of
from depyf.run.records import GuardRecord
from depyf.sources.live.events.call_values import CallValues, inner_variables, is_receiver, optimizer_parts
from depyf.sources.live.pure_access import class_mro, class_namespace
from depyf.sources.reports.guards.told_call import GuardedCall


@functools.lru_cache(maxsize=256)
def _classes_named(name: str) -> tuple[type, ...]:
    module, _, rest = name.rpartition(".")
    while module and module not in sys.modules:
        module, _, first = module.rpartition(".")
        rest = f"{first}.{rest}"
    found: Any = sys.modules.get(module)
    for part in rest.split(".") if found is not None else ():
        found = (class_namespace(found) if isinstance(found, type) else vars(found)).get(part)
        if not isinstance(found, type):
            return ()
    return class_mro(found) if isinstance(found, type) else ()


class LiveGuardedCall(GuardedCall):
    """As ``GuardedCall``, with what the live code and its classes tell."""

    def __init__(self, guards: Iterable[GuardRecord], code: types.CodeType) -> None:
        super().__init__(guards)
        self._code = code
        found = {name for guard in self._guards if (name := module_variable(guard.expression))}
        first = code.co_varnames[0] if code.co_argcount else ""
        if any(cls is torch.nn.Module for cls in self._classes(first)):
            found.add(first)
        self._call = CallValues(inner=inner_variables(code), modules=frozenset(found), code=code)

    def roles(self, source: str) -> tuple[str, ...]:
        name = named(source)
        receiver = is_receiver(self._code, name, self._classes(name))
        return (*((RECEIVER,) if receiver else ()), *self._of_optimizer(source), *super().roles(source))

    def _of_optimizer(self, source: str) -> tuple[str, ...]:
        """Whether it is part of what an optimizer keeps of each parameter, or of its options."""
        return tuple(
            role
            for role, owner in optimizer_parts(tree_of(source))
            if any(cls is torch.optim.Optimizer for cls in self._classes_of(owner))
        )[:1]

    def _classes_of(self, value: ast.expr) -> tuple[type, ...]:
        """The classes of a value, also of one whose identity is guarded."""
        name = ast.unparse(value)
        for guard in self._guards:
            match tree_of(guard.expression):
                case ast.Call(ast.Name("same_object"), [one, ast.Constant(str(kind))]) if named(
                    ast.unparse(one)
                ) == named(name):
                    return _classes_named(kind)
        return self._classes(named(name))

    def _classes(self, name: str) -> tuple[type, ...]:
        known = self.class_known(name)
        return _classes_named(known) if known else ()
