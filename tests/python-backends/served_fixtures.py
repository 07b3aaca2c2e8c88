"""What tests of served models share: a server that says what it is told, a model whose tokens spell
text, and the call that asks them."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_fixtures import Events
from pyarrow import parquet
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from pare_backends.calls.evaluate import EvaluateRequest, run
from pare_backends.evaluation.served.endpoint import Endpoint, Judge
from pare_backends.evaluation.served.transport import Transport
from pare_backends.evaluation.tasks.wire_task import SampleSelection, WireTask
from pare_backends.models.tiny import tiny_config
from pare_backends.models.tiny_text import sentences

Reply = tuple[int, Any]
"""A status, and the body: bytes as they are, anything else as JSON."""
Answer = Callable[[str, dict[str, Any]], Reply]


@dataclass
class Running:
    """A server that runs: its address and what it was asked."""

    base_url: str
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def endpoint(self, **changes: Any) -> Endpoint:
        return Endpoint(**{"base_url": self.base_url, "model": "tiny", **changes})

    def judge(self, **changes: Any) -> Judge:
        return Judge(**{"base_url": self.base_url, "model": "tiny", **changes})


@contextmanager
def serving(answer: Answer, headers: dict[str, str] | None = None) -> Iterator[Running]:
    """A server on this machine that answers by the function: path and body to status and answer."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            self._answer(json.loads(self.rfile.read(length)))

        def _answer(self, body: dict[str, Any]) -> None:
            path = self.path.removeprefix("/v1")
            with lock:
                running.asked.append((path, body))
                running.keys.append(self.headers.get("authorization"))
                running.at_once += 1
                running.most_at_once = max(running.most_at_once, running.at_once)
            status, content = answer(path, body)
            with lock:
                running.at_once -= 1
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Running(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()


def byte_level_checkpoint(directory: Path, bos: bool = False) -> Path:
    """Random weights under a byte-level BPE tokenizer, as served models have: its tokens spell the
    text, spaces too. `bos`: whether <s> begins every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>"]
    trainer = trainers.BpeTrainer(  # type: ignore[call-arg]
        vocab_size=320, special_tokens=special, initial_alphabet=letters, show_progress=False
    )
    core.train_from_iterator(sentences(300, 1), trainer)
    if bos:
        core.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
    directory.mkdir(parents=True, exist_ok=True)
    PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        add_bos_token=bos,
        model_max_length=256,
    ).save_pretrained(str(directory))
    torch.manual_seed(0)
    model = LlamaForCausalLM(tiny_config(core.get_vocab_size()))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.25)
    model.generation_config.bos_token_id, model.generation_config.eos_token_id = 0, 1
    model.config.bos_token_id, model.config.eos_token_id = 0, 1
    model.save_pretrained(directory)
    return directory


def no_keys_or_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test meets no key of the user's, and its waits take no time."""
    for name in ("OPENAI_API_KEY", "JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    passed = [0.0]

    def pause(self: Transport, seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(Transport, "_pause", pause)
    monkeypatch.setattr(Transport, "_clock", lambda self: time.monotonic() + passed[0])


def evaluate(
    tasks: Sequence[WireTask], rows: int, out: Path, endpoint: Endpoint | None = None, **more: Any
) -> tuple[dict[str, Any], list[dict[str, Any]], Events]:
    """The call's result on the first rows of each task, its samples, and what it told."""
    events = Events()
    request = EvaluateRequest(
        artifact_dir="",
        tasks=list(tasks),
        selections=[SampleSelection(task.task, list(range(rows))) for task in tasks],
        fidelity="full",
        batch_size=8,
        samples_path=str(out / "samples.parquet"),
        seed=1,
        batched_apart=[],
        answers_path=None,
        answer_chars=4000,
        runtime=None,
        allow_unsafe_code=False,
        endpoint=endpoint,
    )
    result = run(dataclasses.replace(request, **more), events.report)
    return result, parquet.read_table(out / "samples.parquet").to_pylist(), events
