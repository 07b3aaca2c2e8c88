"""Whether a checkpoint that was made elsewhere is one of the model at hand: by architecture and
settings, tensors and shapes, vocabulary, and by its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.empty_model import load_config
from pare_backends.checkpoint.forms import StoredTensor
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.checkpoint.same_tokens import tokenizers_differ
from pare_backends.checkpoint.soundness import cosine
from pare_backends.elsewhere.given import Given, Held, refused
from pare_backends.failures import CallFailure
from pare_backends.models.layout import Layout

FIELDS = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("head_dim", "intermediate_size", "vocab_size", "hidden_act", "sliding_window"),
    *("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "tie_word_embeddings"),
)
"""Of a configuration what is computed with."""
UNSAID_BY_GGUF = ("hidden_act", "sliding_window", "tie_word_embeddings", "vocab_size", "head_dim")
"""By every file: transformers' defaults stand in their places, and shapes tell of some."""
ROPE = ("rope_type", "rope_theta", "factor")
CLOSE = 1e-5
"""Relative difference of one number in two formats."""
UNUSED = (
    *("rotary_emb.inv_freq", ".attn.masked_bias", ".attn.bias"),
    *(".k_scale", ".v_scale", ".q_scale", ".output_scale"),
)
"""Endings of tensors that nobody needs: of older files, and scales of a cache that stays floats."""
LEAST_COSINE = 0.3
"""Of a matrix with the original's: far below what two bits leave, far above another model's 0."""
FEW = 1000
"""Tokens of which one may be spelled otherwise."""
SAMPLED = 3


def check_same(
    name: str, given: Given, original: Path, source: Checkpoint, layout: Layout
) -> Given:
    """The checkpoint with the model's own tensors alone; `CallFailure` in one sentence where it is
    another model's.

    source: the original, read from that directory
    """
    if given.config is not None:
        check_settings(name, given, load_config(original))
    fitting = fitted(name, given, source, layout)
    check_vocabulary(name, given, original)
    check_weights(name, fitting, source, layout)
    return fitting


def check_settings(name: str, given: Given, wanted: Any) -> None:
    """Raises where a setting that is computed with is not the model's."""
    own, model = given.config.get_text_config(), wanted.get_text_config()
    gguf = given.kind == "GGUF"
    if not gguf and own.model_type != model.model_type:
        raise refused(
            name, f"it is of the architecture {own.model_type}, the model is {model.model_type}"
        )
    for field in FIELDS:
        if gguf and field in UNSAID_BY_GGUF:
            continue
        said, right = getattr(own, field, None), getattr(model, field, None)
        if said is not None and right is not None and not same(said, right):
            raise refused(name, f"it says {field}: {said}, and the model's is {right}")
    ropes = (rope_of(own), rope_of(model))
    for field in ROPE:
        said, right = (rope.get(field) for rope in ropes)
        if said is not None and right is not None and not same(said, right):
            raise refused(name, f"it says {field}: {said}, and the model's is {right}")


def rope_of(config: Any) -> Mapping[str, Any]:
    """How a configuration rotates positions."""
    found = getattr(config, "rope_parameters", None)
    return found if isinstance(found, dict) else {}


def same(said: Any, right: Any) -> bool:
    """Whether two values are one, whatever precision they were written in."""
    if isinstance(said, float) or isinstance(right, float):
        return math.isclose(float(said), float(right), rel_tol=CLOSE)
    return bool(said == right)


def fitted(name: str, given: Given, source: Checkpoint, layout: Layout) -> Given:
    """The tensors that the model has, in its shapes; raises where one is missing, has another
    shape, or is no tensor of the model."""
    copies = {layout.head_copy, f"{layout.head_copy}.weight"} if layout.head_copy else set()
    wanted = {
        tensor: source.float_shape(tensor)
        for tensor in source.floats
        if not tensor.endswith(UNUSED)
    }
    kept: dict[str, Held] = {}
    for own, held in given.tensors.items():
        tensor = own if held.like is None else f"{own}.weight"
        if tensor in copies or own in copies or tensor.endswith(UNUSED):
            continue
        if tensor not in wanted:
            if tensor == "lm_head.weight" and layout.head is None:
                continue  # said to be the embedding
            if tensor.endswith(".bias") and not np.any(np.asarray(held.read())):
                continue  # AutoGPTQ adds biases of zeros
            raise refused(name, f"it holds {tensor}, which the model has not")
        if held.shape != wanted[tensor]:
            raise refused(
                name,
                f"{tensor} is {sides(held.shape)} in it, {sides(wanted[tensor])} in the model",
            )
        kept[own] = held
    there = {own if held.like is None else f"{own}.weight" for own, held in kept.items()}
    missing = [tensor for tensor in wanted if tensor not in there and tensor not in copies]
    if missing:
        more = f" ({len(missing)} are missing)" if len(missing) > 1 else ""
        raise refused(
            name, f"it holds no tensor {missing[0]}{more}", "Download or copy the file again"
        )
    return Given(**{**vars(given), "tensors": kept})


def sides(shape: tuple[int, ...]) -> str:
    """A shape as it is said."""
    return " by ".join(str(side) for side in shape)


def check_vocabulary(name: str, given: Given, original: Path) -> None:
    """Raises where its tokens are not the model's: a study reads text by the model's tokenizer."""
    difference = None
    if given.directory is not None:
        if any((given.directory / one).exists() for one in ("tokenizer.json", "tokenizer.model")):
            difference = tokenizers_differ(given.directory, original, ("it", "the model"))
    elif given.tokens:
        difference = tokens_differ(given.tokens, load_tokenizer(original))
    if difference is not None:
        raise refused(name, f"its vocabulary is another: {difference}")


def tokens_differ(tokens: tuple[str, ...], tokenizer: Any) -> str | None:
    """How a file's plain tokens differ from a tokenizer's; None: they do not. Added ones, such as
    marks of a chat, may have other names."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    added = set(tokenizer.get_added_vocab())
    wrong = [
        (token, number)
        for token, number in sorted(vocabulary.items(), key=lambda entry: entry[1])
        if token not in added and (number >= len(tokens) or tokens[number] != token)
    ]
    if len(wrong) <= len(vocabulary) // FEW:
        return None  # converters spell single tokens otherwise
    token, number = wrong[0]
    found = repr(tokens[number]) if number < len(tokens) else "none"
    return (
        f"the token {number} is {found:.40} in it, {token!r:.40} in the model ({len(wrong)} differ)"
    )


def check_weights(name: str, given: Given, source: Checkpoint, layout: Layout) -> None:
    """Raises where matrices from its beginning, midst and end have nothing in common with the
    model's."""
    layers = [layer for layer in layout.linear if is_there(layer, given)]
    picked = {layers[round(at * (len(layers) - 1) / (SAMPLED - 1))] for at in range(SAMPLED)}
    found = {}
    for layer in sorted(picked):
        weight = weight_of(given, layer)
        if not np.isfinite(weight).all():
            raise refused(name, f"{layer} holds values that are not finite")
        found[layer] = cosine(weight, source.weight(layer))
    layer = max(found, key=lambda one: found[one])
    if found[layer] < LEAST_COSINE:
        raise refused(
            name,
            f"its weights are another model's: the cosine of {layer} with the model's own is"
            f" {found[layer]:.3f}",
        )


def is_there(layer: str, given: Given) -> bool:
    """Whether the checkpoint holds a layer in some form."""
    return layer in given.tensors or f"{layer}.weight" in given.tensors


def weight_of(given: Given, layer: str) -> np.ndarray:
    """A layer's weight as the model has it, float32."""
    if layer not in given.tensors:
        return np.asarray(given.tensors[f"{layer}.weight"].read(), np.float32)
    read = given.tensors[layer].read()
    if isinstance(read, StoredTensor):
        return read.weight()
    raise CallFailure("crash", f"Cannot read {layer}: it is in no form")
