"""Blocks that ``thin`` leaves out, and those that it must not."""

from __future__ import annotations

import torch
from torch import nn

from tools.torch.models.thin import thin


class Block(nn.Module):
    """Keeps the shape, or makes the image smaller."""

    def __init__(self, channels: int, out: int, stride: int = 1, rate: float = 0.0, shift: int = 0) -> None:
        super().__init__()
        self.rate, self.shift = rate, shift
        self.layer = nn.Conv2d(channels, out, 3, stride, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).roll(self.shift, -1)


def shape(module: nn.Module) -> tuple[int, ...]:
    return tuple(module(torch.ones(1, 4, 16, 16)).shape)


def test_a_stage_keeps_one_block_of_each_kind():
    stage = nn.Sequential(Block(4, 8, 2), *(Block(8, 8, rate=at / 10) for at in range(5)), Block(8, 4))
    before = shape(stage)
    first, second = stage[:2]
    thin(stage)
    assert [*stage] == [first, second, stage[2]]
    assert shape(stage) == before


def test_a_stage_of_repetitions_keeps_two():
    assert len(thin(nn.Sequential(*(Block(4, 4) for _ in range(5))))) == 2


def test_what_differs_in_a_plain_attribute_stays():
    assert len(thin(nn.Sequential(*(Block(4, 4, shift=at % 2) for at in range(4))))) == 4


def test_strided_blocks_stay():
    stage = nn.Sequential(*(Block(4, 4, 2) for _ in range(3)))
    assert shape(thin(stage)) == (1, 4, 2, 2)


def test_a_container_with_its_own_forward_stays():
    class Collects(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([block(x) for block in self], 1)

    assert shape(thin(Collects(*(Block(4, 4) for _ in range(3))))) == (1, 12, 16, 16)


def test_inner_stages_first():
    inner = [nn.Sequential(*(Block(4, 4) for _ in range(depth))) for depth in (2, 3, 6)]
    assert [len(stage) for stage in thin(nn.Sequential(*inner))] == [2, 2]


def test_a_named_block_hands_its_last_argument_on():
    class Cells(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Bilinear(2, 2, 2), nn.Bilinear(2, 2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.first(x, x)
            return self.second(x, y)

    cells = Cells()
    thin(cells, ["second"])
    x = torch.ones(1, 2)
    assert torch.equal(cells(x), cells.first(x, x))
