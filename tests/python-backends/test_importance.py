"""What a channel or head is worth by gradients, against the loss without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pruning_fixtures import pruned
from tiny_model import calibration, tiny_dir

from pare_backends.checkpoint import load_dequantized, read, write
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.pruning.importance import Taylor
from pare_backends.pruning.rounds import left_by_round
from pare_backends.pruning.units import (
    Widths,
    channel_units,
    kv_units,
    mlp_of,
    query_units,
    strongest,
)

WINDOWS = 8


def context(directory: Path) -> Context:
    return Context(directory, layout_of(directory), silent_report(), 0, calibration(), None, None)


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values)).astype(np.float64)


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation."""
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


@pytest.mark.parametrize(("mixed", "least"), [(False, 0.6), (True, 0.6)])
def test_scores_are_ordered_as_the_loss_without_each_channel(mixed: bool, least: float) -> None:
    """Finite differences: the loss on the same windows with one channel's column of down at 0."""
    import torch

    own = context(tiny_dir())
    windows = own.calibration(WINDOWS)
    mlp = mlp_of({"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
    assert mlp is not None
    units = channel_units("model.layers.1.", mlp, 128)
    model, _ = own.load(read(tiny_dir()))
    (scores,) = Taylor(model, own, [units], mixed).scores([units], windows, "weigh")
    down = model.model.layers[1].mlp.down_proj.weight
    with torch.inference_mode():
        whole = float(model(input_ids=windows, labels=windows).loss)
    changes = []
    for channel in range(128):
        with torch.no_grad():
            column = down[:, channel].clone()
            down[:, channel] = 0
            without = float(model(input_ids=windows, labels=windows).loss)
            down[:, channel] = column
        changes.append(abs(without - whole))
    found = agreement(scores, np.array(changes))
    assert found > least, found
    worst = np.argsort(changes)[-8:]
    assert scores[worst].mean() > 2 * np.median(scores)


def test_a_score_is_the_sum_over_the_weights_of_the_unit() -> None:
    """First order by hand: |w g| of gate, up and down; mixed adds half of w² g², by window."""
    import torch

    own = context(tiny_dir())
    windows = own.calibration(WINDOWS)
    mlp = mlp_of({"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
    assert mlp is not None
    heads = Widths(128, 4, 2, 16)
    every = [
        channel_units("model.layers.0.", mlp, 128),
        kv_units("model.layers.1.", heads, False),
        query_units("model.layers.1.", heads, False),
    ]
    model, _ = own.load(read(tiny_dir()))
    by_hand, _ = own.load(read(tiny_dir()))
    names = ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
    matrices = [by_hand.model.layers[0].get_submodule(name).weight for name in names]
    attention = by_hand.model.layers[1].self_attn
    gradients: list[list[torch.Tensor]] = []
    for window in windows:
        by_hand.zero_grad()
        by_hand(input_ids=window[None], labels=window[None]).loss.backward()
        kept = [*matrices, attention.q_proj.weight, attention.o_proj.weight]
        gradients.append([one.grad.clone() for one in kept])
    first = [torch.stack(column).mean(0) for column in zip(*gradients, strict=True)]
    second = [torch.stack(column).square().mean(0) for column in zip(*gradients, strict=True)]

    def terms(mixed: bool) -> list[np.ndarray]:
        found = []
        weights = [*matrices, attention.q_proj.weight, attention.o_proj.weight]
        for weight, one, two in zip(weights, first, second, strict=True):
            value = (weight * one).abs() + (0.5 * weight**2 * two if mixed else 0)
            found.append(value.detach().double().numpy())
        return found

    for mixed in (False, True):
        channels, groups, queries = Taylor(model, own, every, mixed).scores(every, windows, "w")
        gate, up, down, query, output = terms(mixed)
        expected = gate.sum(1) + up.sum(1) + down.sum(0)
        np.testing.assert_allclose(channels, expected, rtol=1e-3)
        heads_by_hand = query.sum(1).reshape(4, 16).sum(1) + output.sum(0).reshape(4, 16).sum(1)
        np.testing.assert_allclose(queries, heads_by_hand, rtol=1e-3)
        assert groups.shape == (2,) and (groups > queries.reshape(2, 2).sum(1)).all()


def test_one_round_is_one_shot_and_more_rounds_end_at_the_same_width(tmp_path: Path) -> None:
    knobs: dict[str, Any] = {"mlp_ratio": 0.5, "attention_ratio": 0.5, "round_to": 8, "samples": 8}
    results = {
        rounds: pruned(tiny_dir(), tmp_path / str(rounds), "channels", rounds=rounds, **knobs)
        for rounds in (1, 3)
    }
    default = pruned(tiny_dir(), tmp_path / "default", "channels", **knobs)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("1", "default")]
    assert weights[0] == weights[1]
    assert results[3]["model"] == results[1]["model"] == default["model"]
    assert left_by_round(128, 64, 1) == [64]
    assert left_by_round(100, 25, 2) == [50, 25]
    assert left_by_round(12, 6, 3, strata=3) == [9, 9, 6]
    with pytest.raises(CallFailure, match="the norms are the same"):
        pruned(tiny_dir(), tmp_path / "no", "channels", importance="weight", rounds=2)


def test_a_unit_that_a_round_cut_is_gone_from_the_next(tmp_path: Path) -> None:
    """Silenced, a model computes as the narrower one that is written."""
    import torch

    own = context(tiny_dir())
    mlp = mlp_of({"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
    assert mlp is not None
    units = [channel_units(f"model.layers.{n}.", mlp, 128) for n in range(2)]
    model, _ = own.load(read(tiny_dir()))
    taylor = Taylor(model, own, units, mixed=False)
    windows = own.calibration(WINDOWS)
    scores = taylor.scores(units, windows, "weigh")
    for one, score in zip(units, scores, strict=True):
        taylor.silence(one, np.argsort(score, kind="stable")[:32])
    again = taylor.scores(units, windows, "weigh")
    assert all((score > 0).sum() == 96 for score in again)
    pruned(tiny_dir(), tmp_path / "out", "channels", mlp_ratio=0.25, round_to=8, samples=WINDOWS)
    narrow, _ = load_dequantized(tmp_path / "out")
    with torch.inference_mode():
        apart = (model(windows).logits - narrow(windows).logits).abs().max()
    assert float(apart) < 0.05  # the child is written in float16


def test_the_strongest_are_taken_from_each_stratum_alike() -> None:
    scores = np.array([5.0, 4.0, 1.0, 2.0, 9.0, 9.0])
    assert strongest(scores, 3).tolist() == [0, 4, 5]
    assert strongest(scores, 3, strata=3).tolist() == [0, 3, 4]


def test_query_heads_go_in_equal_numbers_from_every_group(tmp_path: Path) -> None:
    knobs: dict[str, Any] = {"mlp_ratio": 0.0, "attention_ratio": 0.5, "samples": 8}
    result = pruned(tiny_dir(), tmp_path / "out", "channels", attention_unit="query_heads", **knobs)
    own = result["model"]
    assert (own["heads"], own["kv_heads"], own["head_dim"]) == (2, 2, 16)
    figures = {(one["metric"], one["layer"]): one["value"] for one in result["figures"]}
    for layer in ("model.layers.0.self_attn", "model.layers.1.self_attn"):
        assert figures["query_heads_cut", layer] == 2
        gone = sorted(
            value
            for (metric, where), value in figures.items()
            if metric == "cut_query_head" and where.startswith(layer)
        )
        assert [head // 2 for head in gone] == [0, 1], "one of each group"


def test_what_was_cut_is_told_in_numbers(tmp_path: Path) -> None:
    result = pruned(tiny_dir(), tmp_path / "out", "channels", mlp_ratio=0.25, round_to=8, samples=8)
    figures = {(one["metric"], one["layer"]): one for one in result["figures"]}
    for layer in ("model.layers.0.mlp", "model.layers.1.mlp"):
        assert figures["channels_cut", layer]["value"] == 32
        assert 0 < figures["channels_importance_cut", layer]["value"] < 0.25
    assert any("96 of 128 MLP channels" in note for note in result["notes"])


def test_gradients_that_are_no_numbers_and_too_little_text_are_refused(tmp_path: Path) -> None:
    checkpoint = read(tiny_dir())
    name = "model.layers.0.mlp.gate_proj.weight"
    broken = np.array(checkpoint.floats[name], dtype=np.float32)
    broken[0, 0] = np.nan
    write(checkpoint.with_floats({name: broken}), tmp_path / "nan")
    with pytest.raises(CallFailure, match="Cannot weigh by gradients: the loss of") as caught:
        pruned(tmp_path / "nan", tmp_path / "a", "channels", samples=8)
    assert caught.value.kind == "not_a_number"
    with pytest.raises(CallFailure, match="the study has 16 windows of 64 tokens"):
        pruned(tiny_dir(), tmp_path / "b", "channels", samples=17)
    assert not (tmp_path / "b").exists()
