"""4-bit floats by blocks, as compressed-tensors' own compressors and Model Optimizer write them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.quantization import QuantizationScheme
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import load_file, save_file
from test_conversion import layers
from test_elsewhere import inspected, refusal, said, taken
from tiny_model import tiny_dir

from pare_backends.checkpoint import read
from pare_backends.checkpoint.forms import TableTensor

Parts = dict[str, torch.Tensor]


def compressed(kind: str, weight: torch.Tensor) -> tuple[Parts, torch.Tensor]:
    """(a layer's tensors, what the library says that they stand for)."""
    scheme = preset_name_to_scheme("NVFP4A16" if kind == "nvfp4" else "MXFP4A16", ["Linear"])
    assert isinstance(scheme, QuantizationScheme) and scheme.weights is not None
    size = scheme.weights.group_size
    assert size is not None
    blocks = weight.reshape(weight.shape[0], -1, size)
    whole = {}
    if kind == "nvfp4":
        whole = {"weight_global_scale": generate_gparam(weight.min(), weight.max()).reshape(1)}
    scale, _ = calculate_qparams(
        blocks.amin(-1), blocks.amax(-1), scheme.weights,
        global_scale=whole.get("weight_global_scale"),
    )  # fmt: skip
    library = NVFP4PackedCompressor if kind == "nvfp4" else MXFP4PackedCompressor
    parts = library.compress({"weight": weight, "weight_scale": scale, **whole}, scheme)
    back = library.decompress(dict(parts), scheme)
    return parts, back["weight"].float()


def files_of(kind: str, tmp_path: Path, modelopt: bool = False) -> tuple[Path, Parts]:
    files = shutil.copytree(tiny_dir(), tmp_path / "files")
    tensors, wanted = load_file(files / "model.safetensors"), {}
    for layer in layers():
        parts, wanted[layer] = compressed(kind, tensors.pop(f"{layer}.weight").float())
        if modelopt:  # its codes go by the weight's own name, its scale of scales multiplies
            parts = {
                "weight": parts["weight_packed"], "weight_scale": parts["weight_scale"],
                "weight_scale_2": (1 / parts["weight_global_scale"]).reshape(()),
                "input_scale": torch.tensor(0.01),
            }  # fmt: skip
        tensors |= {f"{layer}.{name}": part.contiguous() for name, part in parts.items()}
    save_file(tensors, files / "model.safetensors")
    if modelopt:
        algorithm = {"quantization": {"quant_algo": "NVFP4"}}
        (files / "hf_quant_config.json").write_text(json.dumps(algorithm))
    else:
        said(files, {"quantization_config": {"quant_method": "compressed-tensors"}})
    return files, wanted


@pytest.mark.parametrize("kind", ["nvfp4", "mxfp4", "modelopt"])
def test_4_bit_floats_are_taken(kind: str, tmp_path: Path) -> None:
    modelopt = kind == "modelopt"
    files, wanted = files_of("nvfp4" if modelopt else kind, tmp_path, modelopt)
    found = inspected(files)
    assert found["problem"] is None
    facts = found["facts"]
    format_name, block = ("mxfp4", 32) if kind == "mxfp4" else ("nvfp4", 16)
    form = facts["forms"]["linear"][0]
    assert (form["form"], form["format"], form["block_size"]) == ("table", format_name, block)
    result = taken(files, tmp_path / "taken")
    predicted = sum(facts["weight_bytes"].values())
    assert abs(predicted - result["formula_bytes"]) <= 0.01 * predicted
    assert any("inputs stay floats" in note for note in result["notes"]) == modelopt
    own = read(tmp_path / "taken")
    for layer, weight in wanted.items():
        assert isinstance(own.stored[layer], TableTensor)
        # The library multiplies scales out in the weights' own 16 bits.
        assert np.allclose(own.weight(layer), weight.numpy(), rtol=5e-3, atol=1e-6)


def test_files_whose_blocks_and_scales_do_not_fit_are_refused(tmp_path: Path) -> None:
    files, _ = files_of("nvfp4", tmp_path)
    tensors, first = load_file(files / "model.safetensors"), layers()[0]
    scale = f"{first}.weight_scale"
    for changed, why in (
        ({scale: tensors[scale][:-1]}, "has scales of"),
        ({scale: tensors[scale].float()}, "NVFP4 and MXFP4 are read"),
    ):
        kept = {name: part.contiguous() for name, part in {**tensors, **changed}.items()}
        save_file(kept, files / "model.safetensors")
        assert why in refusal(files)


def test_a_note_says_to_how_many_bits_inputs_are_rounded_elsewhere(tmp_path: Path) -> None:
    files, _ = files_of("nvfp4", tmp_path / "four")
    groups = {"group_0": {"input_activations": {"num_bits": 4}}}
    words = {"quant_method": "compressed-tensors", "config_groups": groups}
    said(files, {"quantization_config": words})
    eight = shutil.copytree(tiny_dir(), tmp_path / "eight")
    tensors, first = load_file(eight / "model.safetensors"), layers()[0]
    codes = tensors[f"{first}.weight"].to(torch.float8_e4m3fn)
    beside = {"weight": codes, "weight_scale": torch.ones(()), "input_scale": torch.ones(())}
    save_file(
        {**tensors, **{f"{first}.{k}": v for k, v in beside.items()}}, eight / "model.safetensors"
    )
    said(eight, {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}})
    for path, bits in ((files, 4), (eight, 8)):
        notes = taken(path, tmp_path / f"taken-{bits}")["notes"]
        told = [note for note in notes if "inputs stay floats" in note]
        assert len(told) == 1 and f"rounded to {bits}-bit floats" in told[0]
