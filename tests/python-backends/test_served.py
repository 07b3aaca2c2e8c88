"""A model behind a server scores as in memory; what a server does wrong is one clear sentence."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_task, words, write_rows
from served_fixtures import Reply, byte_level_checkpoint, no_keys_or_waits, serving
from served_fixtures import evaluate as evaluate_rows
from vllm_server import VllmServer

from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.endpoint import Endpoint
from pare_backends.evaluation.served.patience import Patience, retry_after
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure

KEY = "sk-served-test-0123456789"
QUICK = Patience(seconds=2, first_wait=0.01)
CHOICES = ["den", "garden mill", "the tower", "pond"]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return byte_level_checkpoint(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    no_keys_or_waits(monkeypatch)


def tasks_of(folder: Path) -> list[WireTask]:
    """A log-likelihood, a multiple choice, a generation and a perplexity task of eight rows."""
    prompts = [{"prompt": words(4 + i, i), "answer": words(1 + i % 3, i + 50)} for i in range(8)]
    text = [{"text": words(60, i)} for i in range(6)]
    written = wire_task("custom_prompt_answer", write_rows(folder / "a.jsonl", prompts))
    chosen = dataclasses.replace(
        written,
        task="chosen",
        definition={
            "output_type": "multiple_choice",
            "doc_to_text": "{{prompt}}",
            "doc_to_choice": CHOICES,
            "doc_to_target": 1,
            "metric_list": [{"metric": "acc"}],
        },
    )
    generated = dataclasses.replace(
        written,
        task="generated",
        definition={
            "output_type": "generate_until",
            "doc_to_text": "{{prompt}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {"until": ["."], "do_sample": False, "max_gen_toks": 12},
            "metric_list": [{"metric": "exact_match"}],
        },
        metric="exact_match,none",
    )
    windows = wire_task("demo_text", write_rows(folder / "t.jsonl", text), window_tokens=32)
    return [written, chosen, generated, windows]


def evaluate(
    tasks: list[WireTask], out: Path, endpoint: Endpoint | None = None, **changes: Any
) -> tuple[dict[str, Any], list[dict[str, Any]], Events]:
    return evaluate_rows(tasks, 8, out, endpoint, **changes)


def assert_same(served: list[dict[str, Any]], own: list[dict[str, Any]]) -> None:
    """Every sample: equal scores, answers and prompts; log-likelihoods to 1e-4 nats."""
    assert len(served) == len(own) > 0
    for one, other in zip(served, own, strict=True):
        for name in ("task", "sample_hash", "prompt_hash", "answer", "gold"):
            assert one[name] == other[name]
        assert one["score"] == pytest.approx(other["score"], abs=1e-4)
        assert one["log_likelihood"] == pytest.approx(other["log_likelihood"], abs=1e-4)


def test_a_server_of_token_prompts_scores_every_sample_as_in_memory(
    model_dir: Path, tmp_path: Path
) -> None:
    tasks = tasks_of(tmp_path)
    own, own_samples, _ = evaluate(tasks, tmp_path, artifact_dir=str(model_dir))
    with serving(VllmServer(model_dir)) as server:
        endpoint = server.endpoint(tokenizer_dir=str(model_dir), concurrency=3)
        result, samples, events = evaluate(tasks, tmp_path, endpoint)
    assert_same(samples, own_samples)
    assert result["protocol"] == own["protocol"], "the same protocol: they may be compared"
    assert result["refused"] == []
    assert 1 < server.most_at_once <= 3
    assert {m["device"] for m in result["measurements"]} == {"endpoint"}
    assert "served as tiny by http" in result["measurements"][0]["method"]
    last = [e for e in events.named("progress") if e["label"] == "chosen"][-1]
    assert (last["done"], last["total"]) == (32, 32)


def test_a_server_of_text_prompts_scores_by_the_places_of_its_tokens(
    model_dir: Path, tmp_path: Path
) -> None:
    tasks = tasks_of(tmp_path)
    _, own_samples, _ = evaluate(tasks[:3], tmp_path, artifact_dir=str(model_dir))
    with serving(VllmServer(model_dir, takes_tokens=False)) as server:
        _, samples, _ = evaluate(tasks[:3], tmp_path, server.endpoint())
        with_tokenizer, _, _ = evaluate(
            tasks[2:], tmp_path, server.endpoint(tokenizer_dir=str(model_dir))
        )
    assert_same(samples, own_samples)
    (refused,) = with_tokenizer["refused"]
    assert refused["task"] == "demo_text"
    assert refused["kind"] == "invalid"
    assert "windows of tokens need a prompt of token ids" in refused["message"]


def test_shifted_figures_are_refused_and_other_tasks_go_on(model_dir: Path, tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path)[:3]
    with serving(VllmServer(model_dir, shift=True)) as server:
        result, samples, _ = evaluate(tasks, tmp_path, server.endpoint())
    assert [one["task"] for one in result["refused"]] == ["custom_prompt_answer", "chosen"]
    assert "belong to other tokens" in result["refused"][0]["message"]
    assert {one["task"] for one in samples} == {"generated"}


def test_a_chat_only_server_generates_and_refuses_multiple_choice(
    model_dir: Path, tmp_path: Path
) -> None:
    def answer(path: str, body: dict[str, Any]) -> Reply:
        if path != "/chat/completions":
            return 404, {"error": "Not Found"}
        assert body["temperature"] == 0
        said = body["messages"][0]["content"].upper() + ". more"
        return 200, {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}

    tasks = tasks_of(tmp_path)[1:3]
    with serving(answer) as server:
        result, samples, _ = evaluate(tasks, tmp_path, server.endpoint())
    (refused,) = result["refused"]
    assert refused["task"] == "chosen"
    assert "it has no /completions" in refused["message"]
    assert samples[0]["answer"] == words(4, 0).upper(), "cut at the task's own stop"
    assert "chat template of the server" in result["measurements"][0]["method"]


def test_several_draws_have_seeds_of_their_own_and_their_seconds_add_up(tmp_path: Path) -> None:
    def answer(path: str, body: dict[str, Any]) -> Reply:
        if path != "/completions":
            return 404, {"error": "Not Found"}
        time.sleep(0.05)
        return 200, {"choices": [{"text": " so", "finish_reason": "stop"}]}

    generated = tasks_of(tmp_path)[2]
    drawn = {"until": ["."], "do_sample": True, "temperature": 0.2, "max_gen_toks": 12}
    definition = {**(generated.definition or {}), "generation_kwargs": drawn, "repeats": 3}
    task = dataclasses.replace(generated, definition=definition)
    with serving(answer) as server:
        _, samples, _ = evaluate([task], tmp_path, server.endpoint(concurrency=1))
        seeds = [body["seed"] for path, body in server.asked if body.get("temperature") == 0.2]
    assert len(seeds) == 8 * 3
    assert len(set(seeds[:3])) == 3
    assert all(0.15 <= one["seconds"] < 1 for one in samples)


def test_an_evaluation_that_was_killed_asks_only_for_the_rest(
    model_dir: Path, tmp_path: Path
) -> None:
    model, limit = VllmServer(model_dir), [20]

    def answer(path: str, body: dict[str, Any]) -> Reply:
        limit[0] -= 1
        return model(path, body) if limit[0] >= 0 else (500, {"error": "gone"})

    task = tasks_of(tmp_path)[1]
    kept = {"answers_path": str(tmp_path / "answers.jsonl")}
    with serving(answer) as server:
        endpoint = server.endpoint(concurrency=2)
        with pytest.raises(CallFailure) as stopped:
            evaluate([task], tmp_path, endpoint, **kept)
        assert stopped.value.kind == "endpoint"
        answered = len((tmp_path / "answers.jsonl").read_text().splitlines())
        assert 10 < answered < 20
        limit[0], asked = 1000, len(server.asked)
        result, samples, _ = evaluate([task], tmp_path, endpoint, **kept)
    assert result["reused_requests"] == answered
    probes = 3
    # Of two at once, the second was perhaps still on its way when the first ended the evaluation.
    assert len(server.asked) - asked - (32 - answered + probes) in (0, 1)
    _, own_samples, _ = evaluate([task], tmp_path, artifact_dir=str(model_dir))
    assert_same(samples, own_samples)


COMPLETION = {"choices": [{"text": "x", "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("replies", "kind", "said"),
    [
        ((500, {"error": {"message": "out of luck"}}), "endpoint", "it answers 500: out of luck"),
        ((200, b'{"choices": [{"text": "ha'), "endpoint", 'no whole JSON object: \'{"choices"'),
        ((200, {"choices": []}), "endpoint", "it answers with an empty list of choices"),
        ((200, {"choices": [{"text": None}]}), "endpoint", "it answers without a text"),
        (
            (
                200,
                {
                    "choices": [{"text": "x", "finish_reason": "length"}],
                    "usage": {"completion_tokens": 0},
                },
            ),
            "invalid",
            "it cuts its answer after 0 tokens of 1 asked for",
        ),
        ((401, {"error": "no"}), "bad_input", "it wants a key (401: no)"),
        (
            (404, {"error": {"message": "The model `tiny` does not exist."}}),
            "bad_input",
            'Unknown model "tiny"',
        ),
    ],
)
def test_what_a_server_does_wrong_is_one_sentence(
    replies: Reply, kind: str, said: str, tmp_path: Path
) -> None:
    with serving(lambda path, body: replies) as server, pytest.raises(CallFailure) as failed:
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint())
    assert failed.value.kind == kind
    assert said in failed.value.message
    assert "\n" not in failed.value.message and len(failed.value.message) < 400
    assert server.base_url in failed.value.message


def test_a_wrong_name_gets_the_nearest_of_the_servers_list(tmp_path: Path) -> None:
    def answer(path: str, body: dict[str, Any]) -> Reply:
        if path == "/models":
            return 200, {"data": [{"id": "SmolLM2-135M"}, {"id": "other"}]}
        return 400, {"detail": f"no such model: {body['model']}"}

    with serving(answer) as server, pytest.raises(CallFailure) as failed:
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint(model="SmolLM2-153M"))
    assert 'Did you mean "SmolLM2-135M"?' in failed.value.message
    assert "--served-model" in str(failed.value.hint)


def test_an_unnamed_model_is_the_only_one_listed(model_dir: Path, tmp_path: Path) -> None:
    with serving(VllmServer(model_dir)) as server:
        result, _, _ = evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint(model=None))
    assert "served as tiny" in result["measurements"][0]["method"]

    def two(path: str, body: dict[str, Any]) -> Reply:
        return 200, {"data": [{"id": "a"}, {"id": "b"}]}

    with serving(two) as server, pytest.raises(CallFailure, match="it lists a, b"):
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint(model=None))


def test_a_server_that_is_down_is_said_with_its_address(tmp_path: Path) -> None:
    with serving(lambda path, body: (200, COMPLETION)) as server:
        pass
    with pytest.raises(CallFailure) as failed:
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint())
    assert failed.value.kind == "endpoint"
    assert f"Cannot evaluate on {server.base_url}: it cannot be reached" in failed.value.message
    assert re.search(r"\(\d tries in 2\d s\)", failed.value.message)


def test_the_key_is_sent_and_never_said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def answer(path: str, body: dict[str, Any]) -> Reply:
        return 401, {"error": {"message": f"Incorrect API key provided: {KEY}."}}

    with serving(answer) as server, pytest.raises(CallFailure) as failed:
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint())
    assert server.keys[0] == f"Bearer {KEY}"
    assert "refuses the key of OPENAI_API_KEY" in failed.value.message
    assert "Incorrect API key provided: [key]." in failed.value.message
    said = failed.value.message + str(failed.value.hint) + "".join(capfd.readouterr())
    assert KEY not in said and KEY[:12] not in said
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nx")
    with pytest.raises(CallFailure, match="no header can carry") as broken:
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint())
    assert KEY not in broken.value.message


def test_answers_hold_no_key(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    kept = tmp_path / "answers.jsonl"
    with serving(VllmServer(model_dir)) as server:
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint(), answers_path=str(kept))
    assert server.keys[-1] == f"Bearer {KEY}"
    for file in (kept, tmp_path / "samples.parquet"):
        assert file.stat().st_size > 0
        assert KEY.encode() not in file.read_bytes()


def test_it_waits_as_long_as_the_server_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    busy = [2]

    def answer(path: str, body: dict[str, Any]) -> Reply:
        busy[0] -= 1
        return (429, {"error": "slow down"}) if busy[0] >= 0 else (200, {"text": "done"})

    with serving(answer, {"retry-after": "0.3"}) as server:
        client = ServedClient(server.endpoint(), None, QUICK)
        started = time.monotonic()
        assert client.post("/completions", {}) == {"text": "done"}
    assert 0.6 < time.monotonic() - started < 2
    assert retry_after("7") == 7
    assert retry_after("Thu, 01 Jan 1970 00:01:40 GMT", lambda: 40.0) == 60
    assert retry_after("soon") is None


def test_a_slow_answer_is_given_up_after_the_time_limit(tmp_path: Path) -> None:
    def answer(path: str, body: dict[str, Any]) -> Reply:
        time.sleep(0.5)
        return 200, COMPLETION

    with serving(answer) as server, pytest.raises(CallFailure, match=r"not answer in 0\.1 s"):
        evaluate(tasks_of(tmp_path)[2:3], tmp_path, server.endpoint(timeout_seconds=0.1))


def test_prompts_stand_in_the_chat_template_where_it_is_asked(
    model_dir: Path, tmp_path: Path
) -> None:
    tasks = tasks_of(tmp_path)[1:3]
    with pytest.raises(CallFailure, match="has none") as none:
        evaluate(tasks, tmp_path, artifact_dir=str(model_dir), chat_template=True)
    assert none.value.kind == "bad_input"
    plain, plain_samples, _ = evaluate(tasks, tmp_path, artifact_dir=str(model_dir))
    chatty = tmp_path / "chatty"
    byte_level_checkpoint(chatty)
    config = json.loads((chatty / "tokenizer_config.json").read_text())
    config["chat_template"] = "{% for m in messages %}the {{ m.content }} den {% endfor %}"
    (chatty / "tokenizer_config.json").write_text(json.dumps(config))
    own, own_samples, _ = evaluate(tasks, tmp_path, artifact_dir=str(chatty), chat_template=True)
    assert own["protocol"] != plain["protocol"], "another protocol: they may not be compared"
    assert own_samples[0]["prompt_hash"] != plain_samples[0]["prompt_hash"]
    assert "chat template" in own["measurements"][0]["method"]
    with serving(VllmServer(chatty)) as server:
        endpoint = server.endpoint(tokenizer_dir=str(chatty))
        result, samples, _ = evaluate(tasks, tmp_path, endpoint, chat_template=True)
        without, _, _ = evaluate(tasks, tmp_path, server.endpoint())
    assert_same(samples, own_samples)
    assert result["protocol"] == own["protocol"]
    assert without["protocol"] == plain["protocol"]
