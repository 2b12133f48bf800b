"""The models of the paper's Appendix C: 50 of Hugging Face, 61 of timm, 27 of TorchBench.

Each name is mapped to the class or variant that exists today; where that is another name, the note says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.torch.models.rows import EMPTY, Row

_HF = {
    name: (name, "")
    for name in """
BertForMaskedLM BertForQuestionAnswering AlbertForMaskedLM AlbertForQuestionAnswering BartForCausalLM
BartForConditionalGeneration BlenderbotForCausalLM BlenderbotForConditionalGeneration BlenderbotSmallForConditionalGeneration
DebertaForMaskedLM DebertaForQuestionAnswering DebertaV2ForMaskedLM DebertaV2ForQuestionAnswering DistilBertForMaskedLM
DistilBertForQuestionAnswering ElectraForCausalLM ElectraForQuestionAnswering GPT2ForSequenceClassification GPTJForCausalLM
GPTJForQuestionAnswering GPTNeoForCausalLM GPTNeoForSequenceClassification LayoutLMForMaskedLM
LayoutLMForSequenceClassification MBartForCausalLM MBartForSequenceClassification MT5ForConditionalGeneration
MegatronBertForMaskedLM MegatronBertForQuestionAnswering MobileBertForMaskedLM MobileBertForQuestionAnswering OPTForCausalLM
PLBartForCausalLM PLBartForConditionalGeneration PegasusForCausalLM PegasusForConditionalGeneration
T5ForConditionalGeneration TrOCRForCausalLM XGLMForCausalLM XLNetLMHeadModel
""".split()
} | {
    "AllenaiLongformerBase": ("LongformerForMaskedLM", "the checkpoint allenai/longformer-base, as its class"),
    "Blenderbot-SmallForCausalLM": ("BlenderbotSmallForCausalLM", "spelling"),
    "CamemBart": ("CamembertForMaskedLM", "the checkpoint camembert-base, as its class"),
    "DistilGPT": ("GPT2LMHeadModel", "the checkpoint distilgpt2: GPT-2 with half the layers"),
    "M2M100": ("M2M100ForConditionalGeneration", "spelling"),
    "RoBERTaForCausalLM": ("RobertaForCausalLM", "spelling"),
    "RoBERTaForQuestionAnswering": ("RobertaForQuestionAnswering", "spelling"),
    "S2T2": ("Speech2TextForConditionalGeneration", "Speech2Text2 was dropped from transformers; its successor here"),
    "T5Small": ("T5ForConditionalGeneration", "the checkpoint t5-small: T5 with ReLU and tied embeddings"),
    "YituTechConvBert": ("ConvBertForMaskedLM", "the checkpoint YituTech/conv-bert-base, as its class"),
}  # fmt: skip

_GPT_NEO = {"attention_types": [[["global", "local"], 1]], "window_size": 4}
_HF_CONFIG: dict[str, Mapping[str, Any]] = {
    "GPTNeoForCausalLM": _GPT_NEO,
    "GPTNeoForSequenceClassification": _GPT_NEO,
    "S2T2": {"input_feat_per_channel": 16, "conv_channels": 32, "max_source_positions": 32},
    "T5Small": {"feed_forward_proj": "relu", "tie_word_embeddings": True},
    "T5ForConditionalGeneration": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
}
_HF_INPUTS: dict[str, Mapping[str, Any]] = {
    "S2T2": {"input_features": ("float", 2, 32, 16)},
    "MBartForSequenceClassification": {
        "input_ids": ("long", [[5, 6, 7, 8, 9, 3], [9, 8, 7, 6, 5, 3]]),
        "decoder_input_ids": None,
    },
}

_TIMM = {
    name: (name, "")
    for name in """
inception_v3 beit_base_patch16_224 botnet26t_256 eca_botnext26ts_256 sebotnet33ts_256 cait_m36_384 coat_lite_mini convit_base
convmixer_768_32 convnext_base crossvit_9_240 cspdarknet53 deit_base_distilled_patch16_224 dla102 dm_nfnet_f0 nfnet_l0 dpn107
eca_halonext26ts ese_vovnet19b_dw fbnetc_100 fbnetv3_b ghostnet_100 mixer_b16_224 gmixer_24_224 gmlp_s16_224 hrnet_w18
lcnet_050 levit_128 mnasnet_100 mobilenetv2_100 mobilenetv3_large_100 mobilevit_s pit_b_224 pnasnet5large poolformer_m36
regnety_002 repvgg_a2 res2net101_26w_4s res2net50_14w_8s res2next50 resmlp_12_224 resnest101e rexnet_100 selecsls42b
spnasnet_100 swin_base_patch4_window7_224 tf_efficientnet_b0 tinynet_a tnt_s_patch16_224 twins_pcpvt_base visformer_small
vit_base_patch16_224 volo_d1_224 xcit_large_24_p8_224
""".split()
} | {
    "gluon_inception_v3": ("inception_v3", "now a set of weights of inception_v3"),
    "adv_inception_v3": ("inception_v3", "now a set of weights of inception_v3"),
    "gernet_1": ("gernet_l", "spelling"),
    "jx_nest_base": ("nest_base_jx", "renamed"),
    "mixnet_1": ("mixnet_l", "spelling"),
    "tf_mixnet_1": ("tf_mixnet_l", "spelling"),
    "swsl_resnext101_32x16d": ("resnext101_32x16d", "now a set of weights of resnext101_32x16d"),
}  # fmt: skip

_VIT = {"img_size": 32, "depth": 2, "embed_dim": 32, "num_heads": 2}
_MIXER = {"img_size": 32}
_RESNET = {"layers": (1, 1, 1, 1), "image": 64}
_INCEPTION = {"image": 96, "without": ["Mixed_5d", "Mixed_6c", "Mixed_6d", "Mixed_6e", "Mixed_7c"]}
_TIMM_CONFIG: dict[str, Mapping[str, Any]] = {
    "beit_base_patch16_224": _VIT,
    "deit_base_distilled_patch16_224": _VIT,
    "vit_base_patch16_224": _VIT,
    "cait_m36_384": _VIT,
    "convit_base": {"img_size": 32, "depth": 3, "local_up_to_layer": 2, "embed_dim": 16, "num_heads": 2},
    "tnt_s_patch16_224": {
        "img_size": 32,
        "depth": 2,
        "embed_dim": 32,
        "num_heads_outer": 2,
        "inner_dim": 8,
        "num_heads_inner": 2,
    },
    "xcit_large_24_p8_224": {"img_size": 32, "depth": 2, "cls_attn_layers": 1, "embed_dim": 32, "num_heads": 2},
    "volo_d1_224": {"img_size": 64},
    "mixer_b16_224": _MIXER,
    "gmixer_24_224": _MIXER,
    "gmlp_s16_224": _MIXER,
    "resmlp_12_224": _MIXER,
    "swin_base_patch4_window7_224": {"img_size": 56, "depths": (2, 2, 2), "embed_dim": 16, "num_heads": (1, 2, 4)},
    "twins_pcpvt_base": {
        "img_size": 64,
        "depths": [1, 1, 1, 1],
        "embed_dims": [8, 16, 16, 32],
        "num_heads": [1, 2, 2, 2],
    },
    "jx_nest_base": {"img_size": 64, "image": 64},
    "pit_b_224": {"img_size": 56, "depth": [1, 1, 1], "heads": [1, 2, 2], "base_dims": [16, 16, 16]},
    "crossvit_9_240": {"image": 240, "embed_dim": [16, 32], "depth": [[1, 2, 0], [1, 2, 0]], "num_heads": [2, 2]},
    "coat_lite_mini": {"img_size": 64, "serial_depths": [1, 1, 1, 1], "embed_dims": [32, 32, 64, 64]},
    "levit_128": {"img_size": 64, "image": 64},
    "visformer_small": {
        "img_size": 64,
        "embed_dim": 32,
        "init_channels": 8,
        "depth": (1, 1, 1),
        "num_heads": 2,
        "group": 2,
    },
    "poolformer_m36": {"image": 64},
    "convnext_base": {"depths": (1, 1, 2, 1), "dims": (8, 16, 32, 64), "image": 64},
    "convmixer_768_32": {"image": 56},
    "dpn107": {"k_sec": (1, 1, 1, 1), "image": 64},
    "dla102": {"levels": [1, 1, 1, 1, 2, 1], "channels": [8, 16, 32, 32, 64, 64], "image": 64},
    "dm_nfnet_f0": {
        "depths": (1, 1, 2, 1),
        "channels": (32, 64, 64, 64),
        "stem_chs": 16,
        "group_size": 16,
        "image": 64,
    },
    "nfnet_l0": {"depths": (1, 1, 2, 1), "image": 64},
    "res2net101_26w_4s": _RESNET,
    "res2net50_14w_8s": _RESNET,
    "res2next50": _RESNET,
    "resnest101e": _RESNET,
    "swsl_resnext101_32x16d": _RESNET,
    "hrnet_w18": {"width": 8, "image": 64},
    "inception_v3": _INCEPTION,
    "adv_inception_v3": _INCEPTION,
    "gluon_inception_v3": _INCEPTION,
    "pnasnet5large": {"image": 96, "without": [f"cell_{at}" for at in (1, 2, 3, 5, 6, 7, 9, 10, 11)]},
    "regnety_002": {"depth": 5, "wa": 60.0, "image": 64},
    "rexnet_100": {"depth_mult": 0.3, "image": 64},
    "ghostnet_100": {"without": ["blocks.6.1", "blocks.6.2", "blocks.6.4", "blocks.8.1", "blocks.8.2"], "image": 64},
    "botnet26t_256": {"img_size": 64},
    "eca_botnext26ts_256": {"img_size": 64},
    "sebotnet33ts_256": {"img_size": 64},
    "eca_halonext26ts": {"img_size": 256},
}

_TORCHBENCH = {
    name: ("torchvision", name, "")
    for name in """
mnasnet1_0 mobilenet_v2 mobilenet_v3_large resnet18 resnet50 resnext50_32x4d alexnet shufflenet_v2_x1_0
squeezenet1_1 vgg16
""".split()
} | {
    "densenet121": ("torchvision", "DenseNet", "its class: the depth is no argument of the variant"),
    "BERT_pytorch": ("transformers", "BertForPreTraining", "a BERT of its own, with both pre-training heads"),
    "hf_Bert": ("transformers", "BertForMaskedLM", ""),
    "hf_Bart": ("transformers", "BartForConditionalGeneration", ""),
    "hf_GPT2": ("transformers", "GPT2LMHeadModel", ""),
    "hf_T5": ("transformers", "T5ForConditionalGeneration", ""),
    "timm_nfnet": ("timm", "dm_nfnet_f0", ""),
    "timm_vovnet": ("timm", "ese_vovnet19b_dw", "the vovnet39a that TorchBench used is gone"),
    "timm_regnet": ("timm", "regnety_120", ""),
    "timm_resnest": ("timm", "resnest14d", ""),
    "timm_efficientnet": ("timm", "mixnet_m", ""),
    "timm_vision_transformer": ("timm", "vit_small_patch16_224", ""),
    **{name: ("own", name, "own small definition") for name in
       ("Background_Matting", "LearningToPaint", "dcgan", "nvidia_deeprecommender", "pytorch_unet")},
}  # fmt: skip

_TORCHBENCH_CONFIG: dict[str, Mapping[str, Any]] = {
    "timm_nfnet": _TIMM_CONFIG["dm_nfnet_f0"],
    "timm_vision_transformer": _VIT,
    "timm_regnet": {"depth": 5, "w0": 48, "wa": 120.0, "group_size": 16, "image": 64},
    "alexnet": {"image": 80, "classifier": 64},
    "vgg16": {"classifier": 64},
    "densenet121": {"block_config": (2, 2, 2, 2)},
}

ROWS = (
    *(
        Row(name, "huggingface", "transformers", target, note, _HF_CONFIG.get(name, EMPTY), _HF_INPUTS.get(name, EMPTY))
        for name, (target, note) in sorted(_HF.items())
    ),
    *(
        Row(name, "timm", "timm", target, note, _TIMM_CONFIG.get(name, {"image": 64}))
        for name, (target, note) in sorted(_TIMM.items())
    ),
    *(
        Row(
            name,
            "torchbench",
            library,
            target,
            note,
            _TORCHBENCH_CONFIG.get(name, {"image": 64} if library == "timm" else EMPTY),
        )
        for name, (library, target, note) in sorted(_TORCHBENCH.items())
    ),
)
