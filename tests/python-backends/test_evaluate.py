"""`evaluate`: the figures are those of a plain computation, whatever the batches."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_fixtures import Events, random_checkpoint, wire_task, words, write_rows
from pyarrow import parquet

from pare_backends.calls.apply import ApplyRequest
from pare_backends.calls.apply import run as apply
from pare_backends.calls.evaluate import EvaluateRequest, run
from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.tasks.wire_task import SampleSelection, WireTask
from pare_backends.failures import CallFailure

CHOICES = ["den", "garden mill", "the tower", "pond"]


def evaluate(
    model_dir: Path, tasks: list[WireTask], rows: dict[str, list[int]], out: Path, **changes: Any
) -> tuple[dict[str, Any], list[dict[str, Any]], Events]:
    """Result, samples and events of the call."""
    events = Events()
    request = EvaluateRequest(
        artifact_dir=str(model_dir),
        tasks=tasks,
        selections=[SampleSelection(task, numbers) for task, numbers in rows.items()],
        fidelity="full",
        batch_size=8,
        samples_path=str(out / "samples.parquet"),
        seed=1,
        batched_apart=[],
        allow_unsafe_code=False,
        answers_path=None,
        answer_chars=4000,
        runtime=None,
    )
    result = run(dataclasses.replace(request, **changes), events.report)
    return result, parquet.read_table(out / "samples.parquet").to_pylist(), events


def log_likelihood(model_dir: Path, context: str, continuation: str) -> tuple[float, bool]:
    """By one plain forward pass: nats of the continuation, and whether greedy search gives it."""
    model, tokenizer = load_dequantized(model_dir)
    before = tokenizer.encode(context)
    tokens = tokenizer.encode(context + continuation)
    with torch.no_grad():
        scores = model(torch.tensor([tokens])).logits[0].log_softmax(-1)
    places = range(len(before), len(tokens))
    total = sum(float(scores[i - 1, tokens[i]]) for i in places)
    return total, all(int(scores[i - 1].argmax()) == tokens[i] for i in places)


def prompt_rows(count: int) -> list[dict[str, str]]:
    return [
        {"prompt": words(4 + i, seed=i), "answer": words(1 + i % 3, i + 50)} for i in range(count)
    ]


def test_log_likelihoods_equal_a_plain_forward_pass(model_dir: Path, tmp_path: Path) -> None:
    rows = prompt_rows(7)
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", rows))
    result, samples, _ = evaluate(model_dir, [task], {task.task: list(range(7))}, tmp_path)
    for row, sample in zip(rows, samples, strict=True):
        likelihood, greedy = log_likelihood(model_dir, row["prompt"], " " + row["answer"])
        assert sample["log_likelihood"] == pytest.approx(likelihood, abs=1e-4)
        assert sample["score"] == float(greedy)
        assert sample["gold"] == row["answer"]
        assert 0 < sample["seconds"] < 60
    scores = [sample["score"] for sample in samples]
    assert result["measurements"][0]["value"] == pytest.approx(sum(scores) / 7)


def test_a_greedy_continuation_is_right(model_dir: Path, tmp_path: Path) -> None:
    model, tokenizer = load_dequantized(model_dir)
    prompt = words(9)
    tokens = tokenizer.encode(prompt)
    for _ in range(2):
        with torch.no_grad():
            tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    answer = tokenizer.decode(tokens[-2:])
    rows = [{"prompt": prompt, "answer": answer}, {"prompt": prompt, "answer": "fox fox"}]
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", rows))
    _, samples, _ = evaluate(model_dir, [task], {task.task: [0, 1]}, tmp_path)
    assert [(s["score"], s["answer"]) for s in samples] == [(1.0, answer), (0.0, None)]


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_a_choice_is_the_most_likely_answer(metric: str, model_dir: Path, tmp_path: Path) -> None:
    rows = [{"question": words(5, i), "choices": CHOICES, "answer": i % 4} for i in range(6)]
    path = write_rows(tmp_path / "d.jsonl", rows)
    task = wire_task("everyday_choice", path, metric=f"{metric},none")
    result, samples, _ = evaluate(model_dir, [task], {task.task: list(range(6))}, tmp_path)
    right = 0
    for row, sample in zip(rows, samples, strict=True):
        context = str(row["question"])
        values = [log_likelihood(model_dir, context, " " + text)[0] for text in CHOICES]
        lengths = [len(text) if metric == "acc_norm" else 1 for text in CHOICES]
        each = [value / length for value, length in zip(values, lengths, strict=True)]
        best = each.index(max(each))
        right += best == row["answer"]
        assert sample["answer"] == CHOICES[best]
        assert sample["gold"] == CHOICES[row["answer"]]
        assert sample["log_likelihood"] == pytest.approx(values[row["answer"]], abs=1e-4)
    figure = result["measurements"][0]
    p = right / 6
    assert figure["value"] == pytest.approx(p)
    assert figure["standard_error"] == pytest.approx(math.sqrt(p * (1 - p) / 5))


def test_perplexity_equals_a_direct_computation(model_dir: Path, tmp_path: Path) -> None:
    texts = [words(70, 1), words(90, 2)]
    path = write_rows(tmp_path / "d.jsonl", [{"text": text} for text in texts])
    task = wire_task("custom_text", path, window_tokens=32)
    result, samples, _ = evaluate(model_dir, [task], {task.task: [0, 2, 3]}, tmp_path)
    model, tokenizer = load_dequantized(model_dir)
    tokens = tokenizer.encode("\n\n".join(texts))
    losses = []
    for number in (0, 2, 3):
        window = torch.tensor([tokens[number * 32 : number * 32 + 32]])
        with torch.no_grad():
            losses.append(float(model(window, labels=window).loss))
    figure = result["measurements"][0]
    assert [s["score"] for s in samples] == pytest.approx(losses, rel=1e-5)
    assert all(0 < s["seconds"] < 60 for s in samples)
    assert figure["value"] == pytest.approx(math.exp(sum(losses) / 3), rel=1e-5)
    error = float(torch.tensor(losses, dtype=torch.float64).std()) / math.sqrt(3)
    assert figure["standard_error"] == pytest.approx(figure["value"] * error, rel=1e-4)
    assert (figure["n"], figure["metric"], figure["direction"]) == (3, "perplexity", "minimize")


def test_the_same_rows_give_the_same_numbers(model_dir: Path, tmp_path: Path) -> None:
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", prompt_rows(9)))
    everything = evaluate(model_dir, [task], {task.task: list(range(9))}, tmp_path)
    again = evaluate(model_dir, [task], {task.task: list(range(9))}, tmp_path)
    # The file's hash is another one: it also says how long each sample took.
    assert [{**one[0], "samples_sha256": ""} for one in (again, everything)] == [
        {**everything[0], "samples_sha256": ""}
    ] * 2
    assert [{**one, "seconds": 0} for one in again[1]] == [
        {**one, "seconds": 0} for one in everything[1]
    ]
    part, samples, _ = evaluate(model_dir, [task], {task.task: [7, 2]}, tmp_path)
    assert [s["sample_id"] for s in samples] == ["2", "7"]
    for sample in samples:
        whole = everything[1][int(sample["sample_id"])]
        assert sample["sample_hash"] == whole["sample_hash"]
        assert sample["prompt_hash"] == whole["prompt_hash"]
        assert sample["log_likelihood"] == pytest.approx(whole["log_likelihood"], abs=1e-4)
    assert part["protocol"] != everything[0]["protocol"]


def test_a_repeated_row_has_a_hash_of_its_own(model_dir: Path, tmp_path: Path) -> None:
    rows = prompt_rows(1) * 3
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", rows))
    _, samples, _ = evaluate(model_dir, [task], {task.task: [0, 1, 2]}, tmp_path)
    assert len({sample["sample_hash"] for sample in samples}) == 3
    assert len({sample["prompt_hash"] for sample in samples}) == 1


def test_one_load_runs_all_tasks_with_progress_and_spans(model_dir: Path, tmp_path: Path) -> None:
    asked = wire_task("custom_prompt_answer", write_rows(tmp_path / "a.jsonl", prompt_rows(5)))
    path = write_rows(tmp_path / "b.jsonl", [{"text": words(200)}])
    text = wire_task("custom_text", path, window_tokens=64)
    rows = {asked.task: [0, 4], text.task: [1]}
    result, samples, events = evaluate(model_dir, [asked, text], rows, tmp_path)
    assert [m["task"] for m in result["measurements"]] == [asked.task, text.task]
    assert result["samples"] == len(samples) == 3
    assert [span["name"] for span in events.named("span")] == ["load", "evaluate"]
    last = {e["label"]: (e["done"], e["total"]) for e in events.named("progress")}
    assert last == {asked.task: (2, 2), text.task: (1, 1)}


def test_progress_is_that_of_the_whole_task(model_dir: Path, tmp_path: Path) -> None:
    """Also where its rows are computed in parts: here those of the proxy apart."""
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "a.jsonl", prompt_rows(30)))
    rows = {task.task: list(range(30))}
    apart = [SampleSelection(task.task, [1, 4, 20])]
    _, _, events = evaluate(model_dir, [task], rows, tmp_path, batched_apart=apart, batch_size=1)
    told = [(e["label"], e["total"], e["unit"]) for e in events.named("progress")]
    assert set(told) == {(task.task, 30, "samples")}
    done = [event["done"] for event in events.named("progress")]
    assert done == sorted(done)
    assert done[-1] == 30
    assert 3 in done
    assert len(done) > 4


def test_quantized_activations_are_quantized_and_said(model_dir: Path, tmp_path: Path) -> None:
    child = tmp_path / "int8"
    action = ApplyRequest(str(model_dir), str(child), "quantization", "int8", {}, None, 1, None)
    apply(action, Events().report)
    path = write_rows(tmp_path / "d.jsonl", [{"text": words(200)}])
    task = wire_task("custom_text", path, window_tokens=64)
    result, samples, _ = evaluate(child, [task], {task.task: [0]}, tmp_path)
    model, tokenizer = load_dequantized(child)
    window = torch.tensor([tokenizer.encode(words(200))[:64]])
    with torch.no_grad():
        expected = float(model(window, labels=window).loss)
    assert samples[0]["score"] == pytest.approx(expected, rel=1e-5)
    figure = result["measurements"][0]
    how = "activations fake-quantized to int8 with a scale for a token"
    assert how in figure["method"]
    assert figure["provenance"] == "measured"
    plain = evaluate(model_dir, [task], {task.task: [0]}, tmp_path)
    assert plain[0]["protocol"] == result["protocol"]
    assert plain[1][0]["sample_hash"] == samples[0]["sample_hash"]
    assert plain[1][0]["score"] != samples[0]["score"]


@pytest.mark.parametrize("name", ["custom_prompt_answer", "custom_text"])
def test_a_broken_model_is_not_a_number(name: str, model_dir: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = random_checkpoint(tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    tensors["model.layers.1.mlp.down_proj.weight"][:] = math.nan
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    rows = prompt_rows(2) if name == "custom_prompt_answer" else [{"text": words(300)}]
    task = wire_task(name, write_rows(tmp_path / "d.jsonl", rows))
    with pytest.raises(CallFailure) as caught:
        evaluate(broken, [task], {name: [0]}, tmp_path)
    assert caught.value.kind == "not_a_number"
    layer = "model.layers.1.mlp.down_proj, whose weight holds NaN or infinities"
    assert layer in caught.value.message
    assert not (tmp_path / "samples.parquet").exists()


def test_a_task_that_fails_leaves_the_others_their_figures(model_dir: Path, tmp_path: Path) -> None:
    good = wire_task("custom_prompt_answer", write_rows(tmp_path / "a.jsonl", prompt_rows(4)))
    path = write_rows(tmp_path / "b.jsonl", [{"text": words(900)}])
    long = wire_task("custom_text", path, window_tokens=300)  # the model reads 256
    rows = {long.task: [0], good.task: [0, 1, 3]}
    result, samples, _ = evaluate(model_dir, [long, good], rows, tmp_path)
    assert [m["task"] for m in result["measurements"]] == [good.task]
    assert {sample["task"] for sample in samples} == {good.task}
    assert list(result["protocol"]) == [good.task]
    (refused,) = result["refused"]
    assert (refused["task"], refused["kind"]) == (long.task, "bad_input")
    assert "in windows of 300 tokens: the model reads 256" in refused["message"]
    with pytest.raises(CallFailure, match="windows of 300 tokens"):
        evaluate(model_dir, [long], {long.task: [0]}, tmp_path)


def test_a_machine_that_runs_out_of_memory_fails_the_call(
    model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may do all tasks another time: nothing is said of the model."""
    from pare_backends.calls import evaluate as call

    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(call, "ask_harness", full)
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "a.jsonl", prompt_rows(4)))
    path = write_rows(tmp_path / "b.jsonl", [{"text": words(90)}])
    text = wire_task("custom_text", path, window_tokens=32)
    with pytest.raises(MemoryError):
        evaluate(model_dir, [text, task], {task.task: [0], text.task: [0]}, tmp_path)


@pytest.mark.parametrize(
    ("rows", "metric", "reason"),
    [
        ([0, 5], "acc,none", "it has 5 rows"),
        ([], "acc,none", "no rows are selected"),
        ([0], "f1,none", "lm-eval gives acc,none"),
    ],
)
def test_a_wrong_request_is_refused(
    rows: list[int], metric: str, reason: str, model_dir: Path, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "d.jsonl", prompt_rows(5))
    task = wire_task("custom_prompt_answer", path, metric=metric)
    with pytest.raises(CallFailure, match=reason) as caught:
        evaluate(model_dir, [task], {task.task: rows}, tmp_path)
    assert caught.value.kind == "bad_input"


@pytest.mark.parametrize("name", ["", "Half", "../up", "half-way", "a" * 33])
def test_a_rung_of_no_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="Cannot evaluate on the rung") as caught:
        evaluate(tmp_path, [], {}, tmp_path, fidelity=name)
    assert caught.value.kind == "bad_input"


def test_figures_are_of_the_rung_that_was_asked_for(model_dir: Path, tmp_path: Path) -> None:
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", prompt_rows(3)))
    result, _, _ = evaluate(model_dir, [task], {task.task: [0, 2]}, tmp_path, fidelity="half")
    assert {row["fidelity"] for row in result["measurements"]} == {"half"}
