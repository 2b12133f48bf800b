"""Tiny random-weight models of transformers: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _ids(rows: int, length: int, vocabulary: int = 64) -> torch.Tensor:
    return torch.randint(0, vocabulary, (rows, length), generator=torch.Generator().manual_seed(7))


def gpt2() -> tuple[Any, dict[str, Any]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=64, n_positions=32, use_cache=False)
    ids = _ids(2, 8)
    return GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}


def bert() -> tuple[Any, dict[str, Any]]:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        num_hidden_layers=2, num_attention_heads=2, hidden_size=16, intermediate_size=32, vocab_size=64,
        max_position_embeddings=32,
    )  # fmt: skip
    ids = _ids(2, 8)
    return BertForMaskedLM(config), {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


def llama() -> tuple[Any, dict[str, Any]]:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, hidden_size=16, intermediate_size=32,
        vocab_size=64, max_position_embeddings=32, use_cache=False,
    )  # fmt: skip
    ids = _ids(2, 8)
    return LlamaForCausalLM(config), {"input_ids": ids, "labels": ids}


def t5() -> tuple[Any, dict[str, Any]]:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        num_layers=2, num_heads=2, d_model=16, d_kv=8, d_ff=32, vocab_size=64, use_cache=False, decoder_start_token_id=0
    )
    return T5ForConditionalGeneration(config), {"input_ids": _ids(2, 8), "labels": _ids(2, 6)}


MODELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {"gpt2": gpt2, "bert": bert, "llama": llama, "t5": t5}


def run_model(name: str, compiled: Callable[[Any], Any], train: bool) -> list[Any]:
    """One step of a freshly seeded model: loss, logits and, when training, every gradient."""
    torch.manual_seed(3)
    model, inputs = MODELS[name]()
    model = model.train() if train else model.eval()
    run = compiled(model)
    if train:
        torch.manual_seed(11)  # dropout
        output = run(**inputs)
        output.loss.backward()
        grads = [parameter.grad for _, parameter in sorted(model.named_parameters())]
        return [output.loss.detach(), output.logits.detach(), *grads]
    with torch.no_grad():
        output = run(**inputs)
    return [output.loss, output.logits]
