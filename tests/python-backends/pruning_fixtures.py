"""What the tests of structured pruning share: random models, cuts of them, their logits."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from random_models import write_model
from runtime_fixtures import worker_environment
from tiny_model import calibration

from pare_backends.calls import apply
from pare_backends.checkpoint import load_dequantized
from pare_backends.progress import silent_report

TOKENS = [[1, 5, 9, 17, 33, 40, 3, 8]]


@cache
def model_dir(architecture: str) -> Path:
    return write_model(architecture, Path(mkdtemp(prefix=f"pare-{architecture}-")))


def pruned(source: Path, output: Path, method: str, **knobs: Any) -> dict[str, Any]:
    """What call `apply` says of the child in `output`."""
    request = apply.ApplyRequest(
        str(source), str(output), "pruning", method, knobs, str(calibration()), 0, None
    )
    return apply.run(request, silent_report())


def logits(directory: Path) -> np.ndarray:
    """returns: (tokens, vocabulary) float32"""
    import torch

    model, _ = load_dequantized(directory)
    with torch.inference_mode():
        found: np.ndarray = model(torch.tensor(TOKENS)).logits[0].numpy()
    return found


def loss(directory: Path) -> float:
    """Nats per token on the calibration windows."""
    import torch
    from safetensors.torch import load_file

    model, _ = load_dequantized(directory)
    windows = load_file(str(calibration()))["input_ids"].long()
    with torch.inference_mode():
        return float(model(input_ids=windows, labels=windows).loss)


def plain_logits(directories: list[Path], folder: Path) -> list[np.ndarray]:
    """The same by transformers' own loader, in one process that never heard of pare."""
    import torch

    program = f"""
import torch
from transformers import AutoModelForCausalLM
made = []
for directory in {[str(directory) for directory in directories]!r}:
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    with torch.inference_mode():
        made.append(model(torch.tensor({TOKENS})).logits[0])
torch.save(made, {str(folder / "logits.pt")!r})
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=worker_environment())
    return [one.numpy() for one in torch.load(folder / "logits.pt", weights_only=True)]
