"""Models of timm and torchvision: random weights, images as small as the model allows, fewer blocks where it says how."""

from __future__ import annotations

import torch

from models.rows import Built, Row


def build_timm(row: Row) -> Built:
    """``config`` goes to ``timm.create_model``; ``image`` is the size of the image, where the model
    is not told it (``img_size``)."""
    import timm

    options = dict(row.config)
    size = options.pop("image", None) or options.get("img_size")
    module = timm.create_model(row.target, pretrained=False, num_classes=10, **options)
    return Built(module, {"0": torch.randn(2, 3, size, size)})


def build_torchvision(row: Row) -> Built:
    """``config`` goes to ``torchvision.models.get_model``, but for ``image``, the size."""
    import torchvision

    options = dict(row.config)
    size = options.pop("image", 64)
    module = torchvision.models.get_model(row.target, weights=None, num_classes=10, **options)
    return Built(module, {"0": torch.randn(2, 3, size, size)})
