"""What each method keeps: by its definition in plain loops, and as kvpress keeps it."""

from __future__ import annotations

import importlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from oracles.kept_by_definition import kept as kept_by_definition
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.policy import Seen
from pare_backends.cache.reading import read_context
from pare_backends.kv_cache.pyramidkv import line

ORACLE = json.loads((Path(__file__).parent / "oracles" / "kept_positions.json").read_text())
BUDGET = {"budget_in": "tokens", "budget": 14, "share": 0.5, "sinks": 2, "window": 5}
OBSERVED = {**BUDGET, "kernel": 3, "pool": "mean"}
ONCE = {"evicts": "after_prompt", "evict_interval": 1}
CASES = [
    ("snapkv", OBSERVED),
    ("snapkv", {**OBSERVED, "pool": "max", "kernel": 5, "sinks": 0}),
    ("pyramidkv", {**OBSERVED, "beta": 3}),
    ("pyramidkv", {**OBSERVED, "beta": 20, "budget": 10, "window": 3}),
    ("pyramidkv", {**OBSERVED, "beta": 5, "budget": 27}),  # the prompt is too short to fall
    ("h2o", {**BUDGET, **ONCE, "recent_share": 0.5}),
    ("h2o", {**BUDGET, **ONCE, "recent_share": 0.0}),
    ("snapkv", {**OBSERVED, "granularity": "kv_head_max"}),
    ("snapkv", {**OBSERVED, "granularity": "query_head"}),
    ("pyramidkv", {**OBSERVED, "beta": 3, "granularity": "query_head"}),
    ("h2o", {**BUDGET, **ONCE, "recent_share": 0.5, "granularity": "kv_head_max"}),
    ("h2o", {**BUDGET, **ONCE, "recent_share": 0.5, "granularity": "query_head"}),
    ("tova", {**BUDGET, **ONCE, "window": 1}),
    ("knorm", {**BUDGET, **ONCE, "window": 0, "sinks": 0}),
]


def policy(method: str, knobs: dict[str, Any]) -> Any:
    """As `attach` of the method makes it."""
    module = importlib.import_module(f"pare_backends.kv_cache.{method}")
    made = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__ and hasattr(one, "keep")
    ]
    return made[0](module.Params(**knobs))


def drawn(layer: int = 1, layers: int = 4, count: int = 40) -> Seen:
    """A prompt of two texts, six query heads on two heads of keys."""
    draw = torch.Generator().manual_seed(7 + layer)
    queries = torch.randn(2, 6, count, 8, generator=draw, dtype=torch.float64)
    keys = torch.randn(2, 2, count, 8, generator=draw, dtype=torch.float64)
    places = torch.arange(count).expand(2, 2, count)
    return Seen(layer, layers, 2 * queries, keys, keys, 0.4, places, count, {})


@pytest.mark.parametrize("layer", [0, 1, 3])
@pytest.mark.parametrize(("method", "knobs"), CASES)
def test_it_keeps_what_its_definition_says(method: str, knobs: dict[str, Any], layer: int) -> None:
    seen = drawn(layer)
    found = policy(method, knobs).keep(seen)
    for row in range(2):
        heads = [
            (seen.queries[row, head].tolist(), seen.keys[row, head // 3].tolist())
            for head in range(6)
        ]
        layer_of = {"scaling": 0.4, "layer": layer, "layers": 4, "all": heads}
        group = 1 if knobs.get("granularity") == "query_head" else 3
        assert found.shape == (2, 6 // group, 40)
        for head in range(6 // group):
            own = heads[group * head : group * head + group]
            wanted = kept_by_definition(method, knobs, own, layer_of)
            assert set(found[row, head].nonzero().flatten().tolist()) == wanted


def test_budgets_of_a_pyramid_sum_to_layers_times_the_budget() -> None:
    for layers in (1, 2, 5, 30):
        for mean in (1, 7, 96, 480):
            for beta in (2, 20, 64):
                for most in (2 * mean - 1, 2 * mean, 2 * mean + 3, 4000):
                    budgets = line(mean, most, beta, layers)
                    assert sum(budgets) == layers * mean and len(budgets) == layers
                    assert all(0 <= budget <= most for budget in budgets)
                    steps = [a - b for a, b in itertools.pairwise(budgets)]
                    assert min(steps, default=0) >= 0, "it never rises"
    assert line(100, 4000, 20, 5) == [195, 148, 100, 52, 5]


READ_WHOLE = {"evicts": "after_prompt"}
EXPECTED = {"budget": 40, "sinks": 4, "window": 0}
PRESSES = [
    ("tova 60", "tova", {**BUDGET, **ONCE, "budget": 60, "sinks": 0, "window": 1}),
    ("knorm 30", "knorm", {**BUDGET, **ONCE, "budget": 30, "sinks": 0, "window": 0}),
    ("expected_attention 60", "expected_attention", {**EXPECTED, "budget": 60}),
    (
        "expected_attention 30 mean",
        "expected_attention",
        {**EXPECTED, "budget": 30, "future": 64, "sinks": 2}
        | {"use_covariance": False, "use_vnorm": False},
    ),
    ("expected_attention 40 epsilon", "expected_attention", {**EXPECTED, "epsilon": 0.02}),
    ("streaming 4 56", "streaming", {"sinks": 4, "window": 56}),
    ("streaming 4 56", "streaming", {"sinks": 4, "window": 56, **READ_WHOLE}),
    ("streaming 4 56", "streaming", {"budget_in": "share", "share": 0.5, **READ_WHOLE}),
]


@pytest.mark.parametrize(
    ("architecture", "press", "method", "knobs"),
    [
        (architecture, *press)
        for press in PRESSES
        for architecture in ("llama", "qwen3")
        # Equal tokens of Qwen3's first layer have keys of equal norms: which is kept is chance.
        if (architecture, press[1]) != ("qwen3", "knorm")
    ],
)
def test_it_keeps_what_kvpress_keeps(
    architecture: str, press: str, method: str, knobs: dict[str, Any]
) -> None:
    module = importlib.import_module(f"pare_backends.kv_cache.{method}")
    model = module.attach(model_of(architecture), module.Params(**knobs))
    found = [layer.places[0].tolist() for layer in read_context(model, tokens()).layers]
    wanted = ORACLE["kept"][architecture][press]
    assert [[" ".join(map(str, head)) for head in layer] for layer in found] == wanted
