"""What a check works on: a model, its text, and where each of its steps writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.calls import prepare_data
from pare_backends.evaluation.tasks.wire_task import WireMetric, WireScorer, WireTask
from pare_backends.knobs import shipped_knobs
from pare_backends.models.tiny import train_tiny
from pare_backends.models.tiny_text import sentences
from pare_backends.progress import silent_report

SEED = 0
WINDOWS = 8
"""Of each kind of text."""
EVALUATED = 6
TINY_TOKENS, TOKENS = 64, 256
SENTENCES = 400
GROUP = 32
"""Of a grid: the tiny model's widths are whole ones of it."""
LIMITS = {"samples": WINDOWS, "steps": 20, "iters": 8, "max_new_tokens": 16, "prefix_tokens": 16}
"""The most that a check sets these knobs to."""


@dataclass(frozen=True)
class World:
    """A model on disk, its windows and the folder of one device's artifacts."""

    model: Path
    text: Path
    """JSON lines; every second one is learned from, the others are evaluated."""
    folder: Path
    tokens: int
    """Of a window."""

    @property
    def calibration(self) -> Path:
        return self.folder / "calibration.safetensors"

    @property
    def training(self) -> Path:
        return self.folder / "training.safetensors"

    def part(self, evaluated: bool) -> Path:
        """Half of the text, as a file of its own."""
        path = self.folder / ("evaluated.jsonl" if evaluated else "learned.jsonl")
        if not path.exists():
            lines = self.text.read_text("utf-8").splitlines()
            chosen = lines[0::2] if evaluated else lines[1::2]
            path.write_text("".join(f"{line}\n" for line in chosen), encoding="utf-8")
        return path

    def task(self) -> WireTask:
        """The text as a task of windows."""
        metrics = [WireMetric("perplexity", "1", "minimize")]
        return WireTask(
            task="text",
            task_version="1",
            origin="plugin",
            scorers=[WireScorer("token_loss", "1", {}, ["windows"], metrics, False, None)],
            lm_eval_task=None,
            definition={"metadata": {"text_field": "text"}},
            data_file=None,
            data_path=str(self.part(evaluated=True)),
            few_shot=0,
            metric="perplexity",
            reported_metric="perplexity",
            unit="1",
            direction="minimize",
            window_tokens=self.tokens,
        )

    def prepare(self) -> None:
        """Writes the windows."""
        learned = str(self.part(evaluated=False))
        windows = prepare_data.WindowsRequest(learned, WINDOWS, self.tokens)
        prepare_data.run(
            prepare_data.PrepareDataRequest(
                model_dir=str(self.model),
                tasks=[],
                calibration_path=learned,
                calibration_windows=WINDOWS,
                calibration_tokens=self.tokens,
                output_dir=str(self.folder),
                seed=SEED,
                sample_seed=SEED,
                sample_seeds={},
                training=windows,
            ),
            silent_report(),
        )


def make_model(folder: Path) -> tuple[Path, Path]:
    """(the tiny model, a text in its language)."""
    model, text = folder / "tiny", folder / "tiny.jsonl"
    train_tiny(model, silent_report())
    rows = [{"text": " ".join(sentences(SENTENCES, seed))} for seed in range(4)]
    text.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return model, text


def knobs_of(method: str, tokens: int) -> dict[str, Any]:
    """The defaults of `agent/method`, as far as the windows of a check reach."""
    found: dict[str, Any] = {}
    for name, knob in shipped_knobs()[method].items():
        value = knob.default
        if name in LIMITS:
            value = min(int(value), LIMITS[name])
        if name in ("tokens", "seqlen"):
            value = tokens
        if name == "group_size":
            value = GROUP
        found[name] = value
    return found
