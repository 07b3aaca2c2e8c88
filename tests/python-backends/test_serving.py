"""The server of artifacts, as a process: it says what the artifact says, in every runtime."""

from __future__ import annotations

import dataclasses
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from runtime_fixtures import exporter, rounded, run_worker, worker_environment
from served_fixtures import byte_level_checkpoint, evaluate, no_keys_or_waits
from test_gguf import written
from test_llama_cpp import interpreter
from test_served import tasks_of

from pare_backends.checkpoint import read, write
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.checkpoint.setting import Setting, write_setting
from pare_backends.evaluation.served.endpoint import Endpoint
from pare_backends.measuring.answering import EvaluationRuntime

TEXT = "The capital of France is seven and the sun rises"
ROWS = 6


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    no_keys_or_waits(monkeypatch)


@dataclass(frozen=True)
class Form:
    """An artifact as a runtime loads it."""

    artifact: Path
    runtime: str = "transformers"
    form: Path | None = None
    python: str = sys.executable

    def words(self) -> list[str]:
        form = [] if self.form is None else ["--form-dir", str(self.form)]
        runtime = ["--runtime", self.runtime, "--python", self.python]
        return [str(self.artifact), "--name", "small", *runtime, *form]

    def evaluation(self) -> EvaluationRuntime | None:
        if self.form is None:
            return None
        return EvaluationRuntime(self.runtime, str(self.form), self.python)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 4-bit artifact whose tokenizer puts nothing before a text."""
    folder = tmp_path_factory.mktemp("artifact")
    checkpoint = read(byte_level_checkpoint(folder / "floats"))
    stored = {
        name.removesuffix(".weight"): rounded(checkpoint.floats[name], 4, 32, True)
        for name in checkpoint.floats
        if name.endswith("_proj.weight")
    }
    write(checkpoint.with_stored(stored), folder / "packed")
    return folder / "packed"


def form_of(artifact: Path, runtime: str, folder: Path) -> Form:
    if runtime == "transformers":
        return Form(artifact)
    if runtime == "llama.cpp":
        return Form(artifact, runtime, written(artifact)[0], interpreter())
    asked = {"call": "make_form", "runtime": runtime, "artifact_dir": str(artifact)}
    output = folder / "graph"
    events = run_worker(exporter(), {**asked, "output_dir": str(output), "exact": False})
    assert events[-1]["event"] == "result", events[-1]
    return Form(artifact, runtime, output)


@contextmanager
def server_of(words: list[str]) -> Iterator[str]:
    """The base URL of a server, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["-m", "pare_backends.supervised", "pare_backends.serving", *words]
    process = subprocess.Popen(
        [sys.executable, *command, "--port", str(port)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**worker_environment(), "OMP_NUM_THREADS": "1"},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while process.poll() is None:
            try:
                if httpx.get(f"{url}/health").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        else:
            raise RuntimeError(process.stderr.read().decode() if process.stderr else "")
        yield f"{url}/v1"
    finally:
        process.terminate()
        process.wait()


def post(url: str, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = httpx.post(f"{url}/{path}", json=body, timeout=60)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("runtime", "tolerance"),
    [("transformers", 1e-5), ("openvino", 1e-3), ("llama.cpp", None)],
)
def test_a_served_artifact_says_what_the_artifact_says(
    artifact: Path, runtime: str, tolerance: float | None, tmp_path: Path
) -> None:
    """Every sample's log-likelihood and text, through the whole of an evaluation; and the tokens of
    a text against the dequantized model in torch, where the runtime's numerics are its own."""
    form = form_of(artifact, runtime, tmp_path)
    tasks = tasks_of(tmp_path)[:3]
    _, own, _ = evaluate(
        tasks,
        ROWS,
        tmp_path,
        artifact_dir=str(artifact),
        runtime=form.evaluation(),
        batch_size=1,
    )
    with server_of(form.words()) as url:
        result, samples, _ = evaluate(tasks, ROWS, tmp_path, Endpoint(url, "small", str(artifact)))
        _, answer = post(
            url,
            "completions",
            prompt=TEXT,
            echo=True,
            logprobs=1,
            max_tokens=1,
            temperature=0,
        )
    assert result["refused"] == []
    assert len(samples) == len(own) == 3 * ROWS
    for one, other in zip(samples, own, strict=True):
        for name in ("task", "sample_hash", "prompt_hash", "gold", "score", "answer"):
            assert one[name] == other[name]
        assert one["log_likelihood"] == pytest.approx(other["log_likelihood"], abs=1e-4)
    told = answer["choices"][0]["logprobs"]
    assert answer["choices"][0]["text"].startswith(TEXT)
    assert told["token_logprobs"][0] is None and told["text_offset"][0] == 0
    if tolerance is None:
        return
    model, tokenizer = load_dequantized(artifact)
    tokens = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        expected = model(tokens).logits[0].log_softmax(dim=-1)
    for place in range(1, tokens.shape[1]):
        value = float(expected[place - 1, tokens[0, place]])
        assert told["token_logprobs"][place] == pytest.approx(value, abs=tolerance)
        best = max(told["top_logprobs"][place].values())
        assert best == pytest.approx(float(expected[place - 1].max()), abs=tolerance)


def test_a_served_setting_answers_as_its_trial_and_scores_no_given_text(
    artifact: Path, tmp_path: Path
) -> None:
    """A cache that is cut by what was read, before the last token of a prompt."""
    knobs = {"budget_in": "tokens", "budget": 16, "share": 0.25, "sinks": 0, "window": 4}
    values = {**knobs, "kernel": 3, "pool": "mean"}
    write_setting(Setting("kv_cache", "snapkv", values, "0123456789abcdef"), tmp_path / "cut")
    place = {"artifact_dir": str(tmp_path / "cut"), "weights_dir": str(artifact)}
    (task,) = [task for task in tasks_of(tmp_path) if task.task == "generated"]
    long = {**task.definition, "doc_to_text": " ".join(["{{prompt}}"] * 4)}
    tasks = [dataclasses.replace(task, definition=long)]
    _, own, _ = evaluate(tasks, ROWS, tmp_path, evict_after="context", batch_size=1, **place)
    _, whole, _ = evaluate(tasks, ROWS, tmp_path, artifact_dir=str(artifact), batch_size=1)
    words = [str(tmp_path / "cut"), "--name", "small", "--weights-dir", str(artifact)]
    with server_of(words) as url:
        _, served, _ = evaluate(tasks, ROWS, tmp_path, Endpoint(url, "small", str(artifact)))
        status, refused = post(url, "completions", prompt=TEXT, echo=True, logprobs=1)
    assert [one["answer"] for one in served] == [one["answer"] for one in own]
    assert [one["answer"] for one in own] != [one["answer"] for one in whole]
    assert status == 400 and "what is kept depends on" in refused["error"]["message"]


@pytest.fixture(scope="module")
def url(artifact: Path) -> Iterator[str]:
    with server_of([*Form(artifact).words(), "--max-model-len", "64"]) as found:
        yield found


def streamed(url: str, path: str, **body: Any) -> list[dict[str, Any]]:
    with httpx.stream("POST", f"{url}/{path}", json={**body, "stream": True}, timeout=60) as answer:
        assert answer.status_code == 200
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_a_stream_adds_up_to_the_answer(url: str) -> None:
    asked = {
        "prompt": "One two three",
        "max_tokens": 20,
        "temperature": 0,
        "ignore_eos": True,
    }
    _, whole = post(url, "completions", **asked, logprobs=2)
    parts = streamed(url, "completions", **asked, stream_options={"include_usage": True})
    *parts, counted = parts
    assert "".join(part["choices"][0]["text"] for part in parts) == whole["choices"][0]["text"]
    assert parts[-1]["choices"][0]["finish_reason"] == "length"
    assert counted["usage"] == whole["usage"] and whole["usage"]["completion_tokens"] == 20
    told = whole["choices"][0]["logprobs"]
    for value, top in zip(told["token_logprobs"], told["top_logprobs"], strict=True):
        assert value == max(top.values())


def test_a_stop_ends_a_text_and_is_left_out(url: str) -> None:
    asked = {
        "prompt": "One two three",
        "max_tokens": 24,
        "temperature": 0,
        "ignore_eos": True,
    }
    _, whole = post(url, "completions", **asked)
    text = whole["choices"][0]["text"]
    stop = text[len(text) // 2 :][:3]
    _, cut = post(url, "completions", **asked, stop=[stop, "never said"])
    assert cut["choices"][0]["text"] == text[: text.index(stop)]
    assert cut["choices"][0]["finish_reason"] == "stop"
    parts = streamed(url, "completions", **asked, stop=stop)
    said = "".join(part["choices"][0]["text"] for part in parts)
    assert said == cut["choices"][0]["text"]


def test_draws_are_repeated_by_their_seed_and_follow_the_model(url: str) -> None:
    asked = {
        "prompt": "One two",
        "max_tokens": 12,
        "temperature": 1.0,
        "ignore_eos": True,
    }
    texts = [post(url, "completions", **asked, seed=seed)[1]["choices"][0]["text"] for seed in
             (1, 1, 2)]  # fmt: skip
    assert texts[0] == texts[1] != texts[2]
    greedy = post(url, "completions", **{**asked, "temperature": 0})[1]["choices"][0]["text"]
    narrow = post(url, "completions", **asked, seed=3, top_p=1e-9)[1]["choices"][0]["text"]
    assert narrow == greedy


def test_several_prompts_are_answered_in_their_order(url: str) -> None:
    prompts = ["One two", "The sun", "Three"]
    asked = {"max_tokens": 4, "temperature": 0, "ignore_eos": True}
    _, together = post(url, "completions", prompt=prompts, **asked)
    alone = [post(url, "completions", prompt=one, **asked)[1]["choices"][0]["text"] for one in
             prompts]  # fmt: skip
    assert [choice["text"] for choice in together["choices"]] == alone


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"prompt": "a", "max_token": 3}, 400, 'Unknown field "max_token". Did you mean "max_tokens"'),
    ({"prompt": "a", "model": "other"}, 404, "The model 'other' is not here: it is 'small'"),
    ({"prompt": "a", "n": 2}, 400, "n is not heeded here"),
    ({"prompt": "a", "max_tokens": 64}, 400, "maximum context length is 64 tokens: the prompt has"),
    ({"prompt": ""}, 400, "prompt is empty"),
    ({"prompt": [1, 99999]}, 400, "prompt must be a text, token ids of the vocabulary"),
    ({"prompt": "a", "temperature": "hot"}, 400, "temperature must be a number from 0.0 to 2.0"),
    ({"prompt": "a", "max_tokens": 0}, 400, "max_tokens must be a whole number from 1 on, not 0"),
    ({"prompt": "a", "stop": [""]}, 400, "stop must be a text or a list of texts, none empty"),
    ({"prompt": "a", "repetition_penalty": 1.0}, 400, 'Unknown field "repetition_penalty"'),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "message"), REFUSED)
def test_what_is_not_heeded_is_refused(
    url: str, body: dict[str, Any], status: int, message: str
) -> None:
    found, answer = post(url, "completions", **body)
    assert found == status
    assert message in answer["error"]["message"]


def test_other_paths_and_bodies_are_refused(url: str) -> None:
    assert httpx.get(f"{url}/completions").status_code == 405
    assert httpx.get(f"{url}/nothing").status_code == 404
    assert httpx.post(f"{url}/completions", content=b"{").status_code == 400
    status, answer = post(url, "chat/completions", messages=[{"role": "user", "content": "hi"}])
    assert status == 400 and "no chat template" in answer["error"]["message"]
    _, models = 0, httpx.get(f"{url}/models").json()
    assert models["data"][0]["id"] == "small" and models["data"][0]["max_model_len"] == 64


def test_a_chat_stands_in_the_models_template(artifact: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "chatty"
    shutil.copytree(artifact, folder)
    (folder / "chat_template.jinja").write_text(
        "{% for one in messages %}<{{ one.role }}>{{ one.content }}{% endfor %}<assistant>"
    )
    with server_of(Form(folder).words()) as url:
        asked = {"max_tokens": 6, "temperature": 0}
        messages = [{"role": "user", "content": "One two"}]
        chat = {"messages": messages, **asked, "logprobs": True, "top_logprobs": 2}
        _, answer = post(url, "chat/completions", **chat)
        _, same = post(url, "completions", prompt="<user>One two<assistant>", **asked)
        parts = streamed(url, "chat/completions", messages=messages, **asked)
        status, refused = post(url, "chat/completions", messages=[{"role": "user"}])
        halves = [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]
        _, joined = post(
            url, "chat/completions", messages=[{"role": "user", "content": halves}], **asked
        )
        picture = [{"type": "image_url", "image_url": {"url": "x"}}]
        seen, _ = post(url, "chat/completions", messages=[{"role": "user", "content": picture}])
    choice = answer["choices"][0]
    assert choice["message"]["content"] == same["choices"][0]["text"]
    content = choice["logprobs"]["content"]
    assert all(one["logprob"] == one["top_logprobs"][0]["logprob"] for one in content)
    said = "".join(part["choices"][0]["delta"]["content"] for part in parts)
    assert said == choice["message"]["content"]
    assert joined["choices"][0]["message"]["content"] == choice["message"]["content"]
    assert seen == 400
    assert status == 400 and "messages must be" in refused["error"]["message"]


def test_who_hangs_up_does_not_hold_the_model(url: str) -> None:
    """A long answer that nobody waits for any more makes way."""
    long = {"prompt": "One two", "max_tokens": 60, "ignore_eos": True}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{url}/completions", json={**long, "prompt": [5] * 4}, timeout=0.001)
    status, _ = post(url, "completions", prompt="One", max_tokens=1)
    assert status == 200


def test_an_artifact_that_cannot_be_served_is_one_sentence(artifact: Path, tmp_path: Path) -> None:
    long = [*Form(artifact).words(), "--max-model-len", "100000"]
    with pytest.raises(RuntimeError, match="its own is 256"), server_of(long):
        pass
    missing = Form(tmp_path / "nothing")
    with pytest.raises(RuntimeError, match="Cannot"), server_of(missing.words()):
        pass


def test_nats_are_those_of_the_logits() -> None:
    from pare_backends.serving.writing import log_softmax

    logits = np.array([1.0, 2.0, -3.0], np.float32)
    expected = torch.from_numpy(logits).log_softmax(dim=0).numpy()
    assert np.abs(log_softmax(logits) - expected).max() < 1e-6
    with pytest.raises(FloatingPointError):
        log_softmax(np.array([1.0, np.nan], np.float32))
