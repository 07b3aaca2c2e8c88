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
        ("Youtu", dict(attention_bias=True), "its attention_bias is true, llama.cpp takes false"),
        ("Youtu", dict(num_hidden_layers=26), "it has 26 layers and a q_lora_rank"),
        ("Youtu", dict(rope_interleave=False), "its rope_interleave is false"),
        ("Afmoe", dict(mup_enabled=False), "its mup_enabled is not true"),
        ("Afmoe", dict(num_shared_experts=0), "it has no num_shared_experts"),
        ("Afmoe", dict(attention_bias=True), "its attention_bias is true"),
        ("Afmoe", dict(sliding_window=None), "it has no sliding_window"),
        ("Afmoe", dict(layer_types=["sliding_attention"] * 5), "not every 4th of its layers"),
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


def test_youtu_is_deepseeks_whose_layers_are_all_dense() -> None:
    """Its yarn scales queries too. transformers loads no embedding of what pads."""
    layout = GgufLayout(of("Youtu"))
    written = keys_of(layout)
    assert written["deepseek2.leading_dense_block_count"] == layout.layers == 2
    assert "deepseek2.expert_count" not in written and layout.experts_used() == 1.0
    assert written["deepseek2.rope.scaling.yarn_log_multiplier"] == 0.1
    assert layout.notes == []
    assert "the embedding of token 7, which pads" in str(
        GgufLayout(of("Youtu", pad_token_id=7)).notes
    )


def test_afmoe_says_its_dense_layers_and_the_scale_of_its_experts() -> None:
    """In its own words, of which one is read by nobody: their weights always sum to one."""
    layout = GgufLayout(of("Afmoe", route_norm=False, norm_topk_prob=False))
    written = keys_of(layout)
    for key, value in (
        ("leading_dense_block_count", 1), ("expert_shared_count", 2), ("expert_weights_scale", 2.8),
        ("expert_weights_norm", True), ("attention.sliding_window", 8),
    ):  # fmt: skip
        assert written[f"afmoe.{key}"] == value, key
    names = {
        "self_attn.gate_proj.weight": "attn_gate.weight",
        "mlp.expert_bias": "exp_probs_b.bias",
        "mlp.router.gate.weight": "ffn_gate_inp.weight",
        "mlp.experts.3.up_proj.weight": "ffn_up_exps.weight",
    }
    for own, there in names.items():
        assert layout.name(f"model.layers.1.{own}") == f"blk.1.{there}"
