"""`seedlm`: the search finds what brute force finds, and a code decodes to the last bit."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_model import act, tiny_dir

from pare_backends.checkpoint import (
    Checkpoint,
    GridTensor,
    SeedTensor,
    formula_bytes,
    load_dequantized,
    read,
    write,
)
from pare_backends.checkpoint.forms.bit_codes import pack_codes, unpack_codes
from pare_backends.checkpoint.forms.seeds import SeedProfile
from pare_backends.checkpoint.forms.shift_register import TAPS, cycle
from pare_backends.checkpoint.stored import StoredTensors, file_entries
from pare_backends.codec import seed_search, seedlm
from pare_backends.codec.finished_layers import FinishedLayers
from pare_backends.codec.seed_search import RULES, search, seed_table
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report, silent_report
from pare_backends.runtimes.stored_weights import StoredWeights

SMALL = SeedProfile(8, 8, 3)
LAYER = "model.layers.1.mlp.down_proj"


def gaussian(blocks: int, profile: SeedProfile) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((blocks, profile.block_weights), np.float32)


def states_by_hand(seed: int, width: int, taps: tuple[int, ...], count: int) -> list[int]:
    """The states after a seed, from the bits themselves: the lowest bit first."""
    bits = [seed >> place & 1 for place in range(width)]
    states = []
    for _ in range(count):
        bits = [*bits[1:], sum(bits[tap] for tap in taps) % 2]
        states.append(sum(bit << place for place, bit in enumerate(bits)))
    return states


def block_by_hand(
    seed: int, exponent: int, coefficients: list[int], scale: float, profile: SeedProfile
) -> list[float]:
    """A block's weights by whole numbers one at a time, rounded to float32."""
    width, rows, columns = profile
    states = states_by_hand(seed, width, TAPS[width], rows * columns)
    factor = math.ldexp(scale / (2 ** (width - 1) - 1), exponent)
    made = []
    for row in range(rows):
        own = states[row * columns : (row + 1) * columns]
        whole = sum(
            q * (state - 2 ** (width - 1)) for q, state in zip(coefficients, own, strict=True)
        )
        made.append(float(np.float32(whole * factor)))
    return made


def test_states_are_those_of_the_reference_vector() -> None:
    """K = 3, seed 4, by the card of the paper's replication: not one of the widths on offer."""
    assert states_by_hand(4, 3, (0, 1), 8) == [2, 5, 6, 7, 3, 1, 4, 2]


@pytest.mark.parametrize("width", list(TAPS))
def test_a_register_runs_through_every_state_but_zero(width: int) -> None:
    states, places = cycle(width)
    period = 2**width - 1
    assert set(states.tolist()) == set(range(1, period + 1)) and len(states) == period
    assert places[0] == -1
    assert states[: min(40, period)].tolist() == [
        1,
        *states_by_hand(1, width, TAPS[width], min(40, period) - 1),
    ]


@pytest.mark.parametrize("bits", [1, 7, 24, 36, 64])
@pytest.mark.parametrize("count", [0, 1, 13, (1 << 16) + 5])
def test_codes_are_packed_to_the_bit(bits: int, count: int) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 1 << 63, count, dtype=np.uint64) & np.uint64((1 << bits) - 1)
    packed = pack_codes(codes, bits)
    assert packed.size == math.ceil(count * bits / 8)
    assert (np.concatenate([*unpack_codes(packed, bits, count), codes[:0]]) == codes).all()
    whole = int.from_bytes(packed.tobytes(), "little")
    for place in (0, count - 1) if count else ():
        assert whole >> (bits * place) & ((1 << bits) - 1) == int(codes[place])


@pytest.mark.parametrize(
    "profile", [SMALL, SeedProfile(16, 12, 4), SeedProfile(12, 16, 2), SeedProfile(4, 4, 4)]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_a_code_decodes_as_by_hand_to_the_last_bit(
    tmp_path: Path, profile: SeedProfile, transposed: bool
) -> None:
    rng = np.random.default_rng(2)
    rows, columns = 5, 2 * profile.block_weights
    n = rows * 2
    seeds = rng.integers(1, 1 << profile.seed_bits, n)
    exponents = rng.integers(-8, 8, n)
    coefficients = rng.integers(-8, 8, (n, profile.coefficients))
    scale = np.float32(0.0137)
    shape = (rows, columns)
    tensor = SeedTensor.of(seeds, exponents, coefficients, scale, profile, shape, transposed)
    write(Checkpoint({"model_type": "llama"}, (), {"layer": tensor}, {}), tmp_path)
    found = read(tmp_path).weight("layer")
    expected = np.array(
        [
            block_by_hand(int(s), int(e), [int(q) for q in own], float(scale), profile)
            for s, e, own in zip(seeds, exponents, coefficients, strict=True)
        ],
        np.float32,
    ).reshape(shape)
    assert found.dtype == np.float32 and found.shape == (shape[::-1] if transposed else shape)
    assert np.array_equal(found, expected.T if transposed else expected)


def exponents_by_hand(exact: np.ndarray, rule: str) -> list[np.ndarray]:
    """Those that the rule tries, before they are cut to 4 bits. exact: (n, P); each (n,)"""
    largest = np.maximum(np.abs(exact).max(1), 1e-38)
    if rule == "floor":
        return [np.floor(np.log2(largest))]
    least = np.ceil(np.log2(largest / 7.5))
    return [least, least - 1] if rule == "best" else [least]


@pytest.mark.parametrize("profile", [SMALL, SeedProfile(8, 12, 4), SeedProfile(6, 4, 2)])
@pytest.mark.parametrize(("first", "rule"), [(1, "ceil"), (8, "ceil"), (8, "floor"), (8, "best")])
def test_the_search_finds_what_brute_force_finds(
    profile: SeedProfile, first: int, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every seed by itself, its pseudo-inverse from numpy in double precision; with one candidate
    at first, most blocks need further ones."""
    monkeypatch.setattr(seed_search, "FIRST_CANDIDATES", first)
    blocks = gaussian(24, profile)
    blocks[0] = 0
    blocks[1] *= 40  # an outlier: its exponent is large
    width, rows, columns = profile
    least = np.full(len(blocks), np.inf)
    for seed in range(1, 1 << width):
        states = states_by_hand(seed, width, TAPS[width], rows * columns)
        half = 2 ** (width - 1)
        basis = (np.array(states, float).reshape(rows, columns) - half) / (half - 1)
        exact = blocks @ np.linalg.pinv(basis).T
        for exponents in exponents_by_hand(exact, rule):
            steps = 2.0 ** np.clip(exponents, -8, 7)[:, None]
            made = np.clip(np.rint(exact / steps), -8, 7) * steps @ basis.T
            least = np.minimum(least, np.square(made - blocks).sum(1))
    found = search(torch.from_numpy(blocks), seed_table(profile, rule))
    assert found.errors.numpy() == pytest.approx(least, rel=1e-4, abs=1e-6)
    # What it says of its seeds is what they decode to.
    parts = (found.seeds.numpy(), found.exponents.numpy(), found.coefficients.numpy())
    back = SeedTensor.of(*parts, 1.0, profile, blocks.shape).weight()
    assert np.square(back - blocks).sum(1) == pytest.approx(
        found.errors.numpy(), rel=1e-4, abs=1e-6
    )


# Relative squared errors on Gaussian weights, from an independent implementation.
@pytest.mark.parametrize(
    ("profile", "expected"), [(SeedProfile(12, 8, 3), 0.034), (SeedProfile(16, 12, 4), 0.051)]
)
def test_the_error_on_gaussian_weights_is_the_published_one(
    profile: SeedProfile, expected: float
) -> None:
    blocks = torch.from_numpy(gaussian(400 if profile.seed_bits < 16 else 100, profile))
    errors = search(blocks, seed_table(profile)).errors
    assert float(errors.sum() / blocks.square().sum()) == pytest.approx(expected, rel=0.1)


def test_the_rule_of_the_exponent_reaches_the_weights(tmp_path: Path) -> None:
    params = {"seed_bits": 8, "block_weights": 8, "coefficients": 3}
    errors = {}
    for rule in RULES:
        written = act(tmp_path / rule, "seedlm", {**params, "exponent_rule": rule}, agent="codec")
        figures = [f["value"] for f in written["figures"] if f["metric"] == "relative_error"]
        errors[rule] = sum(figures) / len(figures)
    assert errors["best"] < errors["ceil"] < 0.8 * errors["floor"]


def test_a_whole_model_is_encoded_written_and_loaded(tmp_path: Path) -> None:
    params = {"seed_bits": 8, "block_weights": 8, "coefficients": 3}
    result = act(tmp_path / "child", "seedlm", params, agent="codec")
    parent, child = read(tiny_dir()), read(tmp_path / "child")
    held = child.in_form(SeedTensor)
    assert len(held) == 14 and result["loader"] == "pare"
    weights = sum(tensor.size for tensor in held.values())
    size = sum(tensor.formula_bytes() for tensor in held.values())
    # 8 bits of seed, 4 of exponent, three times 4 for each 8 weights; 24 bytes a matrix beside.
    assert size == weights // 8 * (8 + 4 + 3 * 4) // 8 + 14 * 24
    assert result["weight_bits"] == pytest.approx(3, rel=0.02)
    entries = file_entries(tmp_path / "child" / "model.safetensors")
    assert sum(entry.end - entry.start for entry in entries.values()) == formula_bytes(child)
    weight, back = parent.weight(LAYER), child.weight(LAYER)
    figures = {f["layer"]: f["value"] for f in result["figures"] if f["metric"] == "relative_error"}
    own = float(np.square(back - weight).sum() / np.square(weight).sum())
    assert figures[LAYER] == pytest.approx(own, rel=1e-3) and own < 0.2
    model, _ = load_dequantized(tmp_path / "child")
    assert torch.equal(model.get_submodule(LAYER).weight, torch.from_numpy(back))
    name = f"{LAYER}.weight"
    runtime = StoredWeights(str(tmp_path / "child"))
    assert not runtime.is_packed(name) and (runtime.floats(name) == back.astype(np.float16)).all()
    assert not [part for part in runtime.names() if "seed" in part]


def context_in(folder: Path) -> Context:
    return Context(tiny_dir(), layout_of(tiny_dir()), silent_report(), 1, None, work_dir=folder)


def test_a_killed_action_goes_on_after_the_last_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = seedlm.Params(seed_bits=8)
    whole = seedlm.apply(read(tiny_dir()), params, replace(context_in(tmp_path), work_dir=None))
    encode, seen = seedlm.encode, []

    def killed(name: str, *more: object) -> object:
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(name)
        return encode(name, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(seedlm, "encode", killed)
    with pytest.raises(KeyboardInterrupt):
        seedlm.apply(read(tiny_dir()), params, context_in(tmp_path))
    first = list(seen)
    seen[:] = [""] * 6  # never killed again
    again = seedlm.apply(read(tiny_dir()), params, context_in(tmp_path))
    assert not set(first) & set(seen) and len(seen) == 6 + 14 - 5
    for layer, tensor in whole.in_form(SeedTensor).items():
        own = again.stored[layer]
        assert isinstance(own, SeedTensor) and own.scale == tensor.scale
        assert np.array_equal(own.codes, tensor.codes)


def test_a_large_layer_goes_on_within_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = seedlm.Params(seed_bits=8)
    whole = seedlm.apply(read(tiny_dir()), params, replace(context_in(tmp_path), work_dir=None))
    monkeypatch.setattr(seedlm, "PART_BLOCKS", 100)  # the smallest layer has some hundreds
    searched, seen = seedlm.searched, []

    def killed(*some: object) -> object:
        if len(seen) == 4:
            raise KeyboardInterrupt
        seen.append(len(some[0]))  # type: ignore[arg-type]
        return searched(*some)  # type: ignore[arg-type]

    monkeypatch.setattr(seedlm, "searched", killed)
    with pytest.raises(KeyboardInterrupt):
        seedlm.apply(read(tiny_dir()), params, context_in(tmp_path))
    before = sum(seen)
    kept = [path.name for path in tmp_path.iterdir()]
    assert any("part-" in name for name in kept), kept
    seen[:] = [0] * 5  # never killed again
    events: list[dict[str, object]] = []
    told = replace(context_in(tmp_path), report=Report(events.append))
    again = seedlm.apply(read(tiny_dir()), params, told)
    weights = sum(tensor.size for tensor in whole.stored.values())
    assert before + sum(seen) == weights // params.block_weights, "nothing is searched twice"
    within = [one for one in events if one.get("label") == "encode one layer"]
    # Of the layer that was killed the parts that are left, of every other one all.
    assert any(one["done"] == 1 for one in within)
    assert any(one["done"] == one["total"] for one in within)
    assert not [path for path in tmp_path.iterdir() if "part-" in path.name]
    for layer, tensor in whole.in_form(SeedTensor).items():
        own = again.stored[layer]
        assert isinstance(own, SeedTensor) and own.scale == tensor.scale
        assert np.array_equal(own.codes, tensor.codes)


def test_a_half_written_layer_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / f"{LAYER}.safetensors.1.partial").write_bytes(b"half")
    assert FinishedLayers(tmp_path).find(LAYER) is None


def test_what_cannot_be_encoded_is_said_before_any_work() -> None:
    parent, context = read(tiny_dir()), context_in(Path("/nowhere"))
    with pytest.raises(CallFailure, match="in blocks of 12: they must divide the row's 64") as no:
        seedlm.apply(parent, seedlm.Params(block_weights=12), context)
    assert no.value.kind == "invalid"
    ints = GridTensor(np.zeros((64, 128), np.int8), np.ones((64, 1), np.float32), None, 4, -1)
    with pytest.raises(CallFailure, match=f"Cannot change {LAYER}: it is quantized already"):
        seedlm.apply(parent.with_stored({LAYER: ints}), seedlm.Params(), context)
    with pytest.raises(CallFailure, match="w: its weights are not finite") as no:
        seedlm.encode("w", np.full((1, 8), np.nan, np.float32), seed_table(SMALL))
    assert no.value.kind == "not_a_number"


@pytest.mark.parametrize("part", ["weight", "weight_seed_profile", "weight_seed_scale"])
def test_a_damaged_code_is_named(tmp_path: Path, part: str) -> None:
    from safetensors.numpy import save_file

    ones = np.ones(6, np.int64)
    tensor = SeedTensor.of(ones, ones, np.ones((6, 3), np.int64), 1.0, SMALL, (3, 16))
    (path,) = write(Checkpoint({"model_type": "llama"}, (), {"layer": tensor}, {}), tmp_path)
    parts = dict(StoredTensors(file_entries(path)))
    name = f"layer.{part}"
    changes = {
        "weight": parts["layer.weight"][1:],
        "weight_seed_profile": parts["layer.weight_seed_profile"] + 3,
        "weight_seed_scale": np.array([np.nan], np.float32),
    }
    save_file({**parts, name: changes[part]}, str(path))
    with pytest.raises(CallFailure, match=r"Cannot (read|store) layer"):
        read(tmp_path)
    save_file({key: value for key, value in parts.items() if key != name}, str(path))
    with pytest.raises(CallFailure, match=f"{name}|stored as seeds"):
        read(tmp_path)
    # A seed of no register: the lengths fit, the code does not.
    save_file({**parts, "layer.weight": np.zeros_like(parts["layer.weight"])}, str(path))
    with pytest.raises(CallFailure, match="a block's seed is 0"):
        read(tmp_path).weight("layer")
