"""Forward passes of packed rows through a causal model of transformers.

Letters: T tokens of a row, P tokens before it in the cache, K places whose logits are wanted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import DynamicLayer

from pare_backends.evaluation.packed.packing import PackedRow, attention
from pare_backends.failures import CallFailure
from pare_backends.first_broken import first_broken_layer


def require_finite(broken: bool, where: str, model: Any = None, tokens: Sequence[int] = ()) -> None:
    """Raises where a model's logits are no numbers; of a model and the tokens that it read it names
    the first layer that gave none."""
    if broken:
        layer = None if model is None else first_broken_layer(model, tokens)
        named = "" if layer is None else f", first those of {layer}"
        raise CallFailure(
            "not_a_number",
            f"Cannot score {where}: the model's logits are not finite{named}",
            hint="The strategy broke the model; take more bits or smaller groups",
        )


def prefix_cache(model: Any, prefix: Sequence[int]) -> Any:
    """Keys and values of tokens that all rows begin with; None where there are none, or where the
    model keeps anything else (a sliding window, a state) that cannot be taken back after a row."""
    if not prefix:
        return None
    tokens = torch.tensor([list(prefix)], device=model.device)
    cache = model(tokens, use_cache=True, logits_to_keep=1).past_key_values
    return cache if keeps_every_token(cache) else None


def keeps_every_token(cache: Any) -> bool:
    """Whether all layers of a cache hold keys and values of every token, and nothing else."""
    layers = getattr(cache, "layers", ())
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


def additive(allowed: torch.Tensor, model: Any) -> torch.Tensor:
    """The mask as attention adds it. allowed: (T, P+T) bool; returns: (1, 1, T, P+T)"""
    mask = torch.zeros(allowed.shape, dtype=model.dtype, device=model.device)
    mask.masked_fill_(~allowed.to(model.device), torch.finfo(mask.dtype).min)
    return mask[None, None]


def forward_row(
    model: Any, row: PackedRow, prefix: int, cache: Any, keep_cache: bool = False
) -> tuple[torch.Tensor, Any]:
    """Logits of the row's kept places, (K, vocabulary) float32, and the cache with the row in it:
    the caller crops it."""
    allowed = torch.from_numpy(attention(row, prefix))
    output = model(
        torch.tensor([row.tokens], device=model.device),
        attention_mask=additive(allowed, model),
        position_ids=torch.tensor([row.positions], device=model.device),
        past_key_values=cache,
        use_cache=keep_cache or cache is not None,
        logits_to_keep=torch.tensor(row.keep, device=model.device),
    )
    return output.logits[0].float(), output.past_key_values


def score_row(model: Any, row: PackedRow, prefix: int, cache: Any) -> list[tuple[int, float, bool]]:
    """Of each target of the row: its request, the log-likelihood of its tokens in nats, and
    whether greedy decoding gives them. The cache is as it was before."""
    logits, _ = forward_row(model, row, prefix, cache)
    if cache is not None:
        cache.crop(-len(row.tokens))
    where = {place: index for index, place in enumerate(row.keep)}
    index = [where[place] for _, places, _ in row.targets for place in places]
    wanted = torch.tensor([t for _, _, tokens in row.targets for t in tokens]).to(model.device)
    chosen = logits[index, wanted] - logits.logsumexp(dim=-1)[index]
    best = logits.argmax(dim=-1)[index] == wanted
    sizes = [len(tokens) for _, _, tokens in row.targets]
    return [
        (request, math.fsum(part.tolist()), bool(hits.all()))
        for (request, _, _), part, hits in zip(
            row.targets, chosen.split(sizes), best.split(sizes), strict=True
        )
    ]
