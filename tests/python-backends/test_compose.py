"""`compose`: each layer the codec that costs it least, in one checkpoint that reads back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_gptq import divergence
from tiny_model import act, calibration, tiny_dir

from pare_backends.checkpoint import Checkpoint, read, weight_files, write
from pare_backends.checkpoint.forms import weight_name
from pare_backends.checkpoint.forms.seeds import SeedProfile
from pare_backends.checkpoint.stored import file_entries
from pare_backends.codec import compose
from pare_backends.codec.composing import Codes
from pare_backends.codec.settings import LADDERS, Matrix, Points, Seeds, Vectors, settings_of
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report

BITS = 3.6
PARAMS = {"average_bits": BITS, "samples": 8, "seqlen": 64}


def context(work_dir: Path | None = None) -> Context:
    layout = layout_of(tiny_dir())
    return Context(tiny_dir(), layout, silent_report(), 1, calibration(), work_dir=work_dir)


def linear_bytes(directory: Path) -> int:
    """Bytes that the tensors of the linear layers take in the files."""
    wanted = {f"{layer}.weight" for layer in layout_of(tiny_dir()).linear}
    return sum(
        entry.end - entry.start
        for path in weight_files(directory)
        for name, entry in file_entries(path).items()
        if weight_name(name) in wanted
    )


@pytest.mark.parametrize("scored_by", ["fisher", "kl"])
def test_a_composition_fills_its_budget_and_loses_no_more_than_any_codec_alone(
    tmp_path: Path, scored_by: str
) -> None:
    result = act(
        tmp_path / "composed", "compose", {**PARAMS, "scored_by": scored_by}, agent="codec"
    )
    child = read(tmp_path / "composed")
    layers = layout_of(tiny_dir()).linear
    assert set(child.stored) == set(layers)
    forms = {tensor.FORM for tensor in child.stored.values()}
    assert len(forms) > 1, forms
    weights = sum(tensor.size for tensor in child.stored.values())
    budget = BITS * weights / 8
    taken = linear_bytes(tmp_path / "composed")
    assert 0.98 * budget < taken <= budget
    assert taken == sum(tensor.formula_bytes() for tensor in child.stored.values())
    told = {(row["layer"], row["metric"]) for row in result["figures"] if row["layer"]}
    codecs = {"seeds": "seedlm", "vectors": "vptq", "lattice": "hyper_compression"}
    for layer, tensor in child.stored.items():
        assert (layer, scored_by) in told
        names = [metric for one, metric in told if one == layer and metric != scored_by]
        assert len(names) == 1 and names[0].startswith(codecs[tensor.FORM])
    assert any(f"composed by {scored_by}" in note for note in result["notes"])
    own = divergence(tmp_path / "composed")
    uniform = {one.name: alone(one, tmp_path / one.name, budget) for one in settings()}
    within = {name: kl for name, kl in uniform.items() if kl is not None}
    assert len(within) > 3
    assert own < min(within.values()), (own, within)


def settings() -> list[Any]:
    return [one for ladder in LADDERS.values() for one in ladder]


def alone(setting: Any, directory: Path, budget: float) -> float | None:
    """KL of every layer in one setting; None: it takes more than the budget, or fits no row."""
    checkpoint, own = read(tiny_dir()), context()
    layers = own.layout.linear
    if any(checkpoint.shape(layer)[1] % width for layer in layers for width in setting.widths):
        return None
    inputs = inputs_of()
    tensors = {
        layer: setting.encode(Matrix(layer, checkpoint.weight(layer), inputs[layer], False, 1))
        for layer in layers
    }
    if sum(tensor.formula_bytes() for tensor in tensors.values()) > budget:
        return None
    write(checkpoint.with_stored(tensors), directory)
    return divergence(directory)


def inputs_of() -> dict[str, list[Any]]:
    """What every layer of the tiny model is given on the calibration windows."""
    import torch

    from pare_backends.quantization.mixing.one_layer import taking

    own = context()
    model, _ = own.load_linear(read(tiny_dir()))
    taken: dict[str, list[Any]] = {layer: [] for layer in own.layout.linear}
    with torch.no_grad(), taking(model, own.layout, taken):
        for window in own.calibration(8, 64):
            model(input_ids=window[None])
    return taken


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "setting",
    [Seeds(SeedProfile(8, 8, 3)), Vectors(4, 8), Points(400, 3), Points(400, 3, True)],
    ids=lambda one: one.name,
)
def test_a_kept_code_is_the_code_to_the_last_bit(
    tmp_path: Path, setting: Any, transposed: bool
) -> None:
    import torch

    draw = np.random.default_rng(2)
    weights = (draw.standard_normal((48, 64)) * 0.05).astype(np.float32)
    inputs = [torch.from_numpy(draw.standard_normal((1, 80, 64)).astype(np.float32))]
    made = setting.encode(Matrix("layer", weights, inputs, transposed, 1))
    codes = Codes(tmp_path / "codes")
    assert codes.find(setting.name, "layer") is None
    codes.keep(setting.name, "layer", made)
    found = codes.taken({"layer": setting.name})
    assert np.array_equal(found["layer"].weight(), made.weight())
    assert made.shape == ((64, 48) if transposed else (48, 64))
    write(Checkpoint({"model_type": "llama"}, (), found, {}), tmp_path / "whole")
    assert np.array_equal(read(tmp_path / "whole").weight("layer"), made.weight())
    matrix = made.weight().T if transposed else made.weight()
    off = np.square(matrix - weights).sum() / np.square(weights).sum()
    assert off < 0.35


def test_an_entropy_coded_lattice_is_chosen_where_it_costs_less_than_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = "vptq-hyper_compression"
    params = compose.Params(average_bits=4.4, layer_codecs=own, samples=4, seqlen=64)

    def composed() -> tuple[dict[str, Any], float]:
        told = context()
        made = compose.apply(read(tiny_dir()), params, told).stored
        cost = sum(one.value for one in told.figures if one.metric == "fisher")
        return dict(made), cost

    with_coded, cost = composed()
    coded = [one for one in with_coded.values() if getattr(one, "entropy_coded", False)]
    assert coded
    for tensor in coded:
        tensor.check("layer")
    fixed = tuple(one for one in LADDERS["hyper_compression"] if "coded" not in one.name)
    monkeypatch.setitem(LADDERS, "hyper_compression", fixed)
    without, dearer = composed()
    assert not any(getattr(one, "entropy_coded", False) for one in without.values())
    assert cost < 0.9 * dearer


def test_what_was_encoded_before_a_kill_is_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "vptq-hyper_compression"
    params = compose.Params(average_bits=5, layer_codecs=own, samples=2, seqlen=32)
    whole = compose.apply(read(tiny_dir()), params, context())
    encode, seen = Points.encode, []

    def killed(self: Points, matrix: Matrix) -> Any:
        if len(seen) == 12:
            raise KeyboardInterrupt
        seen.append((self.name, matrix.layer))
        return encode(self, matrix)

    monkeypatch.setattr(Points, "encode", killed)
    with pytest.raises(KeyboardInterrupt):
        compose.apply(read(tiny_dir()), params, context(tmp_path))
    before = list(seen)

    def watched(self: Points, matrix: Matrix) -> Any:
        assert (self.name, matrix.layer) not in before
        return encode(self, matrix)

    monkeypatch.setattr(Points, "encode", watched)
    again = compose.apply(read(tiny_dir()), params, context(tmp_path))
    assert {n: t.FORM for n, t in again.stored.items()} == {
        n: t.FORM for n, t in whole.stored.items()
    }
    for layer, tensor in whole.stored.items():
        assert np.array_equal(tensor.weight(), again.stored[layer].weight())


def test_what_cannot_be_composed_is_refused_in_words() -> None:
    params = compose.Params(2.0, "hyper_compression", samples=1, seqlen=16)
    with pytest.raises(CallFailure, match="the smallest ones take"):
        compose.apply(read(tiny_dir()), params, context())
    gone = Codes(Path("nowhere"))
    with pytest.raises(CallFailure, match="is not in nowhere any more"):
        gone.taken({"layer": "vptq_4_8"})


def test_blocks_that_do_not_divide_a_row_are_left_out_and_no_inputs_leave_out_vptq() -> None:
    names = [one.name for one in settings_of(["seedlm", "vptq"], {64, 192})]
    assert "seedlm_12_12_4" not in names and "seedlm_12_8_4" in names and "vptq_4_8" in names
    lonely = Matrix("layer", np.ones((4, 8), np.float32), [], False, 1)
    assert Vectors(4, 8).encode(lonely) is None
