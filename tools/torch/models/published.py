"""Small definitions of published architectures that TorchBench has and no library does.

Written from the papers, with few channels.  Each function returns a model ready to run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tools.torch.models.rows import Built


def build(name: str) -> Built:
    return MODELS[name]()


class DoubleConvolution(nn.Sequential):
    """Two 3x3 convolutions, each with batch normalisation (Ronneberger et al. 2015, with padding)."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__(
            nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
            nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        )  # fmt: skip


class UNet(nn.Module):
    """U-Net: a contracting path, an expanding one, and a connection across at each size."""

    def __init__(self, classes: int = 2, width: int = 8, depth: int = 3) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.start = DoubleConvolution(3, width)
        self.down = nn.ModuleList(DoubleConvolution(a, b) for a, b in itertools.pairwise(widths))
        self.lift = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in itertools.pairwise(widths))
        self.up = nn.ModuleList(DoubleConvolution(2 * a, a) for a in widths[:-1])
        self.classes = nn.Conv2d(width, classes, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        across = [self.start(image)]
        for block in self.down:
            across.append(block(F.max_pool2d(across[-1], 2)))
        found = across.pop()
        for lift, block in zip(reversed(self.lift), reversed(self.up)):
            beside = across.pop()
            raised = lift(found)
            rows, columns = beside.size(2) - raised.size(2), beside.size(3) - raised.size(3)
            raised = F.pad(raised, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
            found = block(torch.cat([beside, raised], dim=1))
        return self.classes(found)


class Residual(nn.Module):
    """A residual block with reflection padding, as image-to-image generators use it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


class BackgroundMatting(nn.Module):
    """Sengupta et al. 2020: an image, its background, a soft segmentation and neighbouring frames, each encoded, combined in
    pairs with the image, decoded to an alpha matte and a foreground."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()

        def encoder(channels: int) -> nn.Sequential:
            return nn.Sequential(
                nn.ReflectionPad2d(3), nn.Conv2d(channels, width, 7, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
                nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
            )  # fmt: skip

        def decoder(channels: int) -> nn.Sequential:
            return nn.Sequential(
                Residual(2 * width), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                nn.Conv2d(2 * width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(True),
                nn.ReflectionPad2d(3), nn.Conv2d(width, channels, 7), nn.Tanh(),
            )  # fmt: skip

        self.image, self.back, self.segment, self.frames = encoder(3), encoder(3), encoder(1), encoder(4)
        self.pairs = nn.ModuleList(
            nn.Sequential(nn.Conv2d(4 * width, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True))
            for _ in range(3)
        )
        self.join = nn.Sequential(
            nn.Conv2d(5 * width, 2 * width, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True)
        )
        self.shared = nn.Sequential(Residual(2 * width), Residual(2 * width))
        self.alpha, self.foreground = decoder(1), decoder(3)

    def forward(self, image: Any, back: Any, segment: Any, frames: Any) -> tuple[torch.Tensor, torch.Tensor]:
        seen = self.image(image)
        others = (self.back(back), self.segment(segment), self.frames(frames))
        pairs = [pair(torch.cat([seen, other], dim=1)) for pair, other in zip(self.pairs, others)]
        joined = self.shared(self.join(torch.cat([seen, *pairs], dim=1)))
        return (self.alpha(joined) + 1) / 2, self.foreground(joined)


class ActorAndRenderer(nn.Module):
    """LearningToPaint (Huang et al. 2019): an actor sees the canvas and the target and chooses strokes; a neural renderer
    draws each of them onto the canvas."""

    STROKES, PARAMETERS, CANVAS = 2, 10, 32

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(9, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.act = nn.Linear(2 * width, self.STROKES * (self.PARAMETERS + 3))
        self.expand = nn.Sequential(nn.Linear(self.PARAMETERS, 64), nn.ReLU(), nn.Linear(64, 256), nn.ReLU())
        self.draw = nn.Sequential(
            nn.Conv2d(4, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.PixelShuffle(2),
            nn.Conv2d(4, 4, 3, padding=1), nn.PixelShuffle(2),
        )  # fmt: skip

    def render(self, parameters: torch.Tensor) -> torch.Tensor:
        small = self.expand(parameters).view(-1, 4, 8, 8)
        return 1 - torch.sigmoid(self.draw(small))

    def forward(self, canvas: torch.Tensor, target: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        size = canvas.shape[-1]
        time = step.view(-1, 1, 1, 1).expand(-1, 1, size, size)
        where = torch.linspace(-1, 1, size)
        grid = torch.stack(torch.meshgrid(where, where, indexing="ij")).expand(canvas.shape[0], 2, size, size)
        actions = torch.sigmoid(self.act(self.see(torch.cat([canvas, target, time, grid], dim=1))))
        strokes = actions.view(-1, self.PARAMETERS + 3)
        alpha = self.render(strokes[:, : self.PARAMETERS]).view(-1, self.STROKES, 1, size, size)
        colour = strokes[:, self.PARAMETERS :].view(-1, self.STROKES, 3, 1, 1) * alpha
        for number in range(self.STROKES):
            canvas = canvas * (1 - alpha[:, number]) + colour[:, number]
        return canvas


class Generator(nn.Sequential):
    """DCGAN (Radford et al. 2015): transposed convolutions from a code to an image."""

    def __init__(self, code: int = 16, width: int = 8) -> None:
        layers: list[nn.Module] = []
        before = code
        for after, stride, padding in ((8 * width, 1, 0), (4 * width, 2, 1), (2 * width, 2, 1)):
            layers += [
                nn.ConvTranspose2d(before, after, 4, stride, padding, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(True),
            ]
            before = after
        super().__init__(*layers, nn.ConvTranspose2d(before, 3, 4, 2, 1, bias=False), nn.Tanh())


class Discriminator(nn.Sequential):
    def __init__(self, width: int = 8) -> None:
        layers: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
        for factor in (1, 2):
            before, after = factor * width, 2 * factor * width
            layers += [
                nn.Conv2d(before, after, 4, 2, 1, bias=False),
                nn.BatchNorm2d(after),
                nn.LeakyReLU(0.2, inplace=True),
            ]
        super().__init__(*layers, nn.Conv2d(4 * width, 1, 4, 1, 0, bias=False), nn.Sigmoid())


class DCGAN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generate, self.judge = Generator(), Discriminator()

    def forward(self, code: torch.Tensor) -> torch.Tensor:
        return self.judge(self.generate(code)).flatten()


class DeepRecommender(nn.Module):
    """Kuchaiev and Ginsburg 2017: a deep autoencoder of ratings; the output is fed in again ("dense re-feeding")."""

    def __init__(self, items: int = 96, widths: tuple[int, ...] = (32, 32, 64), dropout: float = 0.5) -> None:
        super().__init__()
        sizes = (items, *widths)
        self.encode = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.decode = nn.ModuleList(nn.Linear(b, a) for a, b in zip(reversed(sizes[:-1]), reversed(sizes[1:])))
        self.dropout = nn.Dropout(dropout)

    def once(self, ratings: torch.Tensor) -> torch.Tensor:
        for layer in self.encode:
            ratings = F.selu(layer(ratings))
        ratings = self.dropout(ratings)
        for number, layer in enumerate(self.decode):
            ratings = layer(ratings)
            if number != len(self.decode) - 1:
                ratings = F.selu(ratings)
        return ratings

    def forward(self, ratings: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = self.once(ratings)
        loss = ((first - ratings) * (ratings != 0)).square().sum() / (ratings != 0).sum()
        return loss, self.once(first)


class LSTMTagger(nn.Module):
    """A recurrent tagger whose steps are a Python loop that ends where the longest sequence does."""

    def __init__(self, vocabulary: int = 64, width: int = 16) -> None:
        super().__init__()
        self.embed, self.cell, self.out = (
            nn.Embedding(vocabulary, width),
            nn.LSTMCell(width, width),
            nn.Linear(width, 5),
        )
        self.width = width

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        longest = int(lengths.max())  # data decides: a graph break
        h = c = torch.zeros(ids.shape[0], self.width)
        found = []
        for step in range(min(longest, ids.shape[1])):
            new_h, new_c = self.cell(self.embed(ids[:, step]), (h, c))
            going = (step < lengths).unsqueeze(1)
            h, c = torch.where(going, new_h, h), torch.where(going, new_c, c)
            found.append(self.out(h))
        return torch.stack(found, dim=1)


def _images(*channels: int, size: int = 32) -> dict[str, torch.Tensor]:
    return {str(at): torch.randn(2, count, size, size) for at, count in enumerate(channels)}


MODELS: dict[str, Callable[[], Built]] = {
    "pytorch_unet": lambda: Built(UNet(), _images(3, size=36)),
    "Background_Matting": lambda: Built(BackgroundMatting(), _images(3, 3, 1, 4)),
    "LearningToPaint": lambda: Built(ActorAndRenderer(), {**_images(3, 3), "2": torch.rand(2)}),
    "dcgan": lambda: Built(DCGAN(), {"0": torch.randn(4, 16, 1, 1)}),
    "nvidia_deeprecommender": lambda: Built(DeepRecommender(), {"0": torch.randint(0, 6, (4, 96)).float()}),
    "lstm_tagger": lambda: Built(LSTMTagger(), {"0": torch.randint(0, 64, (3, 6)), "1": torch.tensor([2, 4, 3])}),
}
