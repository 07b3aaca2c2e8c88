"""A needle in a model made by hand: what a later question looks for must be there still."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from pare_backends.cache.reading import follow, read_context

WIDTH, QUESTION, NEEDLES = 64, 1, range(20, 30)
SLOW = 31
"""A feature that hardly turns with the place."""
LENGTH, BUDGET = 200, 24


def looking_for_needles() -> Any:
    """One layer, one head: a question pays all attention to needles, any other token the same to
    all before it; what is found is said."""
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=WIDTH,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=WIDTH,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": 1e12},
    )
    model = transformers.AutoModelForCausalLM.from_config(config).double().eval()
    attention = model.model.layers[0].self_attn
    with torch.no_grad():
        for parameter in model.model.layers[0].mlp.parameters():
            parameter.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(32, WIDTH))
        model.lm_head.weight.copy_(torch.eye(32, WIDTH))
        for weight in (attention.q_proj.weight, attention.k_proj.weight):
            weight.zero_()
        attention.q_proj.weight[SLOW, QUESTION] = 8
        attention.k_proj.weight[SLOW, list(NEEDLES)] = 8
        attention.v_proj.weight.copy_(torch.eye(WIDTH))
        attention.o_proj.weight.copy_(torch.eye(WIDTH))
    return model


def haystack(needle: int, place: int) -> torch.Tensor:
    """A text with one needle, which ends in the same question twice. returns: (1, LENGTH + 1)"""
    text = np.random.default_rng(8).integers(2, 20, LENGTH + 1)
    text[place], text[-2:] = needle, QUESTION
    return torch.from_numpy(text)[None]


def rank(model: Any, needle: int, place: int) -> int:
    """How many of the ten needles are as likely to follow the question as the one in the text; the
    question's last token is read from what was kept."""
    text = haystack(needle, place)
    cache = read_context(model, text[:, :LENGTH])
    likely = follow(model, cache, text[:, LENGTH:])[0, -1].log_softmax(-1)
    return int((likely[list(NEEDLES)] >= likely[needle] - 1e-9).sum())


@pytest.mark.parametrize(
    ("method", "knobs", "found"),
    [
        ("snapkv", {"budget": BUDGET, "window": 8}, True),
        ("pyramidkv", {"budget": BUDGET, "window": 8}, True),
        ("tova", {"budget": BUDGET, "window": 1}, True),
        ("circuitkv", {"budget": BUDGET, "window": 8, "sinks": 4}, True),
        ("streaming", {"sinks": 4, "window": BUDGET - 4}, False),
    ],
)
def test_a_needle_is_found_where_the_question_chooses_and_lost_where_places_do(
    method: str, knobs: dict[str, int], found: bool
) -> None:
    module = importlib.import_module(f"pare_backends.kv_cache.{method}")
    model = module.attach(looking_for_needles(), module.Params(**knobs))
    ranks = [rank(model, needle, place) for needle, place in ((20, 30), (24, 90), (29, 150))]
    assert ranks == [1, 1, 1] if found else [10, 10, 10]
    assert rank(model, 23, LENGTH - 5) == 1, "within its window every one finds it"
