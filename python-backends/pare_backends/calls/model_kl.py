"""Call `model_kl`: how far one model's predictions are from another's, token by token, and its
hidden states block by block."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint.load import load_dequantized
from pare_backends.device import placed
from pare_backends.elsewhere.pair import base_directory, other_model
from pare_backends.evaluation.calibration import draw_windows, read_texts
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

if TYPE_CHECKING:
    import torch

SHIPPED_TEXT = Path(__file__).parents[1] / "text" / "calibration.jsonl"
QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class ModelKlRequest:
    """`model_kl` of the wire."""

    base: str
    other: str
    room_dir: str
    """An empty folder, for a model that must be decoded."""
    text_path: str | None
    windows: int
    tokens: int
    seed: int


@dataclass
class Apart:
    """What the windows so far gave."""

    there: list[np.ndarray]  # KL(base ‖ other) of each token, a window each
    back: list[np.ndarray]  # KL(other ‖ base)
    agreed: int
    squares: np.ndarray | None  # (blocks, 2): of the difference, and of the base's states


def run(request: ModelKlRequest, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/model_kl.ts`."""
    base = base_directory(request.base, Path(request.room_dir), report)
    with report.span("load", library=True):
        first, tokenizer = load_dequantized(base)
        first = placed(first)
        second = placed(other_model(request.other, base, report))
    text = SHIPPED_TEXT if request.text_path is None else Path(request.text_path)
    drawn = draw_windows(
        read_texts(text),
        tokenizer,
        request.windows,
        request.tokens,
        request.seed,
        {},
        "calibration",
    )
    if len(drawn.ids) == 0:
        raise CallFailure("bad_input", f"Cannot compare on {text.name}: it gives no text")
    apart = Apart([], [], 0, None)
    for done, window in enumerate(drawn.windows, start=1):
        compare(first, second, window, apart)
        report.progress("compare", done, len(drawn.windows), "windows")
    tokens = sum(len(one) for one in apart.there)
    squares = apart.squares
    blocks = [] if squares is None else np.sqrt(squares[:, 0] / squares[:, 1]).tolist()
    return {
        "text": "shipped" if request.text_path is None else text.name,
        "windows": len(drawn.windows),
        "tokens": tokens,
        "kl": figures(apart.there),
        "reverse_kl": figures(apart.back),
        "agreement": apart.agreed / tokens,
        "blocks": blocks,
    }


def compare(first: Any, second: Any, window: np.ndarray, apart: Apart) -> None:
    """Adds a window. window: (tokens,) int32"""
    import torch

    ids = torch.from_numpy(window.astype(np.int64))[None].to(first.device)
    with torch.inference_mode():
        one = first(input_ids=ids, output_hidden_states=True, use_cache=False)
        two = second(input_ids=ids, output_hidden_states=True, use_cache=False)
    if one.logits.shape != two.logits.shape:
        raise CallFailure(
            "bad_input",
            f"Cannot compare the models: one gives {one.logits.shape[-1]} logits a token, the other"
            f" {two.logits.shape[-1]}",
        )
    p, q = (torch.log_softmax(out.logits[0].double(), -1) for out in (one, two))
    apart.there.append(divergence(p, q))
    apart.back.append(divergence(q, p))
    apart.agreed += int((p.argmax(-1) == q.argmax(-1)).sum())
    if len(one.hidden_states) != len(two.hidden_states):
        return  # blocks were cut: none of one is that of the other
    found = np.array(
        [
            [float((b - a).double().square().sum()), float(a.double().square().sum())]
            for a, b in zip(one.hidden_states[1:], two.hidden_states[1:], strict=True)
        ]
    )
    apart.squares = found if apart.squares is None else apart.squares + found


def divergence(p: torch.Tensor, q: torch.Tensor) -> np.ndarray:
    """KL(p ‖ q) of each token in nats. p, q: (tokens, vocabulary) log probabilities"""
    each = (p.exp() * (p - q)).sum(-1).clamp(min=0)  # below 0 by the last digits alone
    return np.asarray(each.cpu().numpy())


def figures(windows: list[np.ndarray]) -> dict[str, Any]:
    """Mean with its standard error over windows, and quantiles over tokens."""
    values, means = np.concatenate(windows), np.array([one.mean() for one in windows])
    error = None if len(means) < 2 else float(means.std(ddof=1) / np.sqrt(len(means)))
    return {
        "mean": float(values.mean()),
        "standard_error": error,
        "quantiles": [{"share": q, "value": float(np.quantile(values, q))} for q in QUANTILES],
    }
