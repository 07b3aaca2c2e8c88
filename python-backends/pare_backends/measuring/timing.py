"""Times generation in one or two sessions, in turn, and summarises the passes."""

from __future__ import annotations

import math
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
Z975 = 1.959964
T975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)
"""97.5 % points of Student's t with 1 to 20 degrees of freedom; beyond, 1.96 + 2.4 / freedom."""
TRIMMED = 0.2
"""Of the pairs, at each end: a burst of other work meets one side of a pair."""

LOOKED_AT = 1.1
"""Wider by: pairs that end where their interval is narrow are those whose spread came out small.
Without it 91.6 to 95 of 100 intervals hold the truth (8, 16 or 32 pairs, noise of 1 to 3 %), with
it 94.3 to 96.5."""


@dataclass(frozen=True)
class Plan:
    """How many passes are made: looked at after `least`, twice as many, and so on, up to `most`."""

    least: int
    most: int
    half_width: float  # of the ratio's 95 % interval, as a share of it: narrow enough to end

    def ends_at(self, passes: int) -> bool:
        """Whether the pairs are looked at after so many."""
        if passes >= self.most:
            return True
        looks = passes / self.least
        return looks >= 1 and math.log2(looks).is_integer()


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
    plan: Plan,
    reader: EnergyReader,
    idle: float,
    report: Report,
) -> list[list[Pass]]:
    """A B, B A, A B, …: what drifts on the machine meets both, whichever goes first.

    Two sessions go on until the interval of their ratio is as narrow as the plan asks, one alone
    makes the fewest passes. returns: one list a session
    """
    passes: list[list[Pass]] = [[] for _ in sessions]
    paired = len(sessions) > 1
    most = plan.most if paired else plan.least
    for made in range(1, most + 1):
        for one in range(len(sessions)) if made % 2 else reversed(range(len(sessions))):
            passes[one].append(time_pass(sessions[one], prompt, tokens, reader, idle))
        report.progress("speed", made, most, "pairs" if paired else "passes")
        if paired and plan.ends_at(made) and is_narrow(decode_logs(*passes[:2]), plan.half_width):
            break
    return passes


def decode_logs(own: Sequence[Pass], base: Sequence[Pass]) -> list[float]:
    """Logarithm of the ratio of decoding times, a pair each."""
    return [math.log(a.decode_seconds / b.decode_seconds) for a, b in zip(own, base, strict=True)]


def is_narrow(logs: Sequence[float], half_width: float) -> bool:
    """Whether the 95 % interval of a mean of logarithms is narrower than a share of the ratio."""
    _, error = trimmed_mean_with_error(logs)
    return error is not None and math.expm1(Z975 * error) <= half_width


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


def trimmed_mean_with_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean without a fifth at each end, and an error of which 1.96 are its 95 % interval.

    The variance is that of the values with the ends drawn in (Yuen 1974, Biometrika 61), the width
    Student's t of those that are left, and `LOOKED_AT`. None for a single value.
    """
    array = np.sort(np.asarray(values, np.float64))
    cut = int(TRIMMED * len(array))
    left = array[cut : len(array) - cut]
    if len(array) < 2:
        return float(array.mean()), None
    drawn_in = np.clip(array, left[0], left[-1])
    squares = float(((drawn_in - drawn_in.mean()) ** 2).sum())
    error = math.sqrt(squares / (len(left) * (len(left) - 1)))
    freedom = len(left) - 1
    t = T975[freedom - 1] if freedom <= len(T975) else Z975 + 2.4 / freedom
    return float(left.mean()), LOOKED_AT * error * t / Z975


def median_with_error(values: Sequence[float], seed: int) -> tuple[float, float | None]:
    """The median and its bootstrap standard error; None for a single value."""
    array = np.asarray(values, np.float64)
    if len(array) < 2:
        return float(np.median(array)), None
    rows = np.random.default_rng(seed).integers(0, len(array), (RESAMPLES, len(array)))
    return float(np.median(array)), float(np.median(array[rows], axis=1).std(ddof=1))
