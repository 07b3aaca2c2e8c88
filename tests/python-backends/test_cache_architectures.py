"""Models that are cut in part: layers with a window or a state of their own go on with that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t
from cache_examples import LastRow
from oracles.kept_positions import tokens as oracle_tokens
from random_models import FULL, common, llama_like

from pare_backends.cache.attach import attach_policy
from pare_backends.cache.kept import KeptLayer, kept_bytes, kept_tokens
from pare_backends.cache.method import in_layers
from pare_backends.cache.policy import policy_of
from pare_backends.cache.reading import follow, read_context, read_contexts
from pare_backends.evaluation.packed.shared_prompts import WholeContexts
from pare_backends.failures import CallFailure
from pare_backends.kv_cache import expected_attention, h2o
from pare_backends.kv_cache.streaming import SinksAndWindow

SLIDING = "sliding_attention"
CONTEXT, AFTER, WINDOW = 60, 12, 16
LIKE = {**llama_like(100), "head_dim": 16}
MIXED: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "gemma3": (
        lambda: t.Gemma3TextConfig(
            **{**LIKE, "num_hidden_layers": 4},
            sliding_window=WINDOW,
            layer_types=[SLIDING, FULL, SLIDING, FULL],
        ),
        (1, 3),
    ),
    "cohere2": (
        lambda: t.Cohere2Config(**LIKE, sliding_window=WINDOW, layer_types=[SLIDING, FULL]),
        (1,),
    ),
    "olmo3": (
        lambda: t.Olmo3Config(
            **llama_like(100), sliding_window=WINDOW, layer_types=[SLIDING, FULL]
        ),
        (1,),
    ),
    "qwen3_next": (
        lambda: t.Qwen3NextConfig(
            **LIKE,
            layer_types=["linear_attention", FULL],
            linear_num_value_heads=4,
            linear_num_key_heads=2,
            linear_key_head_dim=16,
            linear_value_head_dim=16,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            shared_expert_intermediate_size=32,
        ),
        (1,),
    ),
    "lfm2": (
        lambda: t.Lfm2Config(**llama_like(100), layer_types=["conv", FULL]),
        (1,),
    ),
}


def made(config: Any) -> Any:
    """A model of random weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = t.AutoModelForCausalLM.from_config(config).float().eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, 0.0, 0.15)
    return model


def text(rows: int = 1) -> torch.Tensor:
    drawn = np.random.default_rng(5).integers(3, 60, (rows, CONTEXT + AFTER))
    return torch.from_numpy(drawn)


@torch.no_grad()
@pytest.mark.parametrize("architecture", MIXED)
def test_layers_of_full_attention_are_cut_and_the_others_go_on(
    architecture: str,
) -> None:
    config, cut = MIXED[architecture]
    own = attach_policy(made(config()), LastRow(20))
    cache = read_context(own, text()[:, :CONTEXT])
    kept = kept_tokens(cache)
    assert kept.by_layer == (20,) * len(cut) and kept.cut == cut
    numbers = ", ".join(map(str, cut))
    assert f"layers (number {numbers}; the others keep their own)" in kept.words()
    assert [isinstance(layer, KeptLayer) for layer in cache.layers] == [
        number in cut for number in range(len(cache.layers))
    ]
    assert kept_bytes(cache) > sum(2 * 20 * 2 * 16 * 4 for _ in cut)
    said = follow(own, cache, text()[:, CONTEXT:])
    parts, held = [], cache
    for place in range(CONTEXT, CONTEXT + AFTER):  # a fork goes on by itself, states too
        part = text()[:, place : place + 1]
        assert torch.allclose(follow(own, held, part), said[:, place - CONTEXT][:, None], atol=2e-4)
        parts.append(own(part, past_key_values=held, use_cache=True).logits)
    assert torch.allclose(torch.cat(parts, dim=1), said, atol=2e-4)
    whole = made(config())(text()).logits[:, CONTEXT:]
    assert float((said - whole).abs().max()) > 0.005, "nothing was let go of"


@torch.no_grad()
@pytest.mark.parametrize("architecture", MIXED)
def test_a_budget_of_the_whole_context_gives_the_models_own_logits(
    architecture: str,
) -> None:
    config, _ = MIXED[architecture]
    wanted = made(config())(text(2)).logits[:, CONTEXT:]
    own = attach_policy(made(config()), LastRow(CONTEXT))
    cache = read_context(own, text(2)[:, :CONTEXT])
    assert torch.allclose(follow(own, cache, text(2)[:, CONTEXT:]), wanted, atol=2e-4)
    shared = read_contexts(own, [LastRow(CONTEXT), LastRow(20)], text(2)[:, :CONTEXT])
    for other in shared[:1] * 2:  # what one reads changes nothing of another's state
        assert torch.allclose(follow(own, other.cache, text(2)[:, CONTEXT:]), wanted, atol=2e-4)


@torch.no_grad()
def test_tokens_are_let_go_of_one_by_one_beside_a_window() -> None:
    config, _ = MIXED["gemma3"]
    knobs = {"budget": 20, "sinks": 0, "recent_share": 0.5}
    by_steps = h2o.attach(made(config()), h2o.Params(**knobs, evicts="each_step"))
    within = h2o.attach(made(config()), h2o.Params(**knobs, evicts="each_token"))
    cache, parts = None, []
    for part in text().split(1, dim=1):
        out = by_steps(part, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        parts.append(out.logits)
    assert torch.allclose(within(text()).logits, torch.cat(parts, dim=1), atol=2e-4)


@torch.no_grad()
@pytest.mark.parametrize("architecture", ["gemma3", "qwen3_next"])
def test_places_are_cut_beside_what_keeps_its_own(architecture: str) -> None:
    config, cut = MIXED[architecture]
    own = attach_policy(made(config()), SinksAndWindow(2, 18))
    said = own(text(2)).logits
    cache, parts = None, []
    for part in text(2).split([25, 1, CONTEXT + AFTER - 26], dim=1):
        out = own(part, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        parts.append(out.logits)
    assert torch.allclose(torch.cat(parts, dim=1), said, atol=2e-4)
    assert kept_tokens(cache).by_layer == (20,) * len(cut) and kept_tokens(cache).cut == cut
    last = CONTEXT + AFTER
    for number in cut:
        assert cache.layers[number].places[1, 1].tolist() == [0, 1, *range(last - 18, last)]
    whole = made(config())(text(2)).logits
    assert torch.allclose(said[:, :20], whole[:, :20], atol=2e-4)
    assert float((said - whole).abs().max()) > 0.005, "nothing was let go of"


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (
            lambda: t.DeepseekV3Config(
                **llama_like(100),
                kv_lora_rank=16,
                q_lora_rank=16,
                qk_rope_head_dim=8,
                qk_nope_head_dim=8,
                v_head_dim=16,
                first_k_dense_replace=2,
            ),
            "compressed latent",
        ),
        (
            lambda: t.GptOssConfig(
                **LIKE,
                layer_types=[FULL, FULL],
                num_local_experts=4,
                num_experts_per_tok=2,
            ),
            "AttentionInterface",
        ),
        (
            lambda: t.Llama4TextConfig(
                **LIKE,
                attention_chunk_size=WINDOW,
                layer_types=["chunked_attention", FULL],
                num_local_experts=2,
                intermediate_size_mlp=64,
            ),
            "AttentionInterface",
        ),
        (
            lambda: t.Gemma3TextConfig(
                **LIKE, sliding_window=WINDOW, layer_types=[SLIDING, SLIDING]
            ),
            "no layer with full attention",
        ),
        (
            lambda: t.MambaConfig(vocab_size=100, hidden_size=64, num_hidden_layers=2),
            "takes no|holds",
        ),
    ],
    ids=["deepseek_v3", "gpt_oss", "llama4", "windows alone", "mamba"],
)
def test_what_cannot_be_cut_is_refused_with_the_reason(config: Any, why: str) -> None:
    model = made(config())
    with pytest.raises(CallFailure, match=f"Cannot keep a part of the cache of .*({why})"):
        attach_policy(model, LastRow(20))
    assert policy_of(model) is None


def test_the_note_of_a_setting_says_which_layers_are_cut() -> None:
    config = MIXED["gemma3"][0]().to_dict()
    assert in_layers(config) == (
        " in layers 1, 3; the others keep a window or a state of their own"
    )
    assert in_layers({**config, "sliding_window": 256}) == ""
    assert in_layers({"text_config": config}) == in_layers(config)
    assert in_layers(t.Qwen2Config(**llama_like(100)).to_dict()) == ""
    with pytest.raises(CallFailure, match="no layer has full attention"):
        in_layers({**config, "layer_types": [SLIDING, SLIDING]})
    with pytest.raises(CallFailure, match="compressed latent"):
        in_layers({"kv_lora_rank": 512})


ROTARY: dict[str, Callable[[], Any]] = {
    "gemma3": MIXED["gemma3"][0],
    "gpt2": lambda: t.GPT2Config(vocab_size=100, n_embd=64, n_layer=2, n_head=4, n_positions=256),
    "gpt_neox": lambda: t.GPTNeoXConfig(**common(100), intermediate_size=128, rotary_pct=0.5),
    "mistral": lambda: t.MistralConfig(**llama_like(100)),
    "olmoe": lambda: t.OlmoeConfig(**llama_like(100), num_experts=4, num_experts_per_tok=2),
    "phi3": lambda: t.Phi3Config(**llama_like(100)),
    "qwen2": lambda: t.Qwen2Config(**llama_like(100)),
    "qwen3": lambda: t.Qwen3Config(**LIKE),
}


@pytest.mark.parametrize("architecture", ROTARY)
def test_expected_attention_undoes_each_models_rotation(architecture: str) -> None:
    model = made(ROTARY[architecture]())
    own = expected_attention.attach(model, expected_attention.Params(budget=20, window=0))
    cache = read_context(own, text()[:, :CONTEXT])
    assert kept_tokens(cache).most == 20
    assert follow(own, cache, text()[:, CONTEXT:]).isfinite().all()


def test_a_rotation_of_neighbouring_features_is_refused_where_it_must_be_undone() -> None:
    model = made(MIXED["cohere2"][0]())
    own = expected_attention.attach(model, expected_attention.Params(budget=20, window=0))
    with pytest.raises(CallFailure, match="Cannot undo how Cohere2RotaryEmbedding turns queries"):
        read_context(own, oracle_tokens()[:, :CONTEXT] % 60)


@torch.no_grad()
@pytest.mark.parametrize("architecture", ["llama", *MIXED])
def test_bytes_of_a_whole_context_are_those_of_the_cache_that_reading_it_makes(
    architecture: str,
) -> None:
    config = MIXED[architecture][0]() if architecture in MIXED else t.LlamaConfig(**llama_like(100))
    model = made(config)
    for count in (1, 7, CONTEXT):
        cache = model(text()[:, :count], use_cache=True, logits_to_keep=1).past_key_values
        told = WholeContexts(model).kept(count)
        assert told is not None and told.bytes == kept_bytes(cache), count
        assert told.tokens == kept_tokens(cache).mean == count
    if architecture == "llama":
        streaming = attach_policy(made(config), SinksAndWindow(4, 16))
        told = WholeContexts(streaming).kept(CONTEXT)
        cache = read_context(streaming, text()[:, :CONTEXT])
        assert told is not None and (told.tokens, told.bytes) == (20, kept_bytes(cache))
        params = h2o.Params(budget=20, evicts="each_token")
        assert WholeContexts(h2o.attach(made(config), params)).kept(CONTEXT) is None
