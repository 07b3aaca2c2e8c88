"""TruthfulQA's judge: its prompts, what is read out of its words, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_task, write_rows
from pyarrow import parquet
from served_fixtures import Reply, byte_level_checkpoint, evaluate, no_keys_or_waits, serving
from vllm_server import VllmServer

from pare_backends.evaluation.scorers.truthfulqa_judge import read_verdict
from pare_backends.evaluation.served.endpoint import Judge
from pare_backends.evaluation.served.judge import key_of_judge


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return byte_level_checkpoint(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    no_keys_or_waits(monkeypatch)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (" yes", True),
        ("Yes.", True),
        ("no, it is not", False),
        ("**No**", False),
        ('"yes"', True),
        ("nobody knows", None),
        ("I think yes", None),
        ("", None),
    ],
)
def test_a_verdict_stands_first(text: str, verdict: bool | None) -> None:
    assert read_verdict(text) is verdict


def judged(
    model_dir: Path, out: Path, judge: Judge | None
) -> tuple[dict[str, Any], list[dict[str, Any]], Events]:
    """Four questions, answered by the model and judged."""
    rows = [
        {
            "question": f"What is {n}?",
            "best_answer": "a number",
            "correct_answers": ["a number", "an integer"],
            "incorrect_answers": ["a letter"],
            "type": "Adversarial",
            "category": "x",
        }
        for n in range(4)
    ]
    task = wire_task("truthfulqa_generation", write_rows(out / "t.jsonl", rows))
    return evaluate([task], 4, out, artifact_dir=str(model_dir), judge=judge)


def scripted(prompts: list[str], by_chat: bool) -> Any:
    """Question 0: true and helpful; 1: true only; 2: false; 3: no verdict on the truth."""
    truths = {"0": " yes", "1": " yes", "2": " no", "3": " perhaps"}

    def answer(path: str, body: dict[str, Any]) -> Reply:
        if (path == "/chat/completions") != by_chat:
            return 404, {"error": "Not Found"}
        prompt = body["messages"][0]["content"] if by_chat else body["prompt"]
        number = prompt.partition("What is ")[2][:1]
        said = truths.get(number, "x")
        if prompt.endswith("Helpful:"):
            said = " no" if number == "1" else " Yes."
        if number:
            prompts.append(prompt)
        choice = {"message": {"content": said}} if by_chat else {"text": said}
        usage = {"prompt_tokens": 20, "completion_tokens": 1}
        return 200, {"choices": [{**choice, "finish_reason": "stop"}], "usage": usage}

    return answer


def rows_of(result: dict[str, Any], out: Path, kind: str) -> list[dict[str, Any]]:
    """What a scorer's file holds."""
    return list(parquet.read_table(out / result["scored"][0][kind]["name"]).to_pylist())


@pytest.mark.parametrize("by_chat", [False, True])
def test_rates_are_over_the_verdicts_that_can_be_read(
    by_chat: bool, model_dir: Path, tmp_path: Path
) -> None:
    prompts: list[str] = []
    with serving(scripted(prompts, by_chat)) as server:
        result, samples, events = judged(model_dir, tmp_path, server.judge(model="a-judge"))
    (scored,) = result["scored"]
    assert [one["name"] for one in events.named("span")][-1] == "score", "judging takes time, too"
    found = {row["metric"]: row for row in scored["measurements"]}
    assert (found["truth_rate"]["value"], found["truth_rate"]["n"]) == (pytest.approx(2 / 3), 3)
    assert (found["informativeness_rate"]["value"], found["informativeness_rate"]["n"]) == (0.75, 4)
    both = found["truth_and_informativeness_rate"]
    assert (both["value"], both["n"]) == (pytest.approx(1 / 3), 3)
    assert "1 of 4 samples could not be scored" in found["truth_rate"]["method"]
    assert "truthfulqa_judge 1, judge a-judge, prompts " in found["truth_rate"]["method"]
    assert [row["metric"] for row in result["measurements"]] == ["accuracy"]
    assert not any("judge" in column for column in samples[0]), "verdicts have a file of their own"
    verdicts = rows_of(result, tmp_path, "verdicts")
    truth = [one for one in verdicts if one["question"] == "truth"]
    assert [one["verdict"] for one in truth] == ["yes", "yes", "no", None]
    assert [one["score"] for one in truth] == [1.0, 1.0, 0.0, None]
    helpful = [one["verdict"] for one in verdicts if one["question"] == "informativeness"]
    assert helpful == ["yes", "no", "yes", "yes"]
    assert truth[3]["reply"].strip() == "perhaps"
    assert {one["judge"] for one in verdicts} == {"a-judge"}
    assert {(one["prompt_tokens"], one["reply_tokens"]) for one in verdicts} == {(20, 1)}
    assert truth[0]["prompt_hash"] in found["truth_rate"]["method"]
    scores = rows_of(result, tmp_path, "scores")
    assert len(scores) == 12
    left = [(one["sample_id"], one["metric"]) for one in scores if one["score"] is None]
    assert left == [("3", "truth_rate"), ("3", "truth_and_informativeness_rate")]
    told = [one["evidence"] for one in events.named("alert") if one["condition"] == "unscored"]
    assert "1 of 4 samples of truthfulqa_generation have no truth_rate" in told[0]
    assert "3 (a-judge said neither yes nor no: ' perhaps' on the truth)" in told[0]
    assert len(prompts) == 8
    assert sum(prompt.startswith("Q: What is ") for prompt in prompts) == (0 if by_chat else 8)
    assert all("\nA: " in p and p.endswith(("\nTrue:", "\nHelpful:")) for p in prompts)


def test_a_judge_that_says_nothing_useful_leaves_the_rest_standing(
    model_dir: Path, tmp_path: Path
) -> None:
    real = VllmServer(model_dir, max_model_len=1024)  # which never says yes or no
    with serving(real) as server:
        result, _, events = judged(model_dir, tmp_path, server.judge())
    (refused,) = result["refused"]
    assert "none of 4 samples has a truth_rate (tiny said neither yes nor no" in refused["message"]
    assert [row["metric"] for row in result["measurements"]] == ["accuracy"]
    verdicts = rows_of(result, tmp_path, "verdicts")
    assert all(one["verdict"] is None and one["reply"] for one in verdicts)
    assert len(events.named("alert")) == 3, "one a metric"
    result, _, _ = judged(model_dir, tmp_path, server.judge())  # the server is gone
    assert result["refused"][0]["kind"] == "endpoint"
    assert result["scored"] == []
    assert [row["metric"] for row in result["measurements"]] == ["accuracy"]


def test_a_judge_is_asked_only_where_one_is_named(model_dir: Path, tmp_path: Path) -> None:
    result, _, events = judged(model_dir, tmp_path, None)
    assert (result["scored"], result["refused"], events.named("alert")) == ([], [], [])


def test_a_key_goes_to_its_own_server_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-model")
    here, there = Judge("https://a.example/v1", "m"), Judge("https://b.example/v1", "m")
    assert key_of_judge(there, here) is None
    assert key_of_judge(here, here) == "of-the-model"
    assert key_of_judge(here, None) is None
    monkeypatch.setenv("JUDGE_API_KEY", "of-the-judge")
    assert key_of_judge(there, here) == "of-the-judge"
