"""Times generation in one or two sessions, in turn, and summarises the passes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pare_backends.measuring.energy import EnergyReader
from pare_backends.progress import Report
from pare_backends.runtimes.session import Session

RESAMPLES = 2000
COUNTED_SECONDS = 10.0
"""Of decoding that a counter is read over: it steps every 20 to 100 ms, 10 % of a second."""


@dataclass(frozen=True)
class Pass:
    """One prompt and its continuation."""

    prefill_seconds: float
    decode_seconds: float
    joules: float  # of the decoding alone, idle power subtracted

    def latency_ms(self, tokens: int) -> float:
        """Mean milliseconds of a generated token, the prompt left out."""
        return self.decode_seconds / tokens * 1000


def time_pass(
    session: Session, prompt: np.ndarray, tokens: int, reader: EnergyReader, idle: float
) -> Pass:
    """Generates exactly `tokens` tokens after the prompt, greedily; an end mark does not stop."""
    started = time.perf_counter()
    token = session.prefill(prompt)
    prefilled = time.perf_counter()
    before = reader.now()
    for _ in range(tokens):
        token = session.decode(token)
    seconds = time.perf_counter() - prefilled
    joules = max(0.0, reader.now() - before - idle * seconds)
    return Pass(prefilled - started, seconds, joules)


def time_in_turn(
    sessions: Sequence[Session],
    prompt: np.ndarray,
    tokens: int,
    repeats: int,
    reader: EnergyReader,
    idle: float,
    report: Report,
) -> list[list[Pass]]:
    """A B A B …: what drifts on the machine meets both. returns: one list a session"""
    passes: list[list[Pass]] = [[] for _ in sessions]
    for repeat in range(repeats):
        for session, done in zip(sessions, passes, strict=True):
            done.append(time_pass(session, prompt, tokens, reader, idle))
        report.progress("speed", repeat + 1, repeats, "pairs" if len(sessions) > 1 else "passes")
    return passes


def read_energy(
    session: Session,
    passes: Sequence[Pass],
    prompt: np.ndarray,
    tokens: int,
    reader: EnergyReader,
    idle: float,
    report: Report,
) -> list[Pass]:
    """The passes, with as many more as a hardware's counter needs; an estimate needs none."""
    every = list(passes)
    while reader.provenance == "measured" and (
        sum(one.decode_seconds for one in every) < COUNTED_SECONDS
    ):
        every.append(time_pass(session, prompt, tokens, reader, idle))
        report.progress("energy", len(every), None, "passes")
    return every


def mean_with_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and its standard error; None for a single value."""
    array = np.asarray(values, np.float64)
    if len(array) < 2:
        return float(array.mean()), None
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array)))


def median_with_error(values: Sequence[float], seed: int) -> tuple[float, float | None]:
    """The median and its bootstrap standard error; None for a single value."""
    array = np.asarray(values, np.float64)
    if len(array) < 2:
        return float(np.median(array)), None
    rows = np.random.default_rng(seed).integers(0, len(array), (RESAMPLES, len(array)))
    return float(np.median(array)), float(np.median(array[rows], axis=1).std(ddof=1))
