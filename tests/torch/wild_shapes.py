"""Functions that random programs and other people's libraries led to, minimised, for what is written in Dynamo's place.

``CALLS`` maps a name to a call of one of them, as in ``frame_shapes``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


@torch._dynamo.disable
def apart(value=None):
    return value


@torch._dynamo.disable
def refuses(number):
    if number:
        raise ValueError(number)


class Caching(nn.Module):
    """The keys of the dict that is passed are read one after the other, and nothing else holds them (whisper)."""

    def __init__(self):
        super().__init__()
        self.first = nn.ModuleDict({"key": nn.Linear(2, 2), "value": nn.Linear(2, 2)})
        self.second = nn.ModuleDict({"key": nn.Linear(2, 2), "value": nn.Linear(2, 2)})

    def forward(self, x, cache):
        for block in (self.first, self.second):
            for name in ("key", "value"):
                x = cache[block[name]] = block[name](x)
        return x


def value_for_another_branch(x, flag):
    """What the other branch would return stays on Dynamo's list during the call."""
    y = x.sum()
    y = apart() if not flag > 1 else y
    return y


def generator_over_a_choice(x, number):
    """Behind a ``try`` that breaks, the user's code runs as it is."""
    y = torch.sin(x)
    try:
        refuses(number)
    finally:
        z = y + 1
    return sum(part * 2 for part in [x, y, z][2].clamp(min=0.5))


def comprehensions_of_one_name(x, numbers):
    """The first comprehension is in no code that is left: none of the others stands for it."""
    total = sum([apart(part) for part in x])
    for number in numbers:
        parts = [part * 2.0 for part in (x, total)]
        try:
            refuses(len(parts) + len([(last := x), 1]) + number - 4)
        except ValueError:
            if len(numbers) > 3:
                break
            parts = [part * 3 for part in [apart(item) for item in torch.sin(last)]]
    return parts


def joined(*values, **named):
    return sum(values) - sum(named.values())


def name_on_the_stack(x):
    """The keyword whose value is being computed is on the stack as a string."""
    return joined(first=apart(x), *(torch.sin(x),), second=x)  # noqa: B026


CALLS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "caching": lambda compiled: compiled(Caching())(torch.ones(2), {}),
    "value_for_another_branch": lambda compiled: compiled(value_for_another_branch)(torch.ones(2), 1),
    "name_on_the_stack": lambda compiled: compiled(name_on_the_stack)(torch.ones(2)),
    "generator_over_a_choice": lambda compiled: compiled(generator_over_a_choice)(torch.ones(2), 0),
    "comprehensions_of_one_name": lambda compiled: compiled(comprehensions_of_one_name)(torch.ones(2), [0, 1]),
}
