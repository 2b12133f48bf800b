"""All rows: the paper's 138 names and what came since; those that stand for a family of control flow come first."""

from __future__ import annotations

from tools.torch.models import paper, recent

FAMILIES = {
    "lstm_tagger": "recurrent loop that data ends",
    "Qwen3ForCausalLM.generate": "generation with a static cache",
    "Qwen3MoeForCausalLM": "mixture of experts",
    "JambaForCausalLM": "state space and attention layers with experts",
    "Mamba2ForCausalLM": "state space",
    "xLSTMForCausalLM": "matrix memory in chunks",
    "XLNetLMHeadModel": "permuted attention with relative positions",
    "T5Small": "encoder and decoder",
    "BertForMaskedLM": "encoder",
    "Qwen3ForCausalLM": "decoder",
    "WhisperForConditionalGeneration": "audio encoder and text decoder",
    "PatchTSTForPrediction": "time series",
    "HieraForImageClassification": "hierarchical vision transformer",
    "ModernBertForMaskedLM": "alternating local and global layers",
    "dm_nfnet_f0": "convolutions with standardised weights",
    "vit_base_patch16_224": "vision transformer",
    "swin_base_patch4_window7_224": "shifted windows",
    "resnet18": "convolutions with residuals",
    "EfficientNetForImageClassification": "mobile convolutions",
    "YolosForObjectDetection": "detection",
    "DacModel": "audio codec",
    "PaliGemmaForConditionalGeneration": "images and text",
    "dcgan": "adversarial",
    "pytorch_unet": "contracting and expanding paths",
    "LearningToPaint": "agent and renderer",
    "nvidia_deeprecommender": "autoencoder fed with its own output",
}
"""Model -> what it stands for: the tests run these, and a sweep begins with them."""
AOT = ("Qwen3ForCausalLM.generate", "pytorch_unet", "nvidia_deeprecommender")
"""Those that the tests run with aot_eager; the others with eager."""
ROWS = tuple(
    sorted(
        (*paper.ROWS, *recent.ROWS),
        key=lambda row: list(FAMILIES).index(row.name) if row.name in FAMILIES else len(FAMILIES),
    )
)
BY_NAME = {row.name: row for row in ROWS}
