"""Policies of other methods in a few lines each: what the contract must have room for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from random_models import write_model

from pare_backends.cache.policy import ByScores, Seen
from pare_backends.cache.scoring import attention_sums
from pare_backends.checkpoint import load_dequantized

INTERFACE = [
    *("gpt2", "gpt_neox", "granite", "granitemoe", "llama", "mistral", "mixtral", "opt", "phi3"),
    *("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"),
]
"""Architectures of random_models.py whose attention goes by transformers' interface."""


@dataclass
class Keeps(ByScores):
    """So many tokens a head."""

    tokens: int
    sinks: int = 0
    window: int = 1

    def budget(self, seen: Seen) -> int:
        return self.tokens

    def words(self) -> str:
        return f"{self.tokens} tokens"


class LastRow(Keeps):
    """TOVA in the prefill: what the last token looks at, one set for all heads of a layer."""

    def scores(self, seen: Seen) -> torch.Tensor:
        row = attention_sums(seen, 1).mean(dim=1, keepdim=True)
        return row.expand(seen.places.shape)


class Pyramid(LastRow):
    """Other budgets in other layers: the first keeps most."""

    def budget(self, seen: Seen) -> int:
        return self.tokens * (seen.layers - seen.layer) // seen.layers + 3


def plain(architecture: str, directory: Path) -> Any:
    """A model of random weights; in float64, but for mixtures, whose experts know float32 alone."""
    if architecture == "gemma3":
        model = gemma3_of_full_layers()
    else:
        model = load_dequantized(write_model(architecture, directory / architecture))[0]
    return model if "mo" in architecture or "mix" in architecture else model.double()


def gemma3_of_full_layers() -> Any:
    """Without a layer that slides: those cannot be cut."""
    import transformers as t
    from random_models import FULL, llama_like

    config = t.Gemma3TextConfig(
        **llama_like(100), head_dim=16, sliding_window=32, layer_types=[FULL, FULL]
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = t.Gemma3ForCausalLM(config).eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, 0.0, 0.1)
    return model
