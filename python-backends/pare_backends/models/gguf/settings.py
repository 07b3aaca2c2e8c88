"""A GGUF file's settings and tensors against what transformers takes of them.

transformers passes over keys and tensors that it has no name for, and draws what it finds nothing
for by chance. Here every key of the architecture is taken, is one that nothing computes with, or is
named in a refusal, and so is every tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from pare_backends.models.gguf.asking_once import asking_once
from pare_backends.models.gguf.reading import keys_of
from pare_backends.models.gguf.rope import ROPE_FACTORS, SCALING, rope_scaling

EPSILONS = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon")
FIELDS: dict[str, tuple[str, ...]] = {
    "attention.key_length": ("head_dim",),
    "attention.layer_norm_epsilon": EPSILONS,
    "attention.layer_norm_rms_epsilon": EPSILONS,
    "attention.sliding_window": ("sliding_window",),
    "attn_logit_softcapping": ("attn_logit_softcapping",),
    "expert_feed_forward_length": ("moe_intermediate_size",),
    "expert_shared_feed_forward_length": ("shared_expert_intermediate_size",),
    "final_logit_softcapping": ("final_logit_softcapping",),
    "vocab_size": ("vocab_size",),
}
"""Fields of a configuration that a key stands for and transformers leaves at their defaults."""
WIDTHS = ("attention.key_length", "attention.value_length")
"""Of a head, which configurations without a field for it divide from the whole."""
SAID_ONLY = {"context_length", "tensor_data_layout", "use_parallel_residual"}
"""Keys that change no computation, or that transformers reads from the tensors."""
ROPE = ("rope.freq_base", "rope.freq_base_swa", "rope.dimension_count", "rope.scale_linear")
WINDOWED = ("gemma2", "gemma3", "gemma4", "phi3", "gpt-oss")
"""Architectures whose configuration has nothing but the width to say of a sliding window."""
LARGEST_GEMMA = {"gemma2": 46, "gemma3": 62}
"""Blocks of those of 27 B parameters."""
ENDS = ("eos", "eot", "eom")
"""Tokens that llama.cpp ends a generation at, by their keys."""


def architecture_keys(readers: Sequence[GGUFReader]) -> tuple[str, dict[str, Any]]:
    """(the architecture, its keys without its name)."""
    keys = keys_of(readers[0])
    name = str(keys.get("general.architecture", ""))
    return name, {
        k.removeprefix(f"{name}."): v for k, v in keys.items() if k.startswith(f"{name}.")
    }


def gguf_config(path: Path, readers: Sequence[GGUFReader]) -> Any:
    """transformers' configuration with every setting of the file; ValueError names one that it
    cannot say, or that does not fit the others."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig
    from transformers.integrations.gguf import GGUF_CONFIG_ARCHS

    check_known(readers)
    architecture, said = architecture_keys(readers)
    blocks, tensors = said.get("block_count", 0), tensor_names(readers)
    if isinstance(blocks, int) and blocks > len(tensors):
        raise ValueError(
            f"by its block_count it has {blocks} blocks, and it holds {len(tensors)} tensors in all"
        )
    try:
        with asking_once(readers):
            config = AutoConfig.from_pretrained(str(path.parent), gguf_file=path.name)
    except StrictDataclassError as error:
        raise ValueError(str(error.__cause__ or error)) from error
    if architecture not in GGUF_CONFIG_ARCHS:  # which takes every key, and raises for what lacks
        take_fields(config, architecture, said)
        take_biases(config, tensors)
        take_query_scale(config, architecture)
    take_rope(config, said, rope_factors(readers))
    return config


def check_known(readers: Sequence[GGUFReader]) -> None:
    """Raises ValueError for what transformers' reader takes for something else."""
    architecture, said = architecture_keys(readers)
    if architecture == "gpt-oss" and f"{SCALING}type" in said:
        raise ValueError(
            "transformers' reader takes the lengths of gpt-oss's rope.scaling keys for their values"
            ": give the folder of its safetensors"
        )


def tensor_names(readers: Sequence[GGUFReader]) -> set[str]:
    """The tensors of all parts."""
    return {tensor.name for reader in readers for tensor in reader.tensors}


def take_fields(config: Any, architecture: str, said: Mapping[str, Any]) -> None:
    """Sets what transformers passed over; raises where the configuration has no field for it."""
    from transformers.integrations import GGUF_CONFIG_MAPPING

    tables: Mapping[str, Any] = GGUF_CONFIG_MAPPING
    names = (architecture, config.model_type, config.model_type.removesuffix("_text"))
    mapping: Mapping[str, Any] = next((tables[name] for name in names if name in tables), {})
    for key, value in sorted(said.items()):  # the width of keys before that of values
        if mapping.get(key) is not None or key in (*SAID_ONLY, *ROPE):
            continue
        if key.startswith(SCALING):
            continue
        if value == implied(config, key):
            continue
        if isinstance(value, bool | int) and value == (key == "attention.causal"):
            continue  # no experts, no window: said to be none
        name = next((one for one in FIELDS.get(key, ()) if hasattr(config, one)), None)
        known_window = key != "attention.sliding_window" or architecture in WINDOWED
        if name is None or not known_window:
            raise ValueError(
                f"it says {architecture}.{key}: {value}, which transformers does not"
                f" read of a GGUF file of {architecture}"
            )
        setattr(config, name, value)


def implied(config: Any, key: str) -> int | None:
    """What a key must say of a configuration that has no field for it; None: nothing."""
    if key in WIDTHS:
        return head_width(config)
    if key == "attention.head_count_kv":
        return int(getattr(config, "num_key_value_heads", None) or config.num_attention_heads)
    return 4 * int(config.hidden_size) if key == "feed_forward_length" else None


def head_width(config: Any) -> int:
    """Features of a head of keys."""
    own = getattr(config, "head_dim", None)
    return int(own or config.hidden_size // config.num_attention_heads)


def take_biases(config: Any, tensors: Collection[str]) -> None:
    """Whether layers have biases is said by no key, but by their tensors."""
    for field, part in (("attention_bias", "attn_q.bias"), ("mlp_bias", "ffn_up.bias")):
        if hasattr(config, field) and any(name.endswith(part) for name in tensors):
            setattr(config, field, True)


def take_query_scale(config: Any, architecture: str) -> None:
    """What Gemma's queries are divided by the root of: no key says it, and llama.cpp has the width
    of a head, but of the largest models each head's share of a token."""
    if architecture in LARGEST_GEMMA:
        largest = int(config.num_hidden_layers) == LARGEST_GEMMA[architecture]
        share = int(config.hidden_size) // int(config.num_attention_heads)
        config.query_pre_attn_scalar = share if largest else head_width(config)


def take_rope(config: Any, said: Mapping[str, Any], factors: np.ndarray | None) -> None:
    """Base, width and scaling of the rotation."""
    rope = getattr(config, "rope_parameters", None)
    if not isinstance(rope, dict):
        if factors is not None or any(key.startswith(SCALING) for key in said):
            raise ValueError("it scales the rotation of positions, which its architecture has not")
        return
    # Gemma 3 and 4 rotate twice: the file's scaling is of the layers that see every token.
    own = rope["full_attention"] if isinstance(rope.get("full_attention"), dict) else rope
    width = round(head_width(config) * float(own.get("partial_rotary_factor") or 1.0))
    stated = said.get("rope.dimension_count", width)
    if own is rope and stated != width:
        raise ValueError(
            f"it rotates {stated} features of a head (rope.dimension_count), and its"
            f" architecture {width} in transformers"
        )
    if "rope.freq_base" in said:
        own["rope_theta"] = float(said["rope.freq_base"])
    if "rope.freq_base_swa" in said:
        near = rope.get("sliding_attention")
        if not isinstance(near, dict):
            raise ValueError(
                f"it says rope.freq_base_swa: {said['rope.freq_base_swa']}, and its architecture"
                " rotates in one way"
            )
        near["rope_theta"] = float(said["rope.freq_base_swa"])
    own.update(rope_scaling(said, factors, float(own.get("rope_theta", 10_000.0)), width))


def rope_factors(readers: Sequence[GGUFReader]) -> np.ndarray | None:
    """`rope_freqs.weight` as float64; None where the file has none."""
    for reader in readers:
        for tensor in reader.tensors:
            if tensor.name == ROPE_FACTORS:
                return np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float64).ravel()
    return None


def check_tensors(architecture: str, config: Any, held: Collection[str]) -> None:
    """Raises ValueError where the model needs a tensor that the file does not hold, or the file
    holds one that transformers makes nothing of. Costs no memory.

    held: tensors of the file
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.integrations.gguf import GGUF_CONFIG_ARCHS
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
    )

    if architecture in GGUF_CONFIG_ARCHS:
        return  # has a mapping of its own; what was not found is told when it is loaded
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    processor = TENSOR_PROCESSORS.get(architecture, TensorProcessor)(config=config.to_dict())
    with asking_once():
        places = get_gguf_hf_weights_map(model, processor)
    # Experts are mapped without the end of their names.
    names = {name if name in places else name.removesuffix(".weight") for name in held}
    filled = {places[name] for name in names if name in places}
    halves = [key for key in places if key.endswith("_exps") and key not in names]
    missing = [name for name, _ in model.named_parameters() if name not in filled]
    if missing or halves:
        first = (missing or halves)[0]
        wanted = next((key for key, name in places.items() if name == first), first)
        raise ValueError(f"it holds no tensor {wanted} ({len(missing) or len(halves)} are missing)")
    read = set(places) | {f"{name}.weight" for name in places} | {ROPE_FACTORS}
    unread = sorted(set(held) - read)
    if unread:
        raise ValueError(
            f"it holds {unread[0]}, which transformers does not read of a GGUF file of"
            f" {architecture} ({len(unread)} such tensors)"
        )


def end_tokens(readers: Sequence[GGUFReader]) -> list[int]:
    """Every token that ends a generation by the file's keys, the end of the text first."""
    keys = keys_of(readers[0])
    found = (keys.get(f"tokenizer.ggml.{name}_token_id") for name in ENDS)
    return list(dict.fromkeys(int(one) for one in found if one is not None))
