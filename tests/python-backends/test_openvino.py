"""The exchange of weights in an exported graph, and its proof."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from runtime_fixtures import (
    adapted,
    artifact,
    exported_graph,
    graph_proof,
    random_llama,
    rounded,
    worker_environment,
)

from pare_backends.calls import prove_runtime
from pare_backends.checkpoint import load, read, write
from pare_backends.failures import CallFailure
from pare_backends.runtimes.openvino import compiled as runtime
from pare_backends.runtimes.openvino import input_rounding
from pare_backends.runtimes.openvino.graph_weights import build_model
from pare_backends.runtimes.openvino.input_rounding import rounds_inputs
from pare_backends.runtimes.registry import open_session
from pare_backends.runtimes.stored_weights import StoredWeights

TOKENS = np.random.default_rng(0).integers(0, 320, 40)

CASES = [
    (8, -1, True, None),
    (8, -1, True, 8),
    (8, 32, False, 8),
    (4, 16, True, None),
    (4, 32, False, 8),
    (4, -1, True, 4),
    (4, -1, False, 4),
    (3, 16, True, 8),
    (3, 32, False, None),
    (2, 16, True, 8),
    (2, 32, False, 4),
]


def strict_logits(directory: Path) -> np.ndarray:
    graph = build_model(str(exported_graph()), str(directory))
    return runtime.logits(runtime.compile_graph(graph, runtime.STRICT, 2), TOKENS)


@pytest.mark.parametrize(("bits", "group", "symmetric", "embedding"), CASES)
def test_graph_computes_with_the_artifacts_own_weights(
    bits: int, group: int, symmetric: bool, embedding: int | None
) -> None:
    """The graph was exported from another model: whatever was not exchanged would show."""
    directory = artifact(bits, group, symmetric, embedding)
    plain, _, _ = prove_runtime.torch_logits(str(directory), TOKENS)
    assert np.abs(strict_logits(directory) - plain).max() <= 1e-4
    assert plain.std() > 0.1


def test_graph_computes_with_float_weights() -> None:
    plain, _, _ = prove_runtime.torch_logits(str(random_llama(3)), TOKENS)
    assert np.abs(strict_logits(random_llama(3)) - plain).max() <= 1e-4


def test_an_adapter_is_added_to_the_weights_that_it_lies_beside(tmp_path: Path) -> None:
    directory = adapted(random_llama(3), tmp_path / "model")
    plain, _, _ = prove_runtime.torch_logits(str(directory), TOKENS)
    without, _, _ = prove_runtime.torch_logits(str(random_llama(3)), TOKENS)
    assert np.abs(plain - without).max() > 0.1
    assert np.abs(strict_logits(directory) - plain).max() <= 1e-4


def test_an_adapter_over_packed_weights_is_added_to_what_they_stand_for(tmp_path: Path) -> None:
    directory = adapted(artifact(4, 32, True, None), tmp_path / "model")
    plain, _, _ = prove_runtime.torch_logits(str(directory), TOKENS)
    without, _, _ = prove_runtime.torch_logits(str(artifact(4, 32, True, None)), TOKENS)
    assert np.abs(plain - without).max() > 0.1
    assert np.abs(strict_logits(directory) - plain).max() <= 1e-3


@pytest.mark.parametrize("columns", [64, 72, 90])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_packed_weights_stand_for_the_same_numbers(
    tmp_path: Path, columns: int, bits: int, symmetric: bool
) -> None:
    """Also where a row ends in the middle of a word."""
    checkpoint = read(random_llama(0))
    weight = np.random.default_rng(bits).normal(size=(6, columns)).astype(np.float32)
    tensor = rounded(weight, bits, columns // 2, symmetric)
    name = "model.layers.0.mlp.up_proj"
    write(checkpoint.with_stored({name: tensor}), tmp_path)
    packed = StoredWeights(str(tmp_path)).packed(f"{name}.weight")
    assert packed.bits == bits
    np.testing.assert_array_equal(packed.dequantize(), tensor.dequantize())


def test_quantized_embedding_is_read_by_row_and_as_output_head() -> None:
    """A token reads every linear weight and the head once, and one row of the embedding."""
    kept = build_model(str(exported_graph()), str(artifact(4, 32, True, None)))
    quantized = build_model(str(exported_graph()), str(artifact(4, 32, True, 8)))
    head, row = 320 * 64, 64
    saved = kept.bytes_read_per_token - quantized.bytes_read_per_token
    assert saved == (4 * head - head - 4 * 320) + (4 * row - (head + 4 * 320) // 320)
    assert kept.notes == ("float16 weights run as float32",)


def test_floats_run_in_the_precision_that_is_asked_for_and_packed_weights_do_not() -> None:
    graph_dir = str(exported_graph())
    plain = build_model(graph_dir, str(random_llama(0)))
    packed = build_model(graph_dir, str(artifact(4, 32, True, None)))
    assert (plain.packed, packed.packed) == (False, True)
    assert (
        runtime.standard_numerics(plain)
        == runtime.standard_numerics(packed, "bf16")
        == runtime.STRICT
    )
    assert runtime.standard_numerics(plain, "bf16") == replace(
        runtime.STRICT, inference_precision="bf16"
    )
    strict = open_session("openvino", str(random_llama(0)), graph_dir, 1)
    session = open_session("openvino", str(random_llama(0)), graph_dir, 1, "bf16")
    if session.numerics.inference_precision != "bf16":
        pytest.skip("OpenVINO computes in no bfloat16 on this processor")
    assert session.bytes_read_per_token == strict.bytes_read_per_token // 2


def test_a_plain_model_reads_its_file_and_one_row_more_a_token() -> None:
    """The oracle is the file: the embedding is the head too, so that one row of it is read more."""
    from safetensors.numpy import load_file

    stored = load_file(random_llama(0) / "model.safetensors")
    assert "lm_head.weight" not in stored
    every = 4 * (sum(tensor.size for tensor in stored.values()) + 64)
    assert open_session("transformers", str(random_llama(0)), None, 1).bytes_read_per_token == every
    graph = build_model(str(exported_graph()), str(random_llama(0)))
    norms = 4 * sum(tensor.size for tensor in stored.values() if tensor.ndim == 1)
    assert every - norms <= graph.bytes_read_per_token <= every


def test_cut_graph_gives_the_last_position_alone() -> None:
    directory = artifact(4, 32, True, 8)
    cut = build_model(str(exported_graph()), str(directory), last_only=True)
    last = runtime.logits(runtime.compile_graph(cut, runtime.STRICT, 2), TOKENS)
    assert last.shape == (1, 320)
    np.testing.assert_allclose(last[0], strict_logits(directory)[-1], atol=1e-5)


def test_decoding_token_by_token_gives_the_logits_of_one_pass() -> None:
    graph = build_model(str(exported_graph()), str(artifact(4, 32, True, 8)))
    decoder = runtime.Decoder(runtime.compile_graph(graph, runtime.STRICT, 2))
    decoder.step(TOKENS[:7])
    decoder.reset()
    steps = [decoder.step(TOKENS[i : i + 1])[-1].copy() for i in range(len(TOKENS))]
    np.testing.assert_allclose(steps, decoder_logits(decoder), atol=1e-4)


def decoder_logits(decoder: runtime.Decoder) -> np.ndarray:
    decoder.reset()
    return decoder.step(TOKENS).copy()


def test_openvino_process_imports_no_torch() -> None:
    code = "import sys, pare_backends.calls.speed, pare_backends.runtimes.openvino.session\n"
    code += "print([m for m in ('torch', 'transformers') if m in sys.modules])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=worker_environment()
    )
    assert done.stdout.strip() == "[]"


def test_build_model_refuses_another_architecture(tmp_path: Path) -> None:
    shutil.copytree(random_llama(0), tmp_path, dirs_exist_ok=True)
    config = json.loads((tmp_path / "config.json").read_text())
    config["rms_norm_eps"] = 0.5
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(CallFailure, match=r"rms_norm_eps is 0\.5"):
        build_model(str(exported_graph()), str(tmp_path))


def test_prove_runtime_finds_strict_logits_equal() -> None:
    proof = graph_proof(artifact(4, 32, False, 8), exported_graph())
    assert proof["tokens"] == 48
    assert isinstance(proof["strict_kl"], float) and proof["strict_kl"] <= 1e-6
    assert proof["default_agreement"] == 1.0
    assert proof["rounding_kl"] is None
    assert proof["numerics"] == {
        "inference_precision": "f32",
        "kv_precision": "f32",
        "activation_group": 0,
    }


def test_declared_activation_groups_run_by_openvinos_own_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By its rule of 127 steps 2e-14, as in strict float32; 2e-7 where a single activation is
    rounded the other way. By the rule of the format's library it is another rounding: that is told.
    """
    if not rounds_inputs():
        pytest.skip("OpenVINO rounds no inputs on this processor")
    source, graph = artifact(8, -1, True, None, 16), exported_graph()
    other = graph_proof(source, graph)
    monkeypatch.setattr(load, "HALF_RANGE", 127)
    proof = graph_proof(source, graph)
    assert other["default_kl"] > 10 * proof["default_kl"] and other["strict_kl"] <= 1e-6
    assert isinstance(proof["default_kl"], float) and proof["default_kl"] <= 5e-6
    assert proof["default_agreement"] == 1.0
    assert isinstance(proof["rounding_kl"], float) and proof["rounding_kl"] <= 2e-5
    assert proof["numerics"] == {
        "inference_precision": "f32",
        "kv_precision": "f32",
        "activation_group": 16,
    }


def test_whole_rows_of_two_lengths_run_in_groups_and_the_difference_is_measured() -> None:
    proof = graph_proof(artifact(8, -1, True, None, -1), exported_graph())
    assert isinstance(proof["strict_kl"], float) and proof["strict_kl"] <= 1e-6
    assert isinstance(proof["default_kl"], float) and 2e-5 < proof["default_kl"] < 0.05
    # 32 is the largest group that divides both rows, 64 and 96.
    group = 32 if rounds_inputs() else 0
    numerics = {"inference_precision": "f32", "kv_precision": "f32", "activation_group": group}
    assert proof["numerics"] == numerics
    notes = build_model(str(exported_graph()), str(artifact(8, -1, True, None, -1))).notes
    assert "inputs are rounded by groups of 32, up to 96 are declared" in notes
    notes = build_model(str(exported_graph()), str(artifact(8, -1, True, None, 16))).notes
    assert not any("are declared" in note for note in notes)


def test_inputs_that_the_runtime_quantizes_without_a_declaration_are_told() -> None:
    directory = artifact(8, -1, True, 8, 16)
    note = "inputs of model.embed_tokens are quantized too, undeclared"
    assert note in build_model(str(exported_graph()), str(directory)).notes
    assert note not in build_model(str(exported_graph()), str(artifact(4, 32, True, 8))).notes
    assert (
        note not in build_model(str(exported_graph()), str(artifact(8, -1, True, None, 16))).notes
    )


def test_prove_runtime_fails_where_two_weights_are_exchanged(tmp_path: Path) -> None:
    shutil.copytree(exported_graph(), tmp_path, dirs_exist_ok=True)
    path = tmp_path / "weights.json"
    swapped = path.read_text().replace('"tensor": "model.layers.0.self_attn.q_proj.weight"', '"X"')
    swapped = swapped.replace(
        '"tensor": "model.layers.1.self_attn.q_proj.weight"',
        '"tensor": "model.layers.0.self_attn.q_proj.weight"',
    ).replace('"X"', '"tensor": "model.layers.1.self_attn.q_proj.weight"')
    path.write_text(swapped)
    with pytest.raises(CallFailure, match="KL divergence") as caught:
        graph_proof(artifact(8, -1, True, 8), tmp_path)
    assert caught.value.kind == "verification"


def test_mean_kl_is_zero_for_equal_and_positive_for_shifted_logits() -> None:
    logits = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    assert prove_runtime.mean_kl(logits, logits + 2.0) == pytest.approx(0, abs=1e-12)
    p = np.array([[np.log(0.75), np.log(0.25)]], np.float32)
    q = np.array([[np.log(0.5), np.log(0.5)]], np.float32)
    expected = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    assert prove_runtime.mean_kl(p, q) == pytest.approx(expected, rel=1e-5)


def test_a_processor_that_rounds_no_inputs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = ("float16 weights run as float32", "inputs of x are quantized too, undeclared")
    monkeypatch.setattr(input_rounding, "rounds_inputs", lambda: False)
    assert input_rounding.group_in_force(32) == 0
    assert input_rounding.notes_in_force(32, notes) == (
        "float16 weights run as float32",
        "inputs stay floats: OpenVINO rounds none on this processor",
    )
    assert input_rounding.notes_in_force(0, notes) == notes
    monkeypatch.setattr(input_rounding, "rounds_inputs", lambda: True)
    assert input_rounding.group_in_force(32) == 32
    assert input_rounding.notes_in_force(32, notes) == notes
