"""Architectures of transformers from 2024 on, beyond the paper's list, and generation with a static cache.

One row per class; most need nothing beside the general rules of ``shrink.py`` and ``huggingface.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.torch.models.rows import EMPTY, INFERENCE, Row

_DECODERS = """
AfmoeForCausalLM ApertusForCausalLM ArceeForCausalLM BambaForCausalLM BitNetForCausalLM Cohere2ForCausalLM
CohereForCausalLM CwmForCausalLM DeepseekV2ForCausalLM DeepseekV3ForCausalLM DiffLlamaForCausalLM DogeForCausalLM
Ernie4_5ForCausalLM Ernie4_5_MoeForCausalLM Exaone4ForCausalLM FalconH1ForCausalLM FalconMambaForCausalLM
FlexOlmoForCausalLM Gemma2ForCausalLM Gemma3ForCausalLM Glm4ForCausalLM Glm4MoeForCausalLM GlmForCausalLM
GptOssForCausalLM GraniteForCausalLM GraniteMoeForCausalLM GraniteMoeHybridForCausalLM HeliumForCausalLM JambaForCausalLM
JetMoeForCausalLM KimiLinearForCausalLM Lfm2ForCausalLM Llama4ForCausalLM LongcatFlashForCausalLM
Mamba2ForCausalLM MambaForCausalLM MiniMaxForCausalLM MinistralForCausalLM MixtralForCausalLM ModernBertDecoderForCausalLM
NemotronForCausalLM NemotronHForCausalLM Olmo2ForCausalLM Olmo3ForCausalLM OlmoHybridForCausalLM OlmoeForCausalLM Phi3ForCausalLM
PhimoeForCausalLM Qwen2ForCausalLM Qwen2MoeForCausalLM Qwen3ForCausalLM Qwen3MoeForCausalLM Qwen3NextForCausalLM
RecurrentGemmaForCausalLM RwkvForCausalLM SeedOssForCausalLM SmolLM3ForCausalLM StableLmForCausalLM Starcoder2ForCausalLM
VaultGemmaForCausalLM  xLSTMForCausalLM DeepseekV4ForCausalLM MoshiForCausalLM
ZambaForCausalLM Zamba2ForCausalLM Gemma3nForCausalLM Dots1ForCausalLM DbrxForCausalLM BltForCausalLM Lfm2MoeForCausalLM
""".split()
_ENCODERS = """
ModernBertForMaskedLM EuroBertForMaskedLM NomicBertForMaskedLM JinaEmbeddingsV3ForMaskedLM T5GemmaForConditionalGeneration
""".split()
_VISION = """
HieraForImageClassification Dinov2ForImageClassification DINOv3ViTModel DINOv3ConvNextModel SiglipVisionModel
Siglip2VisionModel Aimv2VisionModel PvtV2ForImageClassification SwiftFormerForImageClassification TextNetForImageClassification
IJepaForImageClassification RTDetrForObjectDetection RTDetrV2ForObjectDetection DFineForObjectDetection
DepthAnythingForDepthEstimation SamVisionModel PixtralVisionModel VitDetModel
SuperPointForKeypointDetection HGNetV2ForImageClassification VJEPA2ForVideoClassification
Sam2VisionModel EfficientNetForImageClassification YolosForObjectDetection DetrForObjectDetection
ConditionalDetrForObjectDetection DabDetrForObjectDetection DeformableDetrForObjectDetection
""".split()
_AUDIO = "WhisperForConditionalGeneration MoonshineForConditionalGeneration MimiModel DacModel EncodecModel Wav2Vec2BertForCTC ParakeetForCTC".split()
_SEVERAL = """
SiglipModel PaliGemmaForConditionalGeneration Idefics3ForConditionalGeneration Qwen2VLForConditionalGeneration
LlavaForConditionalGeneration Gemma3ForConditionalGeneration InternVLForConditionalGeneration
""".split()
_SERIES = "PatchTSTForPrediction PatchTSMixerForPrediction".split()

_IMAGE_TOKEN = 120
_HGNET = {
    "stem_channels": [3, 8, 8], "stage_in_channels": [8, 16, 32, 64], "stage_mid_channels": [8, 8, 8, 8],
    "stage_numb_of_layers": [2, 2, 2, 2], "hidden_sizes": [16, 32, 64, 64],
}  # fmt: skip
_DETECTION = {"num_queries": 10, "num_denoising": 0, "encoder_in_channels": [32, 64, 64], "decoder_in_channels": [32, 32, 32],
              "backbone_config.out_indices": [2, 3, 4]}  # fmt: skip
_RESNET = {
    "model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16, 32, 32], "depths": [1, 1, 1, 1], "layer_type": "basic",
    "out_features": ["stage4"],
}  # fmt: skip
_ALL_STAGES = {**_RESNET, "out_features": ["stage1", "stage2", "stage3", "stage4"]}
_PAIRS = ["linear_attention", "hybrid", "linear_attention", "hybrid"]
_CONFIG: dict[str, Mapping[str, Any]] = {
    "ZambaForCausalLM": {
        "layers_block_type": ["hybrid", "hybrid"], "mamba_d_conv": 4, "attention_hidden_size": 64, "attention_head_dim": 16,
    },
    "Zamba2ForCausalLM": {"num_hidden_layers": 4, "layers_block_type": _PAIRS},
    "Gemma3nForCausalLM": {
        "num_kv_shared_layers": 0, "layer_types": ["sliding_attention", "full_attention"], "activation_sparsity_pattern": [0.5, 0.0],
        "intermediate_size": [64, 64], "laurel_rank": 8,
    },
    "Dots1ForCausalLM": {"n_routed_experts": 4, "n_shared_experts": 1, "num_key_value_heads": 4, "num_experts_per_tok": 2},
    "DbrxForCausalLM": {
        "attn_config": {"rope_theta": 10000.0, "kv_n_heads": 2, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 32, "hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "BltForCausalLM": {
        "encoder_config.hidden_size_global": 32, "decoder_config.hidden_size_global": 32, "patcher_config.hidden_size": 32,
        "encoder_hash_byte_group_vocab": 64,
    },
    "Lfm2MoeForCausalLM": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "Sam2VisionModel": {
        "backbone_channel_list": [128, 64, 32, 16], "fpn_hidden_size": 32, "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        "backbone_config.image_size": [64, 64], "backbone_config.hidden_size": 16,
        "backbone_config.embed_dim_per_stage": [16, 32, 64, 128], "backbone_config.blocks_per_stage": [1, 1, 2, 1],
        "backbone_config.num_attention_heads_per_stage": [1, 2, 2, 4], "backbone_config.window_size_per_stage": [8, 4, 8, 4],
        "backbone_config.window_positional_embedding_background_size": [4, 4], "backbone_config.global_attention_blocks": [3],
    },
    "EfficientNetForImageClassification": {
        "kernel_sizes": [3, 5], "in_channels": [32, 8], "out_channels": [8, 16], "strides": [1, 2], "num_block_repeats": [1, 2],
        "expand_ratios": [1, 6], "depthwise_padding": [], "hidden_dim": 64, "width_coefficient": 0.05, "depth_coefficient": 1.0,
        "image_size": 32,
    },
    "DetrForObjectDetection": {"backbone_config": _RESNET, "num_queries": 10},
    "ConditionalDetrForObjectDetection": {"backbone_config": _RESNET, "num_queries": 10},
    "DabDetrForObjectDetection": {"backbone_config": _RESNET, "num_queries": 10},
    "DeformableDetrForObjectDetection": {"backbone_config": _ALL_STAGES, "num_queries": 10, "num_feature_levels": 4},
    "Mamba2ForCausalLM": {"num_heads": 8},
    "DeepseekV2ForCausalLM": {"num_experts_per_tok": 2},
    "DeepseekV3ForCausalLM": {"num_key_value_heads": 4},
    "MinistralForCausalLM": {"head_dim": 8},
    "NemotronForCausalLM": {"num_key_value_heads": 2, "head_dim": 8},
    "DINOv3ConvNextModel": {"hidden_sizes": [8, 16, 32, 64], "depths": [1, 1, 1, 1]},
    "Siglip2VisionModel": {"num_patches": 16},
    "PvtV2ForImageClassification": {"num_attention_heads": [1, 2, 2, 2]},
    "TextNetForImageClassification": {"stem_out_channels": 16},
    "HGNetV2ForImageClassification": _HGNET,
    "RTDetrForObjectDetection": _DETECTION,
    "RTDetrV2ForObjectDetection": _DETECTION,
    "DFineForObjectDetection": _DETECTION | {"depth_mult": 0.34} | {f"backbone_config.{name}": value for name, value in _HGNET.items()},
    "DepthAnythingForDepthEstimation": {
        "backbone_config.out_indices": [1, 2], "backbone_config.reshape_hidden_states": False, "neck_hidden_sizes": [16, 32], "reassemble_factors": [1, 0.5],
        "reassemble_hidden_size": 32, "head_hidden_size": 8,
    },
    "VJEPA2ForVideoClassification": {
        "crop_size": 32, "frames_per_clip": 4, "num_pooler_layers": 1, "pred_hidden_size": 32, "pred_num_attention_heads": 4,
        "pred_num_hidden_layers": 2,
    },
    "MimiModel": {
        "upsample_groups": 32, "upsampling_ratios": [4, 2], "num_filters": 8, "codebook_dim": 16, "num_quantizers": 2,
        "vector_quantization_hidden_dimension": 16,
    },
    "DacModel": {"downsampling_ratios": [2, 2], "upsampling_ratios": [2, 2], "encoder_hidden_size": 16, "decoder_hidden_size": 16, "n_codebooks": 2},
    "EncodecModel": {"upsampling_ratios": [4, 2], "num_filters": 8},
    "Wav2Vec2BertForCTC": {"vocab_size": 32, "feature_projection_input_dim": 16, "apply_spec_augment": False},
    "ParakeetForCTC": {"encoder_config.num_mel_bins": 16, "encoder_config.subsampling_conv_channels": 16},
    "PaliGemmaForConditionalGeneration": {"image_token_index": _IMAGE_TOKEN},
    "Idefics3ForConditionalGeneration": {"image_token_id": _IMAGE_TOKEN},
    "LlavaForConditionalGeneration": {"image_token_index": _IMAGE_TOKEN},
    "Gemma3ForConditionalGeneration": {"image_token_index": _IMAGE_TOKEN, "mm_tokens_per_image": 4},
    "InternVLForConditionalGeneration": {"image_token_id": _IMAGE_TOKEN, "vision_config.patch_size": [8, 8]},
    "Qwen2VLForConditionalGeneration": {
        "image_token_id": _IMAGE_TOKEN, "video_token_id": 121, "vision_start_token_id": 122, "vision_end_token_id": 123,
        "text_config.rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
    },
}  # fmt: skip
_IMAGE = {"pixel_values": ("float", 2, 3, 64, 64)}
_INPUTS: dict[str, Mapping[str, Any]] = {
    **dict.fromkeys(
        ("Sam2VisionModel", "DetrForObjectDetection", "ConditionalDetrForObjectDetection", "DabDetrForObjectDetection",
         "DeformableDetrForObjectDetection"), _IMAGE),
    "Siglip2VisionModel": {
        "pixel_values": ("float", 2, 16, 192), "pixel_attention_mask": ("ones", 2, 16), "spatial_shapes": ("long", [[4, 4], [4, 4]]),
    },
    "VJEPA2ForVideoClassification": {"pixel_values_videos": ("float", 2, 4, 3, 32, 32)},
    "MimiModel": {"input_values": ("float", 2, 1, 800)},
    "DacModel": {"input_values": ("float", 2, 1, 512)},
    "EncodecModel": {"input_values": ("float", 2, 1, 800)},
    "Wav2Vec2BertForCTC": {"input_features": ("float", 2, 40, 16)},
    "ParakeetForCTC": {"input_features": ("float", 2, 64, 16)},
    "SiglipModel": {"pixel_values": ...},
    "PaliGemmaForConditionalGeneration": {
        "input_ids": ("tokens", _IMAGE_TOKEN, 16), "labels": None, "pixel_values": ..., "token_type_ids": ("below", 1, 2, 24),
    },
    "Idefics3ForConditionalGeneration": {"input_ids": ("tokens", _IMAGE_TOKEN, 4), "labels": None, "pixel_values": ("float", 2, 1, 3, 32, 32)},
    "LlavaForConditionalGeneration": {"input_ids": ("tokens", _IMAGE_TOKEN, 16), "labels": None, "pixel_values": ...},
    "Gemma3ForConditionalGeneration": {
        "input_ids": ("tokens", _IMAGE_TOKEN, 4), "labels": None, "pixel_values": ..., "token_type_ids": ("below", 1, 2, 12),
    },
    "InternVLForConditionalGeneration": {"input_ids": ("tokens", _IMAGE_TOKEN, 4), "labels": None, "pixel_values": ...},
    "Qwen2VLForConditionalGeneration": {
        "input_ids": ("tokens", _IMAGE_TOKEN, 4), "labels": None, "pixel_values": ("float", 32, 384),
        "image_grid_thw": ("long", [[1, 4, 4], [1, 4, 4]]), "mm_token_type_ids": ("long", [[1] * 4 + [0] * 8] * 2),
    },
    "PatchTSTForPrediction": {"past_values": ("float", 2, 32, 1), "future_values": ("float", 2, 24, 1)},
    "PatchTSMixerForPrediction": {"past_values": ("float", 2, 32, 1), "future_values": ("float", 2, 16, 1)},
}  # fmt: skip
_GENERATING = (
    "Qwen3ForCausalLM Gemma2ForCausalLM LlamaForCausalLM Phi3ForCausalLM WhisperForConditionalGeneration".split()
)


def _row(name: str) -> Row:
    return Row(name, "recent", "transformers", name, "", _CONFIG.get(name, EMPTY), _INPUTS.get(name, EMPTY))


def _generating(name: str) -> Row:
    return Row(
        f"{name}.generate", "recent", "transformers", name, "generation, static cache", {**_CONFIG.get(name, EMPTY), "use_cache": True},
        {"labels": None, "decoder_input_ids": None, **_INPUTS.get(name, EMPTY)}, (INFERENCE,), "generate",
    )  # fmt: skip


ROWS: tuple[Row, ...] = (
    *(_row(name) for name in (*_DECODERS, *_ENCODERS, *_VISION, *_AUDIO, *_SEVERAL, *_SERIES)),
    *(_generating(name) for name in _GENERATING),
    Row("lstm_tagger", "recent", "own", "lstm_tagger", "a recurrent loop that ends where the data says"),
)
