"""How configurations of mixtures and of latent attention are laid out in a GGUF file."""

from __future__ import annotations

from typing import Any

import pytest
from architecture_configs import OTHERWISE
from test_gguf_layout import config, keys_of

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout


def of(family: str, **changes: Any) -> dict[str, Any]:
    name = f"{family}ForCausalLM"
    own = {"tie_word_embeddings": False, **OTHERWISE[name], **changes}
    return config(architectures=[name], **own)


@pytest.mark.parametrize(
    ("family", "changes", "why"),
    [
        ("SolarOpen", dict(n_group=2), "its n_group is 2, llama.cpp takes 1"),
        ("SolarOpen", dict(n_shared_experts=0), "it has no n_shared_experts"),
    ],
)
def test_what_llama_cpp_computes_otherwise_is_refused(
    family: str, changes: dict[str, Any], why: str
) -> None:
    GgufLayout(of(family))
    with pytest.raises(CallFailure, match=why):
        GgufLayout(of(family, **changes))


def test_every_layer_of_solar_open_is_a_mixture_whatever_its_config_says() -> None:
    """As its hub's config does, which has GLM's settings of dense layers; heads turn whole."""
    hub = of("SolarOpen", first_k_dense_replace=1, intermediate_size=10240)
    written = keys_of(GgufLayout(hub))
    assert "glm4moe.leading_dense_block_count" not in written
    assert written["glm4moe.expert_feed_forward_length"] == 64
    assert written["glm4moe.rope.dimension_count"] == 16
