"""Tables of numbers: bitsandbytes' own codes, the nearest number of all, bytes by the formula."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from tiny_model import tiny_dir

from pare_backends.checkpoint import (
    Checkpoint,
    TableTensor,
    formula_bytes,
    load_dequantized,
    read,
    write,
)
from pare_backends.checkpoint.forms.number_tables import nearest_codes, table
from pare_backends.checkpoint.forms.table import FORMATS, TableFormat, format_named
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization import fp, nf4
from pare_backends.quantization.table_codes import encoded

LAYER = "model.layers.1.mlp.down_proj"
BLOCKS = {"mxfp4": 32, "nvfp4": 16, "fp8_e4m3": 320}
GOLDEN = {
    ("nf4", 64): "6069e9715aa927dc",
    ("nf4", 128): "995a5c53dcc20334",
    ("nf4", 256): "5d5d77f398ca1ea0",
    ("fp4", 64): "e6d7fb991e6a9bfb",
    ("fp4", 128): "4bb86e2ecf3a9c5b",
    ("fp4", 256): "26d9fcc044adba61",
}
"""Of codes and scales that bitsandbytes 0.50.2's quantize_4bit made on a CPU of `by_rule()`; its
FP4 has two codes of zero, which count as one."""


def by_rule() -> np.ndarray:
    """Weights of whole steps, so that no machine's random numbers are in the hashes."""
    steps = np.arange(96 * 256, dtype=np.int64) * 7919 % 10007 - 5003
    return steps.astype(np.float32).reshape(96, 256) / np.float32(4096)


def weights_of(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.05).astype(np.float32)


def unpacked(tensor: TableTensor) -> np.ndarray:
    if tensor.format.bits == 8:
        return tensor.codes
    return np.stack([tensor.codes >> 4, tensor.codes & 15], axis=1).reshape(-1)


def block_of(name: str) -> int:
    return BLOCKS.get(name, 64)


def context_of(directory: Path) -> Context:
    return Context(directory, layout_of(directory), silent_report(), 0, None)


@pytest.mark.parametrize("case", GOLDEN)
def test_codes_and_scales_are_those_of_bitsandbytes(case: tuple[str, int]) -> None:
    name, block = case
    tensor = encoded("layer", by_rule(), format_named(name), block)
    held = unpacked(tensor).tobytes() + tensor.scales.codes.tobytes()
    assert hashlib.sha256(held).hexdigest()[:16] == GOLDEN[case]


@pytest.mark.parametrize("name", ["nf4", "fp4", "e2m1", "e4m3", "dynamic"])
def test_every_number_goes_to_the_nearest_of_all_codes(name: str) -> None:
    """Against every code by itself; around every value and every middle between two."""
    _, values, even_ties = table(name)
    known = np.flatnonzero(~np.isnan(values))
    rising = np.unique(values[known])
    middles = (rising[1:] + rising[:-1]) / np.float32(2)
    edges = np.concatenate([rising, middles])
    around = [np.nextafter(edges, np.float32(s * np.inf)) for s in (-1, 1)]
    beyond = np.float32([-1e30, 1e30, 0.0, -0.0])
    numbers = np.concatenate([edges, *around, beyond, weights_of((9, 9)).reshape(-1)])
    numbers = numbers.astype(np.float32)
    found = values[nearest_codes(name, numbers)]
    apart = np.abs(numbers[:, None].astype(np.float64) - values[known].astype(np.float64))
    least = np.abs(numbers.astype(np.float64) - found.astype(np.float64))
    assert (least <= apart.min(axis=1) + np.spacing(np.abs(numbers))).all()
    if even_ties:
        at_middle = nearest_codes(name, middles)
        assert (at_middle[np.abs(middles) > 0] % 2 == 0).all()


def test_e4m3_is_torchs_float8_by_code_and_by_rounding() -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    theirs = codes.view(torch.float8_e4m3fn).float().numpy()
    assert np.array_equal(table("e4m3").values, theirs, equal_nan=True)
    finite = np.unique(theirs[np.isfinite(theirs)])
    middles = (finite[1:] + finite[:-1]) / np.float32(2)
    numbers = np.concatenate([finite, middles, weights_of((50, 50)).reshape(-1) * 1000])
    rounded = torch.from_numpy(numbers).to(torch.float8_e4m3fn).float().numpy()
    assert np.array_equal(table("e4m3").values[nearest_codes("e4m3", numbers)], rounded)


def test_e2m1_has_the_eight_sizes_of_its_specification() -> None:
    assert table("e2m1").values.tolist() == [
        *(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
        *(-0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0),
    ]


def test_a_scale_of_mxfp4_is_the_power_of_two_of_the_largest_weight() -> None:
    """OCP MX 1.0: 2^(floor(log2(largest)) − 2), here by hand."""
    weights = np.zeros((1, 128), np.float32)
    weights[0, [0, 32, 64]] = [7.9, 1.0, -0.30]
    tensor = encoded("layer", weights, format_named("mxfp4"), 32)
    assert tensor.scales.codes.tolist() == [127 + 0, 127 - 2, 127 - 4, 125]
    assert tensor.weight()[0, [0, 32, 64, 96]].tolist() == [6.0, 1.0, -0.25, 0.0]


def test_nvfp4_scales_a_block_by_e4m3_and_the_matrix_by_a_float() -> None:
    weights = weights_of((4, 64))
    tensor = encoded("layer", weights, format_named("nvfp4"), 16)
    whole = np.float32(np.abs(weights).max() / (6.0 * 448.0))
    assert tensor.scales.of_scales == pytest.approx([whole], rel=1e-6)
    largest = np.abs(weights.reshape(-1, 16)).max(1)
    by_torch = torch.from_numpy(largest / 6 / whole).to(torch.float8_e4m3fn).float().numpy() * whole
    assert tensor.scales.values("e4m3") == pytest.approx(by_torch, rel=1e-6)


@pytest.mark.parametrize("own", FORMATS, ids=lambda own: own.name)
@pytest.mark.parametrize("shape", [(192, 320), (7, 320)])
def test_a_matrix_is_read_back_as_it_was_and_weighs_what_the_formula_says(
    tmp_path: Path, own: TableFormat, shape: tuple[int, int]
) -> None:
    weights = weights_of(shape)
    tensor = encoded("layer", weights, own, block_of(own.name))
    child = Checkpoint({"model_type": "llama"}, (), {"layer": tensor}, {})
    (path,) = write(child, tmp_path)
    found = read(tmp_path).stored["layer"]
    assert isinstance(found, TableTensor) and found.format == own
    assert np.array_equal(found.weight(), tensor.weight()) and found.shape == shape
    parts = sum(part.nbytes for part in tensor.parts().values())
    assert parts == formula_bytes(child) == tensor.formula_bytes()
    assert path.stat().st_size - parts < 1000  # the file's header
    error = np.square(found.weight() - weights).sum() / np.square(weights).sum()
    assert error < (0.002 if own.bits == 8 else 0.025)


@pytest.mark.parametrize("name", ["nf4_double", "mxfp4", "nvfp4", "fp8_e4m3"])
@pytest.mark.parametrize("fill", [0.0, 1e-30, 1e30])
def test_a_matrix_of_zeros_tiny_or_huge_numbers_stays_finite(name: str, fill: float) -> None:
    weights = np.full((4, 320), fill, np.float32)
    found = encoded("layer", weights, format_named(name), block_of(name)).weight()
    assert found == pytest.approx(weights, rel=0.35)


def test_numbers_that_are_none_are_refused() -> None:
    weights = weights_of((4, 64))
    weights[1, 1] = np.nan
    with pytest.raises(CallFailure, match="not finite"):
        encoded("layer", weights, format_named("nf4"), 64)


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    tensor = encoded("layer", weights_of((4, 64)), format_named("nvfp4"), 16)
    short = replace(tensor, codes=tensor.codes[:-1])
    with pytest.raises(CallFailure, match="nvfp4 by blocks of 16"):
        short.check("layer")
    fp8 = encoded("layer", weights_of((4, 64)), format_named("fp8_e4m3"), 64)
    with pytest.raises(CallFailure, match="not finite"):
        replace(fp8, codes=np.full_like(fp8.codes, 0x7F)).check("layer")
    assert write(Checkpoint({}, (), {"layer": tensor}, {}), tmp_path)


def rounded(method: ModuleType, params: object) -> Checkpoint:
    child: Checkpoint = method.apply(read(tiny_dir()), params, context_of(tiny_dir()))
    return child


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (nf4, nf4.Params(double_quant=True, targets="all")),
        (fp, fp.Params(float_format="fp8_e4m3", fp8_scale="per_tensor")),
        (fp, fp.Params(float_format="nvfp4")),
    ],
)
def test_the_model_computes_with_the_numbers(
    tmp_path: Path, method: ModuleType, params: object
) -> None:
    child = rounded(method, params)
    write(child, tmp_path / "child")
    model, _ = load_dequantized(tmp_path / "child")
    weight = model.get_submodule(LAYER).weight.detach().numpy()
    assert np.array_equal(weight, child.weight(LAYER))
    with torch.no_grad():
        assert bool(model(torch.arange(3, 30)[None]).logits.isfinite().all())


def test_a_layer_that_is_rounded_already_is_refused() -> None:
    whole = read(tiny_dir())
    tensor = encoded("layer", whole.weight(LAYER), format_named("nf4"), 64)
    with pytest.raises(CallFailure, match="quantized already"):
        fp.apply(whole.with_stored({LAYER: tensor}), fp.Params(), context_of(tiny_dir()))
