"""`--offline`: a worker reaches no other machine, and says what is missing and where it goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation_fixtures import wire_task

from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.failures import CallFailure
from pare_backends.offline import kept_out_by

GUARDED = """
import socket
from pare_backends.offline import guard
guard()
for attempt in (
    lambda: socket.create_connection(("192.0.2.1", 80), timeout=0.1),
    lambda: socket.getaddrinfo("huggingface.co", 443),
    lambda: socket.gethostbyname("example.org"),
):
    try:
        attempt()
    except OSError as error:
        print(type(error).__name__)
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close()
print("local")
"""


def said(code: str, **variables: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    return done.stdout.split()


def test_the_guard_keeps_a_process_to_its_machine() -> None:
    assert said(GUARDED, PARE_OFFLINE="1") == ["KeptOffline"] * 3 + ["local"]
    assert "KeptOffline" not in said(GUARDED.replace("guard()", "print()"), PARE_OFFLINE="1")


def test_who_keeps_the_hub_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PARE_OFFLINE", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    assert kept_out_by() is None
    monkeypatch.setenv("HF_HUB_OFFLINE", "true")
    assert kept_out_by() == "HF_HUB_OFFLINE"
    monkeypatch.setenv("PARE_OFFLINE", "1")
    assert kept_out_by() == "--offline"


def test_missing_data_say_where_they_would_lie(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PARE_OFFLINE", "1")
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    with pytest.raises(CallFailure) as caught:
        load_documents(wire_task("arc_challenge"))
    assert "Cannot get the data of arc_challenge (allenai/ai2_arc, ARC-Challenge" in str(
        caught.value
    )
    assert "nothing may be fetched" in caught.value.message
    hint = str(caught.value.hint)
    assert "holds it as arc_challenge/test.jsonl.gz by --data-dir" in hint
    assert str(tmp_path) in hint
