"""OpenVINO GenAI over an artifact's own weights: the tokens of transformers under the full cache,
fewer bytes under an eviction, and settings that end their process refused with what was seen."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from runtime_fixtures import artifact, exported_graph, folder, run_worker
from transformers import LogitsProcessorList, SuppressTokensLogitsProcessor

from pare_backends.calls import prove_runtime
from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_model
from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.progress import silent_report
from pare_backends.runtimes.openvino_genai import probe
from pare_backends.runtimes.openvino_genai.model import GenaiModel
from pare_backends.runtimes.openvino_genai.setting import BLOCK_TOKENS, Params

VARIABLE = "PARE_ENV_OPENVINO_GENAI"
KEPT_TOKENS = 128
EVICTING = {"eviction": "norm_sum", "recent_size": 32, "max_cache_size": KEPT_TOKENS}
VALUES_A_TOKEN = 2 * 2 * 2 * 16
"""Keys and values of 2 layers with 2 heads of 16."""


def interpreter() -> str:
    """The interpreter of its environment; skips where there is none."""
    python = os.environ.get(VARIABLE)
    if not python:
        pytest.skip(
            "the environment openvino_genai is not here:"
            " `npx -y deno task pare setup openvino_genai` makes it"
        )
    return python


@pytest.fixture(scope="module")
def directory() -> Path:
    """A 4-bit artifact of a model that says it reads 2,048 tokens."""
    made = folder() / "genai"
    shutil.copytree(artifact(4, 32, True), made)
    config = json.loads((made / "config.json").read_text())
    (made / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 2048}))
    return made


def measured(directory: Path, settings: dict[str, dict[str, Any]], **changes: Any) -> Any:
    """The last event of a measurement."""
    asked = {
        "call": "time_caches",
        "runtime": "openvino_genai",
        "artifact_dir": str(directory),
        "form_dir": str(exported_graph()),
        "settings": [{"name": name, "params": params} for name, params in settings.items()],
        "contexts": [64, 512],
        "new_tokens": 40,
        "turn_tokens": 8,
        "passes": 1,
        "seed": 1,
    }
    return run_worker(interpreter(), {**asked, **changes})[-1]


@pytest.fixture(scope="module")
def table(directory: Path) -> Any:
    """The full cache beside one of 8 bits, an eviction, and what fails in this version."""
    told = measured(
        directory,
        {
            "full": {},
            "u8": {"kv_precision": "u8"},
            "evicting": EVICTING,
            "sparse": {"sparse_prefill": "xattention"},
            "rkv": {**EVICTING, "eviction": "adaptive_rkv"},
            "odd": {**EVICTING, "start_size": 30},
        },
    )
    assert told["event"] == "result", told
    return told["result"]


def row(table: Any, setting: str, tokens: int) -> Any:
    (found,) = [
        one
        for one in table["caches"]
        if one["setting"] == setting and one["context_tokens"] == tokens
    ]
    return found


def blocks(tokens: int) -> int:
    return -(-tokens // BLOCK_TOKENS)


def test_bytes_are_those_of_the_blocks_that_are_held(table: Any) -> None:
    full = row(table, "evicting", 512)
    half = 2 * VALUES_A_TOKEN * BLOCK_TOKENS
    # The last token that was generated has not been read.
    assert full["full_kept_bytes"] == blocks(512 + 40) * half
    assert full["prompt_bytes"] >= blocks(512) * half, "nothing is let go of in a prompt"
    u8 = row(table, "u8", 512)
    assert 0.5 * u8["full_kept_bytes"] < u8["kept_bytes"] < 0.8 * u8["full_kept_bytes"]


def test_an_eviction_bounds_the_bytes_whatever_the_prompt(table: Any) -> None:
    block = 2 * VALUES_A_TOKEN * BLOCK_TOKENS
    most = (blocks(KEPT_TOKENS) + 1) * block  # the one that is being filled
    assert row(table, "evicting", 512)["kept_bytes"] <= most
    short = row(table, "evicting", 64)
    assert short["kept_bytes"] == short["full_kept_bytes"] == blocks(64 + 40) * block


def test_every_setting_is_timed_in_turn_with_the_full_cache(table: Any) -> None:
    for one in table["caches"]:
        assert one["new_tokens"] == 40 and one["passes"] == 1
        assert min(one["prefill_ms"], one["decode_ms"], one["full_decode_ms"]) > 0
        assert one["prefill_ratio_low"] is None, "one pair tells no interval"
        assert one["decode_ratio_low"] < one["decode_ratio"] < one["decode_ratio_high"]
    assert table["numerics"]["u8"]["kv_precision"] == "u8"
    assert table["version"].startswith("openvino_genai 2026.")


def test_what_fails_here_is_refused_with_what_was_seen_and_the_others_are_measured(
    table: Any,
) -> None:
    seen = {one["setting"]: one["reason"] for one in table["refused"]}
    assert set(seen) == {"rkv", "odd"}
    assert "a process that tried it ended with status 1" in seen["rkv"]
    assert "diversity" in seen["rkv"]
    assert "must be a multiple of block siz" in seen["odd"]
    assert {one["setting"] for one in table["caches"]} == {"u8", "evicting", "sparse"}
    sparse = row(table, "sparse", 512)
    assert sparse["kept_bytes"] == sparse["full_kept_bytes"], "what is not computed is kept"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"contexts": [2048]}, "prompts of 2048 to 2048 tokens and 40 new ones: the model reads"),
        ({"passes": 0}, "40 new tokens in turns of 8 and 0 passes: each must be at least 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    directory: Path, changes: dict[str, Any], said: str
) -> None:
    told = measured(directory, {"full": {}}, **changes)
    assert told["event"] == "failure" and told["kind"] == "bad_input"
    assert said in told["message"]


def test_an_unknown_knob_is_refused_with_the_one_that_was_meant(directory: Path) -> None:
    told = measured(directory, {"full": {"evicton": "sum"}})
    assert told["kind"] == "bad_input" and 'mean "eviction"' in told["message"]


def test_a_setting_that_ends_its_process_is_told_by_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = tmp_path / "python"
    ending.write_text("#!/bin/sh\nkill -SEGV $$\n")
    ending.chmod(0o755)
    monkeypatch.setattr(probe, "sys", SimpleNamespace(executable=str(ending)))
    values = {**EVICTING, "rotation": True}
    assert build_params(Params, values).is_unsafe()
    said = probe.obstacle(tmp_path, values, 0, 1)
    assert said == "a process that tried it was ended by SIGSEGV"


def test_the_library_finds_a_text_as_likely_as_the_dequantized_model(
    directory: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "logits.npz")
    asked = {
        "call": "runtime_logits", "runtime": "openvino_genai", "artifact_dir": str(directory),
        "form_dir": str(exported_graph()), "exact_form_dir": str(exported_graph()), "tokens": 48,
        "seed": 1, "output_path": path,
    }  # fmt: skip
    told = run_worker(interpreter(), asked)[-1]
    assert told["event"] == "result", told
    request = prove_runtime.Request("openvino_genai", str(directory), path)
    assert prove_runtime.run(request, silent_report(2))["strict_kl"] <= 1e-6


@pytest.fixture(scope="module")
def model(directory: Path) -> Iterator[GenaiModel]:
    with closing(GenaiModel(str(directory), str(exported_graph()), interpreter(), 2, None)) as made:
        yield made


def generation(tokens: torch.Tensor, new: int) -> dict[str, Any]:
    return {
        "attention_mask": torch.ones_like(tokens),
        "max_length": tokens.shape[1] + new,
        "pad_token_id": 0,
        "logits_processor": LogitsProcessorList(),
        "stopping_criteria": lambda ids, scores: torch.zeros(len(ids), dtype=torch.bool),
    }


def test_it_generates_what_transformers_does(directory: Path, model: GenaiModel) -> None:
    reference = load_model(read(directory), directory)
    tokens = torch.from_numpy(np.random.default_rng(2).integers(3, 320, (1, 9)))
    options = generation(tokens, 40)
    ours = model.generate(tokens, **options)
    with torch.no_grad():
        theirs = reference.generate(
            tokens, do_sample=False, use_cache=True, **{**options, "stopping_criteria": []}
        )
    assert ours.tolist() == theirs.tolist()
    assert model.generate(tokens, **options).tolist() == ours.tolist(), "a second text is another"


def test_a_task_that_forbids_tokens_is_refused(model: GenaiModel) -> None:
    tokens = torch.from_numpy(np.random.default_rng(2).integers(3, 320, (1, 9)))
    first = int(model.generate(tokens, **generation(tokens, 1))[0, -1])
    forbids = LogitsProcessorList([SuppressTokensLogitsProcessor([first], device="cpu")])
    with pytest.raises(CallFailure, match="forbids some tokens"):
        model.generate(tokens, **{**generation(tokens, 4), "logits_processor": forbids})


def test_it_does_not_pass_its_choice_for_probabilities(model: GenaiModel) -> None:
    with pytest.raises(CallFailure, match="it gives tokens alone"):
        model.begin(np.array([3, 4, 5], np.int64))


def test_a_setting_is_scored_by_what_it_generates_alone(directory: Path) -> None:
    values = {**EVICTING, "kv_precision": "u8"}
    cut = GenaiModel(str(directory), str(exported_graph()), interpreter(), 2, values)
    with closing(cut) as made:
        assert made.numerics["kv_precision"] == "u8"
        tokens = torch.from_numpy(np.random.default_rng(2).integers(3, 320, (1, 400)))
        assert made.generate(tokens, **generation(tokens, 40)).shape == (1, 440)
        with pytest.raises(CallFailure, match="Cannot score given texts under a setting"):
            made(tokens)
