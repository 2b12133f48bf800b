"""Models of timm and torchvision: random weights, images as small as the model allows, few blocks (``thin.py``)."""

from __future__ import annotations

import torch

from models.rows import Built, Row
from models.thin import thin


def build_timm(row: Row) -> Built:
    """``config`` goes to ``timm.create_model``; ``image`` is the size of the image, where the model
    is not told it (``img_size``); ``width``: the one of the finest branch of a high-resolution net, whose depth is not an argument;
    ``without``: names of blocks to leave out."""
    import timm

    options = dict(row.config)
    if "width" in options:
        _narrow(row.target, options.pop("width"))
    size = options.pop("image", None) or options.get("img_size")
    without = options.pop("without", ())
    module = timm.create_model(row.target, pretrained=False, num_classes=10, **options)
    return Built(thin(module, without), {"0": torch.randn(2, 3, size, size)})


def _narrow(variant: str, width: int) -> None:
    """Every stage of a high-resolution net with one module of one block for each branch."""
    from timm.models import hrnet

    for name, stage in hrnet.cfg_cls[variant].items():
        if name != "stem_width":
            branches = stage["num_branches"]
            channels = tuple(width * 2**branch for branch in range(branches))
            stage.update(num_modules=1, num_blocks=(1,) * branches, num_channels=channels)


def build_torchvision(row: Row) -> Built:
    """``config`` goes to the class that is named, or ``torchvision.models.get_model``, but for ``image``, the size."""
    import torchvision

    options = dict(row.config)
    size = options.pop("image", 64)
    if row.target[0].isupper():
        module = getattr(torchvision.models, row.target)(num_classes=10, **options)
    else:
        module = torchvision.models.get_model(row.target, weights=None, num_classes=10, **options)
    return Built(thin(module), {"0": torch.randn(2, 3, size, size)})
