"""TruthfulQA's judge: its prompts, what is read out of its words, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, random_checkpoint, wire_task, write_rows
from served_fixtures import ModelServer, Reply, serving

from pare_backends.evaluate import EvaluateRequest, run
from pare_backends.evaluation.judge import read_verdict
from pare_backends.evaluation.served_client import Endpoint, ServedClient
from pare_backends.evaluation.served_tasks import key_of_judge
from pare_backends.evaluation.wire import SampleSelection


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_checkpoint(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(ServedClient, "_wait", lambda *_: None)


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


def judged(model_dir: Path, out: Path, judge: Endpoint) -> tuple[dict[str, Any], Events]:
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
    events = Events()
    request = EvaluateRequest(
        artifact_dir=str(model_dir),
        tasks=[task],
        selections=[SampleSelection(task.task, [0, 1, 2, 3])],
        fidelity="full",
        batch_size=4,
        samples_path=str(out / "samples.parquet"),
        seed=1,
        batched_apart=[],
        answers_path=None,
        answer_chars=4000,
        runtime=None,
        allow_unsafe_code=False,
        judge=judge,
    )
    return run(request, events.report), events


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
        return 200, {"choices": [{**choice, "finish_reason": "stop"}]}

    return answer


@pytest.mark.parametrize("by_chat", [False, True])
def test_rates_are_over_the_verdicts_that_can_be_read(
    by_chat: bool, model_dir: Path, tmp_path: Path
) -> None:
    prompts: list[str] = []
    with serving(scripted(prompts, by_chat)) as server:
        result, _ = judged(model_dir, tmp_path, server.endpoint(model="a-judge"))
    found = {row["metric"]: row for row in result["measurements"]}
    assert (found["truth_rate"]["value"], found["truth_rate"]["n"]) == (pytest.approx(2 / 3), 3)
    assert (found["informativeness_rate"]["value"], found["informativeness_rate"]["n"]) == (0.75, 4)
    both = found["truth_and_informativeness_rate"]
    assert (both["value"], both["n"]) == (pytest.approx(1 / 3), 3)
    assert "1 of 4 verdicts were neither yes nor no" in found["truth_rate"]["method"]
    assert "judge a-judge, prompts " in found["truth_rate"]["method"]
    assert "accuracy" in found, "the automatic metric stands beside it"
    assert len(prompts) == 8
    assert sum(prompt.startswith("Q: What is ") for prompt in prompts) == (0 if by_chat else 8)
    assert all("\nA: " in p and p.endswith(("\nTrue:", "\nHelpful:")) for p in prompts)


def test_a_judge_that_says_nothing_useful_leaves_the_rest_standing(
    model_dir: Path, tmp_path: Path
) -> None:
    with serving(ModelServer(model_dir)) as server:  # a real model, which never says yes or no
        result, _ = judged(model_dir, tmp_path, server.endpoint())
    (refused,) = result["refused"]
    assert "tiny answered none of 4 questions by yes or no" in refused["message"]
    assert [row["metric"] for row in result["measurements"]] == ["accuracy"]
    result, _ = judged(model_dir, tmp_path, server.endpoint())  # the server is gone
    assert result["refused"][0]["kind"] == "endpoint"
    assert [row["metric"] for row in result["measurements"]] == ["accuracy"]


def test_a_key_goes_to_its_own_server_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-model")
    here, there = Endpoint("https://a.example/v1", "m"), Endpoint("https://b.example/v1", "m")
    assert key_of_judge(there, here) is None
    assert key_of_judge(here, here) == "of-the-model"
    assert key_of_judge(here, None) is None
    monkeypatch.setenv("JUDGE_API_KEY", "of-the-judge")
    assert key_of_judge(there, here) == "of-the-judge"
