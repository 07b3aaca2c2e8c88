"""llama-cpp-python's real server on a GGUF file: its log-likelihoods are those of the model in
memory."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from runtime_fixtures import worker_environment
from served_fixtures import byte_level_checkpoint, evaluate, no_keys_or_waits
from test_gguf import written
from test_llama_cpp import interpreter
from test_served import tasks_of

from pare_backends.evaluation.served.endpoint import Endpoint


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    no_keys_or_waits(monkeypatch)


SERVER = (
    "import pare_backends.runtimes.llama_cpp.library\n"
    "from llama_cpp.server.__main__ import main\n"
    "main()"
)


@contextmanager
def llama_cpp_server(model_dir: Path) -> Iterator[Endpoint]:
    """The server of a checkpoint's float32 weights, until the block ends."""
    gguf, _ = written(model_dir, exact=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "model": gguf / "model.gguf", "model_alias": "tiny", "port": port, "n_ctx": 256,
        "logits_all": "true", "n_threads": 1, "type_k": 0, "type_v": 0, "verbose": "false",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    server = subprocess.Popen(
        [interpreter(), "-c", SERVER, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=worker_environment(),
    )
    url = f"http://127.0.0.1:{port}/v1"
    try:
        for _ in range(300):
            if server.poll() is not None:
                raise RuntimeError(f"the server ended with {server.returncode}")
            try:
                httpx.get(f"{url}/models")
                break
            except httpx.TransportError:
                time.sleep(0.2)
        yield Endpoint(url, None)
    finally:
        server.terminate()
        server.wait()


def test_log_likelihoods_are_those_of_the_model_in_memory(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path)[:3]
    model_dir = byte_level_checkpoint(tmp_path / "served", bos=True)
    _, own, _ = evaluate(tasks, 8, tmp_path, artifact_dir=str(model_dir))
    with llama_cpp_server(model_dir) as endpoint:
        result, samples, _ = evaluate(tasks, 8, tmp_path, endpoint)
    assert result["refused"] == []
    assert len(samples) == len(own) == 24
    for one, other in zip(samples, own, strict=True):
        for name in ("task", "sample_hash", "prompt_hash", "gold", "score"):
            assert one[name] == other[name]
        # The server leaves out parts of letters, and writes on where the last one is not whole;
        # transformers writes a sign for each.
        assert (one["answer"] or "").startswith((other["answer"] or "").replace("\ufffd", ""))
        assert one["log_likelihood"] == pytest.approx(other["log_likelihood"], abs=2e-3)


def test_figures_of_a_model_without_a_first_token_are_refused(tmp_path: Path) -> None:
    """llama-cpp-python 0.3.36 then gives each token the figure of the next one."""
    model_dir = byte_level_checkpoint(tmp_path / "unbegun")
    with llama_cpp_server(model_dir) as endpoint:
        result, samples, _ = evaluate(tasks_of(tmp_path)[1:3], 8, tmp_path, endpoint)
    (refused,) = result["refused"]
    assert refused["task"] == "chosen" and refused["kind"] == "invalid"
    assert "figures" in refused["message"]
    assert {sample["task"] for sample in samples} == {"generated"}
