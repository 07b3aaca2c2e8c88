"""`pruning/wanda` and `pruning/sparsegpt`: the zeros of the papers, by other code too."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import write_model
from tiny_model import accuracy, act, action, calibration, tiny_dir

from pare_backends.calls import apply
from pare_backends.calls.apply import ApplyRequest
from pare_backends.checkpoint import load_dequantized, read, weight_files
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.pruning import sparsegpt, wanda
from pare_backends.pruning.block_pass import Inputs
from pare_backends.pruning.calibrated import row_norms
from pare_backends.pruning.magnitude import keep_pattern

METHODS = ("wanda", "sparsegpt")
DATA = {"samples": 8, "tokens": 48}


def prune(out: Path, method: str, parent: Path | None = None, **params: Any) -> dict[str, Any]:
    return act(out, method, {**DATA, **params}, parent, agent="pruning")


def linear(directory: Path) -> tuple[str, ...]:
    return layout_of(directory).linear


def windows(first: int, count: int, tokens: int = 48) -> torch.Tensor:
    from safetensors.numpy import load_file

    ids = load_file(str(calibration()))["input_ids"].astype(np.int64)
    return torch.from_numpy(ids[first : first + count, :tokens])


def inputs_of(directory: Path, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """What each linear layer is given, by its name in files. returns: (tokens, in)"""
    model, _ = load_dequantized(directory)
    modules = layout_of(directory).modules
    found: dict[str, torch.Tensor] = {}

    def keep(layer: str) -> Callable[..., None]:
        return lambda _, arguments: found.update({layer: arguments[0].flatten(0, -2)})

    for layer in linear(directory):
        model.get_submodule(modules[layer]).register_forward_pre_hook(keep(layer))
    with torch.no_grad():
        model(input_ids=ids)
    return found


def first_block(directory: Path) -> list[str]:
    return [layer for layer in linear(directory) if "layers.0." in layer]


@pytest.mark.parametrize("sparsity", [0.25, 0.5, 0.7])
def test_wanda_is_the_ten_lines_of_its_paper(tmp_path: Path, sparsity: float) -> None:
    prune(tmp_path / "child", "wanda", sparsity=sparsity)
    child, source = read(tmp_path / "child"), read(tiny_dir())
    given = inputs_of(tiny_dir(), windows(0, DATA["samples"]))
    for layer in first_block(tiny_dir()):  # later ones meet the outputs of what is pruned
        weight = source.weight(layer)
        score = np.abs(weight) * given[layer].norm(dim=0).numpy()
        gone = np.argsort(score, axis=1)[:, : round(sparsity * weight.shape[1])]
        expected = weight.copy()
        np.put_along_axis(expected, gone, 0, axis=1)
        assert (child.weight(layer) == expected.astype(np.float16)).all(), layer


def pruned_by_the_library(method: str, **recipe: Any) -> dict[str, np.ndarray]:
    """The tiny model's weights as llm-compressor's own run leaves them, its pipeline and all."""
    from llmcompressor import oneshot
    from llmcompressor.modifiers.pruning import SparseGPTModifier, WandaPruningModifier
    from torch.utils.data import DataLoader

    model, tokenizer = load_dequantized(tiny_dir())
    layout = layout_of(tiny_dir())
    kind = WandaPruningModifier if method == "wanda" else SparseGPTModifier
    targets = [layout.modules[layer] for layer in layout.linear]
    rows: Any = [
        {"input_ids": row[None], "attention_mask": torch.ones_like(row)[None]}
        for row in windows(0, DATA["samples"])
    ]
    oneshot(
        model=model,
        tokenizer=tokenizer,
        recipe=kind(targets=targets, **recipe),
        dataset=DataLoader(rows, batch_size=None),
        num_calibration_samples=len(rows),
        shuffle_calibration_samples=False,
    )
    weights = {n: model.get_submodule(layout.modules[n]).weight for n in layout.linear}
    return {layer: weight.detach().numpy() for layer, weight in weights.items()}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("pattern", "mask"), [("unstructured", "0:0"), ("2:4", "2:4")])
def test_the_zeros_are_those_of_the_library_s_own_run(
    tmp_path: Path, method: str, pattern: str, mask: str
) -> None:
    prune(tmp_path / "child", method, pattern=pattern)
    child = read(tmp_path / "child")
    expected = pruned_by_the_library(method, sparsity=0.5, mask_structure=mask)
    same = [(child.weight(layer) == 0) == (w == 0) for layer, w in expected.items()]
    for zeros in same[:7]:
        assert zeros.mean() > 0.999  # sums of another order part near ties
    assert np.mean([zeros.mean() for zeros in same]) > 0.998


def output_error(parent: Path, child: Path, ids: torch.Tensor) -> float:
    """Squares of what the layers' outputs are off over those of the outputs, summed over layers;
    every layer on the parent's inputs."""
    given, off = inputs_of(parent, ids), 0.0
    pruned, source, layout = read(child), read(parent), layout_of(parent)
    for layer, values in given.items():
        turned = layer in layout.transposed
        weights = (
            held.weight(layer).T if turned else held.weight(layer) for held in (pruned, source)
        )
        left, right = (values.double() @ torch.from_numpy(w).double().T for w in weights)
        off += float((left - right).square().sum() / right.square().sum())
    return off


@pytest.mark.parametrize("params", [{"sparsity": 0.5}, {"pattern": "2:4"}, {"pattern": "4:8"}])
def test_output_error_on_held_out_text_is_least_by_sparsegpt(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    act(tmp_path / "magnitude", "magnitude", params, agent="pruning")
    for method in METHODS:
        prune(tmp_path / method, method, **params)
    held_out = windows(DATA["samples"], 8)
    names = ("magnitude", "wanda", "sparsegpt")
    errors = [output_error(tiny_dir(), tmp_path / name, held_out) for name in names]
    # The tiny model's inputs are nearly of one size: Wanda gains little there (see below).
    assert errors[2] < 0.8 * min(errors[:2]) and errors[1] < 1.05 * errors[0], errors


def correlated(tokens: int, width: int, seed: int) -> torch.Tensor:
    """Inputs as a model's: of unequal sizes, and each like its neighbours. returns: (1, t, w)"""
    sizes = torch.logspace(-1, 1, width)[torch.randperm(width, generator=torch.manual_seed(5))]
    drawn = torch.randn(tokens, width + 8, generator=torch.manual_seed(seed))
    return (drawn.unfold(1, 9, 1).mean(dim=-1) * sizes)[None]


@pytest.mark.parametrize(("pattern", "zeros"), [("unstructured", (0, 0)), ("2:4", (2, 4))])
def test_output_error_falls_from_magnitude_to_wanda_to_sparsegpt(
    pattern: str, zeros: tuple[int, int]
) -> None:
    layer = torch.nn.Linear(96, 48, bias=False)
    torch.nn.init.normal_(layer.weight, generator=torch.manual_seed(7))
    source, seen = layer.weight.detach(), correlated(400, 96, 1)
    held_out = correlated(400, 96, 2)[0]
    with torch.no_grad():
        by_wanda = wanda.sparsify("q", layer, Inputs(*row_norms(layer, seen, None, 0)), 0.5, zeros)
        moments = Inputs(*sparsegpt.second_moments(layer, seen, None, 0))
        made = sparsegpt.sparsify(sparsegpt.Params(), "q", layer, moments, 0.5, zeros)
    if pattern == "2:4":
        smallest = torch.from_numpy(keep_pattern(source.numpy(), 2, 4))
    else:
        smallest = torch.where(source.abs() > source.abs().median(), source, 0.0)
    errors = [
        float(((weight - source) @ held_out.T).square().sum())
        for weight in (smallest, by_wanda, made)
    ]
    assert errors[2] < 0.8 * errors[1] < 0.6 * errors[0], errors


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("pattern", "width"), [("2:4", 4), ("4:8", 8)])
def test_every_few_columns_hold_as_many_zeros(
    tmp_path: Path, method: str, pattern: str, width: int
) -> None:
    prune(tmp_path / "child", method, pattern=pattern)
    child = read(tmp_path / "child")
    for layer in linear(tiny_dir()):
        zeros = (child.weight(layer).reshape(-1, width) == 0).sum(axis=1)
        assert (zeros == width // 2).all(), layer


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("params", [{"sparsity": 0.3}, {"sparsity": 0.7}, {"pattern": "2:4"}])
def test_the_file_weighs_what_the_formula_says(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    result = prune(tmp_path / "child", method, **params)
    (path,) = weight_files(tmp_path / "child")
    header = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    assert result["size_bytes"] == path.stat().st_size == result["formula_bytes"] + header
    sparsity = params.get("sparsity", 0.5)
    assert result["weight_bits"] == pytest.approx(1 + 16 * (1 - sparsity), rel=0.01)
    assert result["loader"] == "pare"


def told(result: dict[str, Any], metric: str) -> dict[str | None, float]:
    """What the method told of its artifact, by layer."""
    return {f["layer"]: f["value"] for f in result["figures"] if f["metric"] == metric}


@pytest.mark.parametrize("method", METHODS)
def test_dense_weights_are_the_same_ones_as_plain_floats(tmp_path: Path, method: str) -> None:
    prune(tmp_path / "bitmask", method)
    result = prune(tmp_path / "dense", method, stored_as="dense")
    bitmask, dense = read(tmp_path / "bitmask"), read(tmp_path / "dense")
    assert not dense.stored and result["loader"] == "transformers"
    for layer in linear(tiny_dir()):
        assert (bitmask.weight(layer) == dense.weight(layer)).all()
    shares = told(result, "sparsity")
    assert set(shares) == set(linear(tiny_dir()))
    assert all(share == pytest.approx(0.5, abs=0.001) for share in shares.values())
    assert told(result, "calibration_tokens") == {None: 8 * 48}
    errors = told(result, "output_error")
    assert set(errors) == {"model.layers.0", "model.layers.1"}
    assert all(0 < error < 1 for error in errors.values())


def test_sparsegpt_with_inputs_of_no_pattern_is_magnitude_pruning() -> None:
    torch.manual_seed(3)
    layer = torch.nn.Linear(64, 48, bias=False)
    params = sparsegpt.Params(block_size=128)
    with torch.no_grad():
        made = sparsegpt.sparsify(params, "layer", layer, Inputs(torch.eye(64), 1), 0.5, (0, 0))
    smallest = layer.weight.abs().flatten().sort().values[48 * 32]
    kept = layer.weight.abs() > smallest
    assert torch.equal(made, torch.where(kept, layer.weight, torch.zeros(())))


def test_second_moments_that_cannot_be_inverted_are_refused() -> None:
    layer = torch.nn.Linear(16, 8, bias=False)
    with pytest.raises(CallFailure, match="of its inputs cannot be inverted") as caught:
        sparsegpt.sparsify(sparsegpt.Params(), "q", layer, Inputs(-torch.eye(16), 1), 0.5, (0, 0))
    assert "dampening" in (caught.value.hint or "")


@pytest.mark.parametrize("method", METHODS)
def test_a_little_pruning_leaves_the_model_what_it_was(tmp_path: Path, method: str) -> None:
    prune(tmp_path / "child", method, sparsity=0.3)
    assert accuracy(*load_dequantized(tmp_path / "child")) > 0.9


class Killed(Exception):
    """Stands for a kill between two progress reports."""


def request(out: Path, method: str, work: Path | None, **params: Any) -> ApplyRequest:
    return action(
        out, "pruning", method, {**DATA, **params}, calibration_path=calibration(), work_dir=work
    )


@pytest.mark.parametrize(
    ("method", "spread"), [("wanda", "outliers"), ("sparsegpt", "sensitivity")]
)
def test_a_killed_run_goes_on_at_the_block_where_it_was_with_the_same_bytes(
    tmp_path: Path, method: str, spread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pare_backends.pruning import calibrated

    work = tmp_path / "work"
    work.mkdir()
    params = {"layer_sparsity": spread}
    apply.run(request(tmp_path / "whole", method, None, **params), silent_report())
    real, calls = calibrated.half, []

    def counted(values: np.ndarray) -> np.ndarray:
        calls.append(values.shape)
        if len(calls) == 10:  # in the second block of seven layers
            raise Killed
        return real(values)

    monkeypatch.setattr(calibrated, "half", counted)
    with pytest.raises(Killed):
        apply.run(request(tmp_path / "killed", method, work, **params), silent_report())
    assert sorted(p.name for p in work.iterdir()) == ["model.layers.0.safetensors", "spread.json"]
    calls.clear()
    monkeypatch.setattr(calibrated, "half", lambda values: calls.append(1) or real(values))
    result = apply.run(request(tmp_path / "again", method, work, **params), silent_report())
    assert len(calls) == 7, "the first block was pruned again"
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert len(told(result, "output_error")) == 2


def test_a_full_disk_is_one_sentence_and_leaves_no_half_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()

    def half_of_it(_tensors: Any, path: str, **_named: Any) -> None:
        Path(path).write_bytes(b"half a file")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", half_of_it)
    said = "Cannot keep the block model.layers.0 that is pruned: no space left on the disk"
    with pytest.raises(CallFailure, match=said) as failed:
        apply.run(request(tmp_path / "child", "wanda", work), silent_report())
    assert failed.value.kind == "disk_full" and "PARE_HOME" in (failed.value.hint or "")
    assert not list(work.iterdir()) and not (tmp_path / "child").exists()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "phi3", "mixtral"])
def test_other_architectures_are_pruned_where_they_multiply(
    tmp_path: Path, method: str, family: str
) -> None:
    source = write_model(family, tmp_path / "source")
    result = prune(tmp_path / "child", method, source, pattern="2:4", samples=2, tokens=16)
    child, layout = read(tmp_path / "child"), layout_of(source)
    for layer in layout.linear:
        weight = child.weight(layer)
        inputs_last = np.ascontiguousarray(weight.T if layer in layout.transposed else weight)
        assert ((inputs_last.reshape(-1, 4) == 0).sum(axis=1) == 2).all(), layer
    assert set(told(result, "sparsity")) == set(layout.linear)
    model, _ = load_dequantized(tmp_path / "child")
    assert torch.isfinite(model(torch.arange(3, 30)[None]).logits).all()
    assert any("all tokens" in note for note in result["notes"]) == bool(layout.experts)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"samples": 17}, "the study has 16 windows of 64 tokens"),
        ({"tokens": 65}, "the study has 16 windows of 64 tokens"),
        ({"pattern": "2:4", "sparsity": 0.6}, "2:4 at a sparsity of 0.6: the pattern leaves 0.5"),
        ({"pattern": "4:8", "layer_sparsity": "outliers"}, "and zeros spread by outliers"),
        ({"sparsity": 0.8}, "Cannot set sparsity to 0.8: it must be from 0.1 to 0.7"),
    ],
)
def test_what_cannot_be_had_is_refused_before_any_work(
    tmp_path: Path, method: str, params: dict[str, Any], why: str
) -> None:
    with pytest.raises(CallFailure, match=why):
        prune(tmp_path / "child", method, **params)
    assert not (tmp_path / "child").exists()


@pytest.mark.parametrize("method", METHODS)
def test_a_rounded_model_is_not_pruned_and_a_pruned_one_keeps_its_zeros(
    tmp_path: Path, method: str
) -> None:
    act(tmp_path / "rounded", "rtn", {"bits": 8, "group_size": 32})
    with pytest.raises(CallFailure, match="quantized already"):
        prune(tmp_path / "one", method, tmp_path / "rounded")
    prune(tmp_path / "two", method, sparsity=0.3)
    result = prune(tmp_path / "three", method, tmp_path / "two", sparsity=0.5)
    shares = told(result, "sparsity")
    assert all(share == pytest.approx(0.5, abs=0.01) for share in shares.values())
