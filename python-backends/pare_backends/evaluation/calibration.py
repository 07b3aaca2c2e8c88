"""Windows of token ids that methods work on: quantizers read activations from them (calibration),
fine-tuning takes its steps on them (training).

File: safetensors with one tensor `input_ids`, int32 [windows, tokens], and the windows' ids (JSON)
in its metadata. It loads without pickle, in NumPy as in torch.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.evaluation.overlap import RUN, evaluated_windows
from pare_backends.evaluation.tasks.records import Row, content_hash, read_records
from pare_backends.failures import CallFailure
from pare_backends.models.whole_file import put_in_place

SEPARATOR = "\n\n"
CANDIDATES = 4
"""Windows that are looked at for each that is wanted: those with evaluated text are left out."""
EDGE = 2 * RUN
"""Tokens beside a window that are looked at with it: a sample may lie over the edge of two."""


@dataclass(frozen=True)
class Drawn:
    """Windows with an id each: the tokens' places in the joined text, and their hash."""

    windows: np.ndarray  # int32 [windows, tokens]
    ids: list[str]
    refused: dict[str, tuple[str, int]]  # by the window's id: the task and row that it shares


LARGEST_UNKNOWN = 0.95
"""Share of unknown tokens from which on a text says nothing of how a model is used."""


def read_texts(path: Path) -> list[str]:
    """The texts of a file of {text}, or of {prompt, answer}, one after the other."""
    rows = read_records(path)
    field = "text" if "text" in rows[0] else "prompt"
    rows = read_records(path, {field: "string"} | ({} if field == "text" else {"answer": "string"}))
    if field == "text":
        return [str(row["text"]) for row in rows]
    return [f"{row['prompt']} {row['answer']}" for row in rows]


def draw_windows(
    texts: Sequence[str],
    tokenizer: Any,
    count: int,
    size: int,
    seed: int,
    evaluated: Mapping[str, Iterable[Row]],
    kind: str = "calibration",
) -> Drawn:
    """At most `count` windows of `size` tokens that share no run of words with evaluated rows.

    Windows never overlap. Where there are more than asked, they are drawn by the seed:
    calibration's are kept in the text's order, training's in the order drawn, so that the first
    few are as mixed.
    """
    tokens = tokenizer.encode(SEPARATOR.join(texts), add_special_tokens=False)
    available = len(tokens) // size
    if available == 0:
        raise CallFailure(
            "bad_input",
            f"Cannot make a {kind} window of {size} tokens: the text has {len(tokens)} tokens",
            hint=f"Give a longer text with --{kind}-data",
        )
    unknown = tokens.count(tokenizer.unk_token_id) / len(tokens)
    if tokenizer.unk_token_id is not None and unknown > LARGEST_UNKNOWN:
        raise CallFailure(
            "bad_input",
            f"Cannot take {kind} windows from this text: the tokenizer knows next to nothing of it,"
            f" {unknown:.0%} of its tokens are {tokenizer.unk_token}",
            hint=f"Give text in a language that the model was trained on with --{kind}-data",
        )
    draw = random.Random(seed)
    first = draw.sample(range(available), min(count, available))
    rest = sorted(set(range(available)) - set(first))
    candidates = [*first, *draw.sample(rest, min(len(rest), (CANDIDATES - 1) * count))]
    shown = [
        tokenizer.decode(tokens[max(0, i * size - EDGE) : (i + 1) * size + EDGE])
        for i in candidates
    ]
    shared = {candidates[n]: where for n, where in evaluated_windows(shown, evaluated).items()}
    taken = [i for i in candidates if i not in shared][:count]
    if kind == "calibration":
        taken.sort()

    def id_of(i: int) -> str:
        return f"{i * size}-{(i + 1) * size}:{content_hash(tokens[i * size : (i + 1) * size])}"

    refused = {id_of(i): where for i, where in shared.items()}
    if not taken:
        name, (task, row) = next(iter(refused.items()))
        raise CallFailure(
            "bad_input",
            f"Cannot take {kind} windows from this text: all {len(refused)} share {RUN} words in a"
            f" row with evaluated samples, such as {name} with row {row} of {task}",
            hint=f"Give text that is not evaluated with --{kind}-data",
        )
    windows = np.asarray([tokens[i * size : (i + 1) * size] for i in taken], dtype=np.int32)
    return Drawn(windows, [id_of(i) for i in taken], refused)


def write_windows(path: Path, windows: np.ndarray, ids: Sequence[str]) -> None:
    """Writes the windows, int32 [windows, tokens]; whole or not at all."""
    from safetensors.numpy import save_file

    partial = path.with_name(path.name + ".partial")
    save_file({"input_ids": windows}, partial, metadata={"ids": json.dumps(list(ids))})
    put_in_place(partial, path)


def read_windows(path: Path) -> np.ndarray:
    """Token ids of windows, int32 [windows, tokens]."""
    from safetensors import safe_open

    try:
        with safe_open(path, framework="np") as file:
            return file.get_tensor("input_ids")
    except (OSError, ValueError) as error:
        raise CallFailure("bad_input", f"Cannot read the windows {path}: {error}") from error
