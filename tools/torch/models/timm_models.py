"""Models of timm and torchvision: random weights, images as small as the model allows, few blocks (``thin.py``)."""

from __future__ import annotations

import torch
from torch import nn

from tools.torch.models.rows import Built, Row
from tools.torch.models.thin import thin


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
    """``config`` goes to the class that is named, or ``torchvision.models.get_model``, but for ``image``, the size, and
    ``classifier``: the width of the hidden layers there, which have most of the parameters of VGG and AlexNet."""
    import torchvision

    options = dict(row.config)
    size = options.pop("image", 64)
    width = options.pop("classifier", None)
    if row.target[0].isupper():
        module = getattr(torchvision.models, row.target)(num_classes=10, **options)
    else:
        module = torchvision.models.get_model(row.target, weights=None, num_classes=10, **options)
    if width is not None:
        _narrow_classifier(module.classifier, width)
    return Built(thin(module), {"0": torch.randn(2, 3, size, size)})


def _narrow_classifier(classifier: nn.Sequential, width: int) -> None:
    layers = [at for at, layer in enumerate(classifier) if isinstance(layer, nn.Linear)]
    sizes = [classifier[layers[0]].in_features, *[width] * (len(layers) - 1), classifier[layers[-1]].out_features]
    for at, taken, made in zip(layers, sizes, sizes[1:]):
        classifier[at] = nn.Linear(taken, made)
