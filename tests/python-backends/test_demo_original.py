"""The demo's original computes what its file does, and lies on no grid."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from pare_backends.models.gguf.demo_original import make_original, put_off_grid
from pare_backends.models.grid import Grid, detect_grid

GRID = Grid(4, 32, symmetric=False)


def on_grid() -> LlamaForCausalLM:
    """A Llama with shared heads of keys and values, its linear layers on a 4-bit grid."""
    torch.manual_seed(3)
    model: Any = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=96, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
        )
    ).eval()  # fmt: skip
    with torch.no_grad():
        for weight in linear_weights(model).values():
            groups = weight.reshape(-1, GRID.group_size)
            low = groups.amin(1, keepdim=True)
            step = (groups.amax(1, keepdim=True) - low) / 15
            weight.copy_((((groups - low) / step).round() * step + low).reshape(weight.shape))
        for name, parameter in model.named_parameters():
            if "norm" in name:  # as training leaves them
                parameter.copy_(torch.rand_like(parameter) + 0.5)
    return model


def linear_weights(model: Any) -> dict[str, torch.Tensor]:
    return {n: p.data for n, p in model.named_parameters() if n.endswith("proj.weight")}


def grid_of(model: Any) -> object:
    weights = linear_weights(model)
    columns = [weight.shape[1] for weight in weights.values()]
    return detect_grid(list(weights), lambda name: weights[name].float().numpy(), columns)


def logits(model: Any) -> np.ndarray:
    with torch.no_grad():
        found: np.ndarray = model(torch.arange(90).reshape(2, 45)).logits.numpy()
    return found


def test_it_computes_what_it_did_and_no_layer_lies_on_a_grid() -> None:
    model = on_grid()
    assert grid_of(model) is not None
    spread = copy.deepcopy(model)
    put_off_grid(spread)
    assert np.abs(logits(spread) - logits(model)).max() < 1e-4
    assert grid_of(spread) is None
    before = linear_weights(model)
    for name, weight in linear_weights(spread).items():
        ratio = (weight / before[name]).log().abs()
        assert ratio.isfinite().any() and ratio[ratio.isfinite()].mean() > 0.05, name
    assert torch.equal(spread.model.embed_tokens.weight, model.model.embed_tokens.weight)


def test_it_is_the_same_each_time_and_lies_in_float16() -> None:
    first, second = on_grid(), on_grid()
    make_original(first)
    make_original(second)
    assert first.dtype == torch.float16
    assert first.lm_head.weight is first.model.embed_tokens.weight
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name]), name
