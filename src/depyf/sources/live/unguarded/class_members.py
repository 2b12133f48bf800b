"""What a class has by a name, and what a call of an ``nn.Module`` runs.  Nothing of the program runs."""

from __future__ import annotations

from typing import Any

from depyf.sources.live.pure_access import is_a

MISSING = object()


def in_class(cls: type, name: str, after: type | None = None) -> Any:
    """The attribute ``name`` in the first class of the MRO of ``cls`` that has it; MISSING for none.  ``after``: search
    only after this class, as ``super()`` does."""
    order = type.mro(cls)
    for one in order[order.index(after) + 1 :] if after is not None else order:
        if name in type.__getattribute__(one, "__dict__"):
            return type.__getattribute__(one, "__dict__")[name]
    return MISSING


def is_module(value: Any) -> bool:
    import torch

    return is_a(value, torch.nn.Module)


def runs_forward(module: Any) -> bool:
    """Whether a call of ``module`` is that of ``nn.Module``, which runs ``forward``."""
    import torch

    return in_class(type(module), "__call__") is in_class(torch.nn.Module, "__call__")
