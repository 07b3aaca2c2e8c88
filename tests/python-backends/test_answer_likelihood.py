"""The likelihood of the original's own answers, against a plain forward pass over the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from benchmark_fixtures import log_likelihood
from evaluation_fixtures import random_checkpoint, wire_task, words, write_rows
from test_evaluate import evaluate

from pare_backends.calls.evaluate import OriginalModel
from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.original import written
from pare_backends.failures import CallFailure

DEFINITION = {
    "output_type": "generate_until",
    "doc_to_text": "{{prompt}} then",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"max_gen_toks": 6, "until": ["\n\n"], "do_sample": False},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1, "fields": {"prompt": "string", "answer": "string"}},
}
ROWS = list(range(8))


def changed(source: Path, directory: Path) -> Path:
    """The model with other weights, its tokenizer the same."""
    model, tokenizer = load_dequantized(source)
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(str(directory))
    return directory


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    original = random_checkpoint(folder / "original")
    return original, changed(original, folder / "trial")


def asked(models: tuple[Path, Path], folder: Path, **changes: Any) -> dict[str, Any]:
    original = OriginalModel(str(models[0]), "base", str(folder / "kept"))
    return {"fidelity": "likelihood", "likelihood": True, "original": original, **changes}


def task_of(folder: Path) -> Any:
    rows = [{"prompt": words(3 + i, seed=i), "answer": words(2, i)} for i in range(len(ROWS))]
    path = write_rows(folder / "d.jsonl", rows)
    return wire_task("custom_prompt_answer", path, definition=DEFINITION, metric="exact_match,none")


def test_a_trial_is_held_against_the_originals_own_answers(
    models: tuple[Path, Path], tmp_path: Path
) -> None:
    original, trial = models
    task = task_of(tmp_path)
    generated, full, _ = evaluate(
        original, [task], {task.task: ROWS}, tmp_path, answers_path=str(tmp_path / "o.jsonl")
    )
    extra = asked(models, tmp_path, answers_path=str(tmp_path / "o.jsonl"))
    found, own, _ = evaluate(original, [task], {task.task: ROWS}, tmp_path, **extra)
    assert found["reused_requests"] >= len(ROWS), "its full evaluation's generations are taken over"
    assert [s["answer"] for s in own] == [s["answer"] for s in full]
    assert [s["prompt_hash"] for s in own] == [s["prompt_hash"] for s in full]
    assert len({s["answer"] for s in own}) > 1
    [row] = found["measurements"]
    assert (row["metric"], row["unit"], row["direction"]) == (
        *("answer_likelihood", "nats/token", "minimize"),
    )
    assert row["value"] == 0.0, "the original loses nothing of itself"
    result, lost, _ = evaluate(
        trial, [task], {task.task: ROWS}, tmp_path, **asked(models, tmp_path)
    )
    assert [s["answer"] for s in lost] == [s["answer"] for s in full]
    loaded = {place: load_dequantized(place) for place in models}
    drops = []
    for i, (before, after) in enumerate(zip(own, lost, strict=True)):
        prompt = f"{words(3 + i, seed=i)} then"
        encode = loaded[original][1].encode
        tokens = len(encode(prompt + after["answer"])) - len(encode(prompt))
        for place, sample in ((original, before), (trial, after)):
            wanted = log_likelihood(loaded[place], prompt, after["answer"])
            assert sample["log_likelihood"] == pytest.approx(wanted, abs=1e-3)
            assert sample["score"] == pytest.approx(wanted / tokens, abs=1e-3)
        drops.append(before["score"] - after["score"])
    [row] = result["measurements"]
    assert row["value"] == pytest.approx(sum(drops) / len(drops), abs=1e-6)
    assert row["standard_error"] == pytest.approx(
        torch.tensor(drops).std().item() / 8**0.5, abs=1e-5
    )
    assert row["value"] > 0.01 and row["n"] == 8
    assert result["protocol"] == found["protocol"], "the same answers: they may be compared"
    assert result["protocol"] != generated["protocol"]


def test_answers_that_are_not_kept_are_written_anew_by_the_original(
    models: tuple[Path, Path], tmp_path: Path
) -> None:
    task = task_of(tmp_path)
    extra = asked(models, tmp_path)
    found, samples, _ = evaluate(models[1], [task], {task.task: [1, 4]}, tmp_path, **extra)
    [file] = (tmp_path / "kept").glob(f"written-v{written.FORMAT}/*.json")
    file.write_text(file.read_text()[:-5])  # a file cut short is none
    again, repeated, _ = evaluate(models[1], [task], {task.task: [1, 4]}, tmp_path, **extra)
    assert again["protocol"] == found["protocol"]
    assert [s["score"] for s in repeated] == [s["score"] for s in samples]


def test_an_empty_answer_is_its_end_and_a_choice_has_no_answer(
    models: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tmp_path)
    monkeypatch.setattr(
        "pare_backends.evaluation.likelihood._generated", lambda *_: ["" for _ in range(2)]
    )
    _, samples, _ = evaluate(
        models[0], [task], {task.task: [0, 1]}, tmp_path, **asked(models, tmp_path)
    )
    model, tokenizer = load_dequantized(models[0])
    prompt = tokenizer.encode(f"{words(3, seed=0)} then")
    with torch.no_grad():
        scores = model(torch.tensor([prompt])).logits[0, -1].log_softmax(-1)
    wanted = float(scores[tokenizer.eos_token_id])
    assert samples[0]["score"] == pytest.approx(wanted, abs=1e-3)
    choices = wire_task("custom_prompt_answer", Path(task.data_path))
    with pytest.raises(CallFailure, match="nothing is generated there"):
        evaluate(models[0], [choices], {task.task: [0]}, tmp_path, **asked(models, tmp_path))
    with pytest.raises(CallFailure, match="names no original"):
        changes = asked(models, tmp_path, original=None)
        evaluate(models[0], [task], {task.task: [0]}, tmp_path, **changes)
