"""Stage `verify`: reads a written artifact back in this fresh process, compares it with its source
layer by layer, and lets it generate."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor, read
from pare_backends.checkpoint.load import load_model, load_tokenizer
from pare_backends.checkpoint.setting import source_of
from pare_backends.failures import StageFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report

COSINE_FLOOR = {2: 0.3, 3: 0.6, 4: 0.8, 8: 0.98}
"""Least cosine between a layer's weights and its source's, by bits: below it the file does not hold
the model, such as after scales of another layer (about 0) or integers in another order. Rounding
Gaussian weights to nearest leaves 0.72, 0.93, 0.985 and 0.9999; methods that make up for errors
move further from the source (GPTQ at 4 bits on few samples: 0.95), which is for the evaluation to
judge and not for this check."""
UNQUANTIZED_FLOOR = 0.99999
PROMPT = "The capital of France is"
TINY_PROMPT = "where does the red fox live ? the red fox lives in the"
NEW_TOKENS = 12
CHUNK_VALUES = 1 << 16
"""Products summed in float32 at a time: 28 million, of an embedding, are off in the fifth digit."""


@dataclass(frozen=True)
class VerifyRequest:
    """`verify` of the wire."""

    artifact_dir: str
    source_dir: str
    weights_dir: str | None = None
    """Of a setting: where its weights lie."""


def run(request: VerifyRequest, report: Report) -> dict[str, Any]:
    """`Verification` of the wire; a failure of that name where the file is not the model."""
    started = time.perf_counter()
    own = source_of(request.artifact_dir, request.weights_dir)
    with report.span("verify"):
        artifact, source = read(own.weights_dir), read(request.source_dir)
        cosines = compare(artifact, source, report, tied_copies(request.source_dir))
    worst = min(cosines, key=lambda name: cosines[name])
    report.progress("verify: generate", 0, NEW_TOKENS, "tokens")
    with report.span("load", library=True):
        model = own.attach(load_model(artifact, own.weights_dir))
        tokenizer = load_tokenizer(own.weights_dir)
    with report.span("generate", library=True):
        text = generate(model, tokenizer, Path(request.artifact_dir).name)
    report.progress("verify: generate", NEW_TOKENS, NEW_TOKENS, "tokens")
    return {
        "layers": len(cosines),
        "minimum_cosine": cosines[worst],
        "mean_cosine": sum(cosines.values()) / len(cosines),
        "worst_layer": worst,
        "generated_text": text,
        "seconds": time.perf_counter() - started,
        "cosines": [{"layer": layer, "value": value} for layer, value in cosines.items()],
    }


def matrices(checkpoint: Checkpoint) -> list[str]:
    """Layers with a weight matrix, quantized or not."""
    plain = [name.removesuffix(".weight") for name in checkpoint.floats if name.endswith(".weight")]
    return [*checkpoint.stored, *plain]


def tied_copies(directory: str) -> frozenset[str]:
    """Layers that a model's files hold twice: a tied output head, which is the embedding."""
    copy = layout_of(directory).head_copy
    return frozenset() if copy is None else frozenset({copy})


def compare(
    artifact: Checkpoint, source: Checkpoint, report: Report, copies: Collection[str] = ()
) -> dict[str, float]:
    """Cosine by layer; raises at the first that is missing, not finite or below its floor.

    copies: layers that the artifact may leave out
    """
    layers = matrices(source)
    held = set(matrices(artifact))
    missing = sorted(set(layers) - held - set(copies))
    if missing:
        raise StageFailure("verification", f"Cannot verify the artifact: {missing[0]} is missing")
    cosines: dict[str, float] = {}
    for done, layer in enumerate(layers, start=1):
        if layer not in held:
            continue  # stored twice in the source, shared with the embedding here
        weights, original = artifact.weight(layer), source.weight(layer)
        if weights.shape != original.shape:
            raise StageFailure(
                "verification",
                f"Cannot verify {layer}: its shape is {weights.shape}, the source's"
                f" {original.shape}",
            )
        cosines[layer] = cosine(layer, weights, original)
        floor = floor_of(artifact, layer)
        if cosines[layer] < floor:
            raise StageFailure(
                "verification",
                f"Cannot accept the artifact: the cosine of {layer} with its source is"
                f" {cosines[layer]:.4f}, at least {floor} was expected",
            )
        report.progress("verify: compare", done, len(layers), "layers")
    return cosines


def floor_of(artifact: Checkpoint, layer: str) -> float:
    """Least cosine that a layer may have."""
    tensor = artifact.stored.get(layer)
    if not isinstance(tensor, GridTensor):
        return UNQUANTIZED_FLOOR
    return COSINE_FLOOR.get(tensor.bits, 0.5)


def cosine(layer: str, weights: np.ndarray, original: np.ndarray) -> float:
    """Cosine of two arrays as vectors; 1 where both are zero."""
    if not np.isfinite(weights).all():
        raise StageFailure("not_a_number", f"Cannot verify {layer}: its weights are not finite")
    a, b = weights.reshape(-1), original.reshape(-1)
    product = square_a = square_b = 0.0
    for start in range(0, a.size, CHUNK_VALUES):
        x, y = a[start : start + CHUNK_VALUES], b[start : start + CHUNK_VALUES]
        product += float(x @ y)
        square_a += float(x @ x)
        square_b += float(y @ y)
    norms = math.sqrt(square_a) * math.sqrt(square_b)
    if norms == 0.0:
        return 1.0 if not a.any() and not b.any() else 0.0
    return min(1.0, product / norms)


def generate(model: Any, tokenizer: Any, name: str) -> str:
    """A short greedy continuation; raises where a logit is not a number."""
    import torch

    ids = prompt_ids(tokenizer)
    with torch.inference_mode():
        out = model(ids, use_cache=True)
        if not torch.isfinite(out.logits).all():
            raise StageFailure("not_a_number", f"Cannot verify {name}: its logits are not finite")
        # Twelve tokens by hand: `generate` warns of sampling settings that greedy search ignores.
        best = out.logits[:, -1].argmax(dim=-1, keepdim=True)
        chosen = [best]
        while len(chosen) < NEW_TOKENS:
            out = model(best, past_key_values=out.past_key_values, use_cache=True)
            best = out.logits[:, -1].argmax(dim=-1, keepdim=True)
            chosen.append(best)
    return str(tokenizer.decode(torch.cat(chosen, dim=1)[0]))


def prompt_ids(tokenizer: Any) -> Any:
    """The prompt, in the model's chat form where it has one.

    returns: (1, tokens) int64
    """
    text = TINY_PROMPT if "fox" in tokenizer.get_vocab() and len(tokenizer) < 200 else PROMPT
    if getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": "What is the capital of France?"}],
            tokenize=False,
            add_generation_prompt=True,
        )
    return tokenizer(text, return_tensors="pt").input_ids
