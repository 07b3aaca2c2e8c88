"""Stored forms: each owns its bytes, reads back what was written, and can be told by any loader."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_model import act, tiny_dir
from transformers import AutoModelForCausalLM

from pare_backends.checkpoint import (
    BitmaskTensor,
    Checkpoint,
    GridTensor,
    formula_bytes,
    load_dequantized,
    read,
    weight_bits,
    write,
)
from pare_backends.checkpoint.stored import StoredTensors, file_entries
from pare_backends.failures import CallFailure
from pare_backends.models.checks import check_config
from pare_backends.runtimes.stored_weights import StoredWeights

LAYER = "model.layers.1.mlp.down_proj"
PROBE = torch.arange(3, 30)[None]
NORM = "model.norm.weight"


def sparse(shape: tuple[int, ...], share: float, seed: int = 0) -> np.ndarray:
    """Float16 numbers in float32, a share of them zero."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape).astype(np.float16).astype(np.float32)
    return np.where(rng.random(shape) < share, np.float32(0), values)


def checkpoint_of(stored: dict[str, BitmaskTensor | GridTensor]) -> Checkpoint:
    return Checkpoint({"model_type": "llama"}, (), stored, {NORM: np.ones(7, np.float32)})


def grid_of_steps(bits: int, group: int, symmetric: bool, inputs: bool = False) -> GridTensor:
    """Whole numbers by a rule, so that no rounding of a machine is in them."""
    low = -(2 ** (bits - 1))
    ints = ((np.arange(6 * 64) * 7 + 3) % 2**bits + low).astype(np.int8).reshape(6, 64)
    groups = 1 if group == -1 else 64 // group
    scales = (np.arange(6 * groups).reshape(6, groups) + 1).astype(np.float32) / 64
    zeros = ((np.arange(6 * groups) % 2**bits) + low).astype(np.int8).reshape(6, groups)
    rounded = (8, 64) if inputs else (None, -1)
    return GridTensor(ints, scales, None if symmetric else zeros, bits, group, *rounded)


def test_a_grid_lies_on_disk_as_it_did_in_the_first_artifacts(tmp_path: Path) -> None:
    """Hashes of what was written before there was any other form."""
    layers = {
        "a": grid_of_steps(4, 32, True),
        "b": grid_of_steps(3, -1, False),
        "c": grid_of_steps(8, -1, True, inputs=True),
        "d": grid_of_steps(2, 16, False),
        "e": replace(grid_of_steps(4, 64, True), transposed=True),
    }
    floats = {"norm.weight": np.arange(5, dtype=np.float32), "big": np.full(3, 1e6, np.float32)}
    config = {"model_type": "llama", "hidden_size": 64, "dtype": "float16"}
    written = Checkpoint(config, (), layers, floats)
    (path,) = write(written, tmp_path)
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:16] == "4be171a7b2ea814c"
    text = (tmp_path / "config.json").read_bytes()
    assert hashlib.sha256(text).hexdigest()[:16] == "e0500f4875ae7c6f"
    again = read(tmp_path)
    assert again.config["model_type"] == "llama" and "quantization_config" not in again.config
    for name, tensor in layers.items():
        held = again.in_form(GridTensor)[name]
        assert (held.weight() == tensor.weight()).all() and held.shape == tensor.shape


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (64, 96), (2, 3, 5)])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_bitmask_reads_back_every_weight_exactly(
    tmp_path: Path, shape: tuple[int, ...], share: float
) -> None:
    weights = sparse(shape, share)
    tensor = BitmaskTensor.of(weights)
    assert tensor.shape == shape and tensor.size == weights.size
    assert (tensor.weight() == weights).all() and (tensor.kept() == (weights != 0)).all()
    write(checkpoint_of({"layer": tensor}), tmp_path)
    found = read(tmp_path)
    assert set(found.floats) == {NORM} and found.shape("layer") == shape
    assert (found.weight("layer") == weights).all()
    again = found.stored["layer"]
    assert isinstance(again, BitmaskTensor) and again.values.dtype == np.float16


def test_the_lowest_bit_of_the_first_byte_is_the_first_weight(tmp_path: Path) -> None:
    weights = np.array([[0, 2, 0], [0, 0, 5], [7, 0, 0]], np.float32)
    write(checkpoint_of({"layer": BitmaskTensor.of(weights)}), tmp_path)
    parts = StoredTensors(file_entries(tmp_path / "model.safetensors"))
    assert parts["layer.weight_mask"].tolist() == [0b01100010, 0b0]
    assert parts["layer.weight"].tolist() == [2, 5, 7]
    assert parts["layer.weight_shape"].tolist() == [3, 3]
    declared = json.loads((tmp_path / "config.json").read_text())
    assert declared["pare_stored_forms"] == {"bitmask": {"version": 1, "layers": ["layer"]}}
    assert "quantization_config" not in declared


@pytest.mark.parametrize("share", [0.1, 0.5, 0.7])
def test_a_bitmask_weighs_what_the_formula_says(tmp_path: Path, share: float) -> None:
    tensors = {f"layers.{n}": BitmaskTensor.of(sparse((768, 576), share, n)) for n in range(4)}
    child = checkpoint_of(tensors)
    (path,) = write(child, tmp_path)
    assert path.stat().st_size == pytest.approx(formula_bytes(child), rel=0.01)
    # One bit for each weight and 16 for what is left: counted from the numbers themselves.
    kept = sum(int((tensor.weight() != 0).sum()) for tensor in tensors.values())
    weights = 4 * 768 * 576
    assert path.stat().st_size == pytest.approx(weights / 8 + 2 * kept, rel=0.01)
    assert weight_bits(child, list(tensors)) == pytest.approx(1 + 16 * (1 - share), rel=0.01)


def test_a_value_beyond_float16_keeps_a_bitmask_in_float32(tmp_path: Path) -> None:
    weights = np.array([[0, 1e6], [3, 0]], np.float32)
    tensor = BitmaskTensor.of(weights)
    write(checkpoint_of({"layer": tensor}), tmp_path)
    assert (read(tmp_path).weight("layer") == weights).all()
    assert tensor.formula_bytes() == 1 + 2 * 4 + 2 * 8


def test_a_weight_that_float16_flushes_to_zero_is_a_zero() -> None:
    tensor = BitmaskTensor.of(np.array([1e-9, 1.0], np.float32))
    assert tensor.kept().tolist() == [False, True]


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("weight", lambda values: values[:-1]),
        ("weight_mask", lambda mask: mask[:-1]),
        ("weight_mask", lambda mask: mask ^ np.uint8(1)),
        ("weight_shape", lambda shape: shape + 8),
    ],
)
def test_parts_that_do_not_fit_together_are_named(
    tmp_path: Path, part: str, change: object
) -> None:
    from safetensors.numpy import save_file

    (path,) = write(checkpoint_of({"layer": BitmaskTensor.of(sparse((8, 9), 0.5))}), tmp_path)
    stored = StoredTensors(file_entries(path))
    parts = {name: stored[name] for name in stored}
    assert callable(change)
    parts[f"layer.{part}"] = change(parts[f"layer.{part}"])
    save_file(parts, str(path))
    with pytest.raises(CallFailure, match="layer: its mask has") as caught:
        read(tmp_path)
    assert caught.value.kind == "bad_input"


def test_a_mask_without_its_values_is_named(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    (path,) = write(checkpoint_of({"layer": BitmaskTensor.of(sparse((8, 9), 0.5))}), tmp_path)
    stored = StoredTensors(file_entries(path))
    save_file({n: stored[n] for n in stored if n != "layer.weight"}, str(path))
    with pytest.raises(CallFailure, match=r"no layer\.weight"):
        read(tmp_path)


def test_a_form_of_a_later_pare_is_refused_by_name(tmp_path: Path) -> None:
    write(checkpoint_of({"layer": BitmaskTensor.of(sparse((8, 9), 0.5))}), tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    config["pare_stored_forms"]["spiral"] = {"version": 1}
    path.write_text(json.dumps(config))
    with pytest.raises(
        CallFailure, match="'spiral', this pare knows grid, bitmask, seeds, lattice"
    ):
        read(tmp_path)


def bitmask_child(out: Path, share: float = 0.5) -> Checkpoint:
    """The tiny model with a layer thinned out, written."""
    parent = read(tiny_dir())
    weights = parent.weight(LAYER)
    kept = np.abs(weights) > np.quantile(np.abs(weights), share)
    child = parent.with_stored({LAYER: BitmaskTensor.of(np.where(kept, weights, np.float32(0)))})
    write(child, out)
    return child


def test_a_bitmask_computes_as_the_same_weights_in_floats(tmp_path: Path) -> None:
    child = bitmask_child(tmp_path / "child")
    ours, _ = load_dequantized(tmp_path / "child")
    dense = child.with_floats({f"{LAYER}.weight": child.weight(LAYER)})
    assert not dense.stored and set(dense.floats) == set(read(tiny_dir()).floats)
    write(dense, tmp_path / "dense")
    theirs = AutoModelForCausalLM.from_pretrained(str(tmp_path / "dense"), dtype=torch.float32)
    with torch.inference_mode():
        assert torch.equal(ours(PROBE).logits, theirs(PROBE).logits)


def test_transformers_stops_at_a_bitmask_instead_of_drawing_weights(tmp_path: Path) -> None:
    bitmask_child(tmp_path)
    with pytest.raises(RuntimeError, match="ignore_mismatched_sizes"):
        AutoModelForCausalLM.from_pretrained(str(tmp_path), dtype=torch.float32)


def test_a_runtime_gets_a_bitmask_as_the_floats_that_it_stands_for(tmp_path: Path) -> None:
    child = bitmask_child(tmp_path)
    weights = StoredWeights(str(tmp_path))
    name = f"{LAYER}.weight"
    assert weights.has(name) and not weights.is_packed(name) and name in weights.names()
    assert not [part for part in weights.names() if "weight_" in part]
    found = weights.floats(name)
    assert found.dtype == np.float16 and (found == child.weight(LAYER)).all()


def test_a_bitmask_is_no_baseline(tmp_path: Path) -> None:
    bitmask_child(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    with pytest.raises(CallFailure, match="stored as bitmask"):
        check_config(tmp_path, config, trust_remote_code=False)


def test_a_grid_stays_and_a_bitmask_may_be_replaced(tmp_path: Path) -> None:
    child = bitmask_child(tmp_path / "child")
    other = replace(grid_of_steps(4, 32, True))
    assert child.with_stored({LAYER: other}).stored[LAYER] is other
    rounded = child.with_stored({LAYER: other})
    for change in (
        lambda: rounded.with_stored({LAYER: BitmaskTensor.of(np.eye(3))}),
        lambda: rounded.with_floats({f"{LAYER}.weight": np.eye(3)}),
    ):
        with pytest.raises(CallFailure, match="quantized already") as caught:
            change()
        assert caught.value.kind == "invalid"


def test_floats_of_another_shape_are_written_as_they_are(tmp_path: Path) -> None:
    """What a method that resizes layers gives back."""
    parent = read(tiny_dir())
    narrow = parent.weight(LAYER)[:, :32]
    child = parent.with_floats({f"{LAYER}.weight": narrow, "cube": np.ones((2, 3, 4), np.float32)})
    assert child.shape(LAYER) == narrow.shape and child.float_shape("cube") == (2, 3, 4)
    (path,) = write(child, tmp_path)
    found = read(tmp_path)
    assert (found.floats[f"{LAYER}.weight"] == narrow.astype(np.float16)).all()
    assert parent.weight(LAYER).shape == (64, 128) and "cube" not in parent.floats
    header = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    assert path.stat().st_size == formula_bytes(child) + header


def test_an_old_artifact_loads(tmp_path: Path) -> None:
    """A packed layer's config.json without any word of pare's own forms."""
    act(tmp_path / "child", "rtn", {"bits": 4, "group_size": 32})
    config = json.loads((tmp_path / "child" / "config.json").read_text())
    assert "pare_stored_forms" not in config
    assert config["quantization_config"]["quant_method"] == "compressed-tensors"
    assert len(read(tmp_path / "child").in_form(GridTensor)) == 14
    model, _ = load_dequantized(tmp_path / "child")
    assert torch.isfinite(model(PROBE).logits).all()
