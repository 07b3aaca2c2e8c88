"""What a runtime computes for a text of its own: the half of the proof that needs no torch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from pare_backends.runtimes.decoder_session import SequenceDecoder
from pare_backends.runtimes.session import Numerics


@dataclass(frozen=True)
class AskedLogits:
    """Of which artifact, and of which text."""

    artifact_dir: str
    form_dir: str  # as it is timed
    exact_form_dir: str  # the same weights as float32
    tokens: int
    seed: int
    precision: str | None = None  # as it is timed; None: the runtime's own


@dataclass(frozen=True)
class RuntimeLogits:
    """Logits: (n, vocabulary) float32."""

    tokens: np.ndarray  # (n,) int64
    strict: np.ndarray  # every weight and activation in float32
    timed: np.ndarray  # with the numerics that speed is taken with
    numerics: Mapping[str, Any]

    def save(self, path: str) -> None:
        """Writes an .npz file."""
        numerics = np.array(json.dumps(dict(self.numerics)))
        np.savez(path, tokens=self.tokens, strict=self.strict, timed=self.timed, numerics=numerics)


def load_logits(path: str) -> RuntimeLogits:
    """What `save` wrote."""
    with np.load(path, allow_pickle=False) as kept:
        numerics = json.loads(str(kept["numerics"]))
        return RuntimeLogits(kept["tokens"], kept["strict"], kept["timed"], numerics)


def runtime_logits(
    tokens: np.ndarray, strict: np.ndarray, timed: np.ndarray, numerics: Numerics
) -> RuntimeLogits:
    """The parts as one."""
    return RuntimeLogits(tokens, strict, timed, asdict(numerics))


def sample_text(decoder: SequenceDecoder, tokens: int, seed: int) -> np.ndarray:
    """A text of the model's own: sampled at temperature 1 after a seeded first token.

    returns: (tokens,) int64
    """
    random = np.random.default_rng(seed)
    decoder.reset()
    chosen = [1]
    while len(chosen) < tokens:
        logits = decoder.step(np.array(chosen[-1:], np.int64))[-1]
        scores = logits + random.gumbel(size=len(logits))  # the largest is a fair sample
        chosen.append(int(scores.argmax()))
    return np.array(chosen, np.int64)


class ReadingDecoder(SequenceDecoder, Protocol):
    """One that reads several tokens at once, and gives the logits of each."""

    def append(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        """tokens: (n,) int64; returns: (wanted, vocabulary) float32, of the last"""
        ...


def as_used(decoder: ReadingDecoder, tokens: np.ndarray) -> np.ndarray:
    """Logits after each token, three of four read at once as a prompt is, the others one by one:
    libraries multiply many inputs by other code than one, some where there are 32.

    tokens: (n,) int64; returns: (n, vocabulary) float32
    """
    decoder.reset()
    prompt = len(tokens) * 3 // 4
    read = decoder.append(tokens[:prompt], prompt)
    steps = [decoder.step(tokens[i : i + 1])[-1].copy() for i in range(prompt, len(tokens))]
    return np.concatenate([read, np.stack(steps)])


def step_by_step(decoder: SequenceDecoder, tokens: np.ndarray) -> np.ndarray:
    """Logits after each token. tokens: (n,) int64; returns: (n, vocabulary) float32"""
    decoder.reset()
    return np.stack([decoder.step(tokens[i : i + 1])[-1].copy() for i in range(len(tokens))])


class ClosableDecoder(ReadingDecoder, Protocol):
    """One that holds memory until it is told."""

    def close(self) -> None: ...


def two_files_logits(
    asked: AskedLogits,
    numerics: Numerics,
    open_timed: Callable[[], ClosableDecoder],
    open_exact: Callable[[], ClosableDecoder],
) -> RuntimeLogits:
    """Of a runtime whose file as it is timed is not that of the proof: one is in memory at a time.
    The text is sampled in the file that is timed.

    open_exact: opens the same weights as float32
    """
    with closing(open_timed()) as own:
        tokens = sample_text(own, asked.tokens, asked.seed)
        timed = as_used(own, tokens)
    with closing(open_exact()) as exact:
        strict = step_by_step(exact, tokens)
    return runtime_logits(tokens, strict, timed, numerics)
