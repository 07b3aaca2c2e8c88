import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pare_backends import machine
from pare_backends.calls import describe, inspect_device
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.protocol import EventWriter, WorkerRequest
from pare_backends.worker import default_threads, known_calls, run_call

ROOT = Path(describe.__file__).parents[2]


def test_the_calls_are_the_files_of_their_folder() -> None:
    assert {"apply", "evaluate", "inspect_device"} <= set(known_calls())
    for name, module in known_calls().items():
        assert (ROOT / Path(*module.split("."))).with_suffix(".py").is_file()
        assert module.endswith(f".{name}")


@pytest.mark.parametrize("name", ["evaluat", "../evaluate", "os", "", None])
def test_what_is_no_call_is_refused_before_anything_is_imported(name: str | None) -> None:
    request = WorkerRequest(1, "r", 1, {"call": name})
    with pytest.raises(CallFailure, match=r"Unknown call .*evaluate"):
        run_call(request, EventWriter(1))


def test_a_worker_answers_one_request_and_keeps_stdout_for_events() -> None:
    request = {
        "protocol": 1,
        "request_id": "r1",
        "threads": 1,
        "request": {"call": "inspect_device", "disk_path": "/nowhere/yet"},
    }
    ended = subprocess.run(
        [sys.executable, "-m", "pare_backends.worker"],
        input=json.dumps(request) + "\nnever read",
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [event["event"] for event in events] == ["ready", "started", "span", "result"]
    assert events[1]["request_id"] == "r1"
    assert (events[2]["name"], events[2]["library"]) == ("import", True)
    assert events[3]["result"]["free_disk_gb"] > 0


def test_threads_are_those_asked_for_by_variable_or_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert default_threads() == 3
    for nonsense in ("", "0", "many", "4,2"):
        monkeypatch.setenv("OMP_NUM_THREADS", nonsense)
        assert default_threads() == machine.physical_cores()


def test_a_worker_and_its_lightest_call_need_no_package() -> None:
    """Any Python of a machine can then play a worker, as the tests of workers do."""
    program = "import sys; sys.path.insert(0, sys.argv[1])\n"
    program += "from pare_backends import worker\nfrom pare_backends.calls import describe\n"
    program += "print('site' in sys.modules, len(describe.method_files()) > 20)"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(ROOT)],
        capture_output=True,
        text=True,
    )
    assert ended.stdout.split() == ["False", "True"], ended.stderr


def test_the_preloaded_imports_are_the_model_s_alone() -> None:
    program = """
import sys
from pare_backends.prepare_imports import prepare_imports
prepare_imports("torch")
model = "transformers.generation.candidate_generator"
names = ("torch", model, "sklearn", "scipy.stats", "pandas")
print(*(name in sys.modules for name in names))
import sklearn.metrics
print(sklearn.metrics.roc_curve.__name__)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert ended.stdout.split() == ["True", "True", "False", "False", "False", "roc_curve"]


def test_a_worker_that_nobody_asks_ends_in_silence() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pare_backends.worker", "--supervised"],
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    (line,) = ended.stdout.splitlines()
    assert json.loads(line)["event"] == "ready"


def test_describe_finds_methods_by_their_params(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "method.py").write_text("x = 1\n\nclass Params:\n    pass\n")
    (agent / "training.py").write_text("class Params(TrainingKnobs):\n    pass\n")
    (agent / "rounding.py").write_text("def round_up():\n    pass\n")
    (agent / "_private.py").write_text("\nclass Params:\n    pass\n")
    assert describe.method_files(tmp_path) == [("agent", "method"), ("agent", "training")]


def test_describe_gives_every_method_of_the_package_with_its_knobs() -> None:
    methods = describe.run(describe.Request(), silent_report())["methods"]
    names = [f"{method['agent']}/{method['method']}" for method in methods]
    assert "quantization/rtn" in names
    for method in methods:
        assert method["knobs"], method["method"]


def test_device_facts_are_the_machine_s() -> None:
    facts = inspect_device.run(inspect_device.Request("/"), silent_report())
    total, free = machine.memory_bytes()
    assert facts["memory_gb"] == total / 1e9
    assert 0 < free <= total
    assert 1 <= facts["cores"] <= (os.cpu_count() or 1)
    assert facts["device"] in ("cpu", "cuda")
    assert (facts["vram_gb"] is None) == (facts["device"] == "cpu")
    assert facts["device_name"] not in ("", "unknown CPU")
