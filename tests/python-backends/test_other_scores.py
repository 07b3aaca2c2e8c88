"""Layer scores of other programs: AutoScheme's files as auto_round itself writes them, states of
auto_quantize as torch pickles them, with classes of Model-Optimizer's names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from tiny_model import tiny_dir

from pare_backends.calls import read_scores
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.quantization.mixing.score import Score

Q, K, V = (f"model.layers.0.self_attn.{name}_proj" for name in "qkv")
UP = "model.layers.1.mlp.up_proj"
W4 = {"bits": 4, "group_size": 32, "sym": True, "data_type": "int", "act_bits": 16}


def imported(path: Path) -> tuple[str, list[Score]]:
    made = read_scores.run(read_scores.Request(str(tiny_dir()), str(path)), silent_report())
    assert len(made["sha256"]) == 64
    return made["program"], [Score(**one) for one in made["layers"]]


def why(path: Path) -> str:
    with pytest.raises(CallFailure) as caught:
        imported(path)
    assert caught.value.kind == "bad_input"
    return caught.value.message


def auto_scheme(path: Path, scores: dict[str, Any], scheme: dict[str, Any] = W4) -> Path:
    from auto_round.auto_scheme.delta_loss import _save_autoscheme_scores

    config = {"nsamples": 16, "seqlen": 256}
    _save_autoscheme_scores(str(path), "ab12", 0, scheme, scores, 1.5, 1000, config)
    return path


def bits(rows: int, columns: int, width: int = 4, group: int = 32) -> int:
    """As AutoScheme counts them: a float16 scale and a zero point a group."""
    return rows * columns * width + rows * columns // group * (16 + width)


def test_auto_schemes_scores_stand_under_pares_own_formats(tmp_path: Path) -> None:
    path = auto_scheme(
        tmp_path / "scheme_00_ab12.json", {Q: [bits(64, 64), 0.25], UP: [bits(128, 64), 0.125]}
    )
    by, scores = imported(path)
    assert by == "AutoRound AutoScheme"
    assert [(one.layer, one.format, one.value) for one in scores] == [
        (Q, "4-bit-g32", 0.25),
        (UP, "4-bit-g32", 0.125),
    ]
    assert {one.scorer for one in scores} == {"auto_scheme"}
    assert [one.weight_bits for one in scores] == [4.5, 4.5]  # a float16 scale for 32 weights
    assert scores[0].size_bytes == 64 * 64 * 4.5 / 8
    assert (scores[0].n, scores[0].part, scores[0].shares_input) == (16 * 256, "linear", None)
    assert scores[0].layer_index < scores[1].layer_index


def test_a_scheme_that_pare_has_no_grid_for_keeps_its_bits(tmp_path: Path) -> None:
    scheme = {"bits": 4, "group_size": 32, "data_type": "mx_fp", "act_bits": 4}
    path = auto_scheme(tmp_path / "a.json", {Q: [64 * 64 * 4.25, 0.5]}, scheme)
    (score,) = imported(path)[1]
    assert (score.format, score.weight_bits) == ("mx_fp4-g32-a4", 4.25)


def test_a_score_file_that_is_not_of_this_model_is_one_sentence(tmp_path: Path) -> None:
    whole = bits(64, 64)
    said = why(auto_scheme(tmp_path / "a.json", {"model.layers.7.mlp.up_proj": [whole, 1]}))
    assert "scores the layer model.layers.7.mlp.up_proj, which this model does not have" in said
    assert "64 by 64" in why(auto_scheme(tmp_path / "b.json", {Q: [2 * whole, 1]}))
    assert "is not [bits, loss]" in why(auto_scheme(tmp_path / "c.json", {Q: [whole, "low"]}))
    assert "is no number" in why(auto_scheme(tmp_path / "d.json", {Q: [whole, float("nan")]}))
    unnamed = {"bits": "4", "group_size": "32", "data_type": "int"}
    for no_bits in (float("nan"), float("inf"), -1.0):
        path = auto_scheme(tmp_path / "bits.json", {Q: [no_bits, 1]}, unnamed)
        assert "are no number of bits" in why(path)
    path = auto_scheme(tmp_path / "e.json", {Q: [whole, 1]})
    text = path.read_text()
    path.write_text(text.replace('"version": 1', '"version": 2'))
    assert "of version 2" in why(path)
    path.write_text(text[: len(text) // 2])
    assert "no whole JSON file" in why(path)
    path.write_text('{"batches_done": 1}')
    assert "has no layer_scores" in why(path)
    path.write_text("layer,score\n")
    assert "neither a score file of AutoScheme (JSON) nor a state" in why(path)
    assert "cannot be read: No such file" in why(tmp_path / "gone.json")


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A class of Model-Optimizer's name, gone when a file is read."""
    parts = ["modelopt", "torch", "quantization", "algorithms"]
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    class QuantRecipe:
        def __init__(self, text: str) -> None:
            self.compression, self._str_repr = 0.25, text

    QuantRecipe.__module__, QuantRecipe.__qualname__ = ".".join(parts), "QuantRecipe"
    sys.modules[".".join(parts)].QuantRecipe = QuantRecipe  # type: ignore[attr-defined]
    yield QuantRecipe


def state(recipe: Any, modules: list[str], weights: int, method: str = "gradient") -> Any:
    names = ("INT4_CFG(effective-bits: 4.0)", "FP8_CFG(effective-bits: 8.0)")
    formats = [*map(recipe, names), recipe("NONE(effective-bits: 16.0)")]
    stat = {
        "formats": formats,
        "scores": [0.5, 0.25, 0],
        "costs": [weights / 4, weights / 2, weights],
        "module_names": modules,
        "cost_weight": 1.0,
        "uncompressed_cost": float(weights),
    }
    return {"method": method, "candidate_stats": {f"{modules[0]}.quant_recipe": stat}}


@pytest.mark.parametrize(
    ("method", "scorer"), [("gradient", "auto_quantize"), ("kl_div", "auto_quantize_kl")]
)
def test_a_group_of_auto_quantize_stands_at_its_first_layer(
    tmp_path: Path, recipe: Any, method: str, scorer: str
) -> None:
    torch.save(state(recipe, [Q, K, V], 64 * 64 + 2 * 32 * 64, method), tmp_path / "s.pth")
    del sys.modules["modelopt.torch.quantization.algorithms"]
    by, scores = imported(tmp_path / "s.pth")
    assert by == "Model-Optimizer auto_quantize"
    assert [(one.layer, one.format, one.value, one.scorer) for one in scores] == [
        (Q, "INT4_CFG", 0.5, scorer),
        (Q, "FP8_CFG", 0.25, scorer),
    ]
    assert scores[0].unit == "1, with k_proj, v_proj in the same format"
    assert (scores[0].weight_bits, scores[0].size_bytes, scores[0].n) == (4, 4096, None)


def test_a_state_of_another_model_is_one_sentence(tmp_path: Path, recipe: Any) -> None:
    path = tmp_path / "s.pth"
    torch.save(state(recipe, [Q, K, V], 999), path)
    assert f"its {Q} counts 999 weights, this model's 8192" in why(path)
    torch.save(state(recipe, ["lm_head.inner"], 64), path)
    assert "the layer lm_head.inner, which this model does not have" in why(path)
    torch.save({"model": torch.zeros(2)}, path)
    assert "has no candidate_stats" in why(path)
    path.write_bytes(path.read_bytes()[:100])
    assert "is no whole file of torch" in why(path)


class Runs:
    """What a stranger's pickle may hold."""

    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["PARE_TEST_PLACE"],)


def test_nothing_of_a_strangers_file_is_run(
    tmp_path: Path, recipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARE_TEST_PLACE", str(tmp_path / "made"))
    torch.save({**state(recipe, [Q], 64 * 64), "best": Runs()}, tmp_path / "s.pth")
    assert "wants posix.mkdir to be run" in why(tmp_path / "s.pth")
    assert not (tmp_path / "made").exists()
