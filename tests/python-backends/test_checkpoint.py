"""`checkpoint`: what is written is the standard layout, and reads back bit for bit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32, unpack_from_int32
from tiny_model import act, tiny_copy, tiny_dir
from transformers import AutoModelForCausalLM

from pare_backends.checkpoint import (
    GridTensor,
    formula_bytes,
    load_dequantized,
    read,
    weight_bits,
    weight_files,
    write,
)
from pare_backends.checkpoint.forms.packing import pack, unpack
from pare_backends.checkpoint.stored import StoredTensors, file_entries
from pare_backends.failures import CallFailure
from pare_backends.quantization.rounding import round_matrix

PROBE = torch.arange(3, 30)[None]
VARIANTS = [
    ("rtn", {"bits": 4, "group_size": 32}),
    ("rtn", {"bits": 4, "group_size": 64, "symmetric": False}),
    ("rtn", {"bits": 3, "group_size": -1}),
    ("rtn", {"bits": 2, "group_size": 16, "symmetric": False}),
    ("rtn", {"bits": 8, "group_size": 32}),
    ("int8", {}),
    ("int8", {"activation_group_size": 32}),
]


def header_bytes(path: Path) -> int:
    return 8 + int.from_bytes(path.read_bytes()[:8], "little")


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("shape", [(7, 64), (5, 50), (33, 96)])
def test_pack_is_compressed_tensors_layout(bits: int, shape: tuple[int, int]) -> None:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1)
    values = np.random.default_rng(bits).integers(low, high, shape).astype(np.int8)
    packed = pack(values, bits)
    assert (packed == pack_to_int32(torch.from_numpy(values), bits).numpy()).all()
    assert (unpack(packed, bits, shape[1]) == values).all()
    theirs = unpack_from_int32(torch.from_numpy(packed), bits, torch.Size(shape))
    assert (theirs.numpy() == values).all()


@pytest.mark.parametrize(("method", "params"), VARIANTS)
def test_transformers_loads_what_is_written(
    tmp_path: Path, method: str, params: dict[str, object]
) -> None:
    """Its lines alone, inputs rounded where they are: the same model, not one that is near."""
    act(tmp_path / "child", method, params)
    ours, _ = load_dequantized(tmp_path / "child")
    theirs = AutoModelForCausalLM.from_pretrained(str(tmp_path / "child"))
    with torch.inference_mode():
        mine, other = ours(PROBE).logits, theirs(PROBE).logits
    assert other.dtype == torch.float32
    assert (mine - other).abs().max() < 1e-4


def test_size_formula_is_the_bytes_on_disk(tmp_path: Path) -> None:
    for number, (method, params) in enumerate(VARIANTS):
        result = act(tmp_path / str(number), method, params)
        (path,) = weight_files(tmp_path / str(number))
        assert result["size_bytes"] == path.stat().st_size
        # Tensors are exact; a header is left, padded by up to 7 bytes.
        assert result["size_bytes"] == result["formula_bytes"] + header_bytes(path)


def test_size_formula_is_within_one_percent_on_a_model_of_some_size(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = {f"layers.{n}": rng.standard_normal((768, 576)).astype(np.float32) for n in range(4)}
    parent = read(tiny_dir())
    tensors = {n: round_matrix(n, w, 4, 64, symmetric=False) for n, w in weights.items()}
    child = parent.with_stored(tensors)
    (path,) = write(child, tmp_path)
    assert path.stat().st_size == pytest.approx(formula_bytes(child), rel=0.01)
    assert weight_bits(child, list(tensors)) == pytest.approx(4 + (16 + 4) / 64, rel=1e-3)


def test_a_second_action_keeps_the_first_ones_tensors_bit_for_bit(tmp_path: Path) -> None:
    act(tmp_path / "one", "rtn", {"bits": 4, "group_size": 32, "symmetric": False})
    params = {"bits": 8, "targets": "embedding", "group_size": -1}
    result = act(tmp_path / "two", "rtn", params, parent=tmp_path / "one")
    before = StoredTensors(file_entries(tmp_path / "one" / "model.safetensors"))
    after = StoredTensors(file_entries(tmp_path / "two" / "model.safetensors"))
    for name in before:
        if name != "model.embed_tokens.weight":
            assert (before[name] == after[name]).all(), name
    assert "model.embed_tokens.weight_packed" in after
    assert result["stored_layers"] == 1
    assert "output head" in result["notes"][0]


def test_a_quantized_tied_embedding_serves_the_output_head(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 8, "targets": "all", "group_size": 32})
    model, _ = load_dequantized(tmp_path / "child")
    expected = read(tmp_path / "child").stored["model.embed_tokens"].dequantize()
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert (model.lm_head.weight.detach().numpy() == expected).all()


def test_a_quantized_tensor_is_not_quantized_again(tmp_path: Path) -> None:
    act(tmp_path / "one", "rtn", {"bits": 8, "group_size": 32})
    with pytest.raises(CallFailure, match="quantized already") as caught:
        act(tmp_path / "two", "rtn", {"bits": 4, "group_size": 32}, parent=tmp_path / "one")
    assert caught.value.kind == "invalid"
    assert not (tmp_path / "two").exists()


def test_large_models_are_written_in_shards(tmp_path: Path) -> None:
    source = read(tiny_dir())
    paths = write(source, tmp_path / "shards", shard_bytes=40_000)
    assert len(paths) > 2
    assert all(path.stat().st_size < 60_000 for path in paths)
    index = json.loads((tmp_path / "shards" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(source.floats)
    again = read(tmp_path / "shards")
    for name in source.floats:
        assert (again.floats[name] == source.floats[name].astype(np.float16)).all()
    model = AutoModelForCausalLM.from_pretrained(str(tmp_path / "shards"), dtype=torch.float32)
    assert torch.isfinite(model(PROBE).logits).all()


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    paths = write(read(tiny_dir()), tmp_path / "shards", shard_bytes=40_000)
    paths[1].unlink()
    with pytest.raises(CallFailure, match=paths[1].name):
        read(tmp_path / "shards")


def test_reading_needs_no_torch(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 4, "group_size": 32})
    code = (
        "import sys; from pare_backends.checkpoint import read\n"
        f"c = read({str(tmp_path / 'child')!r})\n"
        "t = c.stored['model.layers.0.mlp.up_proj']; print(t.dequantize().shape)\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(128, 64)"


def test_bf16_is_widened_on_reading(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    values = torch.randn(8, 16, dtype=torch.bfloat16)
    save_file({"w": values}, str(tmp_path / "x.safetensors"))
    stored = StoredTensors(file_entries(tmp_path / "x.safetensors"))
    assert (torch.from_numpy(stored["w"]) == values.float()).all()


def test_tiny_scales_stay_in_float32() -> None:
    ints = np.ones((2, 4), dtype=np.int8)
    small = GridTensor(ints, np.full((2, 1), 3e-7, np.float32), None, 8, -1)
    usual = GridTensor(ints, np.full((2, 1), 3e-3, np.float32), None, 8, -1)
    assert small.scale_dtype is np.float32
    assert usual.scale_dtype is np.float16


def test_a_value_beyond_float16_is_kept(tmp_path: Path) -> None:
    source = read(tiny_dir())
    floats = {n: source.floats[n] for n in source.floats}
    floats["model.norm.weight"] = np.full(64, 1e6, np.float32)
    write(type(source)(source.config, source.files, {}, floats), tmp_path)
    # float(): numpy would compare in float16, where 1e6 is infinite too.
    assert float(read(tmp_path).floats["model.norm.weight"][0]) == 1e6


def test_other_safetensors_files_beside_the_model_are_not_its_weights(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    copy = tiny_copy(tmp_path / "copy")
    save_file({"adapter": np.zeros(3, np.float32)}, str(copy / "adapter.safetensors"))
    assert set(read(copy).floats) == set(read(tiny_dir()).floats)
