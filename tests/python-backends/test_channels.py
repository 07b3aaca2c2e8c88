"""Channels and attention groups that are cut away: what is left, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pruning_fixtures as fixtures
import pytest
from pruning_fixtures import logits, model_dir, plain_logits

from pare_backends.calls import apply
from pare_backends.checkpoint import read, write
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.pruning.channels import Params, kept_channels, kept_groups

PLAIN = ("gemma3", "granite", "llama", "mistral", "phi3", "qwen2", "qwen3")
MLP_ALONE = ("falcon", "gpt2", "gpt_neox", "gptj", "opt")
MIXTURES = ("mixtral", "qwen2_moe", "qwen3_moe", "granitemoe")
KNOBS = {"mlp_ratio": 0.25, "attention_ratio": 0.5, "round_to": 8, "importance": "weight"}


def pruned(source: Path, output: Path, **knobs: Any) -> dict[str, Any]:
    return fixtures.pruned(source, output, "channels", **{**KNOBS, **knobs})


ROWS = {
    "gate_proj": [slice(64, None)],
    "up_proj": [slice(64, None)],
    "gate_up_proj": [slice(64, 128), slice(192, None)],
    "v_proj": [slice(0, 16)],
    "qkv_proj": [slice(96, 112)],
    "dense_h_to_4h": [slice(64, None)],
    "c_fc": [slice(64, None)],
    "fc_in": [slice(64, None)],
    "fc1": [slice(64, None)],
}
COLUMNS = {
    "down_proj": slice(64, None),
    "o_proj": slice(0, 32),
    "dense_4h_to_h": slice(64, None),
    "mlp.c_proj": slice(64, None),
    "fc_out": slice(64, None),
    "fc2": slice(64, None),
}


def with_zeros(source: Path, target: Path) -> Path:
    """A copy in which all but the first 64 channels, and the first of two groups, add nothing."""
    checkpoint = read(source)
    made = {}
    for name in checkpoint.floats:
        layer, _, kind = name.rpartition(".")
        values = np.array(checkpoint.floats[name])
        matrix = (
            values.T if kind == "weight" and ".h." in name and "gpt2" in str(source) else values
        )
        for end, runs in ROWS.items():
            for rows in runs if layer.endswith(end) else ():
                matrix[rows] = 0
        for end, columns in COLUMNS.items():
            if layer.endswith(end) and kind == "weight":
                matrix[:, columns] = 0
        made[name] = values
    write(checkpoint.with_floats(made), target)
    return target


@pytest.mark.parametrize(
    ("architecture", "importance"),
    [*((one, "weight") for one in PLAIN), ("phi3", "taylor"), ("qwen2", "taylor_mixed")],
)
def test_cutting_what_is_zero_leaves_the_logits_as_they_were(
    architecture: str, importance: str, tmp_path: Path
) -> None:
    source = with_zeros(model_dir(architecture), tmp_path / "zeros")
    pruned(source, tmp_path / "out", mlp_ratio=0.5, importance=importance)
    before = logits(source)
    assert before.std() > 0.1
    assert np.abs(logits(tmp_path / "out") - before).max() <= 1e-5


@pytest.mark.parametrize(
    ("architecture", "importance"),
    [*((one, "weight") for one in MLP_ALONE), ("gpt2", "taylor"), ("gpt_neox", "taylor_mixed")],
)
def test_an_mlp_of_two_layers_becomes_narrower_beside_any_attention(
    architecture: str, importance: str, tmp_path: Path
) -> None:
    source = with_zeros(model_dir(architecture), tmp_path / "zeros")
    width = 256 if architecture in ("falcon", "gpt2", "gptj") else 128
    knobs = {"attention_ratio": 0.0, "mlp_ratio": 0.5, "importance": importance}
    result = pruned(source, tmp_path / "out", **knobs)
    assert result["model"]["intermediate_size"] == width // 2
    before = logits(source)
    assert before.std() > 0.1
    assert np.abs(logits(tmp_path / "out") - before).max() <= 1e-5
    with pytest.raises(CallFailure, match="heads go from q, k, v and o beside gate, up and down"):
        pruned(source, tmp_path / "heads", attention_ratio=0.5)
    assert not (tmp_path / "heads").exists()


def test_narrower_models_are_plain_checkpoints(tmp_path: Path) -> None:
    """Transformers' own loader, in a process that never heard of pare, gives the same logits."""
    made = {name: tmp_path / name for name in (*PLAIN, *MLP_ALONE)}
    for architecture, directory in made.items():
        ratio = 0.5 if architecture in PLAIN else 0.0
        result = pruned(model_dir(architecture), directory, attention_ratio=ratio)
        assert result["loader"] == "transformers"
        assert 0 <= result["size_bytes"] - result["formula_bytes"] < 20_000, "headers alone"
        own = result["model"]
        wide = architecture in ("falcon", "gpt2", "gptj")
        assert own["intermediate_size"] == (192 if wide else 96)
        if architecture in PLAIN:
            assert (own["heads"], own["kv_heads"]) == (2, 1)
            assert json.loads((directory / "config.json").read_text())["head_dim"] == 16
    for directory, plain in zip(
        made.values(), plain_logits(list(made.values()), tmp_path), strict=True
    ):
        assert np.abs(plain - logits(directory)).max() <= 1e-5


def test_the_channels_that_go_are_those_of_least_norm(tmp_path: Path) -> None:
    """A channel whose gate is nearly zero adds next to nothing, however large the other two are."""
    checkpoint = read(model_dir("llama"))
    name = "model.layers.1.mlp.gate_proj.weight"
    gate = np.array(checkpoint.floats[name])
    weak = [3, 40, 77]
    gate[weak] *= 1e-3
    write(checkpoint.with_floats({name: gate}), tmp_path / "weak")
    pruned(tmp_path / "weak", tmp_path / "out", attention_ratio=0.0, mlp_ratio=0.07)
    left = read(tmp_path / "out").floats[name]
    rows = {row.tobytes() for row in left}
    assert left.shape == (120, 64)
    kept = [i for i in range(128) if gate[i].astype(np.float16).tobytes() in rows]
    assert len(kept) == 120 and not set(weak) & set(kept)
    assert kept == sorted(kept)


@pytest.mark.parametrize("architecture", [*MIXTURES, "bloom"])
def test_a_model_that_is_built_otherwise_is_refused_before_work(
    architecture: str, tmp_path: Path
) -> None:
    why = "names no width of the MLP" if architecture == "bloom" else "are a mixture's experts"
    with pytest.raises(CallFailure, match=why) as caught:
        pruned(model_dir(architecture), tmp_path / "out", attention_ratio=0.0)
    assert caught.value.kind == "invalid"
    assert not (tmp_path / "out").exists()


def test_what_else_depends_on_a_width_is_refused(tmp_path: Path) -> None:
    """OLMo 2 has the names of a plain block, and norms over all heads' features at once."""
    import torch
    from transformers import Olmo2Config, Olmo2ForCausalLM

    from pare_backends.models.tiny import write_tokenizer

    source = tmp_path / "olmo2"
    vocabulary = len(write_tokenizer(source))
    torch.manual_seed(0)
    config = Olmo2Config(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    Olmo2ForCausalLM(config).save_pretrained(source)
    with pytest.raises(CallFailure, match=r"_norm\.weight would need the shape"):
        pruned(source, tmp_path / "out")
    assert pruned(source, tmp_path / "mlp", attention_ratio=0.0)["model"]["intermediate_size"] == 96


def test_knobs_that_leave_everything_and_packed_parents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="are left as they are"):
        pruned(model_dir("llama"), tmp_path / "a", mlp_ratio=0.1, attention_ratio=0.1, round_to=64)
    rounding = {"bits": 4, "group_size": 32}
    request = apply.ApplyRequest(
        str(model_dir("llama")), str(tmp_path / "q"), "quantization", "rtn", rounding, None, 0, None
    )
    apply.run(request, silent_report())
    with pytest.raises(CallFailure, match="already in the parent"):
        pruned(tmp_path / "q", tmp_path / "b")


def test_a_narrower_model_is_rounded_by_groups_of_its_own_width(tmp_path: Path) -> None:
    """96 channels are left of 128: groups of 64 divide only what was."""
    pruned(model_dir("llama"), tmp_path / "narrow", attention_ratio=0.0)

    def rtn(output: str, group: int) -> dict[str, Any]:
        params = {"bits": 8, "group_size": group}
        request = apply.ApplyRequest(
            str(tmp_path / "narrow"), str(tmp_path / output), "quantization", "rtn", params,
            None, 0, None,
        )  # fmt: skip
        return apply.run(request, silent_report())

    with pytest.raises(CallFailure, match="it must divide the row's 96 weights"):
        rtn("wrong", 64)
    assert rtn("right", 32)["model"]["intermediate_size"] == 96
    assert np.abs(logits(tmp_path / "right") - logits(tmp_path / "narrow")).max() < 1


@pytest.mark.parametrize(
    ("channels", "ratio", "round_to", "kept"),
    [
        (1536, 0.25, 32, 1152), (1536, 0.3, 64, 1088), (1536, 0.0, 64, 1536), (100, 0.0, 64, 100),
        (100, 0.1, 8, 88), (96, 0.5, 64, 64), (40, 0.5, 64, 40), (192, 0.5, 64, 128),
    ],
)  # fmt: skip
def test_the_width_is_the_nearest_multiple(
    channels: int, ratio: float, round_to: int, kept: int
) -> None:
    assert kept_channels(channels, ratio, round_to) == kept


def test_groups_are_whole_and_one_is_left() -> None:
    found = [kept_groups(3, ratio) for ratio in (0.0, 0.1, 0.2, 0.4, 0.5)]
    assert found == [3, 3, 2, 2, 2]
    assert [kept_groups(n, 0.5) for n in (1, 2, 8)] == [1, 1, 4]
    assert Params().attention_ratio == 0
