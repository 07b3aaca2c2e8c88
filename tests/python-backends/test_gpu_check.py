"""The check of a GPU: its table tells what did not pass, and on a pretended GPU nothing of ours
meets across devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_model import tiny_dir

import pare_backends
from pare_backends.device import placed
from pare_backends.failures import CallFailure
from pare_backends.gpu_check.__main__ import main, read_rows
from pare_backends.gpu_check.steps import Tried, take
from pare_backends.gpu_check.table import table_of, verdict
from pare_backends.models.tiny_text import sentences

HERE = Path(__file__).parent
PATHS = {
    **os.environ,
    "PARE_QUIET_SECONDS": "0",
    "PYTHONPATH": f"{Path(pare_backends.__file__).parents[1]}{os.pathsep}{HERE}",
}
METHODS = (
    *(
        "quantization/rtn",
        "quantization/fisher_clip",
        "pruning/magnitude",
        "pruning/channels",
    ),
    *("distillation/distill", "kv_cache/snapkv"),
)
"""One of each way in which a model is moved, read and written back."""


def test_on_a_pretended_gpu_no_tensors_meet_across_devices(tmp_path: Path) -> None:
    text = tmp_path / "text.jsonl"
    rows = [{"text": " ".join(sentences(400, seed))} for seed in range(4)]
    text.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given = ["--model", str(tiny_dir()), "--text", str(text), "--keep", str(tmp_path)]
    given += ["--tokens", "64"]
    only = "|".join(f"^{method}$" for method in METHODS)
    command = [sys.executable, str(HERE / "pretended_gpu.py"), *given, "--only", only]
    ended = subprocess.run(
        [*command, "--on", "cuda"], cwd=HERE, env=PATHS, capture_output=True, text=True
    )
    tried = read_rows(tmp_path / "cuda" / "rows.jsonl")
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert {one.step: one.reason for one in tried if one.status == "failed"} == {}
    [told] = [line for line in ended.stdout.splitlines() if line.endswith("on the GPU")]
    assert int(told.split()[0]) > 10_000, "all else would pass on the CPU too"
    assert {one.step for one in tried if one.status == "passed"} >= set(METHODS)


def test_a_tensor_left_on_the_cpu_is_found() -> None:
    program = (
        "import torch, pretended_gpu; pretended_gpu.pretend()\n"
        "gpu = torch.ones(3, 4).to('cuda:0'); assert gpu.device.type == 'cuda'\n"
        "assert float((gpu @ gpu.T).sum().cpu()) == 36\n"
        "for attempt in (lambda: gpu + torch.ones(3, 4), lambda: gpu.numpy(), lambda: "
        "torch.multinomial(gpu, 1, generator=torch.Generator())):\n"
        "    try: attempt()\n"
        "    except (RuntimeError, TypeError): continue\n"
        "    raise SystemExit('not refused')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=HERE,
        env=PATHS,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_the_table_tells_what_did_not_pass() -> None:
    gpu = [
        Tried("a", figures={"kl": 0.1}, seconds=1, gpu_bytes=2_000_000),
        Tried("b", figures={"kl": 0.2}),
        Tried("c", "failed", "RuntimeError: on another device"),
        Tried("d", "skipped", "No module named 'vllm'"),
        Tried("quantization/e", figures={"kl": 3e-9}),
        Tried("f", figures={"kl": 0.3}),
    ]
    cpu = [
        Tried("a", figures={"kl": 0.101}, seconds=3),
        Tried("b", figures={"kl": 0.1}),
    ]
    cpu.append(Tried("quantization/e", figures={"kl": 3e-9}))
    text, failed = table_of(gpu, cpu)
    assert failed == 3
    lines = text.splitlines()
    assert "| a | passed | 1.00 | 3.00 | 0.1 | 0.101 | 2 |" in lines[2]
    assert "failed: KL 0.2, on the CPU 0.1" in lines[3]
    assert "on another device" in lines[4]
    assert "skipped: No module named 'vllm'" in lines[5]
    assert "as if the method had done nothing" in lines[6]
    assert "passed, compared with nothing" in lines[7]


@pytest.mark.parametrize("own", [0.1, 0.0001])
def test_near_figures_pass(own: float) -> None:
    near = Tried("a", figures={"kl": own * 1.09})
    assert verdict(near, Tried("a", figures={"kl": own})) == "passed"


def test_what_a_step_raises_is_told_and_ends_nothing() -> None:
    def broken() -> dict[str, float]:
        raise RuntimeError("mat1 is on cuda:0, mat2 on cpu")

    def lacking() -> dict[str, float]:
        raise ModuleNotFoundError("No module named 'vllm'")

    assert take(("a", broken)).reason == "RuntimeError: mat1 is on cuda:0, mat2 on cpu"
    assert take(("b", lacking)).status == "skipped"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "torch sees none" in capsys.readouterr().out


def test_a_model_that_a_card_has_no_room_for_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pare_backends.device.run_device", lambda: "cuda:0")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (3_000_000_000, 8_000_000_000))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA T4")
    with torch.device("meta"):
        model = torch.nn.Linear(40_000, 20_000)
    with pytest.raises(CallFailure, match=r"on NVIDIA T4: .* 3\.2 GB, and 3\.0 GB .* are free"):
        placed(model)
