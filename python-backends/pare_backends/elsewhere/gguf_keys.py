"""Whether the keys of a GGUF file are those of the model: against what pare would write of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gguf import ReaderTensor
from gguf.quants import dequantize

from pare_backends.elsewhere.given import refused

NOT_COMPUTED_WITH = (
    "context_length", "rope.scaling.finetuned", "vocab_size", "attention.q_lora_rank",
    "rope.dimension_sections", "feed_forward_length", "expert_feed_forward_length",
    "expert_shared_feed_forward_length",
)  # fmt: skip
"""How much a file reads, what no text is computed with, and what the shapes of tensors tell."""
GROWING = ("attn_factor", "yarn_attn_factor", "yarn_log_multiplier")
"""Endings of three keys by which a file may say what a stretched rotation multiplies by."""
OF_LATENT_FORM = ("head_count_kv", "key_length", "value_length", "yarn_log_multiplier")
"""Endings of keys that say otherwise where a file multiplies by the halves of latent matrices."""
LATENT = "attention.key_length_mla"
GUESSING = "nextn_predict_layers"
"""Layers behind the last, which guess a further token: llama.cpp counts them among the blocks."""
DEFAULTS: dict[str, float] = {
    "rope.freq_base": 10_000.0, "rope.scaling.factor": 1.0, "rope.scaling.attn_factor": 1.0,
    "rope.scaling.yarn_beta_fast": 32.0, "rope.scaling.yarn_beta_slow": 1.0,
    "attention.scale": 0.0, "embedding_scale": 1.0, "residual_scale": 1.0, "logit_scale": 1.0,
    "attn_logit_softcapping": 0.0, "final_logit_softcapping": 0.0,
}  # fmt: skip
"""What llama.cpp computes with where a file does not say it."""
EPSILON = "_epsilon"
SMALL_EPSILON = 2e-5
"""Of a norm: llama.cpp's converter writes 1e-5 of models whose own is smaller."""
CLOSE = 1e-4
"""Relative difference of a number in two precisions."""


def check_keys(
    file: str,
    layout: Any,
    wanted: Mapping[str, Any],
    said: Mapping[str, Any],
    found: Mapping[str, ReaderTensor],
) -> None:
    """Raises `CallFailure` where the file says of its architecture what is not the model's.

    layout: `GgufLayout` of the model; wanted: its keys; said: the file's; both without the
    architecture's name
    """
    latent = LATENT in said and LATENT not in wanted
    for key, right in wanted.items():
        if key in NOT_COMPUTED_WITH or (latent and key.endswith(OF_LATENT_FORM)):
            continue
        own = said.get(key, DEFAULTS.get(key))
        if key not in said and key.endswith(GROWING) and any(map(grows, said)):
            continue
        if key.endswith(EPSILON) and own is not None and max(own, right) <= SMALL_EPSILON:
            continue
        if key == "block_count" and own is not None:
            own -= int(said.get(GUESSING, 0)) - int(wanted.get(GUESSING, 0))
        if own is not None and not same(own, right):
            unsaid = "" if key in said else ", as it does not say it"
            raise refused(
                file, f"{key} is {shown(own)} in it{unsaid}, and {shown(right)} in the model"
            )
    for key, usual in DEFAULTS.items():
        if key in said and key not in wanted and not same(said[key], usual) and said[key] != 0:
            raise refused(file, f"it says {key}: {shown(said[key])}, which the model has not")
    check_factors(file, layout, found)


def grows(key: str) -> bool:
    return key.endswith(GROWING)


def same(own: Any, right: Any) -> bool:
    """Whether two values are one; a list of one number and that number are."""
    own, right = plain(own), plain(right)
    if isinstance(own, str) or isinstance(right, str):
        return bool(own == right)
    if isinstance(own, list) and isinstance(right, list):
        return len(own) == len(right) and all(map(same, own, right))
    if isinstance(own, list) or isinstance(right, list):
        return False
    return math.isclose(float(own), float(right), rel_tol=CLOSE, abs_tol=1e-12)


def plain(value: Any) -> Any:
    """Lists of one number many times as that number."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return value
    listed = list(value)
    return listed[0] if listed and all(one == listed[0] for one in listed) else listed


def shown(value: Any) -> str:
    return f"{value:.60}" if isinstance(value, str) else f"{plain(value)!s:.60}"


def check_factors(file: str, layout: Any, found: Mapping[str, ReaderTensor]) -> None:
    """Raises where frequencies of the rotation are divided otherwise than the model's."""
    wanted = {} if layout.rope is None else layout.rope.tensors()
    for name, values in wanted.items():
        if name not in found:
            raise refused(
                file, f"it holds no tensor {name}, by which the model divides frequencies"
            )
        own = np.asarray(dequantize(found[name].data, found[name].tensor_type), np.float32).ravel()
        if own.shape != values.shape or not np.allclose(own, values, rtol=1e-3):
            raise refused(file, f"its {name} are not the model's")
