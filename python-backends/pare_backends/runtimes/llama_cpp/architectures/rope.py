"""How a model rotates its queries and keys, in a config of transformers and in a GGUF file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gguf import GGUFWriter, RopeScalingType

FACTORS = "rope_freqs.weight"
SHORT_FACTORS, LONG_FACTORS = "rope_factors_short.weight", "rope_factors_long.weight"
STILL = 1e30
"""What the frequency of a pair that is not turned is divided by."""
LLAMA3 = (
    "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings",
)  # fmt: skip


class Rope:
    """The rotation of a model, wherever a version of transformers wrote it.

    config: the checkpoint's config.json; head_dim: features of a head; usual_share: of them that
    its architecture rotates where the config does not say; scales_queries: whether yarn's factor
    multiplies queries besides
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        head_dim: int,
        usual_share: float,
        scales_queries: bool = False,
    ) -> None:
        said = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
        # Some have one for each kind of layer: those of windows have a key of their own.
        said = dict(said.get("full_attention") or said)
        self.kind = str(said.get("rope_type") or said.get("type") or "default")
        self.theta = float(said.get("rope_theta") or config.get("rope_theta") or 10_000.0)
        share = said.get("partial_rotary_factor") or config.get("partial_rotary_factor")
        whole = config.get("rotary_dim") if share is None else None  # MiniMax's own word
        share = usual_share if share is None else float(share)
        self.dimensions = int(share * head_dim if whole is None else whole)
        self._turned = self.dimensions // 2  # pairs of features
        if self.kind == "proportional":  # frequencies of a whole head, the last of them 0
            self.dimensions = head_dim
        self._said = said
        self._scales_queries = scales_queries
        self._longest = int(config.get("max_position_embeddings") or 0)
        first = said.get("original_max_position_embeddings") or config.get(
            "original_max_position_embeddings"
        )
        self._first = int(first or self._longest)

    def why_not(self, kinds: tuple[str, ...]) -> str | None:
        """Why llama.cpp rotates otherwise; None: it rotates so.

        kinds: types of transformers' that it computes in this architecture
        """
        if self.kind not in kinds:
            return f"its rope_type is {self.kind}, not one of {', '.join(kinds)}"
        if self.kind == "dynamic" and not self._said.get("alpha"):
            return "its dynamic rope has no alpha, llama.cpp's base is the same for every length"
        if self.kind == "yarn" and self._scales_queries:
            scale, of_all = (self._said.get(name) for name in ("mscale", "mscale_all_dim"))
            if not of_all or scale != of_all or self._said.get("attention_factor") is not None:
                return (
                    f"its mscale is {scale} and its mscale_all_dim {of_all}, llama.cpp takes two"
                    " that are alike"
                )
        if self.kind == "longrope":
            for name in ("short_factor", "long_factor"):
                count = len(self._said.get(name) or ())
                if count != self.dimensions // 2:
                    return f"its {name} has {count} factors, not {self.dimensions // 2}"
        return None

    @property
    def note(self) -> str | None:
        """When llama.cpp rotates otherwise than the model; None: never."""
        if self.kind == "yarn" and not self._said.get("truncate", True):
            return "llama.cpp rounds the range in which yarn blends to whole features"
        if self.kind != "longrope":
            return None
        return (
            f"llama.cpp rotates by the long factors where its context is of more than {self._first}"
            " tokens, the model where its text is"
        )

    def _stretch(self) -> float:
        """By what its context is longer than the one it was trained on at first."""
        factor = self._said.get("factor")
        return self._longest / self._first if factor is None else float(factor)

    def _attention_factor(self) -> float:
        """What cosines and sines are multiplied by: as transformers computes it."""
        said, stretch = self._said, self._stretch()
        if said.get("attention_factor") is not None:
            return float(said["attention_factor"])
        if self.kind == "longrope":
            grown = math.log(stretch) / math.log(self._first) if stretch > 1 else 0.0
            return math.sqrt(1 + grown)
        scale, of_all = said.get("mscale"), said.get("mscale_all_dim")
        if scale and of_all:
            return _grown(stretch, float(scale)) / _grown(stretch, float(of_all))
        return _grown(stretch, 1.0)

    def write_keys(self, writer: GGUFWriter) -> None:
        writer.add_rope_dimension_count(self.dimensions)
        base = self.theta
        if self.kind == "dynamic":
            whole = self.dimensions
            base *= float(self._said["alpha"]) ** (whole / (whole - 2))
        writer.add_rope_freq_base(base)
        if self.kind == "linear":
            writer.add_rope_scaling_type(RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(float(self._said["factor"]))
        if self.kind == "longrope":
            writer.add_rope_scaling_type(RopeScalingType.LONGROPE)
            writer.add_rope_scaling_orig_ctx_len(self._first)
            writer.add_rope_scaling_attn_factors(self._attention_factor())
        if self.kind == "yarn":
            stretch = self._stretch()
            writer.add_rope_scaling_type(RopeScalingType.YARN)
            writer.add_rope_scaling_factor(stretch)
            writer.add_rope_scaling_orig_ctx_len(self._first)
            if self._scales_queries:
                # llama.cpp takes a tenth of it.
                writer.add_rope_scaling_yarn_log_mul(0.1 * float(self._said["mscale_all_dim"]))
            else:
                # llama.cpp multiplies by the usual one by itself.
                factor = self._attention_factor() / _grown(stretch, 1.0)
                writer.add_rope_scaling_attn_factors(factor)
            writer.add_rope_scaling_yarn_beta_fast(float(self._said.get("beta_fast") or 32))
            writer.add_rope_scaling_yarn_beta_slow(float(self._said.get("beta_slow") or 1))

    def tensors(self) -> dict[str, np.ndarray]:
        """What each frequency is divided by, (dimensions / 2,) float32; empty where nothing is."""
        if self.kind == "llama3":
            return {FACTORS: self._llama3_factors()}
        if self.kind == "proportional":
            turned = np.arange(self.dimensions // 2) < self._turned
            return {FACTORS: np.where(turned, 1.0, STILL).astype(np.float32)}
        if self.kind == "longrope":
            names = {SHORT_FACTORS: "short_factor", LONG_FACTORS: "long_factor"}
            return {own: np.array(self._said[name], np.float32) for own, name in names.items()}
        return {}

    def _llama3_factors(self) -> np.ndarray:
        """Frequencies whose wave is short stay, long ones are divided by `factor`, those between
        are blended: as transformers computes its type llama3."""
        factor, low, high, old = (float(self._said[name]) for name in LLAMA3)
        powers = np.arange(0, self.dimensions, 2, dtype=np.float64) / self.dimensions
        waves = 2 * math.pi * self.theta**powers
        with np.errstate(divide="ignore"):  # Llama 4 blends none: its high and low are one
            share = np.clip((old / waves - low) / np.float64(high - low), 0, 1)
        return (1 / ((1 - share) / factor + share)).astype(np.float32)


def _grown(stretch: float, weight: float) -> float:
    return 0.1 * weight * math.log(stretch) + 1 if stretch > 1 else 1.0
