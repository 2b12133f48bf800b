"""timm and torchvision beside any torch.

torchvision's wheels are linked against the CUDA build of torch.  On the CPU build their library does not load, and the
package refuses to be imported because its operators have no schema.  None of the models here calls one of them, so
declaring the schemas is enough.  Both packages live in a folder of their own (``make env`` fills ``.venv/vision``): what
else is installed never meets a torchvision that only works after this module.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.prefix) / "vision"

_POOL = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_POOL_BACKWARD = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SHAPE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_CONVOLUTION = (
    "Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
    "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align": f"({_POOL}, int sampling_ratio, bool aligned) -> Tensor",
    "qroi_align": f"({_POOL}, int sampling_ratio, bool aligned) -> Tensor",
    "_roi_align_backward": f"(Tensor grad, Tensor rois, {_POOL_BACKWARD}, {_SHAPE}, int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool": f"({_POOL}) -> (Tensor, Tensor)",
    "_roi_pool_backward": f"(Tensor grad, Tensor rois, Tensor argmax, {_POOL_BACKWARD}, {_SHAPE}) -> Tensor",
    "ps_roi_align": f"({_POOL}, int sampling_ratio) -> (Tensor, Tensor)",
    "_ps_roi_align_backward": f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOL_BACKWARD}, int sampling_ratio, {_SHAPE}) -> Tensor",
    "ps_roi_pool": f"({_POOL}) -> (Tensor, Tensor)",
    "_ps_roi_pool_backward": f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOL_BACKWARD}, {_SHAPE}) -> Tensor",
    "deform_conv2d": f"(Tensor input, {_CONVOLUTION}) -> Tensor",
    "_deform_conv2d_backward": f"(Tensor grad, Tensor input, {_CONVOLUTION}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
}
_declared: list[Any] = []


def available() -> bool:
    """Whether timm and torchvision can be imported after ``prepare``."""
    return FOLDER.is_dir() or all(importlib.util.find_spec(name) for name in ("timm", "torchvision"))


def prepare() -> None:
    """Make ``import timm`` and ``import torchvision`` work; call it before transformers looks for them."""
    if FOLDER.is_dir() and str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None or _declared:
        return
    import torch

    try:
        torch.ops.load_library(str(Path(spec.origin).parent / "_C.so"))
    except OSError:
        library = torch.library.Library("torchvision", "DEF")
        for name, schema in SCHEMAS.items():
            library.define(name + schema)
        _declared.append(library)  # the schemas live as long as the library
