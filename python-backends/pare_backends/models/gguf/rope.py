"""How a GGUF file says that positions are rotated, in the words of transformers.

Of these keys transformers reads the base alone. Llama 3.1's longer context stands in a tensor of
divisors, one a frequency: its four figures are found again from them, and held against them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

ROPE_FACTORS = "rope_freqs.weight"
LOW, HIGH = 1.0, 4.0
"""low_freq_factor and high_freq_factor of every Llama since 3.1."""
SAME_FACTORS = 1e-4
"""Largest relative difference between a file's divisors and those of the figures."""
SCALING = "rope.scaling."
KNOWN = ("type", "factor", "original_context_length")
SAID_ONLY = ("finetuned",)
"""Keys that no computation reads."""


def rope_scaling(
    said: Mapping[str, Any], factors: np.ndarray | None, base: float, width: int
) -> dict[str, Any]:
    """What `rope_parameters` must say beside the base; raises ValueError where it cannot say it.

    said: the architecture's keys, without its name
    factors: of `rope_freqs.weight`, (width / 2,); None where the file has none
    width: features of a head that are rotated
    """
    own = {name.removeprefix(SCALING): said[name] for name in said if name.startswith(SCALING)}
    kind = own.get("type", "linear")
    factor = float(own.get("factor") or said.get("rope.scale_linear") or 1.0)
    other = [name for name in own if name not in (*KNOWN, *SAID_ONLY) and own[name] not in (0, 1)]
    if other:
        raise ValueError(f"{SCALING}{other[0]} is {own[other[0]]}, which transformers does not say")
    scaled = {} if kind == "none" or factor == 1.0 else {"rope_type": kind, "factor": factor}
    if scaled and kind == "yarn":
        if "original_context_length" not in own:
            raise ValueError(f"{SCALING}original_context_length is missing, which yarn needs")
        scaled["original_max_position_embeddings"] = int(own["original_context_length"])
    elif scaled and kind != "linear":
        raise ValueError(f"{SCALING}type is {kind}, of which only linear and yarn are read")
    if factors is None or np.allclose(factors, 1.0, rtol=1e-6):
        return scaled
    found = llama3_figures(factors, base, width)
    if found is None or scaled:
        raise ValueError(
            f"{ROPE_FACTORS} divides the frequencies in no way that Llama 3's four figures say"
        )
    return {"rope_type": "llama3", **found}


def llama3_figures(factors: np.ndarray, base: float, width: int) -> dict[str, Any] | None:
    """The figures that make these divisors; None where none do. They are not unique: of two that
    differ by the context alone, both rotate alike."""
    if len(factors) * 2 != width:
        return None
    waves = 2 * math.pi * base ** (np.arange(0, width, 2) / width)
    factor = round(float(factors.max()), 6)
    between = (factors > 1 + 1e-6) & (factors < factor * (1 - 1e-6))
    if between.any():
        share = (1 / factors[between] - 1 / factor) / (1 - 1 / factor)
        found = np.median(waves[between] * (share * (HIGH - LOW) + LOW))
        tried = [round(float(found))]
    else:  # any context between the last wave that stays and the first that is divided whole
        stays = waves[factors <= 1 + 1e-6]
        least = HIGH * float(stays.max()) if len(stays) else 0.0
        most = LOW * float(waves[factors > 1 + 1e-6].min())
        tried = [2**power for power in range(4, 24) if least <= 2**power <= most]
    for old in tried:
        made = llama3_factors(waves, factor, old)
        if np.allclose(made, factors, rtol=SAME_FACTORS):
            return {
                "factor": factor,
                "low_freq_factor": LOW,
                "high_freq_factor": HIGH,
                "original_max_position_embeddings": old,
            }
    return None


def llama3_factors(waves: np.ndarray, factor: float, old: float) -> np.ndarray:
    """What each frequency is divided by. waves: lengths in tokens; old: the context before"""
    share = np.clip((old / waves - LOW) / (HIGH - LOW), 0, 1)
    return 1 / ((1 - share) / factor + share)
