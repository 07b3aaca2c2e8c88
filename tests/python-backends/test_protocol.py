import json
import math
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from pare_backends.failures import CallFailure
from pare_backends.protocol import EventWriter, build, read_request, to_wire


@dataclass(frozen=True)
class Task:
    task: str
    few_shot: int = 0


@dataclass(frozen=True)
class Request:
    model_dir: str
    tasks: list[Task]
    rows: tuple[int, ...]
    limit: float | None
    fidelity: Literal["proxy", "full"]
    params: dict[str, int | float | str | bool]
    extra: Any = None


GOOD: dict[str, Any] = {
    "model_dir": "/m",
    "tasks": [{"task": "a", "few_shot": 5}, {"task": "b"}],
    "rows": [1, 2],
    "limit": None,
    "fidelity": "proxy",
    "params": {"bits": 4, "damping": 0.5, "symmetric": True, "mode": "x"},
}


def test_build_follows_nested_dataclasses() -> None:
    request = build(Request, GOOD)
    assert request.tasks == [Task("a", 5), Task("b")]
    assert request.rows == (1, 2)
    assert request.params == GOOD["params"]
    assert request.params["symmetric"] is True


def test_build_revives_the_numbers_that_json_lacks() -> None:
    assert build(Request, {**GOOD, "limit": "-Infinity"}).limit == -math.inf
    assert math.isnan(build(Request, {**GOOD, "limit": "NaN"}).limit or 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"modle_dir": "/m"}, 'Unknown field "modle_dir". Did you mean "model_dir"?'),
        ({"model_dir": 3}, "Request.model_dir: it must be str, not 3"),
        ({"tasks": {}}, "Request.tasks: it must be a list"),
        ({"tasks": [{"task": "a", "shots": 1}]}, 'Request.tasks[0]: Unknown field "shots"'),
        ({"tasks": [{}]}, 'Request.tasks[0]: field "task" is missing'),
        ({"rows": [1, "2"]}, "Request.rows[1]: it must be int"),
        ({"rows": [True]}, "Request.rows[0]: it must be int"),
        ({"fidelity": "half"}, "Request.fidelity: it must be one of proxy, full"),
        ({"limit": "much"}, "Request.limit: it must be float"),
        ({"params": {"bits": [4]}}, "Request.params.bits"),
    ],
)
def test_build_names_the_field_that_is_wrong(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CallFailure) as caught:
        build(Request, {**GOOD, **change})
    assert caught.value.kind == "bad_input"
    assert words in caught.value.message


def test_read_request_refuses_another_protocol_and_no_json() -> None:
    request = {"protocol": 2, "request_id": "r", "threads": None, "request": {}}
    with pytest.raises(CallFailure, match="protocol 2"):
        read_request(json.dumps(request))
    with pytest.raises(CallFailure, match="JSON"):
        read_request('{"protocol": 1')
    assert read_request(json.dumps({**request, "protocol": 1})).threads is None


def test_to_wire_carries_what_calls_give_back() -> None:
    value = {
        "nan": math.nan,
        "low": -math.inf,
        "scalar": np.float32(0.5),
        "array": np.array([[1, 2], [3, 4]]),
        "special": np.array([math.inf]),
        "path": Path("/a/b"),
        "task": Task("a"),
        "flag": np.bool_(True),
        3: (1, None),
    }
    assert to_wire(value) == {
        "nan": "NaN",
        "low": "-Infinity",
        "scalar": 0.5,
        "array": [[1, 2], [3, 4]],
        "special": ["Infinity"],
        "path": "/a/b",
        "task": {"task": "a", "few_shot": 0},
        "flag": True,
        "3": [1, None],
    }
    with pytest.raises(TypeError, match="object"):
        to_wire(object())


def test_event_writer_keeps_lines_whole_under_threads() -> None:
    reading, writing = os.pipe()
    received = bytearray()

    def read() -> None:
        while part := os.read(reading, 65536):
            received.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    emit = EventWriter(writing)
    text = "é\ud800" + "x" * 100_000  # longer than a pipe holds, and half a surrogate pair
    writers = [
        threading.Thread(target=lambda n=n: [emit({"n": n, "text": text}) for _ in range(5)])
        for n in range(4)
    ]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    os.close(writing)
    reader.join()
    os.close(reading)
    events = [json.loads(line) for line in received.decode("utf-8").splitlines()]
    assert sorted(event["n"] for event in events) == sorted([0, 1, 2, 3] * 5)
    assert all(len(event["text"]) == len(text) for event in events)
