"""llama.cpp on a GGUF file of an artifact's own integers, in processes of its environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from architecture_variants import VARIANTS
from gguf import GGUFReader
from runtime_fixtures import (
    artifact,
    folder,
    four_bit_model,
    random_llama,
    run_worker,
    worker_environment,
)
from test_gguf import OTHERS, written

from pare_backends.calls import prove_runtime
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.architectures.known import ARCHITECTURES

VARIABLE = "PARE_ENV_LLAMA_CPP"


def interpreter() -> str:
    python = os.environ.get(VARIABLE)
    if not python:
        pytest.skip(
            "the environment llama_cpp is not here: `npx -y deno task pare setup llama_cpp`"
            " makes it"
        )
    return python


def logits_path(directory: Path, strict: Path | None = None) -> Path:
    """The file that call `runtime_logits` writes for an artifact."""
    path = folder() / f"{directory.name}.npz"
    output, _ = written(directory)
    exact, _ = written(strict or directory, exact=True)
    request = {
        "call": "runtime_logits", "runtime": "llama.cpp", "artifact_dir": str(directory),
        "form_dir": str(output), "exact_form_dir": str(exact), "tokens": 48,
        "seed": 0, "output_path": str(path),
    }  # fmt: skip
    events = run_worker(interpreter(), request)
    assert events[-1]["event"] == "result", events[-1]
    return path


def proof(directory: Path, path: Path) -> dict[str, Any]:
    request = prove_runtime.Request("llama.cpp", str(directory), str(path))
    return prove_runtime.run(request, silent_report(2))


@pytest.mark.parametrize(
    ("bits", "group", "symmetric", "embedding"),
    [(4, 32, True, 8), (4, 32, False, None), (8, -1, True, 8), (3, 32, True, None)],
)
def test_logits_are_those_of_the_dequantized_model(
    bits: int, group: int, symmetric: bool, embedding: int | None
) -> None:
    """Exactly so in float32; with inputs rounded to 8 bits, nearly."""
    directory = artifact(bits, group, symmetric, embedding)
    found = proof(directory, logits_path(directory))
    assert found["strict_kl"] <= 1e-6
    assert found["strict_max_difference"] <= 1e-3
    assert 0 < found["default_kl"] <= 5e-3
    assert found["default_agreement"] >= 0.9
    assert found["numerics"]["activation_group"] == 32
    assert found["numerics"]["kv_precision"] == "f16"


@pytest.mark.parametrize("architecture", OTHERS)
def test_logits_of_other_architectures(architecture: str) -> None:
    directory = four_bit_model(architecture)
    found = proof(directory, logits_path(directory))
    assert_equal_logits(architecture, found)


def assert_equal_logits(architecture: str, found: dict[str, Any]) -> None:
    # ggml reads gelu out of a table of float16.
    table = ARCHITECTURES[architecture].activations[0] not in ("silu", "relu2", "xielu")
    assert found["strict_kl"] <= (1e-5 if table else 1e-6)
    assert found["strict_max_difference"] <= (5e-3 if table else 1e-3)
    assert 0 < found["default_kl"] <= 5e-3


@pytest.mark.parametrize(
    ("architecture", "variant"), [(name, one) for name, held in VARIANTS.items() for one in held]
)
def test_logits_of_variants(architecture: str, variant: str) -> None:
    directory = four_bit_model(architecture, variant)
    assert_equal_logits(architecture, proof(directory, logits_path(directory)))


def test_short_factors_turn_a_context_that_is_no_longer_than_the_first(tmp_path: Path) -> None:
    """Of Phi-3's two rows of factors the fixture's text needs the long one."""
    directory = shutil.copytree(four_bit_model("Phi3ForCausalLM"), tmp_path / "short")
    config = json.loads((directory / "config.json").read_text())
    config["max_position_embeddings"], first = 4096, {"original_max_position_embeddings": 1024}
    config |= {
        **first,
        "sliding_window": None,
        "rope_parameters": config["rope_parameters"] | first,
    }
    (directory / "config.json").write_text(json.dumps(config))
    found = proof(directory, logits_path(directory))
    assert found["strict_kl"] <= 1e-6 and found["strict_max_difference"] <= 1e-3
    [note] = [note for note in written(directory)[1]["notes"] if "long factors" in note]
    assert "context is of more than 1024 tokens" in note


@pytest.mark.parametrize("architecture", ["MistralForCausalLM", "Phi3ForCausalLM"])
def test_a_window_is_exact_up_to_its_tokens_and_the_file_reads_no_more(
    architecture: str, tmp_path: Path
) -> None:
    """The fixture's text has 48 tokens."""
    for window in (48, 16):
        directory = tmp_path / f"{architecture}-{window}"
        shutil.copytree(four_bit_model(architecture), directory)
        config = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps(config | {"sliding_window": window}))
        path = logits_path(directory)
        if window == 16:
            with pytest.raises(CallFailure, match=r"Cannot trust llama\.cpp.*KL divergence"):
                proof(directory, path)
        else:
            found = proof(directory, path)
            assert found["strict_kl"] <= 1e-6 and found["strict_max_difference"] <= 1e-3
        file = GGUFReader(written(directory)[0] / "model.gguf")
        kind = str(file.fields["general.architecture"].contents())
        assert file.fields[f"{kind}.context_length"].contents() == window


GOES_BACK = """
import sys
import numpy as np
from pare_backends.runtimes.llama_cpp.decoder import STRICT, LlamaCppDecoder
from pare_backends.runtimes.sequence_scorer import SequenceScorer
scores = SequenceScorer(LlamaCppDecoder(sys.argv[1], 2, params=STRICT))
text = np.random.default_rng(3).integers(0, 320, 40)
other = np.append(text[:25], 7)
for asked in (text[:30], other, text, text[:39], text):
    alone = SequenceScorer(LlamaCppDecoder(sys.argv[1], 2, params=STRICT)).logits(asked, 1)
    print(float(np.abs(scores.logits(asked, 1) - alone).max()))
"""


@pytest.mark.parametrize(
    "architecture", ["MambaForCausalLM", "JambaForCausalLM", "Qwen3NextForCausalLM"]
)
def test_texts_that_begin_alike_are_read_where_a_state_cannot_go_back(architecture: str) -> None:
    directory = written(four_bit_model(architecture))[0]
    told = subprocess.run(
        [interpreter(), "-c", GOES_BACK, str(directory)],
        capture_output=True, text=True, check=True, env=worker_environment(),
    )  # fmt: skip
    differences = [float(line) for line in told.stdout.split()]
    assert len(differences) == 5 and max(differences) < 1e-4, differences


def test_floats_run_as_float16() -> None:
    found = proof(random_llama(0), logits_path(random_llama(0)))
    assert found["strict_kl"] <= 1e-6 and found["default_kl"] <= 1e-4
    numerics = {"inference_precision": "f16", "kv_precision": "f16", "activation_group": 0}
    assert found["numerics"] == numerics


def test_proof_fails_for_another_models_weights() -> None:
    directory = artifact(4, 32, True, 8)
    path = logits_path(directory, strict=random_llama(5))
    with pytest.raises(CallFailure, match=r"Cannot trust llama\.cpp.*KL divergence"):
        proof(directory, path)


def test_speed_measures_an_artifact_beside_its_baseline() -> None:
    python = interpreter()
    request = {
        "call": "speed", "runtime": "llama.cpp",
        "artifact_dir": str(artifact(4, 32, True, 8)),
        "form_dir": str(written(artifact(4, 32, True, 8))[0]),
        "baseline_dir": str(random_llama(0)),
        "baseline_form_dir": str(written(random_llama(0))[0]),
        "prompt_tokens": 12,
        "new_tokens": 6, "least_passes": 3, "most_passes": 3,
        "half_width": 0.02, "seed": 0,
        "cpu_power": None, "carbon_intensity": None,
    }  # fmt: skip
    events = run_worker(python, request)
    assert events[-1]["event"] == "result", events[-1]
    result = events[-1]["result"]
    own = {row["metric"]: row for row in result["measurements"]}
    assert {row["runtime"] for row in own.values()} == {"llama.cpp"}
    assert own["latency_ms"]["value"] > 0 and own["prefill_tokens_per_s"]["value"] > 0
    assert own["latency_ms"]["provenance"] == "measured"
    assert "llama-cpp-python" in own["latency_ms"]["method"]
    assert own["memory_bytes"]["method"] == "VmHWM"
    assert result["baseline_measurements"][0]["metric"] == "latency_ms"
    assert result["numerics"]["activation_group"] == 32


def test_a_prompt_longer_than_the_context_is_refused_in_words() -> None:
    python = interpreter()
    request = {
        "call": "speed", "runtime": "llama.cpp",
        "artifact_dir": str(artifact(4, 32, True, 8)),
        "form_dir": str(written(artifact(4, 32, True, 8))[0]),
        "baseline_dir": None, "baseline_form_dir": None,
        "prompt_tokens": 300, "new_tokens": 6, "least_passes": 1,
        "most_passes": 1, "half_width": 0.02, "seed": 0,
        "cpu_power": None, "carbon_intensity": None,
    }  # fmt: skip
    events = run_worker(python, request)
    assert events[-1]["event"] == "failure"
    assert "the context was made for 256" in events[-1]["message"]


def test_arithmetic_is_the_best_for_this_processor_without_amx() -> None:
    asked = "from pare_backends.runtimes.llama_cpp.library import processor; print(processor)"
    told = subprocess.run(
        [interpreter(), "-c", asked],
        capture_output=True, text=True, check=True, env=worker_environment(),
    )  # fmt: skip
    found = told.stdout.strip()
    if found == "None":
        pytest.skip("llama.cpp was compiled here: there is nothing to choose")
    flags = Path("/proc/cpuinfo").read_text().split()
    assert found != "sapphirerapids", "its AMX code ends the process"
    if "avx512_vnni" in flags:
        assert found in ("zen4", "cooperlake", "icelake", "cascadelake")
    elif "avx2" in flags:
        assert found in ("haswell", "alderlake", "skylakex", "cannonlake")


STAYS = """
import os, sys
import numpy as np
from pare_backends.runtimes.llama_cpp.decoder import LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.library import processor
threads = lambda: set(os.listdir("/proc/self/task"))
before = threads()
first = LlamaCppDecoder(sys.argv[1], 3, polls=True)
begun = threads() - before
for token in range(4):
    first.step(np.array([token]))
first.make_context(64)
first.step(np.array([0]))
other = LlamaCppDecoder(sys.argv[1], 3, polls=True)
other.step(np.array([0]))
print(processor, len(begun), begun == threads() - before)
"""


def test_threads_stay_from_token_to_token_and_serve_every_context() -> None:
    told = subprocess.run(
        [interpreter(), "-c", STAYS, str(written(artifact(4, 32, True, 8))[0])],
        capture_output=True, text=True, check=True, env=worker_environment(),
    )  # fmt: skip
    processor, *found = told.stdout.split()
    if processor == "None":
        pytest.skip("llama.cpp was compiled here: OpenMP may keep its threads")
    assert found == ["2", "True"]


def own_tokenizer(directory: Path) -> list[tuple[str, list[int]]]:
    """Trains a byte-level BPE tokenizer into a checkpoint. returns: texts and their ids"""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<s>"], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(["the cat isn't on the mat; the hat is, in 1984"] * 20, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>")
    tokenizer.save_pretrained(str(directory))
    texts = ("the cat isn't on  the mat", "In 1984:\n\n  naïve 日本 <s>the hat", "")
    return [(text, tokenizer(text).input_ids) for text in texts]


def test_file_splits_text_as_the_artifacts_tokenizer(tmp_path: Path) -> None:
    python = interpreter()
    shutil.copytree(random_llama(0), tmp_path, dirs_exist_ok=True)
    texts = own_tokenizer(tmp_path)
    output, said = written(tmp_path)
    assert said["notes"] == []
    code = (
        "import json, sys\n"
        "from pare_backends.runtimes.llama_cpp.library import api as llama_cpp\n"
        "model = llama_cpp.Llama(sys.argv[1], vocab_only=True, verbose=False)\n"
        "print(json.dumps([model.tokenize(text.encode(), add_bos=False, special=True)\n"
        "    for text in json.load(sys.stdin)]))"
    )
    done = subprocess.run(
        [python, "-c", code, str(output / "model.gguf")],
        input=json.dumps([text for text, _ in texts]),
        capture_output=True,
        text=True,
        env=worker_environment(),
        check=True,
    )
    assert json.loads(done.stdout) == [ids for _, ids in texts]
    assert len(texts[0][1]) < len(texts[0][0])  # merges were made


def test_other_tokenizers_leave_a_file_of_token_ids() -> None:
    _, said = written(random_llama(0))
    assert any("token ids only" in note for note in said["notes"])
