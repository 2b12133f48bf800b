"""Models of transformers: a small configuration, random weights, and inputs by what ``forward`` asks for.

Nothing is downloaded.  A row names the class; the rules here read its main input and its parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from tools.torch.models.rows import Built, Row
from tools.torch.models.shrink import shrink

BATCH, LENGTH, DECODER_LENGTH = 2, 8, 6
_LABELLED = ("ForCausalLM", "ForMaskedLM", "LMHeadModel", "ForConditionalGeneration", "WithLMHead", "DoubleHeadsModel")


def build(row: Row) -> Built:
    """The model of a row with its inputs.  Raises whatever the class raises on a configuration it does not like."""
    import transformers

    cls = getattr(transformers, row.target)
    config = cls.config_class(**shrink(cls.config_class, row.config))
    if getattr(config, "is_encoder_decoder", False) and getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = 0
    module = cls(config)
    return Built(module, inputs_for(module, row.inputs))


def inputs_for(module: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of ``forward``; ``own`` has the last word, and ``None`` there takes an input away."""
    config = module.config
    names = inspect.signature(module.forward).parameters
    kind = type(module).__name__
    vocabulary = text_config(config).get("vocab_size") or 64
    found: dict[str, Any] = {}
    wanted = {name for name in (module.main_input_name, *own) if own.get(name, ...) is ...}
    if "input_ids" in wanted:
        found["input_ids"] = ids(BATCH, LENGTH, vocabulary)
    if "pixel_values" in wanted:
        found["pixel_values"] = torch.randn(BATCH, *image_shape(config))
    if "input_features" in wanted:
        found["input_features"] = torch.randn(BATCH, config.num_mel_bins, 2 * config.max_source_positions)
    if "input_values" in wanted:
        found["input_values"] = torch.randn(BATCH, 1600)
    decoded = ids(BATCH, DECODER_LENGTH, vocabulary)
    if "decoder_input_ids" in names and getattr(config, "is_encoder_decoder", False):
        found["decoder_input_ids"] = decoded
    if "start_positions" in names:
        found |= {"start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([3, 4])}
    elif "labels" in names and "Classification" in kind:
        found["labels"] = torch.tensor([0, 1])
    elif "labels" in names and kind.endswith(_LABELLED):
        if "decoder_input_ids" in found:
            del found["decoder_input_ids"]  # the model shifts the labels itself
            found["labels"] = decoded
        elif "input_ids" in found:
            found["labels"] = found["input_ids"]
    for name, value in own.items():  # made last: the labels above are of the general inputs
        if value is None:
            found.pop(name, None)
        elif value is not ...:
            found[name] = made(value, vocabulary)
    return found


def made(value: Any, vocabulary: int) -> Any:
    """An input from its description: ``("float", 2, 3)``, ``("ids", 2, 8)``, ``("ones", 2, 8)``, ``("tokens", id, count)``
    (two rows that start with ``count`` placeholder tokens), ``("long", [...])``; anything else is the value itself."""
    match value:
        case ("float", *shape):
            return torch.randn(*shape)
        case ("ids", *shape):
            return ids(shape[0], shape[1], vocabulary)
        case ("below", limit, *shape):
            return torch.randint(0, limit, tuple(shape))
        case ("ones", *shape):
            return torch.ones(*shape, dtype=torch.long)
        case ("bool", *shape):
            return torch.ones(*shape, dtype=torch.bool)
        case ("tokens", token, count):
            rows = ids(BATCH, LENGTH, min(vocabulary, token) if token > 8 else vocabulary)
            return torch.cat([torch.full((BATCH, count), token), rows], dim=1)
        case ("long", items):
            return torch.tensor(items)
        case _:
            return value


def ids(rows: int, length: int, vocabulary: int) -> torch.Tensor:
    """Token numbers above the special ones."""
    return torch.randint(5, vocabulary, (rows, length))


def text_config(config: Any) -> dict[str, Any]:
    """The fields of the part of a configuration that reads text."""
    part = config.get_text_config() if hasattr(config, "get_text_config") else config
    return dict(vars(part))


def image_shape(config: Any) -> tuple[int, int, int]:
    """Channels, height, width of an image for this configuration."""
    parts = [config, *(getattr(config, name, None) for name in ("vision_config", "backbone_config", "encoder"))]
    parts = [part for part in parts if part is not None]
    size = next((part.image_size for part in parts if getattr(part, "image_size", None)), 64)
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    channels = next((part.num_channels for part in parts if getattr(part, "num_channels", None)), 3)
    return channels, height, width
