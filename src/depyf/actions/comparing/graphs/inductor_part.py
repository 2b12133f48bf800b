"""Which layer below Dynamo makes a difference, and of Inductor which part: the first without which it is gone.

Input: whether the difference is there under the options of now.  Output: the layer, in words.
Options are torch's, which hold for this thread only while they are set.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

LAYERS = (
    ("aot_eager", "AOTAutograd: its graphs differ when PyTorch's own kernels run them, too"),
    (
        "aot_eager_decomp_partition",
        "AOTAutograd: its graphs differ once operators are decomposed and the graph is split for the backward",
    ),
)
"""Backends that stop after a layer, and that layer."""
INDUCTOR = "Inductor: the graphs that it is given agree with Python when PyTorch's own kernels run them"
_CUSTOM = (
    "pre_grad_custom_pass", "post_grad_custom_pre_pass", "post_grad_custom_post_pass", "joint_custom_pre_pass",
    "joint_custom_post_pass", "_pre_fusion_custom_pass", "_post_fusion_custom_pass",
)  # fmt: skip
"""The program's own passes."""
_PARTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"pattern_matcher": False}, "the patterns that it replaces (pattern_matcher = False)"),
    ({"use_pre_grad_passes": False}, "its passes before the backward is derived (use_pre_grad_passes = False)"),
    ({"use_joint_graph_passes": False}, "its passes over forward and backward (use_joint_graph_passes = False)"),
    ({"use_post_grad_passes": False}, "its passes after the backward is derived (use_post_grad_passes = False)"),
    (
        {"emulate_precision_casts": True},
        "its leaving out of conversions between floating-point types (emulate_precision_casts = True)",
    ),
    ({"max_fusion_size": 1, "epilogue_fusion": False}, "the fusion of kernels (max_fusion_size = 1)"),
    ({"fallback_by_default": True}, "its own kernels for single operations (fallback_by_default = True)"),
)


Differs = Callable[[Any], bool]
"""Whether a backend, which compiles anew, gives other values than Python."""


def inductor_layer(differs: Differs, nearby: Callable[[], Differs | None]) -> str:
    """The first layer whose code differs, each with those before it, in words; of Inductor with its part.

    ``nearby``: the same question for a small part of the graph, if that differs by itself.
    """
    for backend, layer in LAYERS:
        with contextlib.suppress(Exception):  # a layer that fails alone says nothing
            if differs(backend):
                return layer
    part = inductor_part(functools.partial(nearby() or differs, "inductor"))
    return f"{INDUCTOR}; without {part} the difference is gone" if part else INDUCTOR


def inductor_part(differs: Callable[[], bool]) -> str:
    """The first part of Inductor without which the difference is gone; "" for none.  ``differs`` compiles again at each
    call, and returns whether there is still a difference."""
    import torch._inductor.config as config

    for options, part in _tried(config):
        with contextlib.suppress(Exception), config.patch(options):  # Inductor may need what is switched off
            if not differs():
                return part
    return ""


def _tried(config: Any) -> Iterator[tuple[dict[str, Any], str]]:
    for name in _CUSTOM:
        if getattr(config, name, None) is not None:
            yield {name: None}, f"the program's pass in torch._inductor.config.{name}"
    for options, part in _PARTS:
        if all(hasattr(config, name) for name in options):
            yield options, part
