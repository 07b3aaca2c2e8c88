"""Odd text and odd models: each works, or is refused in one sentence before any heavy work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_model import act, tiny_dir

from pare_backends.checkpoint import load_dequantized, read
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.evaluation.calibration import draw_windows
from pare_backends.failures import CallFailure

VOCABULARY = 67  # no group, and no word of packed values, divides it
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("rtn", {"bits": 3, "group_size": 32, "symmetric": False}),
    ("gptq", {"bits": 4, "group_size": 32, "symmetric": False, "samples": 4}),
    ("int8", {"activation_group_size": 32}),
    ("hqq", {"bits": 4, "group_size": 32, "iters": 2}),
    ("nf4", {}),
]


def odd_model(directory: Path, tied: bool) -> Path:
    """Llama with a vocabulary that is a prime, its tokenizer the tiny model's."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=tied,
        attention_bias=True,
    )
    torch.manual_seed(2)
    load_tokenizer(tiny_dir()).save_pretrained(directory)
    LlamaForCausalLM(config).half().save_pretrained(directory)
    return directory


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("method", "params"), METHODS)
def test_a_vocabulary_that_no_group_divides_is_rounded_whole(
    method: str, params: dict[str, Any], tied: bool, tmp_path: Path
) -> None:
    parent = odd_model(tmp_path / "parent", tied)
    act(tmp_path / "out", method, {**params, "targets": "all"}, parent=parent)
    made, source = read(tmp_path / "out"), read(parent)
    outer = ["model.embed_tokens"] + ([] if tied else ["lm_head"])
    assert set(outer) <= set(made.stored)
    for layer in outer:
        own, wanted = made.stored[layer].weight(), source.weight(layer)
        assert own.shape == (VOCABULARY, 64)
        cosine = float((own * wanted).sum() / np.linalg.norm(own) / np.linalg.norm(wanted))
        assert cosine > 0.9, layer
    with torch.inference_mode():
        logits = load_dequantized(tmp_path / "out")[0](torch.arange(3, 43)[None]).logits
    assert torch.isfinite(logits).all()


def drawn(text: list[str], tokens: int = 32) -> Any:
    return draw_windows(text, load_tokenizer(tiny_dir()), 2, tokens, 0, {}, "calibration")


def test_text_shorter_than_a_window_is_one_sentence() -> None:
    with pytest.raises(CallFailure, match="Cannot make a calibration window of 32 tokens") as said:
        drawn(["the red fox"])
    assert said.value.hint is not None


def test_text_that_the_tokenizer_does_not_know_is_one_sentence() -> None:
    """Windows of one token for every word would calibrate by a text that says nothing."""
    unknown = ["今日は とても いい 天気 です ね " * 40]
    assert len(drawn(["the red fox lives in the den . " * 40]).ids) == 2
    with pytest.raises(CallFailure, match="knows next to nothing of it") as said:
        drawn(unknown)
    assert said.value.kind == "bad_input"
