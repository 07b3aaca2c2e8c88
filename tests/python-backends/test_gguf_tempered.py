"""How models whose queries grow with their place are laid out in a GGUF file."""

from __future__ import annotations

from typing import Any

import pytest
from architecture_configs import YARN
from test_gguf_layout import config, keys_of

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout


def ministral3(**rope: Any) -> dict[str, Any]:
    said = {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1, **rope}
    return config(architectures=["Ministral3ForCausalLM"], rope_parameters=said)


@pytest.mark.parametrize(
    ("rope", "why"),
    [
        (dict(rope_type="default"), "its rope_type is default, not one of yarn"),
        (dict(llama_4_scaling_beta=None), "its rope_parameters have no llama_4_scaling_beta"),
    ],
)
def test_rotations_of_ministral_3_that_nothing_computes_are_refused(
    rope: dict[str, Any], why: str
) -> None:
    with pytest.raises(CallFailure, match=why):
        GgufLayout(ministral3(**rope))


def test_a_temperature_grows_by_the_length_that_yarn_stretches() -> None:
    written = keys_of(GgufLayout(ministral3()))
    assert written["mistral3.attention.temperature_scale"] == 0.1
    assert written["mistral3.rope.scaling.original_context_length"] == 64
    # llama.cpp multiplies by yarn's usual factor, which mscale and mscale_all_dim cancel here.
    factor = written["mistral3.rope.scaling.attn_factor"]
    assert factor == pytest.approx(1 / 1.13863, rel=1e-5)
