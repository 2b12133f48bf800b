"""Programs that read a number out of a tensor, by what they do with it; each is run with and without a symbol for it.

``HELPED``: ``capture_scalar_outputs`` removes the graph breaks, and is advised.  ``NOT_HELPED``: it removes none, or torch
raises an error, and it is not advised; with the first advice that is given instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

X = torch.arange(1.0, 6.0)
RATES = [0.1, 0.2, 0.3, 0.4, 0.5]
HELPED: list[Callable[[Any], Any]] = []
NOT_HELPED: dict[Callable[[Any], Any], str] = {}


def helped(function):
    HELPED.append(function)
    return function


def not_helped(first):
    def register(function):
        NOT_HELPED[function] = first
        return function

    return register


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.experts = nn.ModuleList([nn.Linear(5, 5) for _ in range(3)])
        self.limit = 2.0

    def clipped(self, x):
        norm = float(x.norm())
        if norm > self.limit:
            x = x * (self.limit / norm)
        return x

    def routed(self, x):
        return self.experts[(x.long().argmax() - 2).item()](x)


GATE = Gate()


def largest(x):
    return x.max().item()


@helped
def a_prefix(x):
    longest = (x > 2).sum().item()
    return x[:longest] * 2


@helped
def a_size_by_way_of_a_helper(x):
    return torch.ones(int(largest(x))).sum() + x.sum()


@helped
def pieces(x):
    lengths = (x.long() % 2 + 1).tolist()
    return torch.cat([x[:n] for n in lengths])


@helped
def best_of_a_share(x):
    return x.topk(max(1, int(x.sum().item() * 0.1))).values.sum()


@helped
def quantised(x):
    scale = x.abs().max().item() / 127
    return torch.round(x / scale).clamp(-128, 127) * scale


@helped
def rooted(x):
    return x * math.sqrt(x.sum().item())


@helped
def element(x):
    y = torch.zeros(3)
    y[0] = x.sum().item()
    return y * 2


@helped
def metrics(x):
    return x * 2, {"mean": x.mean().item()}


@not_helped("branchless")
def clipped(x):
    return GATE.clipped(x)


@not_helped("branchless")
def routed(x):
    return GATE.routed(x).detach()


@not_helped("branchless")
def by_way_of_a_helper(x):
    big = largest(x) > 3
    factor = 2 if big else 3
    return x * factor


@not_helped("branchless")
def until_it_is_enough(x):
    for _ in range(3):
        x = x * 2
        if (x.norm() > 10).item():
            break
    return x


@not_helped("loop-outside")
def powers(x):
    count = x[0].long().item()
    return torch.stack([x * n for n in range(count + 1)])


@not_helped("index-tensor")
def rate(x):
    return x * RATES[x.long().argmin().item()]


@not_helped("pass-number")
def classes(x):
    return functional.one_hot(x.long(), int(x.max()) + 1)


@not_helped("keep-tensor")
def floats(x):
    total = x * 0
    for value in x.tolist():
        total = total + x * value
    return total


@not_helped("assert-tensor")
def refused(x):
    bad = torch.isnan(x).sum().item()
    if bad > 0:
        print("bad", bad)
        raise ValueError("not a number")
    return x * 2
