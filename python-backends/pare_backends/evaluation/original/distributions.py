"""What the original says of windows of text: kept once, so that every trial is compared with it.

Of each scored token are kept its `TOP_K` most likely continuations, the mass of all others (the
tail) and `DRAWS` tokens drawn from the tail with their probabilities: 368 bytes per token, where a
full distribution over 128,256 tokens takes 256,520. With the draws the KL has no bias
(`distance.py`); without them it would miss what lies in the tail, and flatter the trial.

A file per window, named by the hash of its tokens, in a folder that is the original's own: whoever
gives the folder names it by the original's hash. A file says of which model, tokenizer and
vocabulary it is, and is refused where the trial has others.
"""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint.load import load_dequantized, load_tokenizer
from pare_backends.device import placed
from pare_backends.failures import CallFailure
from pare_backends.models.window_files import content_hash, read_rows, readable, write_rows
from pare_backends.progress import Report

if TYPE_CHECKING:
    import torch

FORMAT = 1
TOP_K = 64
DRAWS = 8
STEP = 32.0 / 65535
"""Nats between two log-probabilities that are kept apart: from 0 down to -32."""
ROWS = 64
"""Tokens whose whole distributions are in memory at a time, in float64."""


@dataclass(frozen=True)
class Distributions:
    """What the original says of a window's tokens but the first; letters: T scored tokens, k kept,
    r drawn."""

    top_ids: torch.Tensor  # [T, k] int64
    top: torch.Tensor  # [T, k] float64: log-probabilities
    tail: torch.Tensor  # [T] float64: log of the mass outside the top k; -inf: none
    drawn_ids: torch.Tensor  # [T, r] int64: from the tail; -1: there is none
    drawn: torch.Tensor  # [T, r] float64: their log-probabilities in the whole distribution
    own: torch.Tensor  # [T] float64: log-probability of the text's own next token

    def rows(self, some: slice) -> Distributions:
        """Those of some of the tokens."""
        return Distributions(
            self.top_ids[some],
            self.top[some],
            self.tail[some],
            self.drawn_ids[some],
            self.drawn[some],
            self.own[some],
        )


@dataclass(frozen=True)
class Original:
    """The uncompressed model, and where what it says is kept."""

    directory: Path
    cache: Path
    """A folder of this model's own."""
    identity: str
    """Of its weights and its tokenizer: what a kept file must say too."""

    @property
    def folder(self) -> Path:
        """Where the files of this format lie."""
        return self.cache / f"kl-v{FORMAT}-k{TOP_K}-r{DRAWS}"

    def path(self, window: Sequence[int]) -> Path:
        """The file of a window."""
        return self.folder / f"{content_hash(np.asarray(window))}.safetensors"

    def missing(self, windows: Sequence[Sequence[int]]) -> list[list[int]]:
        """Windows that no whole file is there for."""
        return [list(one) for one in windows if not readable(self.path(one))]

    def of(self, window: Sequence[int], vocabulary: int) -> Distributions:
        """What was kept of a window.

        raises: CallFailure "bad_input" where it is of another model, or the trial's vocabulary
            differs
        """
        return read_distributions(self.path(window), self.identity, vocabulary)


def original_model(directory: str, artifact_id: str, cache_dir: str, tokenizer: Any) -> Original:
    """The original that a model with this tokenizer is held against.

    raises: CallFailure "bad_input" where the original has another tokenizer
    """
    place = Path(directory)
    own, theirs = tokenizer_hash(load_tokenizer(place)), tokenizer_hash(tokenizer)
    if own != theirs:
        raise CallFailure(
            "bad_input",
            "Cannot hold a model against the original as its tokenizer is another one: the hashes"
            f" of their vocabularies are {theirs} and {own}",
        )
    return Original(place, Path(cache_dir), f"{artifact_id} {own}")


def tokenizer_hash(tokenizer: Any) -> str:
    """Over what a tokenizer's ids mean."""
    meanings = sorted(tokenizer.get_vocab().items())
    return hashlib.sha256(json.dumps(meanings).encode()).hexdigest()[:16]


def keep(original: Original, windows: Sequence[Sequence[int]], model: Any, report: Report) -> None:
    """Runs the original over windows and keeps what it says, one at a time: so a window's file does
    not depend on which others were missing with it. model: the original, loaded; None: it is loaded
    for this and let go of again.

    raises: CallFailure "not_a_number" where a logit is none, "disk_full" where a file cannot be
        written
    """
    import torch

    if not windows:
        return
    original.folder.mkdir(parents=True, exist_ok=True)
    loaded = model is None
    if loaded:
        with report.span("load", library=True):
            model = placed(load_dequantized(original.directory)[0])
    with report.span("original", library=True):
        for done, window in enumerate(windows, start=1):
            tokens = torch.tensor([list(window)], device=model.device)
            with torch.inference_mode():
                logits = model(tokens).logits[0, :-1]
            if not torch.isfinite(logits).all():
                raise CallFailure(
                    "not_a_number",
                    "Cannot keep what the original says: its logits are not finite",
                )
            seed = int(content_hash(np.asarray(window))[:8], 16)
            write_rows(original.path(window), packed(logits, window, seed, original.identity))
            report.progress("original", done, len(windows), "windows")
    if loaded:
        del model
        gc.collect()


def packed(
    logits: torch.Tensor, window: Sequence[int], seed: int, identity: str
) -> dict[str, torch.Tensor]:
    """The tensors of a window's file. logits: [T, vocabulary]; seed: of the draws from the tail"""
    import torch

    generator = torch.Generator().manual_seed(seed)
    text = torch.tensor(list(window)[1:])
    parts = [
        _packed_rows(rows, own, generator)
        for rows, own in zip(logits.split(ROWS), text.split(ROWS), strict=True)
    ]
    said = f"{identity} {logits.shape[-1]}".encode()
    return {
        **{name: torch.cat([part[name] for part in parts]) for name in parts[0]},
        "identity": torch.tensor(list(said), dtype=torch.uint8),
    }


def _packed_rows(
    logits: torch.Tensor, text: torch.Tensor, generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """The same of a few tokens. logits: [t, vocabulary]; text: [t], the tokens that follow"""
    import torch

    every = torch.log_softmax(logits.cpu().double(), dim=-1)
    count, vocabulary = every.shape
    k = min(TOP_K, vocabulary)
    top, top_ids = every.topk(k, dim=-1)
    rest = every.scatter(-1, top_ids, -torch.inf)
    tail = rest.logsumexp(-1)
    ids = torch.full((count, DRAWS), -1, dtype=torch.int64)
    drawn = torch.zeros((count, DRAWS), dtype=torch.float64)
    some = torch.isfinite(tail)
    if bool(some.any()):
        shares = (rest[some] - tail[some, None]).exp()
        ids[some] = torch.multinomial(shares, DRAWS, replacement=True, generator=generator)
        drawn[some] = every[some].gather(-1, ids[some])
    return {
        "top_ids": _three_bytes(top_ids),
        "top": _steps(top),
        "tail": tail.float(),
        "drawn_ids": _three_bytes(ids + 1),
        "drawn": _steps(drawn),
        "own": every.gather(-1, text[:, None])[:, 0].float(),
    }


def read_distributions(path: Path, identity: str, vocabulary: int) -> Distributions:
    """A window's file as the distributions that it stands for."""
    import torch

    kept = read_rows(path)
    said = bytes(kept["identity"].tolist()).decode()
    wanted = f"{identity} {vocabulary}"
    if said != wanted:
        raise CallFailure(
            "bad_input",
            "Cannot compare with the original: what is kept is of the model, tokenizer and"
            f" vocabulary {said}, wanted is {wanted}",
            hint="Compare trials of one model; remove the folder of what is kept to make it anew",
        )
    tail = kept["tail"].double()
    top = _from_steps(kept["top"])
    # What rounding to steps took is given back in proportion: the tail tells the top's mass.
    mass = torch.log1p(-tail.exp().clamp(max=1 - 1e-12))
    top = top + (mass - top.logsumexp(-1))[:, None]
    return Distributions(
        top_ids=_from_three_bytes(kept["top_ids"]),
        top=top,
        tail=tail,
        drawn_ids=_from_three_bytes(kept["drawn_ids"]) - 1,
        drawn=_from_steps(kept["drawn"]),
        own=kept["own"].double(),
    )


def _steps(log_probabilities: torch.Tensor) -> torch.Tensor:
    """Log-probabilities as whole steps below 0, in 16 bits. returns: uint16"""
    import torch

    return (-log_probabilities / STEP).round().clamp(0, 65535).to(torch.uint16)


def _from_steps(kept: torch.Tensor) -> torch.Tensor:
    """The log-probabilities of steps, in float64."""
    import torch

    return -STEP * kept.to(torch.int32).double()


def _three_bytes(ids: torch.Tensor) -> torch.Tensor:
    """Ids below 2^24, the lowest byte first. ids: [..., n] int64; returns: [..., n, 3] uint8"""
    import torch

    return torch.stack([(ids >> shift) & 255 for shift in (0, 8, 16)], dim=-1).to(torch.uint8)


def _from_three_bytes(kept: torch.Tensor) -> torch.Tensor:
    """[..., n, 3] uint8 as ids. returns: [..., n] int64"""
    import torch

    return sum((kept[..., i].to(torch.int64) << shift) for i, shift in enumerate((0, 8, 16)))  # type: ignore[return-value]
