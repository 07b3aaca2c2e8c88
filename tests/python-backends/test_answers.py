"""Answers of an earlier evaluation: the same scores to the last bit, and only what is missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import random_checkpoint, wire_task, words, write_rows
from test_evaluate import CHOICES, evaluate, prompt_rows

from pare_backends.evaluation.answers import Answers, split_apart
from pare_backends.evaluation.tasks.wire_task import SampleSelection, WireTask

PROXY = {
    "custom_prompt_answer": [1, 4, 5],
    "everyday_choice": [0, 3],
    "custom_text": [1, 2],
    "generated": [0, 3, 7],
}
FULL = {
    "custom_prompt_answer": list(range(9)),
    "everyday_choice": [0, 1, 3, 5],
    "custom_text": [0, 1, 2, 4],
    "generated": list(range(9)),
}
HALF = {
    "custom_prompt_answer": [1, 2, 4, 5, 7],
    "everyday_choice": [0, 1, 3],
    "custom_text": [1, 2, 4],
    "generated": [0, 3, 5, 7],
}
REQUESTS = {"proxy": 3 + 2 * 4 + 2 + 3, "half": 5 + 3 * 4 + 3 + 4, "full": 9 + 4 * 4 + 4 + 9}
GENERATED = {
    "output_type": "generate_until",
    "doc_to_text": "{{prompt}}",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"do_sample": False, "max_gen_toks": 9, "until": ["?"]},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("answers")


@pytest.fixture(scope="module")
def tasks(folder: Path) -> list[WireTask]:
    random_checkpoint(folder / "model")
    choices = [{"question": words(5, i), "choices": CHOICES, "answer": i % 4} for i in range(6)]
    texts = write_rows(folder / "t.jsonl", [{"text": words(200)}])
    return [
        wire_task("custom_prompt_answer", write_rows(folder / "p.jsonl", prompt_rows(9))),
        wire_task("everyday_choice", write_rows(folder / "c.jsonl", choices)),
        wire_task("custom_text", texts, window_tokens=32),
        dataclasses.replace(
            wire_task("custom_prompt_answer", folder / "p.jsonl"),
            task="generated",
            metric="exact_match,none",
            definition=GENERATED,
        ),
    ]


def run(
    tasks: list[WireTask],
    folder: Path,
    rows: dict[str, list[int]],
    answers: Path | None,
    below: Sequence[dict[str, list[int]]] | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Result and samples, without what a clock decides. `below`: rungs, else the proxy."""
    rungs = ([] if rows is PROXY else [PROXY]) if below is None else below
    apart = [SampleSelection(name, one) for rung in rungs for name, one in rung.items()]
    path = None if answers is None else str(answers)
    result, samples, _ = evaluate(
        folder / "model", tasks, rows, folder, batched_apart=apart, answers_path=path
    )
    return result, [{**sample, "seconds": 0} for sample in samples]


@pytest.fixture(scope="module")
def fresh(tasks: list[WireTask], folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A full evaluation that reuses nothing."""
    return run(tasks, folder, FULL, None)


def test_a_full_evaluation_takes_the_proxys_answers(
    tasks: list[WireTask], folder: Path, fresh: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    proxy, _ = run(tasks, folder, PROXY, folder / "a.jsonl")
    assert (proxy["requests"], proxy["reused_requests"]) == (REQUESTS["proxy"], 0)
    full, samples = run(tasks, folder, FULL, folder / "a.jsonl")
    assert samples == fresh[1]
    assert full["protocol"] == fresh[0]["protocol"]
    assert (full["requests"], full["reused_requests"]) == (REQUESTS["full"], REQUESTS["proxy"])
    first, plain = full["measurements"][0], fresh[0]["measurements"][0]
    assert "3 of 9 requests answered by an earlier evaluation" in first["method"]
    assert {**first, "method": plain["method"]} == plain


def test_each_rung_takes_the_answers_of_those_below_to_the_last_bit(
    tasks: list[WireTask], folder: Path
) -> None:
    ladder = [PROXY, HALF, FULL]
    path = folder / "rungs.jsonl"
    climbed = [run(tasks, folder, rung, path, ladder[:i]) for i, rung in enumerate(ladder)]
    told = [(result["requests"], result["reused_requests"]) for result, _ in climbed]
    proxy, half, full = (REQUESTS[name] for name in ("proxy", "half", "full"))
    assert told == [(proxy, 0), (half, proxy), (full, half)]
    for i, rung in enumerate(ladder):
        alone, samples = run(tasks, folder, rung, None, ladder[:i])
        assert alone["reused_requests"] == 0
        assert samples == climbed[i][1]


def test_a_killed_evaluation_goes_on_where_it_stopped(
    tasks: list[WireTask], folder: Path, fresh: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    path = folder / "b.jsonl"
    run(tasks, folder, FULL, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * 0.6)])  # in the middle of a line
    result, samples = run(tasks, folder, FULL, path)
    assert 0 < result["reused_requests"] < result["requests"]
    assert samples == fresh[1]
    again, samples = run(tasks, folder, FULL, path)
    assert again["reused_requests"] == again["requests"]
    assert samples == fresh[1]


def test_the_seconds_of_a_reused_answer_are_those_it_took(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    answer, seconds = Answers(path, "cpu").once(["a"], 2, lambda: [0.1 + 0.2, True])
    later = Answers(path, "cpu")
    assert later.once(["a"], 2, lambda: [0.0, False]) == (answer, seconds)
    assert later.reused == 2
    assert Answers(path, "cuda").once(["a"], 2, lambda: [0.0, False])[0] == [0.0, False]


def test_rows_are_split_without_losing_one() -> None:
    assert split_apart([1, 2, 3, 7], [{2, 7, 9}]) == [[2, 7], [1, 3]]
    assert split_apart([1, 2], [set()]) == [[1, 2]]
    assert split_apart([1, 2]) == [[1, 2]]
    assert split_apart([1, 2], [{1, 2}]) == [[1, 2]]
    assert split_apart([1, 2, 3, 4, 5], [{4}, {4, 2}, {4, 2, 1}]) == [[4], [2], [1], [3, 5]]
