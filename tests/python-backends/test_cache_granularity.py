"""Query heads that choose for themselves: as a model computes whose keys are there for each."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
import transformers
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.kept import kept_bytes
from pare_backends.cache.reading import follow, read_context

METHODS: dict[str, dict[str, Any]] = {
    "snapkv": {"window": 4, "kernel": 3},
    "pyramidkv": {"window": 4, "kernel": 3},
    "h2o": {"evicts": "each_step"},
    "expected_attention": {"window": 0},
}
BUDGET, CONTEXT = 16, 90


def attached(model: Any, method: str, **knobs: Any) -> Any:
    module = importlib.import_module(f"pare_backends.kv_cache.{method}")
    return module.attach(model, module.Params(budget=BUDGET, **METHODS[method], **knobs))


def with_a_key_head_for_each_query_head() -> Any:
    """The same function as `model_of("llama")`, whose every key head was there three times."""
    grouped = model_of("llama")
    config = transformers.LlamaConfig.from_dict(
        {**grouped.config.to_dict(), "num_key_value_heads": 6}
    )
    model = transformers.AutoModelForCausalLM.from_config(config).double().eval()
    weights = grouped.state_dict()
    for name, weight in weights.items():
        if "k_proj" in name or "v_proj" in name:
            weights[name] = weight.view(2, 8, -1).repeat_interleave(3, dim=0).flatten(0, 1)
    model.load_state_dict(weights)
    return model


@pytest.mark.parametrize("method", METHODS)
def test_each_query_head_keeps_and_reads_keys_of_its_own(method: str) -> None:
    text = tokens()
    own = attached(model_of("llama"), method, granularity="query_head")
    reference = attached(with_a_key_head_for_each_query_head(), method)
    cache, wanted = read_context(own, text[:, :CONTEXT]), read_context(reference, text[:, :CONTEXT])
    for layer, other in zip(cache.layers, wanted.layers, strict=True):
        assert torch.equal(layer.places, other.places) and layer.places.shape[1] == 6
    said = follow(own, cache, text[:, CONTEXT:])
    assert torch.allclose(said, follow(reference, wanted, text[:, CONTEXT:]), atol=1e-6)
    shared = attached(model_of("llama"), method)
    held = read_context(shared, text[:, :CONTEXT])
    assert float((said - follow(shared, held, text[:, CONTEXT:])).abs().max()) > 0.01
    # Three query heads a head of keys: what is asked for is paid for.
    assert kept_bytes(cache) == 3 * kept_bytes(held)
    most = read_context(attached(model_of("llama"), method, granularity="kv_head_max"), text)
    mean = read_context(attached(model_of("llama"), method), text)
    assert any(
        not torch.equal(one.places, other.places)
        for one, other in zip(most.layers, mean.layers, strict=True)
    )
    assert kept_bytes(most) == kept_bytes(mean)
