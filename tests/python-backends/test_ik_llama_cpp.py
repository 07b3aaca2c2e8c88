"""ik_llama.cpp on the GGUF files of llama.cpp, in processes of its environment."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from runtime_fixtures import artifact, folder, four_bit_model, run_worker
from test_gguf import written

from pare_backends.calls import prove_runtime
from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_model
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.progress import silent_report
from pare_backends.runtimes.registry import open_model

RUNTIME = "ik_llama.cpp"
PLUGIN = Path(__file__).parents[2] / "plugins" / "runtimes" / f"{RUNTIME}.ts"
PROVED = re.findall(r'^  "(\w+)",$', PLUGIN.read_text(), re.MULTILINE)
REFUSED = ["MixtralForCausalLM", "GraniteForCausalLM", "Gemma3ForCausalLM"]
"""Some that it loads and computes as another model: the proof is what finds them."""


def interpreter() -> str:
    python = os.environ.get("PARE_ENV_IK_LLAMA_CPP")
    if not python:
        pytest.skip(
            "the environment ik_llama_cpp is not here: `npx -y deno task pare setup ik_llama_cpp`"
            " makes it"
        )
    return python


def proof(directory: Path) -> dict[str, Any]:
    path = folder() / f"ik-{directory.name}.npz"
    request = {
        "call": "runtime_logits", "runtime": RUNTIME, "artifact_dir": str(directory),
        "form_dir": str(written(directory)[0]),
        "exact_form_dir": str(written(directory, exact=True)[0]), "tokens": 48,
        "seed": 0, "output_path": str(path),
    }  # fmt: skip
    events = run_worker(interpreter(), request)
    assert events[-1]["event"] == "result", events[-1]
    asked = prove_runtime.Request(RUNTIME, str(directory), str(path))
    return prove_runtime.run(asked, silent_report(2))


def test_the_plugin_names_architectures() -> None:
    assert len(PROVED) > 20 and "LlamaForCausalLM" in PROVED
    assert not set(REFUSED) & set(PROVED)


@pytest.mark.parametrize("architecture", PROVED)
def test_logits_are_those_of_the_dequantized_model(architecture: str) -> None:
    """Values of attention are float16 in its strictest setting."""
    found = proof(four_bit_model(architecture))
    assert found["strict_kl"] <= 1e-7 and found["strict_max_difference"] <= 2e-3
    assert 0 < found["default_kl"] <= 5e-3
    assert found["numerics"]["kv_precision"] == "f16"


@pytest.mark.parametrize("architecture", REFUSED)
def test_what_it_computes_as_another_model_is_not_trusted(architecture: str) -> None:
    interpreter()
    with pytest.raises(CallFailure, match=r"Cannot trust ik_llama\.cpp.*KL divergence"):
        proof(four_bit_model(architecture))


@pytest.mark.parametrize(("bits", "group", "embedding"), [(8, -1, 8), (3, 32, None)])
def test_logits_of_other_formats(bits: int, group: int, embedding: int | None) -> None:
    found = proof(artifact(bits, group, True, embedding))
    assert found["strict_kl"] <= 1e-7 and 0 < found["default_kl"] <= 5e-3


def test_products_of_a_prompt_that_are_wrong_are_not_trusted() -> None:
    """Blocks with an offset in rows of 64: the plugin refuses them, and the proof would too."""
    interpreter()
    with pytest.raises(CallFailure, match="as it is timed its logits differ from the evaluated"):
        proof(artifact(4, 32, False, None))


def test_sequences_are_scored_from_where_they_differ(tmp_path: Path) -> None:
    """Sequences that share a beginning, end earlier, and outgrow the context and its batches."""
    directory = tmp_path / "scored"
    shutil.copytree(artifact(4, 32, True, 8), directory)
    write_tokenizer(directory)
    form = str(written(directory)[0])
    reference = load_model(read(directory), directory)
    ids = np.random.default_rng(0).integers(0, 320, 600)
    with closing(open_model(RUNTIME, str(directory), form, interpreter(), 2)) as model:
        for tokens in (ids[:20], ids[:12], np.append(ids[:12], ids[40:50]), ids):
            given = torch.from_numpy(tokens[None])
            with torch.inference_mode():
                wanted = reference(given).logits[0].numpy()
            found = model(given).logits[0].numpy()
            assert found.shape == wanted.shape
            cosine = (found * wanted).sum() / np.linalg.norm(found) / np.linalg.norm(wanted)
            assert cosine > 0.999
        begun = model.begin(ids[:9])
        np.testing.assert_allclose(begun, model(torch.from_numpy(ids[None, :9])).logits[0, -1])


def test_its_speed_is_measured_and_says_by_what() -> None:
    directory = artifact(4, 32, True, 8)
    request = {
        "call": "speed", "runtime": RUNTIME, "artifact_dir": str(directory),
        "form_dir": str(written(directory)[0]), "baseline_dir": None, "baseline_form_dir": None,
        "prompt_tokens": 8, "new_tokens": 6, "least_passes": 1, "most_passes": 1,
        "half_width": 0.02, "seed": 0, "cpu_power": None, "carbon_intensity": None,
    }  # fmt: skip
    events = run_worker(interpreter(), request)
    assert events[-1]["event"] == "result", events[-1]
    own = {row["metric"]: row for row in events[-1]["result"]["measurements"]}
    assert own["latency_ms"]["value"] > 0 and own["latency_ms"]["provenance"] == "measured"
    assert "ik-llama-cpp-python 0.1.5" in own["latency_ms"]["method"]


def test_a_file_that_it_does_not_load_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(60))
    shutil.copyfile(written(artifact(4, 32, True, 8))[0] / "gguf.json", tmp_path / "gguf.json")
    shutil.copyfile(artifact(4, 32, True, 8) / "config.json", tmp_path / "config.json")
    python = interpreter()
    with pytest.raises(CallFailure, match=r"model\.gguf: ik_llama\.cpp does not load it"):
        open_model(RUNTIME, str(artifact(4, 32, True, 8)), str(tmp_path), python, 2)
