"""A small configuration for any configuration class of transformers, by the names its fields have everywhere.

Input: the class.  Output: keyword arguments for it, nested for sub-configurations.  Nothing is known about a single
model here; what one of them needs beside these rules stands in its row of the catalogue.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

HIDDEN, HEADS, KV_HEADS, LAYERS, VOCABULARY, IMAGE, PATCH = 32, 4, 2, 2, 128, 32, 8

_SIZES: tuple[tuple[int, tuple[str, ...]], ...] = (
    (HIDDEN, (
        "hidden_size", "d_model", "n_embd", "dim", "embed_dim", "hidden_dim", "emb_dim", "embedding_size", "n_embed", "width",
        "encoder_hidden_dim", "decoder_hidden_dim", "decoder_hidden_size", "encoder_hidden_size", "projection_dim", "out_hidden_size",
        "word_embed_proj_dim", "hidden_size_per_layer_input", "attention_dim", "model_dim", "lru_width", "decoder_embed_dim",
        "fusion_hidden_size", "mm_hidden_size", "output_proj_dims", "d_inner_proj", "hidden_channels", "moe_intermediate_size",
        "shared_expert_intermediate_size", "expert_ffn_hidden_size", "moe_shared_expert_intermediate_size", "conv_dim_out",
    )),
    (2 * HIDDEN, (
        "intermediate_size", "d_ff", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "n_inner", "mlp_dim", "d_inner", "ffn_hidden_size",
        "block_ff_dim", "block_multiple_of", "dim_feedforward", "shared_intermediate_size", "mamba_intermediate_size",
        "intermediate_size_mlp", "block_ffn_hidden_size", "dense_intermediate_size",
    )),
    (HEADS, (
        "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads",
        "decoder_num_attention_heads", "encoder_num_attention_heads", "num_encoder_attention_heads", "index_n_heads",
        "num_decoder_attention_heads", "block_num_heads", "mamba_n_heads", "linear_num_value_heads", "mamba_num_heads",
    )),
    (KV_HEADS, (
        "num_key_value_heads", "num_kv_heads", "n_kv_heads", "encoder_num_key_value_heads", "decoder_num_key_value_heads",
        "linear_num_key_heads", "kv_heads", "num_query_groups", "num_global_key_value_heads", "swa_num_key_value_heads",
    )),
    (HIDDEN // HEADS, (
        "head_dim", "d_kv", "attention_head_dim", "v_head_dim", "qk_rope_head_dim", "qk_nope_head_dim", "global_head_dim",
        "linear_key_head_dim", "linear_value_head_dim", "mamba_d_head", "mamba_head_dim", "mamba_d_state", "index_head_dim",
        "state_size", "ssm_state_size", "attention_head_size", "hidden_size_per_head", "swa_head_dim", "swa_v_head_dim",
    )),
    (LAYERS, (
        "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "num_blocks", "depth",
        "num_decoder_layers", "num_encoder_layers", "encoder_num_hidden_layers", "decoder_num_hidden_layers", "num_block_layers",
        "num_hidden_groups_layers", "layers", "num_rnn_layers", "block_num_layers",
    )),
    (16, ("q_lora_rank", "kv_lora_rank", "o_lora_rank", "mamba_chunk_size", "chunk_size", "time_step_rank",
         "index_topk", "altup_rank", "laurel_rank", "conv_chunk_size")),
    (VOCABULARY, ("vocab_size", "codebook_size", "audio_vocab_size", "vocab_size_per_layer_input", "text_vocab_size")),
    (64, ("max_position_embeddings", "n_positions", "n_ctx", "max_target_positions", "max_source_positions", "seq_length", "max_seq_len",
         "original_max_position_embeddings", "model_max_length", "max_seq_length", "max_sequence_length")),
    (IMAGE, ("image_size",)),
    (PATCH, ("patch_size", "sliding_window", "attention_window_size", "local_attention", "attention_chunk_size", "local_window_size")),
    (4, ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "rotary_dim")),
    (2, ("num_experts_per_tok", "moe_topk", "moe_k", "num_experts_per_token", "moe_num_experts_per_tok", "num_selected_experts")),
    (1, ("n_group", "topk_group", "n_shared_experts", "mamba_n_groups", "n_groups", "num_shared_experts", "first_k_dense_replace",
        "moe_layer_start_index", "num_mem_blocks", "mamba_ngroups", "moe_num_shared_experts")),
)  # fmt: skip
SMALL = {name: size for size, names in _SIZES for name in names}
_TOKENS = {
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 3,
    "decoder_start_token_id": 3,
    "sep_token_id": 3,
    "cls_token_id": 0,
}
_FREE = dict.fromkeys(("layerdrop", "encoder_layerdrop", "decoder_layerdrop"), 0.0)
_WIDTHS = ("hidden_sizes", "embed_dims", "embedding_dims", "encoder_hidden_sizes", "neck_hidden_sizes", "dims", "stage_out_channels",
           "channels", "encoder_channels", "decoder_channels")  # fmt: skip
_DEPTHS = (
    "depths",
    "num_blocks",
    "layers_per_stage",
    "blocks_per_stage",
    "num_encoder_blocks_per_stage",
    "stage_num_blocks",
)


def shrink(cls: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of the configuration class ``cls``; ``own`` has the last word (``text_config.head_dim``)."""
    wanted = _small(cls)
    for name, value in own.items():
        *path, last = name.split(".")
        place = wanted
        for part in path:
            place = place.setdefault(part, {})
        if value is ...:
            place.pop(last, None)  # the class's own default
        else:
            place[last] = value
    return wanted


def _small(cls: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, default in defaults(cls).items():
        if name in SMALL and type(default) is int and default > 0:
            found[name] = min(SMALL[name], default)
        elif name in _TOKENS:
            found[name] = _TOKENS[name]
        elif name == "use_cache":
            found[name] = False  # one forward pass; rows that generate say otherwise
        elif name in _FREE and isinstance(default, float):
            found[name] = 0.0
        elif name in _WIDTHS and _numbers(default):
            found[name] = [min(width, 16 * 2 ** min(at, 2)) for at, width in enumerate(default)]
        elif name in _DEPTHS and _numbers(default):
            found[name] = [1] * len(default)
        elif name == "image_size" and _numbers(default):
            found[name] = [IMAGE] * len(default)
    for name, sub in sub_configurations(cls).items():
        found[name] = {**_small(type(sub)), "model_type": type(sub).model_type}
    return found


def _numbers(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(type(item) is int for item in value)


def defaults(cls: Any) -> dict[str, Any]:
    """Field -> default of a configuration class."""
    return {
        item.name: item.default_factory() if item.default is dataclasses.MISSING and item.default_factory is not dataclasses.MISSING
        else item.default
        for item in dataclasses.fields(cls)
    }  # fmt: skip


def sub_configurations(cls: Any) -> dict[str, Any]:
    """Name -> the sub-configuration that the class makes by default."""
    names = list(getattr(cls, "sub_configs", None) or {})
    if not names:
        return {}
    try:
        default = cls()
    except Exception:  # a composition without a default: its row says what is in it
        return {}
    return {name: sub for name in names if hasattr(sub := getattr(default, name, None), "model_type")}
