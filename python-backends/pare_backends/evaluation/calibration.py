"""Calibration windows: token ids that quantizers read activations from.

File: safetensors with one tensor `input_ids`, int32 [windows, tokens], and the windows' ids (JSON)
in its metadata. It loads without pickle, in NumPy as in torch.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.evaluation.tasks.records import Row, content_hash
from pare_backends.failures import StageFailure

SEPARATOR = "\n\n"
SHORTEST_PARAGRAPH = 50
"""Characters from which on two equal paragraphs are the same text, not a heading or a phrase."""


def paragraph_hashes(rows: Iterable[Row]) -> set[str]:
    """Hashes of all paragraphs in the rows' texts, at any depth."""
    return {content_hash(p) for row in rows for text in _texts(row) for p in _paragraphs(text)}


def without_paragraphs(texts: Sequence[str], excluded: set[str]) -> tuple[list[str], int]:
    """The texts without the excluded paragraphs, and how many were taken out."""
    kept: list[str] = []
    removed = 0
    for text in texts:
        parts = text.split("\n")
        left = [p for p in parts if not _hashes(p) & excluded]
        removed += len(parts) - len(left)
        if any(part.strip() for part in left):
            kept.append("\n".join(left).strip("\n"))
    return kept, removed


def calibration_windows(
    texts: Sequence[str], tokenizer: Any, count: int, size: int, seed: int
) -> tuple[np.ndarray, list[str]]:
    """At most `count` windows of `size` tokens, int32 [windows, size], with an id each.

    Windows never overlap. Where there are more than asked, they are drawn by the seed and kept in
    the text's order. An id names the tokens' places in the joined text and their hash.
    """
    tokens = tokenizer.encode(SEPARATOR.join(texts), add_special_tokens=False)
    available = len(tokens) // size
    if available == 0:
        raise StageFailure(
            "bad_input",
            f"Cannot make a calibration window of {size} tokens: the text has {len(tokens)} tokens",
            hint="Give a longer calibration text or shorter windows",
        )
    taken = sorted(random.Random(seed).sample(range(available), min(count, available)))
    windows = np.asarray([tokens[i * size : (i + 1) * size] for i in taken], dtype=np.int32)
    ids = [
        f"{i * size}-{(i + 1) * size}:{content_hash(window.tolist())}"
        for i, window in zip(taken, windows, strict=True)
    ]
    return windows, ids


def write_windows(path: Path, windows: np.ndarray, ids: Sequence[str]) -> None:
    """Writes the windows, int32 [windows, tokens]; whole or not at all."""
    from safetensors.numpy import save_file

    partial = path.with_name(path.name + ".partial")
    save_file({"input_ids": windows}, partial, metadata={"ids": json.dumps(list(ids))})
    partial.replace(path)


def read_windows(path: Path) -> np.ndarray:
    """Token ids of the calibration windows, int32 [windows, tokens]."""
    from safetensors import safe_open

    try:
        with safe_open(path, framework="np") as file:
            return file.get_tensor("input_ids")
    except (OSError, ValueError) as error:
        raise StageFailure("bad_input", f"Cannot read calibration data {path}: {error}") from error


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _paragraphs(text: str) -> Iterable[str]:
    for part in text.split("\n"):
        plain = re.sub(r"\s+", " ", part).strip().lower()
        if len(plain) >= SHORTEST_PARAGRAPH:
            yield plain


def _hashes(part: str) -> set[str]:
    return {content_hash(p) for p in _paragraphs(part)}
