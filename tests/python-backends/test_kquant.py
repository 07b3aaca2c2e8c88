"""llama.cpp's quantizer as a method: byte for byte what the library makes of the same tensors and
matrix, decoded as the library decodes it, and run in llama.cpp as it is stored."""

from __future__ import annotations

import ctypes
import functools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from print_kquants import floats_of
from runtime_fixtures import folder
from test_conversion import found
from test_conversion import made as converted
from test_gguf import written
from test_llama_cpp import interpreter, logits_path, proof
from tiny_model import calibration, tiny_dir

from pare_backends.checkpoint import (
    Checkpoint,
    GgmlTensor,
    formula_bytes,
    load_dequantized,
    read,
    write,
)
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization import kquant
from pare_backends.quantization.head import LOOKUPS
from pare_backends.quantization.kquant import Params, input_squares

QUERY = "model.layers.1.self_attn.q_proj"
DOWN = "model.layers.0.mlp.down_proj"
EMBEDDING = "model.embed_tokens"


@functools.cache
def model_dir(tied: bool = True) -> Path:
    """A Llama of random weights whose rows are whole blocks of 256."""
    from safetensors.numpy import save_file
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=320,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=tied,
    )
    torch.manual_seed(7)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(1.0, 0.1) if parameter.dim() == 1 else parameter.normal_(0.0, 0.05)
    directory = folder() / f"kquant-{tied}"
    model.half().save_pretrained(directory)
    for name in ("tokenizer.json", "tokenizer_config.json"):  # whose words nobody asks for
        shutil.copy(tiny_dir() / name, directory)
    ids = np.random.default_rng(0).integers(0, 320, (4, 32)).astype(np.int32)
    save_file({"input_ids": ids}, str(directory / "windows.st"))
    return directory


@pytest.mark.parametrize("kinds_by", ["mix", "fisher"])
@pytest.mark.parametrize(
    ("architecture", "count"),
    [("GPT2LMHeadModel", 8), ("GPTNeoXForCausalLM", 8), ("Qwen2MoeForCausalLM", 38)],
)
def test_layers_that_lie_turned_or_together_become_blocks(
    architecture: str, count: int, kinds_by: str
) -> None:
    """Near the original, whose rows and columns nothing has swapped; the same once read again."""
    directory = floats_of(architecture)
    context = context_of(directory, interpreter())
    source = read(directory)
    checkpoint = kquant.apply(source, params("Q8_0", kinds_by=kinds_by), context)
    again = read(kept(checkpoint, f"{architecture}-{kinds_by}"))
    layers = context.layout.linear
    assert len(layers) == count and set(layers) <= set(again.stored)
    for layer in layers:
        own, wanted = again.weight(layer), source.weight(layer)
        assert own.shape == wanted.shape
        assert np.abs(own - wanted).max() <= 0.02 * np.abs(wanted).max()
        np.testing.assert_array_equal(own, checkpoint.weight(layer))
    assert formula_bytes(again) == formula_bytes(checkpoint)
    output, _ = written(kept(checkpoint, f"{architecture}-{kinds_by}"), exact=True)
    assert (output / "model.gguf").exists()


def context_of(directory: Path, python: str | None) -> Context:
    windows = directory / "windows.st"
    report = silent_report(2)
    return Context(directory, layout_of(directory), report, 0, windows, tool_python=python)


def params(mix: str, **more: Any) -> Params:
    given: dict[str, Any] = {"embedding_blocks": "mix", "head_blocks": "mix", "assignment": "none"}
    given |= {"kinds_by": "mix", "eight_bit_share": 0.0, "rounded_by": "library"}
    given |= {"importance": True, "samples": 4, **more}
    return Params(block_mix=mix, **given)


@functools.cache
def made(mix: str, tied: bool = True, **more: Any) -> Checkpoint:
    directory = model_dir(tied)
    context = context_of(directory, interpreter())
    return kquant.apply(read(directory), params(mix, **more), context)


def kept(checkpoint: Checkpoint, name: str) -> Path:
    """The checkpoint as files."""
    directory = folder() / f"kept-{name}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    write(checkpoint, directory)
    return directory


@functools.cache
def library() -> ctypes.CDLL:
    """ggml itself, in this process: a second way to the same quantizer."""
    told = subprocess.run(
        [interpreter(), "-c", "import importlib.util as u; print(u.find_spec('llama_cpp').origin)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    ggml = ctypes.CDLL(str(Path(told.stdout.strip()).parent / "lib" / "libggml-base.so"))
    floats, whole = ctypes.POINTER(ctypes.c_float), ctypes.c_int64
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    ggml.ggml_quantize_chunk.argtypes = [
        *(ctypes.c_int, floats, ctypes.c_void_p, whole, whole, whole),
        floats,
    ]
    return ggml


def pointer(values: np.ndarray | None) -> Any:
    if values is None:
        return None
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def chunk(kind: str, weights: np.ndarray, importance: np.ndarray | None) -> np.ndarray:
    """The blocks of a matrix by ggml_quantize_chunk. weights: (o, i) float32"""
    number, block, octets = BLOCK_KINDS[kind]
    rows, columns = weights.shape
    out = np.zeros((rows, columns // block * octets), np.uint8)
    own = np.ascontiguousarray(weights, dtype=np.float32)
    size = library().ggml_quantize_chunk(
        number, pointer(own), out.ctypes.data, 0, rows, columns, pointer(importance)
    )
    assert size == out.nbytes
    return out


def squares(directory: Path) -> dict[str, np.ndarray]:
    context = context_of(directory, None)
    model, _ = context.load_linear(read(directory))
    layout = context.layout
    layers = layout.part("all")
    return input_squares(model, layout, layers, context.calibration(4), context.report)


MIXES = ["Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "IQ3_XXS", "IQ3_M", "IQ4_XS", "IQ4_NL"]


@pytest.mark.parametrize("importance", [True, False])
@pytest.mark.parametrize("mix", [*MIXES, "Q4_0", "Q5_0", "Q8_0"])
def test_blocks_are_those_of_ggml_on_the_same_rows_and_matrix(mix: str, importance: bool) -> None:
    if mix == "IQ3_XXS" and not importance:
        pytest.skip("llama.cpp makes it with a matrix alone")
    directory = model_dir()
    checkpoint, matrix = made(mix, importance=importance), squares(directory)
    source = read(directory)
    for layer in (QUERY, DOWN, EMBEDDING):
        tensor = checkpoint.in_form(GgmlTensor)[layer]
        weights = matrix[layer] if importance else None
        own = chunk(tensor.kind, source.weight(layer), weights)
        np.testing.assert_array_equal(tensor.blocks, own)
    assert len(checkpoint.stored) == 15


@pytest.mark.parametrize("kind", BLOCK_KINDS)
def test_blocks_are_decoded_as_the_library_decodes_them(kind: str) -> None:
    weights = np.random.default_rng(3).normal(0, 0.05, (8, 512)).astype(np.float32)
    blocks = chunk(kind, weights, np.ones(512, np.float32))
    tensor = GgmlTensor(blocks, kind, 512)
    tensor.check("layer")
    # In C the letter of the k-quants alone is large.
    name = kind.lower().replace("_k", "_K")
    decode = getattr(library(), f"dequantize_row_{name}")
    own = np.zeros_like(weights)
    decode(ctypes.c_void_p(blocks.ctypes.data), pointer(own), ctypes.c_int64(own.size))
    np.testing.assert_array_equal(tensor.weight(), own)
    assert np.abs(own - weights).max() < 0.2


def test_the_whole_file_is_the_librarys_own() -> None:
    """By the quantizer on the model's float file, tensor by tensor, tied and with a head."""
    for tied in (True, False):
        directory = model_dir(tied)
        checkpoint = made("Q4_K_M", tied, importance=False)
        output, said = written(kept(checkpoint, f"whole-{tied}"))
        floats, _ = written(directory, exact=True)
        job = {
            "source": str(floats / "model.gguf"), "output": str(floats / "own.gguf"),
            "mix": "Q4_K_M", "threads": 1, "embedding": None, "head": None, "kinds": {},
            "importance": None,
        }  # fmt: skip
        (floats / "job.json").write_text(json.dumps(job))
        program = "pare_backends.runtimes.llama_cpp.programs.quantizer"
        subprocess.run([interpreter(), "-m", program, str(floats / "job.json")], check=True)
        own = {one.name: one for one in GGUFReader(floats / "own.gguf").tensors}
        ours = {one.name: one for one in GGUFReader(output / "model.gguf").tensors}
        assert own.keys() == ours.keys()
        for name, tensor in own.items():
            assert tensor.tensor_type == ours[name].tensor_type, name
            np.testing.assert_array_equal(tensor.data, ours[name].data)
        assert said["formats"]["Q4_K"] + said["formats"]["Q6_K"] == (15 if tied else 16)


def test_bytes_are_the_formulas_and_survive_the_disk() -> None:
    checkpoint = made("IQ4_XS")
    directory = kept(checkpoint, "disk")
    back = read(directory)
    held = sum(path.stat().st_size for path in directory.glob("*.safetensors"))
    assert formula_bytes(back) == formula_bytes(checkpoint)
    # The file's header names three parts of each layer.
    assert 0 <= held - formula_bytes(back) <= 400 * len(back.stored)
    for layer, tensor in checkpoint.in_form(GgmlTensor).items():
        own = back.in_form(GgmlTensor)[layer]
        assert own.kind == tensor.kind and np.array_equal(own.blocks, tensor.blocks)
        assert tensor.formula_bytes() == sum(part.nbytes for part in tensor.parts().values())


@pytest.mark.parametrize("mix", ["Q4_K_M", "IQ3_M"])
def test_llama_cpp_computes_what_the_artifact_decodes_to(mix: str) -> None:
    directory = kept(made(mix), f"run-{mix}")
    proved = proof(directory, logits_path(directory))
    assert proved["strict_kl"] <= 1e-6
    assert proved["strict_max_difference"] <= 1e-3
    assert 0 < proved["default_kl"] <= 5e-3
    assert proved["numerics"]["activation_group"] == 256


def test_the_matrix_is_the_mean_square_of_what_layers_are_given() -> None:
    directory = model_dir()
    model, _ = load_dequantized(directory)
    context = context_of(directory, None)
    windows = context.calibration(4)
    seen: dict[str, list[torch.Tensor]] = {QUERY: [], DOWN: []}
    for layer, rows in seen.items():
        keep = lambda _, given, rows=rows: rows.append(given[0].reshape(-1, given[0].shape[-1]))  # noqa: E731
        model.get_submodule(layer).register_forward_pre_hook(keep)
    with torch.no_grad():
        model(windows)
        last = model.model(windows).last_hidden_state.reshape(-1, 256)
    matrix = squares(directory)
    for layer, rows in seen.items():
        own = rows[0].double().square().mean(0).numpy()
        np.testing.assert_allclose(matrix[layer], own, rtol=1e-4)
    head = last.double().square().mean(0).numpy()
    np.testing.assert_allclose(matrix[EMBEDDING], head + LOOKUPS * head.mean(), rtol=1e-4)
    assert EMBEDDING not in squares(model_dir(False))  # looked up alone
    assert "lm_head" in squares(model_dir(False))


def test_embedding_and_head_are_as_asked() -> None:
    left = made("Q4_K_M", False, embedding_blocks="floats", head_blocks="Q8_0")
    assert EMBEDDING not in left.stored and f"{EMBEDDING}.weight" in left.floats
    assert left.in_form(GgmlTensor)["lm_head"].kind == "Q8_0"
    assert made("Q4_K_M", embedding_blocks="Q5_K").in_form(GgmlTensor)[EMBEDDING].kind == "Q5_K"


def test_single_layers_have_the_kinds_that_they_are_assigned() -> None:
    checkpoint = made("Q4_K_M", assignment="Q6_K=0-6,9 IQ3_S=7-8,10-13")
    kinds = [tensor.kind for tensor in checkpoint.in_form(GgmlTensor).values()]
    assert sorted(kinds) == ["IQ3_S"] * 6 + ["Q6_K"] * 9  # the embedding's by the mix
    layers = layout_of(model_dir()).linear
    held = {layer: checkpoint.in_form(GgmlTensor)[layer].kind for layer in layers}
    assert [held[layer] for layer in layers] == (
        ["Q6_K"] * 7 + ["IQ3_S"] * 2 + ["Q6_K"] + ["IQ3_S"] * 4
    )
    with pytest.raises(CallFailure, match="layers have no format"):
        made("Q4_K_M", assignment="Q6_K=0-6")


def test_a_share_of_the_weights_is_in_eight_bits_where_that_matters() -> None:
    """No more than the share, of layers that matter more by the weight than those left; the loss is
    foretold to rise by less, and the others stay."""
    directory = model_dir()
    context = context_of(directory, interpreter())
    source = read(directory)
    plain = kquant.apply(source, params("IQ4_NL"), context).in_form(GgmlTensor)
    own = kquant.apply(source, params("IQ4_NL", eight_bit_share=0.25), context).in_form(GgmlTensor)
    linear = context.layout.linear
    eight = [layer for layer in linear if own[layer].kind == "Q8_0"]
    weights = {layer: own[layer].size for layer in linear}
    assert 0.15 < sum(weights[layer] for layer in eight) / sum(weights.values()) <= 0.25
    for layer in set(linear) - set(eight):
        np.testing.assert_array_equal(own[layer].blocks, plain[layer].blocks)
    rises = {one.metric: one.value for one in context.figures}
    assert rises["loss_rise"] < 0.9 * rises["loss_rise_of_mix"]


def test_the_fisher_information_spends_the_mixs_bytes_better() -> None:
    """On the tiny model, which is trained: no more bytes, and the loss is taken to rise less."""
    context = Context(
        tiny_dir(), layout_of(tiny_dir()), silent_report(2), 0, calibration(),
        tool_python=interpreter(),
    )  # fmt: skip
    source = read(tiny_dir())
    plain = kquant.apply(source, params("Q4_K_M"), context)
    better = kquant.apply(source, params("Q4_K_M", kinds_by="fisher"), context)
    assert formula_bytes(better) <= formula_bytes(plain)
    assert formula_bytes(better) >= 0.97 * formula_bytes(plain)
    figures = {one.metric: one.value for one in context.figures}
    assert 0 < figures["loss_rise"] < figures["loss_rise_of_mix"]
    other = better.in_form(GgmlTensor)
    assert len({tensor.kind for tensor in other.values()}) > 1
    for layer, tensor in other.items():
        assert np.abs(tensor.weight() - source.weight(layer)).max() < 0.3


def test_what_cannot_be_made_is_said() -> None:
    directory = model_dir()
    with pytest.raises(CallFailure, match="no interpreter of the environment"):
        kquant.apply(read(directory), params("Q4_K_M"), context_of(directory, None))
    with pytest.raises(CallFailure, match="requires an imatrix"):
        made("IQ3_XXS", importance=False)
    twice = read(kept(made("Q4_K_M"), "twice"))
    with pytest.raises(CallFailure, match="is quantized already"):
        context = context_of(directory, interpreter())
        kquant.apply(twice, params("Q4_K_M"), context)


def test_damaged_blocks_are_refused() -> None:
    tensor = made("Q4_K_M").in_form(GgmlTensor)[DOWN]
    with pytest.raises(CallFailure, match=r"are not rows of 513 weights"):
        GgmlTensor(tensor.blocks, tensor.kind, 513).check("layer")
    blocks = tensor.blocks.copy()
    blocks[0, :2] = [0, 0x7C]  # the first block's scale: infinity in float16
    with pytest.raises(CallFailure, match="not finite"):
        GgmlTensor(blocks, tensor.kind, tensor.columns).check("layer")


def test_a_converted_file_holds_the_same_bytes(tmp_path: Path) -> None:
    """Of the tiny model: transformers opens the file, and a block that is not its own is told."""
    made_of = folder() / "kquant-tiny"
    shutil.rmtree(made_of, ignore_errors=True)
    context = Context(
        tiny_dir(), layout_of(tiny_dir()), silent_report(2), 0, calibration(),
        tool_python=interpreter(),
    )  # fmt: skip
    made_of.mkdir()
    write(kquant.apply(read(tiny_dir()), params("Q5_K_M"), context), made_of)
    files = converted("gguf", made_of, tmp_path / "files")
    facts = found("gguf", files, made_of)
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    assert facts["not_opened"] is None and facts["logits_cosine"] > 0.9999
    assert len(facts["layers"]) == 15 and facts["other_floats"] == []
    assert all(row["problem"] is None for row in facts["layers"])
    assert all(row["claimed"] == row["found"] for row in facts["layers"])
    path = files / "model.gguf"
    blocks = read(made_of).in_form(GgmlTensor)[DOWN].blocks[3].tobytes()
    octets = path.read_bytes()
    assert octets.count(blocks) == 1
    at = octets.index(blocks) + 9
    path.write_bytes(octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :])
    told = [row["problem"] for row in found("gguf", files, made_of)["layers"]]
    assert told.count("its blocks are not those of its source") == 1
