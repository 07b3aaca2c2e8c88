"""Benchmarks scored by llama.cpp: from a file of float32 weights the answers of transformers, from
the integers, whose inputs llama.cpp rounds, near ones."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from evaluation_fixtures import wire_task, words, write_rows
from runtime_fixtures import artifact
from test_evaluate import CHOICES, evaluate, prompt_rows
from test_gguf import written
from test_llama_cpp import interpreter
from transformers import LogitsProcessorList

from pare_backends.calls.evaluate import EvaluationRuntime
from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_model
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.runtimes.llama_cpp.model import GgufModel

EXACT = {"inference_precision": "f32", "kv_precision": "f32", "activation_group": 0}
TIMED = {"kv_precision": "f16", "activation_group": 32}
STRICT = {"kv_precision": "f32", "flash_attention": False}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 4-bit artifact with the tiny model's tokenizer."""
    folder = tmp_path_factory.mktemp("runtime") / "scored"
    shutil.copytree(artifact(4, 32, True, 8), folder)
    write_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def exact(directory: Path) -> Path:
    return written(directory, exact=True)[0]


@pytest.fixture(scope="module")
def models(directory: Path, exact: Path) -> Iterator[tuple[GgufModel, Any]]:
    """The same weights, keys and values, all of them float32, in llama.cpp and in transformers."""
    with closing(GgufModel(str(directory), str(exact), interpreter(), 2, STRICT)) as model:
        yield model, load_model(read(directory), directory)


def test_logits_are_those_of_transformers_whatever_was_read_before(
    models: tuple[GgufModel, Any],
) -> None:
    """Sequences that share a beginning, end earlier, and outgrow the context and its batches."""
    model, reference = models
    tokens = torch.from_numpy(np.random.default_rng(1).integers(0, 320, (1, 700)))
    other = tokens.clone()
    other[0, 9:] = tokens.flip(1)[0, 9:]
    for sequence in (tokens[:, :20], other[:, :24], other[:, :11], other[:, :11], tokens):
        with torch.no_grad():
            expected = reference(sequence).logits
        assert (model(sequence).logits - expected).abs().max() <= 1e-3


def test_a_batch_is_read_row_by_row(models: tuple[GgufModel, Any]) -> None:
    model, reference = models
    tokens = torch.from_numpy(np.random.default_rng(3).integers(0, 320, (3, 12)))
    with torch.no_grad():
        assert (model(tokens).logits - reference(tokens).logits).abs().max() <= 1e-3


def generation(tokens: torch.Tensor) -> dict[str, Any]:
    """Options of a search that ends at 20 tokens."""

    def at_twenty(ids: torch.Tensor, scores: Any) -> torch.Tensor:
        return torch.full((len(ids),), ids.shape[1] >= 20)

    return {
        "attention_mask": torch.ones_like(tokens),
        "max_length": 30,
        "pad_token_id": 0,
        "logits_processor": LogitsProcessorList(),
        "stopping_criteria": at_twenty,
    }


def test_generation_is_that_of_transformers(models: tuple[GgufModel, Any]) -> None:
    model, reference = models
    tokens = torch.from_numpy(np.random.default_rng(2).integers(3, 320, (1, 9)))
    options = generation(tokens)
    ours = model.generate(tokens, **options)
    stops = [options["stopping_criteria"]]
    with torch.no_grad():
        theirs = reference.generate(
            tokens, do_sample=False, use_cache=True, **{**options, "stopping_criteria": stops}
        )
    assert ours.shape == (1, 20)
    assert (ours == theirs).all()


def test_several_generations_at_once_are_refused(models: tuple[GgufModel, Any]) -> None:
    tokens = torch.zeros((2, 5), dtype=torch.long)
    with pytest.raises(CallFailure, match=r"2 sequences at once in llama\.cpp"):
        models[0].generate(tokens, **generation(tokens))


def tasks_and_rows(folder: Path) -> tuple[list[Any], dict[str, list[int]]]:
    choices = [{"question": words(5, i), "choices": CHOICES, "answer": i % 4} for i in range(24)]
    tasks = [
        wire_task("custom_prompt_answer", write_rows(folder / "p.jsonl", prompt_rows(5))),
        wire_task("everyday_choice", write_rows(folder / "c.jsonl", choices)),
        wire_task(
            "custom_text",
            write_rows(folder / "t.jsonl", [{"text": words(200)}]),
            window_tokens=32,
        ),
    ]
    return tasks, {tasks[0].task: [0, 1, 3], tasks[1].task: list(range(24)), tasks[2].task: [0, 2]}


@pytest.mark.parametrize("form", ["exact", "integers"])
def test_llama_cpp_scores_each_sample_as_transformers_does(
    form: str, directory: Path, exact: Path, tmp_path: Path
) -> None:
    """Float32 weights: 4e-6 nats apart at most when it was written. Integers, whose inputs are
    rounded to 8 bits: 0.08, in a window of 31 tokens; and the same choices."""
    output = exact if form == "exact" else written(directory)[0]
    tasks, rows = tasks_and_rows(tmp_path)
    strict = STRICT if form == "exact" else None
    runtime = EvaluationRuntime("llama.cpp", str(output), interpreter(), cache=strict)
    plain, expected, _ = evaluate(directory, tasks, rows, tmp_path)
    scored, samples, _ = evaluate(directory, tasks, rows, tmp_path, runtime=runtime)
    assert [m["metric"] for m in scored["measurements"]] == [
        f"runtime_{m['metric']}" for m in plain["measurements"]
    ]
    for m in scored["measurements"]:
        assert m["runtime"] == "llama.cpp"
        assert m["numerics"] == EXACT | ({} if form == "exact" else TIMED)
        assert "scored in llama.cpp" in m["method"]
    apart = [
        abs(own["log_likelihood"] - other["log_likelihood"])
        for own, other in zip(samples, expected, strict=True)
    ]
    assert max(apart) <= (1e-4 if form == "exact" else 0.2)
    assert [s["sample_hash"] for s in samples] == [s["sample_hash"] for s in expected]
    assert [s["chosen"] for s in samples] == [s["chosen"] for s in expected]


def test_a_file_that_llama_cpp_does_not_load_is_said(directory: Path, tmp_path: Path) -> None:
    shutil.copytree(written(directory)[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "model.gguf").write_bytes(b"GGUF and nothing")
    with pytest.raises(CallFailure, match=r"llama\.cpp does not load it"):
        GgufModel(str(directory), str(tmp_path), interpreter(), 2)


def test_a_process_that_has_ended_is_said(directory: Path, exact: Path) -> None:
    with closing(GgufModel(str(directory), str(exact), interpreter(), 2)) as model:
        model._beside._process.kill()
        model._beside._process.wait()
        with pytest.raises(CallFailure, match=r"Cannot score in llama\.cpp.*status -9"):
            model(torch.zeros((1, 4), dtype=torch.long))


def test_a_process_that_ends_while_it_computes_is_said(
    directory: Path, exact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(GgufModel(str(directory), str(exact), interpreter(), 2)) as model:
        # It takes the question and answers nothing.
        model._beside._process.send_signal(signal.SIGSTOP)
        send = model._beside._connection.send_bytes

        def ask_and_end(asked: memoryview) -> None:
            send(asked)
            model._beside._process.kill()

        monkeypatch.setattr(model._beside._connection, "send_bytes", ask_and_end)
        with pytest.raises(CallFailure, match=r"Cannot score in llama\.cpp.*status -9"):
            model(torch.zeros((1, 4), dtype=torch.long))
