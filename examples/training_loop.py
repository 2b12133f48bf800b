"""A training loop for the pages of reports: a graph break, a recompilation, a dynamic dimension, a backward.

python training_loop.py FOLDER: recorded into FOLDER.
"""

from __future__ import annotations

import sys

import torch
import torch.nn.functional as F

import depyf


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        hidden = F.gelu(self.up(self.norm(x)))
        return x + self.down(hidden)


class Net(torch.nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.block = Block(width)
        self.head = torch.nn.Linear(width, 2)

    def forward(self, x):
        x = self.block(x)
        if x.mean().item() > 100:
            print("large")
        return self.head(x)


def train() -> None:
    torch.manual_seed(0)
    net = Net()
    step = torch.compile(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for size in (4, 8):
        loss = step(torch.randn(size, 8)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    with depyf.prepare_debug(sys.argv[1]):
        train()
