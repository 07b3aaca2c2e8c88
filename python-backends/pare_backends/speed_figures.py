"""What the passes of a timing say, as measurements with their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pare_backends.energy import EnergyReader, grams_of_co2
from pare_backends.energy_tables import CarbonIntensity
from pare_backends.runtimes.session import Session
from pare_backends.runtimes.timing import Pass, mean_with_error, median_with_error


@dataclass(frozen=True)
class Timing:
    """How the passes were made."""

    runtime: str
    prompt_tokens: int
    new_tokens: int
    warm_up_tokens: int
    seed: int
    load: float
    reader: EnergyReader
    idle_watts: float
    carbon_intensity: CarbonIntensity | None


def timing_rows(timing: Timing, session: Session, passes: Sequence[Pass]) -> list[dict[str, Any]]:
    """Prefill and decode apart, each as the time of a token and as tokens a second: medians."""
    prompt, tokens = timing.prompt_tokens, timing.new_tokens
    notes = "; ".join(("", *session.notes))
    how = (
        f"median of {len(passes)} passes after {timing.warm_up_tokens} tokens of warm-up, "
        f"load {timing.load:.1f}{notes}"
    )
    decode = f"{how}; {tokens} greedy tokens after {prompt}"
    prefill = f"{how}; prompt of {prompt}"
    rows = (
        ("latency_ms", "ms/token", "minimize", [p.latency_ms(tokens) for p in passes], decode),
        (
            "decode_tokens_per_s",
            "tokens/s",
            "maximize",
            [tokens / p.decode_seconds for p in passes],
            decode,
        ),
        (
            "prefill_ms_per_token",
            "ms/token",
            "minimize",
            [p.prefill_seconds / prompt * 1000 for p in passes],
            prefill,
        ),
        (
            "prefill_tokens_per_s",
            "tokens/s",
            "maximize",
            [prompt / p.prefill_seconds for p in passes],
            prefill,
        ),
    )
    found = []
    for metric, unit, direction, values, method in rows:
        value, error = median_with_error(values, timing.seed)
        row = measurement(timing.runtime, session, metric, value, unit, method)
        found.append(
            {
                **row,
                "direction": direction,
                "n": len(values),
                "standard_error": error,
                "spread": spread(values),
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
    kinds: list[tuple[str, str, str, list[float]]] = [
        ("energy_j_per_1k_tokens", "J/1k tokens", how, values)
    ]
    if carbon is not None:
        where = carbon.country or "world"
        factor = f"{carbon.g_per_kwh:g} g/kWh, {where} {carbon.year} ({carbon.source})"
        grams = [grams_of_co2(value, carbon.g_per_kwh) for value in values]
        kinds.append(
            ("co2_g_per_1k_tokens", "g/1k tokens", f"{reader.method}; {factor}", grams),
        )
    rows = []
    for metric, unit, method, found in kinds:
        value, error = mean_with_error(found)
        row = measurement(timing.runtime, session, metric, value, unit, method)
        rows.append(
            {
                **row,
                "provenance": reader.provenance,
                "n": len(found),
                "standard_error": error,
                "spread": spread(found),
            }
        )
    return rows


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
    runtime: str, session: Session, metric: str, value: float, unit: str, method: str
) -> dict[str, Any]:
    """A `Measurement` of `core/schemas/measurement.ts` of one reading."""
    return {
        "metric": metric,
        "value": value,
        "unit": unit,
        "direction": "minimize",
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
