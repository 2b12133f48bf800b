"""Whether an operation that only Python makes can be left out: it has no effect, and nothing uses its result."""

from __future__ import annotations

import operator
from typing import Any

from depyf.actions.claims.graph_terms import OPERATORS
from depyf.actions.claims.terms import Operation


def has_no_effect(step: Operation) -> bool:
    """Whether all overloads of its operator, by torch's own schemas, write nothing and draw nothing."""
    if any(step.of is one for one in (operator.getitem, getattr, *OPERATORS.values())):
        return True
    return (isinstance(step.of, str) or _is_of_torch(step.of, step.name)) and _schema_is_pure(step.name)


def _is_of_torch(function: Any, name: str) -> bool:
    """Whether it is torch's function of that name, and no other one that is called so."""
    import torch

    homes: tuple[Any, ...] = (torch, torch.nn.functional, torch._C._nn)
    return any(getattr(home, name, None) is function for home in homes)


def _schema_is_pure(name: str) -> bool:
    import torch

    packet: Any = getattr(torch.ops.aten, name, None)
    if packet is None:
        return False
    overloads = [getattr(packet, one) for one in packet.overloads()]
    out = [one for one in overloads if any(argument.is_out for argument in one._schema.arguments)]
    rest = [one for one in overloads if one not in out]
    drawn = torch.Tag.nondeterministic_seeded
    return bool(rest) and not any(one._schema.is_mutable or drawn in one.tags for one in rest)
