"""`hyper_compression`: the nearest point is the nearest, and a code decodes to the bit."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_model import act, tiny_dir

from pare_backends.checkpoint import Checkpoint, LatticeTensor, load_dequantized, read, write
from pare_backends.checkpoint.forms.lattice import LatticeProfile, Plane
from pare_backends.checkpoint.stored import StoredTensors, file_entries
from pare_backends.codec.hyper_compression import Params, apply
from pare_backends.codec.lattice_points import fitted, nearest, numbers_of
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report

PLANE = Plane(0.0625, -0.03125, 0.5, 1.75)
LAYER = "model.layers.1.mlp.down_proj"


def weights_of(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.05).astype(np.float32)


def pair_by_hand(number: int, plane: Plane, profile: LatticeProfile) -> tuple[float, float]:
    """One pair from its number, by the trajectory's own words: (k l / s² mod l, k l / s mod l)."""
    outside, point = divmod(number, profile.points + 1)
    half = plane.side / 2
    edge = half + outside * ((plane.reach - half) / profile.classes)
    if point == 0:
        return plane.x, plane.y
    steps, k = round(math.sqrt(profile.points)), point - 1
    across, along = k / steps**2 * plane.side - half, (k % steps) / steps * plane.side - half
    factor = edge / half
    return (
        float(np.float32(plane.x + across * factor)),
        float(np.float32(plane.y + along * factor)),
    )


@pytest.mark.parametrize("points", [100, 400, 1600])
def test_every_number_decodes_as_by_hand_to_the_last_bit(tmp_path: Path, points: int) -> None:
    profile = LatticeProfile(points, 3, 2)
    numbers = np.arange((points + 1) * 3)
    tensor = LatticeTensor.of(numbers, PLANE, profile, (3, 2 * (points + 1)))
    write(Checkpoint({"model_type": "llama"}, (), {"layer": tensor}, {}), tmp_path)
    found = read(tmp_path).weight("layer")
    expected = [pair_by_hand(int(n), PLANE, profile) for n in numbers]
    assert found.dtype == np.float32
    assert np.array_equal(found.reshape(-1, 2), np.array(expected, np.float32))


def test_the_nearest_point_is_the_nearest_of_all() -> None:
    """Against every point by itself, the corners and edges of the square among the places."""
    steps = 10
    rng = np.random.default_rng(1)
    edge = np.array([[x, y] for x in (0, 0.01, 5, 9.99, 10) for y in (0, 0.01, 5, 9.99, 10)])
    places = np.concatenate([edge, rng.random((2000, 2)) * steps])
    k = np.arange(steps**2)
    points = np.stack([k / steps, k % steps], axis=1)
    points = np.concatenate([[[steps / 2, steps / 2]], points])
    distances = np.square(places[:, None] - points).sum(2)
    found = nearest(places, steps)
    own = distances[np.arange(len(places)), found]
    assert own == pytest.approx(distances.min(1), abs=1e-12)


def test_a_pair_is_within_half_a_row_and_a_column_of_its_point() -> None:
    weights = weights_of((64, 96))
    tensor = fitted(weights, 1600, 3)
    step = tensor.plane.side / 40
    largest = tensor.plane.reach / (tensor.plane.side / 2)
    off = np.abs(tensor.weight() - weights)
    # At two edges of the square the last points lie a whole step inside.
    assert off.max() <= step * largest * 1.001
    assert off.mean() < 0.03 * weights.std()


@pytest.mark.parametrize(("points", "most", "bits"), [(1600, 3, 6.5), (400, 3, 5.5), (100, 1, 4)])
def test_bits_are_those_of_the_formula(tmp_path: Path, points: int, most: int, bits: float) -> None:
    tensor = fitted(weights_of((192, 160)), points, most)
    assert tensor.formula_bytes() == 192 * 160 * bits / 8 + 12 + 16 + 16
    (path,) = write(Checkpoint({"model_type": "llama"}, (), {"layer": tensor}, {}), tmp_path)
    entries = file_entries(path).values()
    assert sum(entry.end - entry.start for entry in entries) == tensor.formula_bytes()


@pytest.mark.parametrize(
    "weights", [np.zeros((3, 5)), np.full((2, 2), 0.25), weights_of((1,)), weights_of((7, 9))]
)
def test_odd_and_constant_matrices_come_back(weights: np.ndarray) -> None:
    tensor = fitted(weights.astype(np.float32), 400, 2)
    assert tensor.shape == weights.shape
    # A step of the widest class; where all are alike they lie in the centre.
    step = tensor.plane.reach / 10 if weights.std() > 0 else 1e-6
    assert np.abs(tensor.weight() - weights).max() <= step


def test_an_outlier_is_reached_and_its_class_is_in_range() -> None:
    weights = weights_of((32, 32))
    weights[3, 7] = -4
    tensor = fitted(weights, 1600, 3)
    assert tensor.weight()[3, 7] == pytest.approx(-4, abs=0.3)
    pair = np.array([[PLANE.x + PLANE.reach, PLANE.y]])
    assert numbers_of(pair, PLANE, LatticeProfile(100, 3, 3))[0] // 101 == 3


def test_a_whole_model_is_encoded_written_and_loaded(tmp_path: Path) -> None:
    result = act(tmp_path / "child", "hyper_compression", {"targets": "all"}, agent="codec")
    child = read(tmp_path / "child")
    assert len(child.in_form(LatticeTensor)) == 15 and result["loader"] == "pare"
    weight, back = read(tiny_dir()).weight(LAYER), child.weight(LAYER)
    assert np.square(back - weight).sum() < 0.002 * np.square(weight).sum()
    model, _ = load_dequantized(tmp_path / "child")
    assert torch.equal(model.get_submodule(LAYER).weight, torch.from_numpy(back))
    embedding = child.weight("model.embed_tokens")
    assert torch.equal(model.get_output_embeddings().weight, torch.from_numpy(embedding))


def test_a_matrix_that_loses_too_much_stays_in_floats() -> None:
    context = Context(tiny_dir(), layout_of(tiny_dir()), silent_report(), 1, None)
    child = apply(
        read(tiny_dir()), Params(lattice_points=100, outer_classes=1, raw_above=0.01), context
    )
    assert not child.stored and "14 of 14 matrices stay in floats" in context.notes[0]
    whole = read(tiny_dir())
    broken = whole.with_floats({f"{LAYER}.weight": np.full((64, 128), np.inf, np.float32)})
    with pytest.raises(CallFailure, match=f"Cannot encode {LAYER}: its weights are not finite"):
        apply(broken, Params(), context)


@pytest.mark.parametrize("part", ["weight", "weight_lattice_profile", "weight_lattice_plane"])
def test_a_damaged_code_is_named(tmp_path: Path, part: str) -> None:
    from safetensors.numpy import save_file

    tensor = LatticeTensor.of(np.arange(6), PLANE, LatticeProfile(100, 3, 2), (3, 4))
    (path,) = write(Checkpoint({"model_type": "llama"}, (), {"layer": tensor}, {}), tmp_path)
    parts = dict(StoredTensors(file_entries(path)))
    name = f"layer.{part}"
    save_file({**parts, name: parts[name][1:]}, str(path))
    with pytest.raises(CallFailure, match="Cannot read layer"):
        read(tmp_path)
    save_file({key: value for key, value in parts.items() if key != name}, str(path))
    with pytest.raises(CallFailure, match=f"{name}|stored as lattice"):
        read(tmp_path)
    save_file({**parts, "layer.weight": np.full_like(parts["layer.weight"], 255)}, str(path))
    with pytest.raises(CallFailure, match="a pair is of class"):
        read(tmp_path).weight("layer")


def test_entropy_coded_pairs_are_the_same_in_fewer_bytes(tmp_path: Path) -> None:
    weights = weights_of((192, 160))
    plain, coded = (fitted(weights, 1600, 3, entropy_coded) for entropy_coded in (False, True))
    same = LatticeTensor.of(
        *(np.concatenate(list(plain.numbers())), plain.plane, plain.profile, plain.shape), True
    )
    assert np.array_equal(plain.weight(), same.weight())
    assert same.formula_bytes() < 0.96 * plain.formula_bytes()
    # A wider square, as points that hardly a pair needs cost nothing.
    off, more = (float(np.square(one.weight() - weights).mean()) for one in (plain, coded))
    assert coded.formula_bytes() < 0.8 * plain.formula_bytes()
    saved = (plain.formula_bytes() - coded.formula_bytes()) * 8 / weights.size
    assert saved > 0.5 * math.log2(more / off) + 0.3  # a bit halves the error
    (path,) = write(Checkpoint({"model_type": "llama"}, (), {"layer": coded}, {}), tmp_path)
    entries = file_entries(path).values()
    assert sum(entry.end - entry.start for entry in entries) == coded.formula_bytes()
    again = read(tmp_path).stored["layer"]
    assert isinstance(again, LatticeTensor) and again.entropy_coded
    assert np.array_equal(again.weight(), coded.weight())


@pytest.mark.parametrize("points", [100, 400, 1600, 6400])
def test_every_number_survives_the_entropy_coder(points: int) -> None:
    profile = LatticeProfile(points, 3, 3)
    numbers = np.random.default_rng(2).permutation((points + 1) * 4)
    tensor = LatticeTensor.of(numbers, PLANE, profile, (2, len(numbers)), True)
    assert np.array_equal(np.concatenate(list(tensor.numbers())), numbers)


@pytest.mark.parametrize("damage", ["cut", "longer", "flipped", "a shorter plane", "empty"])
def test_a_damaged_stream_is_refused_in_words(damage: str) -> None:
    tensor = fitted(weights_of((64, 48)), 400, 3, True)
    codes = tensor.codes.copy()
    if damage == "cut":
        codes = codes[:-9]
    elif damage == "longer":
        codes = np.append(codes, np.zeros(3, np.uint8))
    elif damage == "flipped":
        codes[20:60] ^= 0xFF
    elif damage == "empty":
        codes = codes[:0]
    else:
        codes = fitted(weights_of((64, 46)), 400, 3, True).codes
    broken = LatticeTensor(codes, tensor.plane, tensor.profile, tensor.dimensions, True)
    broken.check("layer")
    with pytest.raises(CallFailure, match="Cannot decode weights stored as a lattice"):
        broken.weight()
