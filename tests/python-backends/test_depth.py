"""Blocks that are cut away: which go, what is left, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from pruning_fixtures import TOKENS, logits, loss, model_dir, plain_logits, pruned
from random_models import common, configurations, llama_like
from runtime_fixtures import adapted
from tiny_model import act, tiny_copy, tiny_dir

from pare_backends.checkpoint import load_dequantized, read, write
from pare_backends.failures import CallFailure
from pare_backends.models.blocks import blocks_of
from pare_backends.models.layout import layout_of
from pare_backends.pruning.block_scores import skipped
from pare_backends.pruning.depth import spread
from pare_backends.pruning.rounds import left_by_round

ALL = sorted(configurations(64))
KNOBS: dict[str, Any] = {"samples": 8}


def four_blocks(name: str, config: Any) -> Path:
    """A random model of this configuration."""
    import torch
    from transformers import AutoModelForCausalLM

    from pare_backends.models.tiny import write_tokenizer

    directory = Path(mkdtemp(prefix=f"pare-{name}-"))
    vocabulary = len(write_tokenizer(directory))
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(3)
        model = AutoModelForCausalLM.from_config(config(vocabulary))
        for parameter in model.parameters():
            # As it is written: what differs afterwards is the cut alone.
            parameter.copy_(parameter.half().float())
    model.save_pretrained(str(directory))
    return directory


def llama(vocabulary: int, **more: Any) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(**{**llama_like(vocabulary), "num_hidden_layers": 4, **more})


def without_blocks(directory: Path, gone: list[int]) -> np.ndarray:
    """Logits of the whole model whose blocks pass by what they are given."""
    import torch

    model, _ = load_dequantized(directory)
    blocks = blocks_of(layout_of(directory))
    assert blocks is not None
    rows = [model.get_submodule(f"{blocks.module}.{n}") for n in range(blocks.count)]
    with torch.inference_mode(), skipped(rows, gone):
        found: np.ndarray = model(torch.tensor(TOKENS)).logits[0].numpy()
    return found


def cut_blocks(result: dict[str, Any]) -> list[int]:
    return [int(one["value"]) for one in result["figures"] if one["metric"] == "cut_block"]


def rises(result: dict[str, Any]) -> dict[int, float]:
    """Nats per token without each block, by its number."""
    return {
        int(one["layer"].rpartition(".")[2]): one["value"]
        for one in result["figures"]
        if one["metric"] == "loss_rise"
    }


def test_every_architecture_loses_a_block_and_computes_as_if_it_passed_by(tmp_path: Path) -> None:
    """Transformers' own loader reads each child; it gives what the whole model does around it."""
    made = {}
    for architecture in ALL:
        source, child = model_dir(architecture), tmp_path / architecture
        result = pruned(source, child, "depth", **KNOBS)
        assert result["loader"] == "transformers", architecture
        assert result["model"]["layers"] == 1
        assert 0 <= result["size_bytes"] - result["formula_bytes"] < 20_000
        made[architecture] = (child, without_blocks(source, cut_blocks(result)))
    found = plain_logits([child for child, _ in made.values()], tmp_path)
    for (architecture, (child, expected)), plain in zip(made.items(), found, strict=True):
        assert expected.std() > 0.05, architecture
        assert np.abs(logits(child) - expected).max() <= 1e-4, architecture
        assert np.abs(plain - expected).max() <= 1e-4, architecture


@pytest.mark.parametrize("importance", ["block_influence", "perplexity"])
def test_a_block_that_does_nothing_is_cut_first(importance: str, tmp_path: Path) -> None:
    source = with_an_idle_block(tmp_path / "source")
    result = pruned(source, tmp_path / "out", "depth", importance=importance, **KNOBS)
    assert cut_blocks(result) == [1]
    assert np.abs(logits(tmp_path / "out") - logits(source)).max() <= 1e-5
    score = "block_influence" if importance == "block_influence" else "loss_rise"
    scores = {one["layer"]: one["value"] for one in result["figures"] if one["metric"] == score}
    assert sorted(scores) == [f"model.layers.{n}" for n in range(3)]
    idle = scores.pop("model.layers.1")
    assert abs(idle) < 1e-6 and min(scores.values()) > 0.01


def with_an_idle_block(target: Path) -> Path:
    """The trained tiny model with a block between its two that adds nothing to the stream."""
    checkpoint = read(tiny_dir())
    floats = {}
    for name in checkpoint.floats:
        values = np.asarray(checkpoint.floats[name])
        floats[name.replace("layers.1.", "layers.2.")] = values
        if "layers.1." in name:
            adds = name.endswith(("o_proj.weight", "down_proj.weight"))
            floats[name] = np.zeros_like(values) if adds else values
    config = {**checkpoint.config, "num_hidden_layers": 3}
    write(replace(checkpoint, config=config, floats=floats), target)
    return target


def test_what_the_config_says_of_each_layer_is_cut_along(tmp_path: Path) -> None:
    """Gemma's windows alternate; which layers slide follows from a pattern where it is not said."""
    from transformers import Gemma3TextConfig

    def gemma(vocabulary: int) -> Any:
        own = {**llama_like(vocabulary), "num_hidden_layers": 4, "head_dim": 16}
        return Gemma3TextConfig(**own, sliding_window=4, layer_types=None, sliding_window_pattern=2)

    source = four_blocks("gemma3", gemma)
    result = pruned(source, tmp_path / "out", "depth", blocks=1, keep_first=1, keep_last=2, **KNOBS)
    assert cut_blocks(result) == [1]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    sliding, full = "sliding_attention", "full_attention"
    assert config["layer_types"] == [sliding, sliding, full]
    expected = without_blocks(source, [1])
    assert np.abs(logits(tmp_path / "out") - expected).max() <= 1e-5


def test_rounds_weigh_anew_and_cut_as_many(tmp_path: Path) -> None:
    source = four_blocks("rounds", llama)
    once = pruned(source, tmp_path / "once", "depth", blocks=2, **KNOBS)
    one_by_one = pruned(
        source, tmp_path / "greedy", "depth", blocks=2, rounds=2, importance="perplexity", **KNOBS
    )
    assert once["model"] == one_by_one["model"]
    assert len(cut_blocks(once)) == len(cut_blocks(one_by_one)) == 2
    first = pruned(source, tmp_path / "one", "depth", importance="perplexity", **KNOBS)
    chain = pruned(tmp_path / "one", tmp_path / "two", "depth", importance="perplexity", **KNOBS)
    assert set(cut_blocks(first)) <= set(cut_blocks(one_by_one))
    assert chain["model"]["layers"] == 2
    assert abs(loss(tmp_path / "two") - loss(tmp_path / "greedy")) < 1e-4
    # The second round weighs what the first one left: as a chain's second cut does.
    left = [value for block, value in rises(one_by_one).items() if block not in cut_blocks(first)]
    np.testing.assert_allclose(left, list(rises(chain).values()), atol=1e-6)
    assert spread(left_by_round(30, 26, 4), 30) == [29, 28, 27, 26]
    assert spread(left_by_round(30, 20, 2), 30) == [24, 20]


def test_what_cannot_be_cut_is_refused_before_work(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for knobs, why in (
        ({"blocks": 2}, "Cannot cut 2 of 2 blocks: at most 1 can go"),
        ({"blocks": 9}, "Cannot cut 9 of 2 blocks"),
        ({"keep_first": 1, "keep_last": 1}, "1 first and 1 last ones left alone: at most 0"),
        ({"rounds": 2}, "1 blocks in 2 rounds"),
        ({"samples": 17}, "the study has 16 windows of 64 tokens"),
    ):
        with pytest.raises(CallFailure, match=why):
            pruned(tiny_dir(), out, "depth", **{**KNOBS, **knobs})
    one = four_blocks("one", lambda vocabulary: llama(vocabulary, num_hidden_layers=1))
    with pytest.raises(CallFailure, match="Cannot cut 1 of 1 blocks: at most 0 can go"):
        pruned(one, out, "depth", **KNOBS)
    act(tmp_path / "packed", "rtn", {"bits": 4, "group_size": 32})
    with pytest.raises(CallFailure, match="already in the parent"):
        pruned(tmp_path / "packed", out, "depth", **KNOBS)
    for method in ("depth", "channels"):
        with pytest.raises(CallFailure, match="an adapter lies beside the parent's weights"):
            pruned(adapted(tiny_dir(), tmp_path / f"a-{method}"), out, method, **KNOBS)
    assert not out.exists()


def test_blocks_that_are_not_alike_are_refused(tmp_path: Path) -> None:
    from transformers import GPT2Config, Qwen3MoeConfig

    def mixture(vocabulary: int) -> Any:
        own = {**llama_like(vocabulary), "num_hidden_layers": 4, "head_dim": 16}
        experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
        return Qwen3MoeConfig(**own, **experts, mlp_only_layers=[1])

    with pytest.raises(CallFailure, match="are of different shapes"):
        pruned(four_blocks("unlike", mixture), tmp_path / "a", "depth", **KNOBS)

    def numbered(vocabulary: int) -> Any:
        own = common(vocabulary)
        ends = {key: own[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
        sizes = {"n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 256}
        return GPT2Config(
            vocab_size=vocabulary, **sizes, **ends, scale_attn_by_inverse_layer_idx=True
        )

    with pytest.raises(CallFailure, match="a block computes by its own number"):
        pruned(four_blocks("numbered", numbered), tmp_path / "b", "depth", **KNOBS)


def test_scores_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    checkpoint = read(tiny_copy(tmp_path / "copy"))
    name = "model.layers.1.mlp.down_proj.weight"
    broken = np.array(checkpoint.floats[name], dtype=np.float32)
    broken[0, 0] = np.nan
    write(checkpoint.with_floats({name: broken}), tmp_path / "nan")
    with pytest.raises(CallFailure, match="Cannot weigh block 1: its score") as caught:
        pruned(tmp_path / "nan", tmp_path / "out", "depth", **KNOBS)
    assert caught.value.kind == "not_a_number"
