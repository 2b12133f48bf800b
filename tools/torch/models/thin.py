"""Fewer blocks in a model of convolutions that was built at its full depth.

Where a stage repeats a block, the repetitions cost compile time and show nothing new.  In every plain ``nn.Sequential``, of
children in a row that are alike the first one stays, or two where it has no other children.  Alike: the same class, plain
attributes (kernel sizes, window shifts, ...), shapes of parameters and buffers, and so are their children, one by one; rates may
differ, such as that of a drop path, which grows with the depth.  Blocks with a stride are no repetitions: each makes the image smaller.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import groupby
from typing import Any

from torch import nn

PLAIN = (bool, int, str, tuple)


class Skipped(nn.Module):
    """In the place of a block that is left out: hands on what it is given last."""

    def forward(self, *values: Any) -> Any:
        return values[-1]


def thin(module: nn.Module, without: Iterable[str] = ()) -> nn.Module:
    """In place: without the blocks of these names, which the model calls one by one, and without repetitions."""
    for name in without:
        module.get_submodule(name)  # a name that is wrong is an error
        module.set_submodule(name, Skipped())
    _drop_repetitions(module)
    return module


def _drop_repetitions(module: nn.Module) -> None:
    for child in module.children():
        _drop_repetitions(child)
    if type(module).forward is nn.Sequential.forward:
        runs = [list(run) for _, run in groupby(module, _look)]
        stay = 2 if len(runs) == 1 else 1
        kept = [child for run in runs for child in (run if _strided(run[0]) else run[:stay])]
        if len(kept) < len(module):
            del module[:]
            module.extend(kept)


def _look(module: nn.Module) -> Hashable:
    """Equal for two modules that are alike."""
    plain = [(name, value) for name, value in vars(module).items() if isinstance(value, PLAIN)]
    tensors = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    shapes = [(name, tensor.shape) for name, tensor in tensors]
    return type(module), *plain, *shapes, *((name, _look(child)) for name, child in module.named_children())


def _strided(module: nn.Module) -> bool:
    return any(getattr(part, "stride", 1) not in (1, (1, 1)) for part in module.modules())
