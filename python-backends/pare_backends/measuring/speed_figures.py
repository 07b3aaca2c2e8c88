"""What the passes of a timing say, as measurements with their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pare_backends.measuring.energy import EnergyReader, grams_of_co2
from pare_backends.measuring.energy_tables import CarbonIntensity
from pare_backends.measuring.timing import (
    Pass,
    decode_logs,
    mean_with_error,
    median_with_error,
    trimmed_mean_with_error,
)
from pare_backends.runtimes.session import Session


@dataclass(frozen=True)
class Timing:
    """How the passes were made."""

    runtime: str
    prompt_tokens: int
    new_tokens: int
    warm_up_tokens: int
    seed: int
    load: float
    busy_cores: float | None  # that other work took meanwhile; None: hardly any
    reader: EnergyReader
    idle_watts: float
    carbon_intensity: CarbonIntensity | None


@dataclass(frozen=True)
class Timed:
    """One session's passes and what was loaded in it."""

    session: Session
    form: str  # `stored_form` of its artifact
    passes: Sequence[Pass]
    counted: Sequence[Pass]  # for energy: the passes and what a counter needed more


def timing_rows(
    timing: Timing, session: Session, passes: Sequence[Pass], form: str
) -> list[dict[str, Any]]:
    """Prefill and decode apart, each as the time of a token and as tokens per second: medians.

    form: `stored_form` of what was loaded
    """
    prompt, tokens = timing.prompt_tokens, timing.new_tokens
    notes = "; ".join(("", *session.notes))
    how = (
        f"median of {len(passes)} passes after {timing.warm_up_tokens} tokens of warm-up, "
        f"load {timing.load:.1f}{notes}"
    )
    decode = f"{how}; {tokens} greedy tokens after {prompt}"
    prefill = f"{how}; prompt of {prompt}"
    rows = (
        ("latency_ms", [p.latency_ms(tokens) for p in passes], decode),
        ("decode_tokens_per_s", [tokens / p.decode_seconds for p in passes], decode),
        ("prefill_ms_per_token", [p.prefill_seconds / prompt * 1000 for p in passes], prefill),
        ("prefill_tokens_per_s", [prompt / p.prefill_seconds for p in passes], prefill),
    )
    found = []
    for metric, values, method in rows:
        value, error = median_with_error(values, timing.seed)
        row = measurement(timing.runtime, session, metric, value, method)
        found.append(
            {
                **row,
                "n": len(values),
                "standard_error": error,
                "spread": spread(values),
                "form": form,
                **disturbed(timing),
            }
        )
    return found


def energy_rows(timing: Timing, session: Session, passes: Sequence[Pass]) -> list[dict[str, Any]]:
    """Joules, and grams of CO2, of 1,000 generated tokens: means, as a counter that steps a tenth
    of a second late gives one pass what belongs to the next."""
    reader, carbon = timing.reader, timing.carbon_intensity
    values = [p.joules / timing.new_tokens * 1000 for p in passes]
    seconds = sum(p.decode_seconds for p in passes)
    how = (
        f"{reader.method}; mean over {seconds:.1f} s of decoding, {timing.idle_watts:.1f} W idle "
        f"subtracted; {reader.how}"
    )
    kinds: list[tuple[str, str, list[float]]] = [("energy_j_per_1k_tokens", how, values)]
    if carbon is not None:
        where = carbon.country or "world"
        factor = f"{carbon.g_per_kwh:g} g/kWh, {where} {carbon.year} ({carbon.source})"
        grams = [grams_of_co2(value, carbon.g_per_kwh) for value in values]
        kinds.append(("co2_g_per_1k_tokens", f"{reader.method}; {factor}", grams))
    rows = []
    for metric, method, found in kinds:
        value, error = mean_with_error(found)
        row = measurement(timing.runtime, session, metric, value, method)
        # An estimate is one whatever ran; what a counter read is no better than what ran.
        measured = reader.provenance == "measured"
        rows.append(
            {
                **row,
                "provenance": session.provenance if measured else reader.provenance,
                "n": len(found),
                "standard_error": error,
                "spread": spread(found),
            }
        )
    return rows


def ratio_rows(timing: Timing, own: Timed, base: Timed) -> list[dict[str, Any]]:
    """The artifact over the baseline of the same minutes, each pass with the one made beside it.

    Of the pairs' ratios the geometric mean without a fifth at each end, 1.96 of its error the 95 %
    interval; energy as the quotient of both means, as passes that a counter needs more of are no
    pairs.
    """
    pairs = list(zip(own.passes, base.passes, strict=True))
    how = (
        f"trimmed mean of {len(pairs)} pairs with the baseline, in turn, each first in half of them"
    )
    kinds = [
        ("latency_ratio", decode_logs(own.passes, base.passes)),
        ("prefill_ratio", [math.log(a.prefill_seconds / b.prefill_seconds) for a, b in pairs]),
    ]
    rows = []
    for metric, logs in kinds:
        log, error = trimmed_mean_with_error(logs)
        row = _ratio_row(timing, own, base, metric, log, error, how)
        ratios = spread([math.exp(one) for one in logs])
        rows.append({**row, "n": len(pairs), "spread": ratios})
    return [*rows, *_energy_ratio(timing, own, base)]


def _energy_ratio(timing: Timing, own: Timed, base: Timed) -> list[dict[str, Any]]:
    """Nothing where energy is estimated: an estimate is the time again."""
    if timing.reader.provenance != "measured":
        return []
    means = [mean_with_error([p.joules for p in one.counted]) for one in (own, base)]
    if any(mean <= 0 for mean, _ in means):
        return []
    errors = [None if error is None else error / mean for mean, error in means]
    log = math.log(means[0][0] / means[1][0])
    error = None if None in errors else math.hypot(*(e for e in errors if e is not None))
    how = f"{timing.reader.method}; quotient of the means over the decoding of both in turn"
    row = _ratio_row(timing, own, base, "energy_ratio", log, error, how)
    return [{**row, "n": min(len(own.counted), len(base.counted))}]


def _ratio_row(
    timing: Timing,
    own: Timed,
    base: Timed,
    metric: str,
    log: float,
    error: float | None,
    how: str,
) -> dict[str, Any]:
    row = measurement(timing.runtime, own.session, metric, math.exp(log), how)
    emulated = "emulated" in (own.session.provenance, base.session.provenance)
    return {
        **row,
        "provenance": "emulated" if emulated else "measured",
        "standard_error": None if error is None else error * math.exp(log),
        "form": own.form,
        **disturbed(timing),
    }


def disturbed(timing: Timing) -> dict[str, float]:
    """What a row says of other work beside its timing: nothing where there was hardly any."""
    return {} if timing.busy_cores is None else {"busy_cores": timing.busy_cores}


def energy_reading(timing: Timing, passes: Sequence[Pass]) -> dict[str, Any]:
    """`EnergyReading` of the wire: the decoding of all passes together."""
    carbon = timing.carbon_intensity
    return {
        "reader": timing.reader.method,
        "joules": sum(p.joules for p in passes),
        "seconds": sum(p.decode_seconds for p in passes),
        "idle_watts": timing.idle_watts,
        "tokens": timing.new_tokens * len(passes),
        "how": timing.reader.how,
        "carbon_intensity": None if carbon is None else asdict(carbon),
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """`Spread` of `core/schemas/measurement.ts`; quartiles as NumPy interpolates them."""
    low, first, third, high = np.quantile(values, [0, 0.25, 0.75, 1])
    return {
        "minimum": float(low),
        "lower_quartile": float(first),
        "upper_quartile": float(third),
        "maximum": float(high),
    }


def measurement(
    runtime: str, session: Session, metric: str, value: float, method: str
) -> dict[str, Any]:
    """One reading as a `RuntimeFigure` of `core/calls/declared/speed.ts`: unit and direction are
    the table of metrics' to say."""
    return {
        "metric": metric,
        "value": value,
        "n": 1,
        "standard_error": None,
        "fidelity": "full",
        "provenance": session.provenance,
        "task": None,
        "task_version": None,
        "slice": None,
        "runtime": runtime,
        "numerics": asdict(session.numerics),
        "device": session.device,
        "method": method,
    }
