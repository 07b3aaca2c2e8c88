"""The trained tiny model, shared with the TypeScript tests, and an action on it."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pare_backends import models
from pare_backends.calls import apply
from pare_backends.calls.apply import ApplyRequest
from pare_backends.checkpoint import BitmaskTensor, read
from pare_backends.models.tiny import train_tiny
from pare_backends.models.tiny_text import items, sentences
from pare_backends.progress import silent_report

WINDOWS = 16
WINDOW_TOKENS = 64


@functools.cache
def tiny_dir() -> Path:
    """The model's directory; trained once for these sources (as in tests/tiny_model.ts)."""
    sources = Path(models.__file__).parent
    text = b"".join((sources / name).read_bytes() for name in ("tiny.py", "tiny_text.py"))
    folder = Path(tempfile.gettempdir()) / f"pare-tiny-{hashlib.sha256(text).hexdigest()[:12]}"
    if not (folder / "config.json").exists():
        fresh = Path(tempfile.mkdtemp(prefix="pare-tiny-fresh-"))
        with torch.enable_grad():  # whoever asks first may compute without
            train_tiny(fresh, silent_report())
        try:
            fresh.rename(folder)
        except OSError:  # another test process was first
            if not (folder / "config.json").exists():
                raise
    return folder


@functools.cache
def calibration() -> Path:
    """Calibration windows in the tiny model's language."""
    from safetensors.numpy import save_file
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(tiny_dir()))
    ids = tokenizer(" ".join(sentences(400, 5)), verbose=False).input_ids
    windows = np.array(ids[: WINDOWS * WINDOW_TOKENS], dtype=np.int32)
    held = tempfile.TemporaryDirectory(prefix="pare-calibration-")
    atexit.register(held.cleanup)
    path = Path(held.name) / "calibration.safetensors"
    save_file({"input_ids": windows.reshape(WINDOWS, WINDOW_TOKENS)}, str(path))
    return path


def action(
    out: Path,
    agent: str,
    method: str,
    params: dict[str, Any],
    parent: Path | None = None,
    **more: Any,
) -> ApplyRequest:
    """What makes a child of the tiny model, or of `parent`, in `out`; `more`: its other fields."""
    paths = {name: str(one) if isinstance(one, Path) else one for name, one in more.items()}
    fields: dict[str, Any] = {"calibration_path": None, "seed": 1, "python_path": None, **paths}
    return ApplyRequest(
        parent_dir=str(parent or tiny_dir()),
        output_dir=str(out),
        agent=agent,
        method=method,
        params=params,
        **fields,
    )


def act(
    out: Path,
    method: str,
    params: dict[str, Any],
    parent: Path | None = None,
    agent: str = "quantization",
) -> dict[str, Any]:
    """The call's result; the child lies in `out`."""
    request = action(out, agent, method, params, parent, calibration_path=calibration())
    return apply.run(request, silent_report())


def require_zeros(pruned: Path, trained: Path) -> None:
    """What pruning made zero stays zero, in its form, and what it left has learnt."""
    before, after = read(pruned).in_form(BitmaskTensor), read(trained)
    assert set(after.in_form(BitmaskTensor)) == set(before)
    changed = 0
    for layer, tensor in before.items():
        was, now = tensor.weight(), after.weight(layer)
        assert not now[was == 0].any(), layer
        changed += int((now != was).sum())
    assert changed > 0


def accuracy(model: Any, tokenizer: Any) -> float:
    """Share of the tiny benchmark's facts that the model remembers."""
    by_length: dict[int, list[tuple[list[int], str]]] = {}
    for item in items():
        ids = tokenizer(item["prompt"]).input_ids
        by_length.setdefault(len(ids), []).append((ids, item["answer"]))
    right = 0
    with torch.inference_mode():
        for asked in by_length.values():
            best = model(torch.tensor([ids for ids, _ in asked])).logits[:, -1].argmax(-1)
            said = [tokenizer.decode(token) for token in best]
            right += sum(s == answer for s, (_, answer) in zip(said, asked, strict=True))
    return right / len(items())


def tiny_copy(out: Path, **config: Any) -> Path:
    """A copy to damage, with changes to its config.json."""
    shutil.copytree(tiny_dir(), out)
    path = out / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return out
