"""What the tests of distillation share: requests, a cut model, how far it is from the original."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tiny_model import action, calibration, tiny_dir

from pare_backends.calls import apply
from pare_backends.calls.apply import ApplyRequest
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.progress import Report, silent_report


class Killed(BaseException):
    """As abrupt as a killed process: nothing of ours catches it."""


@functools.cache
def answers() -> Path:
    """What the tiny model answers, kept for every test."""
    held = tempfile.TemporaryDirectory(prefix="pare-answers-")
    atexit.register(held.cleanup)
    return Path(held.name)


def request(out: Path, parent: Path, agent: str, method: str, **params: Any) -> ApplyRequest:
    return action(
        out,
        agent,
        method,
        params,
        parent,
        training_path=calibration(),
        original_dir=tiny_dir(),
        original_cache=answers(),
    )


def teach(
    method: str,
    defaults: Mapping[str, Any],
    out: Path,
    parent: Path,
    report: Report | None = None,
    work: Path | None = None,
    **params: Any,
) -> dict[str, Any]:
    """The call's result; the child lies in `out`."""
    asked = request(out, parent, "distillation", method, **{**defaults, **params})
    asked = dataclasses.replace(asked, work_dir=None if work is None else str(work))
    return apply.run(asked, report or silent_report())


def act(out: Path, parent: Path, agent: str, method: str, **params: Any) -> Path:
    apply.run(request(out, parent, agent, method, **params), silent_report())
    return out


def figures(done: Mapping[str, Any]) -> dict[str, float]:
    return {one["metric"]: one["value"] for one in done["figures"]}


def held_out() -> Any:
    """Windows that no training reads: distillation takes the first tokens of each. (16, 31)"""
    import torch
    from safetensors.numpy import load_file

    ids = load_file(str(calibration()))["input_ids"][:, 33:]
    return torch.from_numpy(ids.astype(np.int64))


def kl_to_original(directory: Path) -> float:
    """Mean KL from the original, nats per token, over the whole vocabulary."""
    import torch

    with torch.inference_mode():
        teacher, student = (
            load_dequantized(path)[0](held_out()).logits.log_softmax(-1)
            for path in (tiny_dir(), directory)
        )
        return float((teacher.exp() * (teacher - student)).sum(-1).mean())


def narrowed(out: Path) -> Path:
    """The tiny model with half of its MLP channels."""
    cut = {"mlp_ratio": 0.5, "round_to": 32, "importance": "weight"}
    return act(out, tiny_dir(), "pruning", "channels", **cut)
