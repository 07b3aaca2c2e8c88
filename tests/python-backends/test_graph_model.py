"""Benchmarks scored by the runtime: the same answers as transformers gives, under other names."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from evaluation_fixtures import wire_task, words, write_rows
from runtime_fixtures import artifact, exported_graph
from test_evaluate import CHOICES, evaluate, prompt_rows
from transformers import LogitsProcessorList

from pare_backends.calls.evaluate import EvaluationRuntime
from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_model
from pare_backends.models.tiny import write_tokenizer
from pare_backends.runtimes.openvino.input_rounding import rounds_inputs
from pare_backends.runtimes.openvino.model import GraphModel

GROUP = 16


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact that declares quantized activations, with the tiny model's tokenizer."""
    folder = tmp_path_factory.mktemp("runtime") / "artifact"
    shutil.copytree(artifact(8, -1, True, None, GROUP), folder)
    write_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def models(directory: Path) -> tuple[GraphModel, Any]:
    """The same artifact in both."""
    graph = GraphModel(str(directory), str(exported_graph()), 2)
    return graph, load_model(read(directory), directory)


def test_padding_on_the_right_changes_no_logit(models: tuple[GraphModel, Any]) -> None:
    graph, reference = models
    tokens = torch.from_numpy(np.random.default_rng(1).integers(0, 320, (3, 20)))
    for length in (20, 11):
        part = tokens[:, :length]
        alone = graph(part).logits
        assert (graph(tokens).logits[:, :length] - alone).abs().max() <= 1e-3
        with torch.no_grad():
            expected = reference(part).logits
        # OpenVINO rounds inputs to 127 steps, what the artifact's own loader computes to 127.5.
        assert (alone - expected).abs().max() <= 0.1


def test_weights_alone_give_the_logits_of_transformers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("weights") / "artifact"
    shutil.copytree(artifact(8, -1, True), folder)
    write_tokenizer(folder)
    graph = GraphModel(str(folder), str(exported_graph()), 2)
    reference = load_model(read(folder), folder)
    tokens = torch.from_numpy(np.random.default_rng(1).integers(0, 320, (3, 20)))
    with torch.no_grad():
        assert (graph(tokens).logits - reference(tokens).logits).abs().max() <= 1e-3


def test_generation_is_that_of_transformers(models: tuple[GraphModel, Any]) -> None:
    graph, reference = models
    tokens = torch.from_numpy(np.random.default_rng(2).integers(3, 320, (2, 9)))
    mask = torch.ones_like(tokens)
    tokens[1, :4], mask[1, :4] = 0, 0

    def at_twenty(ids: torch.Tensor, scores: Any) -> torch.Tensor:
        return torch.full((len(ids),), ids.shape[1] >= 20)

    options: dict[str, Any] = {
        "attention_mask": mask,
        "max_length": 30,
        "pad_token_id": 0,
        "logits_processor": LogitsProcessorList(),
        "stopping_criteria": at_twenty,
    }
    ours = graph.generate(tokens, **options)
    with torch.no_grad():
        theirs = reference.generate(
            tokens, do_sample=False, use_cache=True, **{**options, "stopping_criteria": [at_twenty]}
        )
    assert ours.shape == (2, 20)
    assert (ours == theirs).all()


def test_a_runtime_scores_under_names_of_its_own(directory: Path, tmp_path: Path) -> None:
    choices = [{"question": words(5, i), "choices": CHOICES, "answer": i % 4} for i in range(6)]
    tasks = [
        wire_task("custom_prompt_answer", write_rows(tmp_path / "p.jsonl", prompt_rows(5))),
        wire_task("everyday_choice", write_rows(tmp_path / "c.jsonl", choices)),
        wire_task(
            "custom_text",
            write_rows(tmp_path / "t.jsonl", [{"text": words(200)}]),
            window_tokens=32,
        ),
    ]
    rows = {tasks[0].task: [0, 1, 3], tasks[1].task: list(range(6)), tasks[2].task: [0, 2]}
    runtime = EvaluationRuntime("openvino", str(exported_graph()), sys.executable)
    plain, expected, _ = evaluate(directory, tasks, rows, tmp_path)
    scored, samples, _ = evaluate(directory, tasks, rows, tmp_path, runtime=runtime)
    assert [m["metric"] for m in plain["measurements"]] == ["accuracy", "accuracy", "perplexity"]
    assert [m["metric"] for m in scored["measurements"]] == [
        "runtime_accuracy",
        "runtime_accuracy",
        "runtime_perplexity",
    ]
    for m in scored["measurements"]:
        assert m["runtime"] == "openvino"
        assert m["numerics"] == {
            "inference_precision": "f32",
            "kv_precision": "f32",
            "activation_group": GROUP if rounds_inputs() else 0,
        }
        assert "scored in openvino" in m["method"]
    for own, other in zip(samples, expected, strict=True):
        assert own["sample_hash"] == other["sample_hash"]
        # Inputs in 127 steps in the place of 127.5 move some hundredths of a nat.
        assert own["log_likelihood"] == pytest.approx(other["log_likelihood"], rel=1e-2)
