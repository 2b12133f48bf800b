"""From a row of the catalogue to a model."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch

from tools.torch.models import published
from tools.torch.models.huggingface import build as build_transformers
from tools.torch.models.rows import Built, Row
from tools.torch.models.timm_models import build_timm, build_torchvision

BUILDERS: dict[str, Callable[[Row], Built]] = {
    "transformers": build_transformers,
    "timm": build_timm,
    "torchvision": build_torchvision,
    "own": lambda row: published.build(row.target),
}


def build(row: Row) -> Built:
    """The same weights and inputs every time."""
    seed(3)
    return BUILDERS[row.library](row)


def seed(number: int) -> None:
    """Every source of random numbers that a model may use."""
    import numpy

    torch.manual_seed(number)
    numpy.random.seed(number)
    random.seed(number)
