"""GGUF files of an artifact: its own integers, and a model that another reader computes alike."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize
from runtime_fixtures import adapted, artifact, folder, four_bit_model, random_llama, rounded

from pare_backends.calls import prove_runtime
from pare_backends.checkpoint import read, write
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.failures import CallFailure
from pare_backends.models.gguf.splittings import LLAMA3_WORDS, splitting_of
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.architectures.known import ARCHITECTURES
from pare_backends.runtimes.llama_cpp.gguf_blocks import HALVES, from_blocks, multiplied, to_blocks
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout
from pare_backends.runtimes.llama_cpp.gguf_tokenizer import token_list
from pare_backends.runtimes.llama_cpp.make import write_gguf
from pare_backends.runtimes.stored_weights import StoredWeights

TOKENS = np.random.default_rng(0).integers(0, 320, 40)
CASES = [
    (8, -1, True, "Q8_0"),
    (8, 32, True, "Q8_0"),
    (4, 32, True, "Q4_0"),
    (4, -1, True, "Q4_0"),
    (4, 32, False, "Q4_1"),
    (3, 32, True, "Q4_0"),
    (3, -1, False, "Q4_1"),
    (2, 32, True, "Q4_0"),
    (2, 32, False, "Q4_1"),
]


def written(directory: Path, exact: bool = False) -> tuple[Path, dict[str, Any]]:
    """A GGUF directory of an artifact, and what stands in its file."""
    output = folder() / f"gguf-{directory.name}-{exact}"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    return output, asdict(write_gguf(directory, output, exact, silent_report()))


@pytest.mark.parametrize(
    ("precision", "half_a_step"), [("f32", 0), ("f16", 2**-11), ("bf16", 2**-8)]
)
def test_matrices_of_floats_lie_in_the_precision_that_is_asked_for(
    tmp_path: Path, precision: str, half_a_step: float
) -> None:
    source = random_llama(0)
    write_gguf(source, tmp_path, False, silent_report(), precision)
    described = json.loads((tmp_path / "gguf.json").read_text())
    assert described["inference_precision"] == precision
    tensors = {tensor.name: tensor for tensor in GGUFReader(tmp_path / "model.gguf").tensors}
    held, norm = tensors["blk.0.ffn_up.weight"], tensors["blk.0.ffn_norm.weight"]
    assert (held.tensor_type.name, norm.tensor_type.name) == (precision.upper(), "F32")
    own = StoredWeights(str(source)).floats("model.layers.0.mlp.up_proj.weight")
    off = np.abs(dequantize(held.data, held.tensor_type) - own)
    assert off.max() <= half_a_step * np.abs(own).max()
    assert (off.max() == 0) == (precision == "f32")


@pytest.mark.parametrize(("bits", "group", "symmetric", "kind"), CASES)
def test_file_holds_the_artifacts_own_integers_and_scales(
    bits: int, group: int, symmetric: bool, kind: str
) -> None:
    directory = artifact(bits, group, symmetric, None)
    output, said = written(directory)
    weights = StoredWeights(str(directory))
    layout = GgufLayout(weights.config)
    tensors = {tensor.name: tensor for tensor in GGUFReader(output / "model.gguf").tensors}
    seen = 0
    for name in weights.names():
        if not weights.is_packed(name):
            continue
        packed, tensor = weights.packed(name), tensors[layout.name(name)]
        assert tensor.tensor_type.name == kind
        ints, scales, offsets = from_blocks(kind, np.asarray(tensor.data))
        order = layout.row_order(name, packed.rows)
        order = np.arange(packed.rows) if order is None else order
        np.testing.assert_array_equal(ints, packed.integers()[order])
        repeats = scales.shape[1] // packed.groups
        own = np.repeat(packed.scales, repeats, axis=1)[order]
        np.testing.assert_array_equal(scales, own)  # float16 in the artifact already
        if packed.zero_points is not None:
            assert offsets is not None
            zeros = np.repeat(packed.zero_points, repeats, axis=1)[order].astype(np.float32)
            np.testing.assert_array_equal(offsets, (-zeros * own).astype(np.float16))
        seen += 1
    assert seen == said["formats"][kind] == 14
    assert said["formats"]["F16"] == 1  # the embedding
    assert said["scale_error"] <= (0 if symmetric else 2**-11)
    noted = [note for note in said["notes"] if f"{bits}-bit integers run as {kind}" in note]
    assert len(noted) == (bits in (2, 3))


def transformers_logits(output: Path) -> np.ndarray:
    """Logits by transformers' own reader of GGUF files."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        str(output), gguf_file="model.gguf", dtype=torch.float32
    )
    with torch.inference_mode():
        return np.asarray(model(torch.from_numpy(TOKENS)[None]).logits[0].numpy())


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("bits", "symmetric", "embedding"), [(4, True, 8), (4, False, None)])
def test_another_reader_computes_the_dequantized_models_logits(
    bits: int, symmetric: bool, embedding: int | None, exact: bool
) -> None:
    """Names, order of rows, tied head and architecture, as transformers understands them."""
    directory = artifact(bits, 32, symmetric, embedding)
    output, _ = written(directory, exact)
    plain, _, _ = prove_runtime.torch_logits(str(directory), TOKENS)
    assert plain.std() > 0.1
    # Where they are rounded to float16: offsets, and the embedding that stays in floats.
    limit = 1e-5 if exact else 2e-2
    assert np.abs(transformers_logits(output) - plain).max() <= limit


READ_BY_TRANSFORMERS = ["MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"]
OTHERS = [name for name in ARCHITECTURES if name != "LlamaForCausalLM"]


@pytest.mark.parametrize("architecture", READ_BY_TRANSFORMERS)
def test_another_reader_computes_other_architectures(architecture: str) -> None:
    """Biases of Qwen2, norms of Qwen3's heads, the order of rows of each, a head of its own."""
    directory = four_bit_model(architecture)
    output, _ = written(directory, exact=True)
    plain, _, _ = prove_runtime.torch_logits(str(directory), TOKENS)
    assert plain.std() > 0.1
    assert np.abs(transformers_logits(output) - plain).max() <= 1e-5


def test_description_says_what_a_token_reads_and_how_it_is_computed() -> None:
    for directory, group, precision in (
        (artifact(4, 32, True, 8), 32, "f32"),
        (artifact(4, 32, True, None), 32, "f16"),
        (random_llama(0), 0, "f16"),
    ):
        output, _ = written(directory)
        described = json.loads((output / "gguf.json").read_text())
        assert (described["activation_group"], described["inference_precision"]) == (
            group,
            precision,
        )
        tensors = GGUFReader(output / "model.gguf").tensors
        embedding = next(int(t.n_bytes) for t in tensors if t.name == "token_embd.weight")
        every = sum(int(t.n_bytes) for t in tensors)
        assert described["bytes_read_per_token"] == every + embedding // 320
        assert (output / "model.gguf").stat().st_size > every


def packed(group: int, bits: int, symmetric: bool, tmp_path: Path) -> Any:
    weight = np.random.default_rng(1).normal(size=(6, 96)).astype(np.float32)
    name = "model.layers.0.mlp.up_proj"
    tensor = rounded(weight, bits, group, symmetric)
    write(read(random_llama(0)).with_stored({name: tensor}), tmp_path)
    return StoredWeights(str(tmp_path)).packed(f"{name}.weight")


def test_blocks_refuse_what_they_cannot_hold(tmp_path: Path) -> None:
    for number, (group, bits, symmetric, why) in enumerate(
        ((48, 4, True, "32 weights share a scale there, 48"), (32, 8, False, "with a zero point"))
    ):
        with pytest.raises(CallFailure, match=why) as caught:
            to_blocks("up_proj", packed(group, bits, symmetric, tmp_path / str(number)))
        assert caught.value.kind == "invalid"


@pytest.mark.parametrize("kind", sorted(HALVES))
def test_blocks_of_rows_that_are_multiplied_stand_for_the_products(kind: str) -> None:
    """Exactly by a power of two, else as exactly as float16 holds a scale."""
    draw = np.random.default_rng(3)
    octets = BLOCK_KINDS[kind].octets
    data = draw.integers(0, 256, (4, 3 * octets), dtype=np.uint8)
    for at in HALVES[kind]:
        for block in range(3):
            scales = draw.uniform(0.01, 0.1, (4, 1)).astype(np.float16)
            data[:, block * octets + at : block * octets + at + 2] = scales.view(np.uint8)
    own = dequantize(data, GGMLQuantizationType[kind])
    for factor, off in ((0.5, 0.0), (np.array([1.0, 2.0, 4.0, 0.25]), 0.0), (0.3, 2**-11)):
        made = multiplied("layer", kind, data, factor)
        expected = (own.T * factor).T
        found = dequantize(made.data, GGMLQuantizationType[kind])
        # An offset and a scale, both rounded, may be taken from each other.
        np.testing.assert_allclose(found, expected, rtol=0, atol=4 * off * np.abs(expected).max())
        assert made.scale_error <= off and (made.scale_error == 0) == (off == 0)


def test_blocks_without_a_scale_of_float16_are_not_multiplied() -> None:
    data = np.zeros((1, BLOCK_KINDS["MXFP4"].octets), np.uint8)
    assert multiplied("layer", "MXFP4", data, 1.0).data is data
    with pytest.raises(CallFailure, match="MXFP4 has no scale of float16"):
        multiplied("layer", "MXFP4", data, 2.0)


def test_blocks_refuse_a_scale_that_float16_would_lose(tmp_path: Path) -> None:
    weight = packed(32, 4, True, tmp_path)
    weight.scales[2, 1] = 1e-9
    with pytest.raises(CallFailure, match="cannot hold 1e-09"):
        to_blocks("up_proj", weight)


def test_the_plugins_name_the_architectures_that_are_laid_out() -> None:
    plugin = Path(__file__).parents[2] / "plugins" / "forms" / "ggml.ts"
    written = plugin.read_text().split("const WRITTEN = [")[1].split("]")[0]
    assert sorted(re.findall(r'"(\w+)"', written)) == sorted(ARCHITECTURES)


def test_experts_of_a_layer_are_refused_where_they_lie_in_several_kinds_of_block(
    tmp_path: Path,
) -> None:
    four_bit_model("MixtralForCausalLM")
    checkpoint = read(folder() / "MixtralForCausalLM-floats")
    expert = "model.layers.1.block_sparse_moe.experts.2.w1"
    eight = rounded(checkpoint.floats[f"{expert}.weight"], 8, 32, True)
    write(checkpoint.with_stored({expert: eight}), tmp_path / "written")
    (tmp_path / "file").mkdir()
    with pytest.raises(CallFailure, match=r"experts\.2\.w1\.weight Q8_0, and llama\.cpp holds"):
        write_gguf(tmp_path / "written", tmp_path / "file", False, silent_report())


def byte_level(**changes: Any) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, **changes}


def test_splitting_is_named_where_llama_cpp_has_the_same() -> None:
    split = {"type": "Split", "pattern": {"Regex": LLAMA3_WORDS}, "behavior": "Isolated"}
    digits = {"type": "Digits", "individual_digits": True}
    for step, name in (
        (byte_level(), "gpt-2"),
        ({"type": "Sequence", "pretokenizers": [digits, byte_level()]}, "smollm"),
        ({"type": "Sequence", "pretokenizers": [split, byte_level(use_regex=False)]}, "dbrx"),
        ({"type": "Sequence", "pretokenizers": [split, byte_level()]}, None),
        (byte_level(add_prefix_space=True), None),
        ({"type": "WhitespaceSplit"}, None),
        (None, None),
    ):
        assert splitting_of({"model": {"type": "BPE"}, "pre_tokenizer": step}) == name
    assert splitting_of({"model": {"type": "WordLevel"}, "pre_tokenizer": byte_level()}) is None


def test_token_list_names_every_id() -> None:
    document = {
        "model": {"vocab": {"a": 0, "b": 2}},
        "added_tokens": [{"id": 3, "content": "<s>", "special": True}],
    }
    tokens, kinds = token_list(document, 5)
    assert tokens == ["a", "[PAD1]", "b", "<s>", "[PAD4]"]
    assert [kind.name for kind in kinds] == ["NORMAL", "UNUSED", "NORMAL", "CONTROL", "UNUSED"]


@pytest.mark.parametrize("packed", [False, True])
def test_an_adapter_is_added_to_the_weights_that_it_lies_beside(
    tmp_path: Path, packed: bool
) -> None:
    parent = artifact(4, 32, True, None) if packed else random_llama(3)
    directory = adapted(parent, tmp_path / "model")
    output, _ = written(directory, exact=True)
    name = "model.layers.1.mlp.down_proj.weight"
    weights = StoredWeights(str(directory))
    tensors = {tensor.name: tensor for tensor in GGUFReader(output / "model.gguf").tensors}
    stored = np.asarray(tensors[GgufLayout(weights.config).name(name)].data)
    added, plain = weights.added(name), weights.floats(name).astype(np.float32)
    assert added is not None and np.abs(added).max() > 0.01
    np.testing.assert_array_equal(stored, plain + added)
