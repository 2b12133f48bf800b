"""Programs whose compiled functions are exported: models of a few lines, each with something of its kind."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

SCALE = 3
OFFSETS = torch.arange(4.0)


class Mode(enum.Enum):
    PLAIN = 1
    DOUBLED = 2


@dataclasses.dataclass
class Settings:
    width: int = 4
    scale: float = 2.5
    name: str = "plain"
    activation: Any = F.gelu


class Block(torch.nn.Module):
    """Counts its calls: a changed attribute, which is a constant of the compiled code."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.drop = torch.nn.Dropout(0.2)
        self.register_buffer("scale", torch.full((4,), 2.0))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.drop(self.linear(x).relu() * self.scale)


class Broken(torch.nn.Module):
    """Two graph breaks: a branch on a tensor, and an output."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x, verbose=False):
        for block in self.blocks:
            x = block(x)
        if x.sum() > -1e9:
            x = x + 1
        print("head")
        return {"logits": self.head(x), "rows": x.shape[0]}


class Convolutions(torch.nn.Module):
    """Batch norm in training: buffers change."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 3, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(3)

    def forward(self, x):
        return F.max_pool2d(self.norm(self.conv(x)).relu(), 2).mean((2, 3))


class Attention(torch.nn.Module):
    """Tied weights, a mask as a buffer, a dynamic length."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.attend = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = torch.nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
        y, _ = self.attend(x, x, x, attn_mask=mask, need_weights=False)
        return self.head(x + y)


class Recurrent(torch.nn.Module):
    """A loop that the length of the input ends."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 5)

    def forward(self, steps):
        state = steps.new_zeros(steps.shape[1], 5)
        for step in steps:
            state = self.cell(step, state)
        return state


class Experts(torch.nn.Module):
    """Modules in a dict, one chosen by a plain argument."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = torch.nn.ModuleDict({"up": torch.nn.Linear(4, 4), "down": torch.nn.Linear(4, 2)})

    def forward(self, x, name):
        return self.experts[name](x).tanh()


def toy(a, b):
    """The example of the README: a break, a branch, a global tensor, a global number."""
    x = a / (torch.abs(a) + 1)
    print("toy", a.shape)
    if b.sum() < 0:
        b = b * -1
    return x * b * SCALE + OFFSETS.sum()


def containers(batch, settings, *rest, mode=Mode.PLAIN, **more):
    """Dicts, objects, an enum and a function that are compared by identity, an argument that changes."""
    y = settings.activation(batch["x"]) * (settings.scale if settings.name == "plain" else 1) + rest[0]
    if mode is Mode.DOUBLED:
        y = y * 2
    torch._dynamo.graph_break()
    batch["x"].add_(1)
    batch["y"] = y
    return [y.sum(), more["last"] * settings.width]


def make_counter(start, step):
    """A closure: two free variables, one of them changed."""
    count = start

    def counter(x):
        nonlocal count
        count += 1
        y = x * step
        print("counted")
        return y + count

    return counter


def no_grad_mixed(x, w):
    """In a state of torch that is not the usual one."""
    return (x @ w).softmax(-1)


def _autoencoder() -> torch.nn.Module:
    """Only classes of torch: what is compiled is a function of torch that calls the module."""
    return torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.SELU(), torch.nn.Linear(3, 6), torch.nn.Sigmoid())


Compile = Callable[..., Any]


def _modules(model: torch.nn.Module, *calls: tuple[Any, ...]) -> Callable[[Compile], Any]:
    def run(compiled: Compile) -> Any:
        function = compiled(model)
        for call in calls:
            out = function(*call)
            value = out["logits"] if isinstance(out, dict) else out
            if value.requires_grad:
                value.sum().backward()
        return model

    return run


def _containers(compiled: Compile) -> None:
    compiled(containers)({"x": torch.randn(4)}, Settings(), torch.randn(4), last=torch.randn(4))


def _counter(compiled: Compile) -> None:
    function = compiled(make_counter(0, torch.randn(4)))
    function(torch.randn(4)), function(torch.randn(4))


def _mixed(compiled: Compile) -> None:
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        compiled(no_grad_mixed)(torch.randn(3, 4), torch.randn(4, 4))


def programs() -> dict[str, tuple[str, Callable[[Compile], Any]]]:
    """Name -> the function that is exported, and what runs it."""
    torch.manual_seed(0)
    ids = torch.randint(0, 16, (2, 5)), torch.randint(0, 16, (2, 7))
    return {
        "broken": ("Broken.forward", _modules(Broken(), (torch.randn(3, 4),), (torch.randn(5, 4),))),
        "convolutions": ("Convolutions.forward", _modules(Convolutions(), (torch.randn(2, 1, 6, 6),))),
        "attention": ("Attention.forward", _modules(Attention(), (ids[0],), (ids[1],))),
        "recurrent": ("Recurrent.forward", _modules(Recurrent(), (torch.randn(3, 2, 3),))),
        "experts": ("Experts.forward", _modules(Experts(), (torch.randn(2, 4), "up"), (torch.randn(2, 4), "down"))),
        "autoencoder": ("", _modules(_autoencoder(), (torch.randn(2, 6),))),
        "toy": ("toy", lambda compiled: [compiled(toy)(torch.randn(n), torch.rand(n)) for n in (4, 6)]),
        "containers": ("containers", _containers),
        "counter": ("", _counter),
        "mixed": ("", _mixed),
    }
