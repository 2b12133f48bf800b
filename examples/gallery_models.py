"""Small models whose compiled graphs make up ``examples/gallery`` (``make gallery``): one kind of graph each.

``MODELS``: name -> a function that makes a callable and its arguments; ``OPTIONS``: what torch.compile gets besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

MODELS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {}
OPTIONS: dict[str, dict[str, Any]] = {"dynamic_shapes": {"dynamic": True}}
INFERENCE = ("kv_cache", "graph_break")


def example(make: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]) -> Any:
    MODELS[make.__name__] = make
    return make


@example
def classifier():
    """Dropout, batch norm (which writes to its buffers), class labels."""

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(12, 8), nn.BatchNorm1d(8), nn.Linear(8, 5)

        def forward(self, x, labels):
            hidden = F.dropout(self.norm(self.first(x)).relu(), 0.2, self.training)
            return F.cross_entropy(self.last(hidden), labels, label_smoothing=0.1)

    return Classifier(), (torch.randn(6, 12), torch.arange(6) % 5)


@example
def convolutions():
    """A residual block in channels-last layout."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
            self.norm = nn.GroupNorm(2, 4)

        def forward(self, x):
            y = self.two(F.silu(self.norm(self.one(x))))
            return F.adaptive_avg_pool2d(x + y, 1).flatten(1)

    return Block().to(memory_format=torch.channels_last), (
        torch.randn(2, 4, 8, 8).to(memory_format=torch.channels_last),
    )


@example
def language_model():
    """Token and position embeddings, causal attention, labels shifted by one with an ignored end."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(31, 16), nn.Embedding(10, 16)
            self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)

        def forward(self, ids, mask):
            places = mask.cumsum(-1) - 1
            x = self.tokens(ids) + self.positions(places.clamp(min=0))
            q, k, v = self.qkv(self.norm(x)).view(2, 8, 3, 2, 8).permute(2, 0, 3, 1, 4)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 8, 16))
            logits = x @ self.tokens.weight.T
            labels = F.pad(ids, (0, 1), value=-100)[:, 1:]
            return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    return Model(), (torch.randint(0, 31, (2, 8)), torch.ones(2, 8, dtype=torch.int64))


@example
def dynamic_shapes():
    """Sizes are symbols; one output is a view."""

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.weigh = nn.Linear(5, 1)

        def forward(self, x, count):
            weights = self.weigh(x).softmax(1)
            return (x * weights).sum(1) * count, x.flatten(0, 1)[: x.size(0)]

    return Pool(), (torch.randn(3, 7, 5, requires_grad=True), 4)


@example
def recurrent():
    """An LSTM cell in a Python loop, unrolled by Dynamo."""

    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(4, 6)

        def forward(self, xs):
            h = c = xs.new_zeros(2, 6)
            for x in xs.unbind(1):
                h, c = self.cell(x, (h, c))
            return h

    return Cells(), (torch.randn(2, 3, 4),)


@example
def autoencoder():
    """A variational autoencoder: random numbers inside the graph."""

    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(9, 6), nn.Linear(3, 9)

        def forward(self, x):
            mean, log_variance = self.encode(x).chunk(2, -1)
            z = mean + torch.randn_like(mean) * (log_variance / 2).exp()
            divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
            return F.binary_cross_entropy(self.decode(z).sigmoid(), x.sigmoid()) + divergence

    return Vae(), (torch.randn(4, 9),)


@example
def mixture_of_experts():
    """Routing: top-k, one-hot, a gather."""

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(6, 4)
            self.experts = nn.Parameter(torch.randn(4, 6, 6) / 3)

        def forward(self, x):
            weights, chosen = self.gate(x).softmax(-1).topk(2)
            outputs = torch.einsum("bi,eij->bej", x, self.experts)
            picked = outputs.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 6))
            load = F.one_hot(chosen, 4).sum((0, 1))
            return (picked * weights.unsqueeze(-1)).sum(1), load

    return Experts(), (torch.randn(5, 6),)


@example
def conditional():
    """torch.cond: both branches are graphs of their own."""

    class Choice(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: self.linear(y).relu(), lambda y: self.linear(y) * 2, (x,))

    return Choice(), (torch.randn(3, 4),)


@example
def checkpointed():
    """Activation checkpointing: the backward computes the layer again."""

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Sequential(nn.Linear(6, 6), nn.GELU()) for _ in range(2)])

        def forward(self, x):
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return x

    return Layers(), (torch.randn(3, 6),)


@example
def mixed_precision():
    """The whole call under autocast."""
    layer = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))

    def run(x):
        with torch.autocast("cpu", torch.bfloat16):
            return layer(x)

    return run, (torch.randn(4, 8),)


@example
def kv_cache():
    """Inference: the graph writes to its inputs at an index."""

    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(4, 8)

        def forward(self, x, keys, values, place):
            k, v = self.project(x).chunk(2, -1)
            keys.index_copy_(1, place, k)
            values.index_copy_(1, place, v)
            return F.scaled_dot_product_attention(x, keys, values)

    return Step(), (torch.randn(2, 1, 4), torch.zeros(2, 6, 4), torch.zeros(2, 6, 4), torch.tensor([3]))


@example
def graph_break():
    """Two graphs: print() cannot be part of one."""

    def run(x, scale):
        y = (x * scale).log1p()
        print("between two graphs")
        return y.cumsum(0) / (y.sum() + 1)

    return run, (torch.rand(5, 3), torch.rand(3))
