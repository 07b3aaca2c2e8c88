"""Architectures that transformers loads as causal models and that are none by themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_odd_models import changed, facts, refused, saved, vocabulary
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    CpmAntConfig,
    DeepseekV3Config,
    GPT2Config,
    MarianConfig,
    MistralConfig,
    TrOCRConfig,
    WhisperConfig,
)

from pare_backends.models.tiny import write_tokenizer

SIZES: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
    "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 1,
}  # fmt: skip


@pytest.mark.parametrize("kind", [BartConfig, MarianConfig, TrOCRConfig, WhisperConfig])
def test_a_decoder_that_attends_to_an_encoder_is_told(
    kind: Callable[..., Any], tmp_path: Path
) -> None:
    source = saved(tmp_path / "m", kind(vocab_size=vocabulary(), **SIZES))
    assert "attends to what an encoder has read (model.decoder.layers.0.encoder_attn)" in refused(
        source
    )


def test_a_model_with_an_encoder_is_told(tmp_path: Path) -> None:
    config = BartConfig(vocab_size=vocabulary(), max_position_embeddings=32, **SIZES)
    BartForConditionalGeneration(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    assert "bart has an encoder, whose reading its decoder answers" in refused(tmp_path)


def test_a_model_with_tokens_of_its_own_is_told(tmp_path: Path) -> None:
    config = CpmAntConfig(
        vocab_size=vocabulary(), hidden_size=32, num_attention_heads=2, dim_head=16, dim_ff=32,
        num_hidden_layers=1,
    )  # fmt: skip
    assert "tokens of its own before every text" in refused(saved(tmp_path / "m", config))


def test_tensors_that_the_model_has_no_place_for_are_named(tmp_path: Path) -> None:
    def more(tensors: dict[str, Any]) -> None:
        norm = tensors["model.norm.weight"]
        for name in ("score.weight", "model.vision.weight", "model.rotary_emb.inv_freq"):
            tensors[name] = norm.clone()

    note = facts(changed(tmp_path / "m", more))["notes"][0]
    assert "and 1 other tensors" in note and "which LlamaForCausalLM does not read" in note
    assert "inv_freq" not in note


def test_a_layer_that_is_no_plain_one_is_a_fact(tmp_path: Path) -> None:
    config = GPT2Config(
        vocab_size=vocabulary(), n_embd=32, n_layer=1, n_head=2, n_positions=64,
        bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    found = facts(saved(tmp_path / "gpt2", config))
    assert found["special_linear"] == "transformer.h.0.attn.c_attn" and found["notes"] == []
    assert found["whole_cache"] is None
    assert facts(changed(tmp_path / "m", lambda held: None))["special_linear"] is None


def test_why_no_part_of_a_cache_can_be_kept_is_a_fact(tmp_path: Path) -> None:
    config = DeepseekV3Config(
        vocab_size=vocabulary(), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, kv_lora_rank=16, q_lora_rank=16,
        qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, first_k_dense_replace=1,
        n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1,
        max_position_embeddings=64, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    assert "compressed latent" in facts(saved(tmp_path / "mla", config))["whole_cache"]


def test_a_window_that_a_configuration_names_for_all_layers_is_every_layers(tmp_path: Path) -> None:
    def kept(window: int | None) -> Any:
        config = MistralConfig(
            vocab_size=vocabulary(), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, head_dim=16, sliding_window=window,
            max_position_embeddings=64, bos_token_id=0, eos_token_id=1,
        )  # fmt: skip
        return facts(saved(tmp_path / f"windows-{window}", config))["whole_cache"]

    assert "no layer has full attention" in kept(16)
    assert kept(64) is None, "the window holds all that the model reads"
    assert kept(None) is None
