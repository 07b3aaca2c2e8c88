"""Small models of many architectures with random weights, in the tiny model's language."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

HIDDEN = 64
SEED = 11


def common(vocabulary: int) -> dict[str, Any]:
    """What most configurations call by these names."""
    return {
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }


def llama_like(vocabulary: int) -> dict[str, Any]:
    """With an MLP and grouped keys as in Llama."""
    return {**common(vocabulary), "intermediate_size": 128, "num_key_value_heads": 2}


def configurations(vocabulary: int) -> dict[str, Callable[[], Any]]:
    """Configuration by architecture; every row divides by 32."""
    import transformers as t

    base, like = common(vocabulary), llama_like(vocabulary)
    own_head = {"tie_word_embeddings": False}
    tied = {"tie_word_embeddings": True}
    mixture = {"num_experts_per_tok": 2}
    return {
        "bloom": lambda: t.BloomConfig(
            vocab_size=vocabulary, hidden_size=HIDDEN, n_layer=2, n_head=4, **ends()
        ),
        "falcon": lambda: t.FalconConfig(
            **base, new_decoder_architecture=True, num_kv_heads=2, bias=False
        ),
        "gemma3": lambda: t.Gemma3TextConfig(
            **like, head_dim=16, sliding_window=32, layer_types=["sliding_attention", FULL]
        ),
        "gpt2": lambda: t.GPT2Config(
            vocab_size=vocabulary, n_embd=HIDDEN, n_layer=2, n_head=4, n_positions=256, **ends()
        ),
        "gpt_neox": lambda: t.GPTNeoXConfig(**base, intermediate_size=128, **own_head),
        "gptj": lambda: t.GPTJConfig(
            vocab_size=vocabulary,
            n_embd=HIDDEN,
            n_layer=2,
            n_head=4,
            n_positions=256,
            rotary_dim=8,
            **own_head,
            **ends(),
        ),
        "granite": lambda: t.GraniteConfig(**like, **tied, logits_scaling=4.0),
        "llama": lambda: t.LlamaConfig(**like, **tied),
        "mistral": lambda: t.MistralConfig(**like, **own_head),
        "mixtral": lambda: t.MixtralConfig(**like, **own_head, **mixture, num_local_experts=4),
        "opt": lambda: t.OPTConfig(**base, ffn_dim=128, word_embed_proj_dim=HIDDEN),
        "phi3": lambda: t.Phi3Config(**like, **own_head),
        "qwen2": lambda: t.Qwen2Config(**like, **tied),
        "qwen2_moe": lambda: t.Qwen2MoeConfig(
            **like,
            **own_head,
            **mixture,
            num_experts=4,
            moe_intermediate_size=64,
            shared_expert_intermediate_size=96,
        ),
        "qwen3": lambda: t.Qwen3Config(**like, **tied, head_dim=16),
        "qwen3_moe": lambda: t.Qwen3MoeConfig(
            **like, **own_head, **mixture, head_dim=16, num_experts=4, moe_intermediate_size=64
        ),
        "granitemoe": lambda: t.GraniteMoeConfig(**like, **tied, **mixture, num_local_experts=4),
    }


FULL = "full_attention"


def ends() -> dict[str, int]:
    """Ids of the tokens that begin and end a text."""
    return {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}


def write_model(architecture: str, directory: Path) -> Path:
    """A model with weights drawn by a fixed seed, saved as transformers saves it."""
    import torch
    from transformers import AutoModelForCausalLM

    from pare_backends.models.tiny import write_tokenizer

    tokenizer = write_tokenizer(directory)
    config = configurations(len(tokenizer))[architecture]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = AutoModelForCausalLM.from_config(config).float().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.1)
                else:
                    parameter.add_(torch.randn_like(parameter) * 0.05)
                # What is left in floats is written in float16: so nothing changes by that.
                parameter.copy_(parameter.half().float())
    model.save_pretrained(str(directory))
    return directory
