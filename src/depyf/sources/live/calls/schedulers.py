"""Which learning rate scheduler sets an option of an optimizer that a guard is on.

Input: the variables of a call that torch is about to compile again.  Output: for a difference in an option (``lr``,
``betas``) the class of the scheduler, where one of the program sets it in each step
(torch/optim/lr_scheduler.py: all of them set ``lr``; those with ``cycle_momentum`` set ``momentum`` or ``betas``, too).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from depyf.run.guards.difference import OPTION, Difference
from depyf.run.guards.guard_kind import tree_of
from depyf.sources.live.calls.instances import instances_of
from depyf.sources.live.pure_access import own_attributes, short_name

_MODULE = "torch.optim.lr_scheduler"
_CYCLED = ("momentum", "betas")


@dataclass(frozen=True, slots=True)
class SetOptions:
    """Option of an optimizer -> the class of the scheduler that sets it."""

    by: tuple[tuple[str, str], ...] = ()

    def about(self, difference: Difference) -> Difference:
        """``difference`` with the scheduler that sets its option, where there is one."""
        name = _option(difference.source) if OPTION in difference.roles else ""
        by = dict(self.by).get(name, "")
        return replace(difference, set_by=by) if by else difference


def set_options(variables: Mapping[str, Any]) -> SetOptions:
    """The options that live schedulers set in the optimizers among ``variables``."""
    found: dict[str, str] = {}
    for scheduler in instances_of(_MODULE, "LRScheduler"):
        known = own_attributes(scheduler) or {}
        if not any(value is known.get("optimizer") for value in variables.values()):
            continue
        name = short_name(type(scheduler))
        found.setdefault("lr", name)
        if known.get("cycle_momentum") is True:
            found |= dict.fromkeys(_CYCLED, name)
    return SetOptions(tuple(sorted(found.items())))


def _option(source: str) -> str:
    """``betas`` of ``L['self'].param_groups[0]['betas'][0]``; "" for another value."""
    node = tree_of(source)
    while isinstance(node, ast.Subscript):
        group = node.value
        if isinstance(group, ast.Subscript) and isinstance(group.value, ast.Attribute):
            if group.value.attr == "param_groups" and isinstance(node.slice, ast.Constant):
                return str(node.slice.value)
        node = node.value
    return ""
