"""A policy over the keys and values that a model keeps, by the positions of tokens alone.

Letters: T new tokens, S keys that attention reads, B sequences, H heads, D features of a head.

A token sees the same keys whether the text is read at once or token by token: a mask hides what a
later token has lost, and the cache lets go of what no coming token sees. A key keeps the rotation
of the token's place in the text. StreamingLLM counts places within the cache, so that a text may be
longer than any that the model was trained on. pare evaluates no text beyond the model's context.
With places as they stand the outcome is exactly that of full attention with a mask, for every kind
of position that a model may have, and the same as that of the other methods that evict.
"""

from __future__ import annotations

import inspect
from typing import Any, Protocol, cast

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from pare_backends.failures import StageFailure

ATTRIBUTE = "pare_cache_policy"
"""Of a model: the policy that it runs with."""

LEFT_BY_ROUNDING = 1e-3
"""Of what a token that is seen changes: a mixture sums in another order for other neighbours."""


class CachePolicy(Protocol):
    """Which tokens of a text are seen, and which are kept. Positions count from 0."""

    def sees(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Whether the token at a position sees the one at another. queries: (T,), keys: (S,) int64;
        returns: (T, S) bool"""
        ...

    def words(self) -> str:
        """What is kept, as the end of a phrase."""
        ...


def policy_of(model: Any) -> CachePolicy | None:
    """The policy that a model runs with; None: it keeps every token."""
    found: CachePolicy | None = getattr(model, ATTRIBUTE, None)
    return found


class KeptLayer(DynamicLayer):
    """A layer of the cache that keeps the tokens which its policy lets the last token see."""

    is_croppable = False

    def __init__(self, policy: CachePolicy) -> None:
        super().__init__()
        self._policy = policy
        self._seen = 0
        self._places = torch.empty(0, dtype=torch.int64)  # positions of the kept tokens

    def places(self, count: int) -> torch.Tensor:
        """Positions of the keys that attention reads with `count` new tokens: (S,) int64"""
        new = torch.arange(self._seen, self._seen + count)
        return torch.cat([self._places[self._wanted(self._seen)], new])

    def _wanted(self, position: int) -> torch.Tensor:
        """Which of the kept tokens the token at a position sees; later ones see no others."""
        return self._policy.sees(torch.tensor([position]), self._places)[0]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values at `places`; what the last new token does not see is let go of."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        count = key_states.shape[-2]
        places = self.places(count)
        held = self._wanted(self._seen)
        keys, values = cast(torch.Tensor, self.keys), cast(torch.Tensor, self.values)
        if not bool(held.all()):
            keys, values = _at(keys, held), _at(values, held)
        keys, values = torch.cat([keys, key_states], -2), torch.cat([values, value_states], -2)
        self._seen += count
        kept = self._policy.sees(torch.tensor([self._seen - 1]), places)[0]
        whole = bool(kept.all())
        # Copies: a part of a tensor would hold the memory of all of it.
        self.keys, self.values = (keys, values) if whole else (_at(keys, kept), _at(values, kept))
        self._places = places[kept]
        return keys, values

    def get_seq_length(self) -> int:
        """Tokens that were read, kept or not: the position of the next one."""
        return self._seen

    def crop(self, tokens_to_remove: int) -> None:
        """Refused: what was let go of cannot be had back."""
        raise TypeError("a cache that lets go of tokens cannot be cropped")

    def reset(self) -> None:
        """Forgets everything."""
        super().reset()
        self.is_initialized = False
        self._seen, self._places = 0, torch.empty(0, dtype=torch.int64)


def _at(states: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    return states.index_select(-2, kept.nonzero().flatten().to(states.device))


def attach_policy(model: Any, policy: CachePolicy) -> Any:
    """The model, whose every pass follows the policy from now on, with a cache and without one.

    raises: StageFailure "invalid" where the model keeps anything but keys and values of all tokens,
    or does not follow a mask
    """
    if policy_of(model) is not None:
        raise TypeError("the model has a policy already")
    why = obstacle(model)
    if why is not None:
        raise StageFailure(
            "invalid",
            f"Cannot keep a part of the cache of {type(model).__name__}: {why}",
            hint="Choose a model whose every layer has full attention and takes a mask",
        )
    taken = tuple(inspect.signature(model.forward).parameters)

    def before(
        module: Any, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = dict(zip(taken, arguments, strict=False)) | named
        return (), _under(policy, model, bound)

    model.register_forward_pre_hook(before, with_kwargs=True)
    setattr(model, ATTRIBUTE, policy)
    return model


def obstacle(model: Any) -> str | None:
    """Why a policy cannot work on a model; None: it can."""
    lacking = {"attention_mask", "past_key_values", "position_ids"}
    lacking -= set(inspect.signature(model.forward).parameters)
    if lacking:
        return f"its forward pass takes no {min(lacking)}"
    layers = DynamicCache(config=model.config).layers
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 0
    odd = sorted({type(layer).__name__ for layer in layers if not keeps_all(layer, context)})
    if odd or not layers:
        return f"its cache holds {odd[0] if odd else 'nothing'}"
    if model.config._attn_implementation not in ("sdpa", "eager"):
        model.set_attn_implementation("sdpa")
    return None if follows_masks(model) else "its attention does not follow a mask of ours"


@torch.no_grad()
def follows_masks(model: Any) -> bool:
    """Tries a mask that hides the first of two tokens: which one it is must then change nothing."""
    places = torch.arange(2, device=model.device)[None]
    logits = []
    for allowed in (torch.eye(2), torch.ones(2, 2).tril()):
        mask = additive_mask(allowed.bool(), model)
        for first in (0, 1):
            tokens = torch.tensor([[first, 0]], device=model.device)
            try:
                out = model(tokens, attention_mask=mask, position_ids=places, use_cache=False)
            except (TypeError, ValueError, RuntimeError, IndexError):
                return False
            logits.append(out.logits[0, 1])
    hidden = float((logits[0] - logits[1]).abs().max())
    seen = float((logits[2] - logits[3]).abs().max())
    return hidden < LEFT_BY_ROUNDING * seen


def keeps_all(layer: Any, context: int) -> bool:
    """Whether a layer keeps keys and values of every token of a text that the model can read."""
    if type(layer) is DynamicSlidingWindowLayer:
        return bool(layer.sliding_window >= context)
    return type(layer) is DynamicLayer


def _under(policy: CachePolicy, model: Any, named: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments with the policy's cache and mask in place of its own."""
    tokens = named["input_ids"] if named.get("input_ids") is not None else named["inputs_embeds"]
    count, mask = tokens.shape[1], named.get("attention_mask")
    require_no_padding(mask)
    cache = named.get("past_key_values")
    uses = named.get("use_cache")
    if cache is None and (model.config.use_cache if uses is None else uses):
        cache = DynamicCache(config=model.config)
    if cache is None:
        keys = torch.arange(count)
    else:
        cache = kept_cache(cache, policy)
        keys = cache.layers[0].places(count)
    queries = torch.arange(int(keys[-1]) + 1 - count, int(keys[-1]) + 1)
    allowed = policy.sees(queries, keys)
    named |= {"past_key_values": cache, "attention_mask": additive_mask(allowed, model)}
    if named.get("position_ids") is None:
        named["position_ids"] = queries[None].to(tokens.device)
    return named


def additive_mask(allowed: torch.Tensor, model: Any) -> torch.Tensor:
    """The mask as attention adds it. allowed: (T, S) bool; returns: (1, 1, T, S)"""
    mask = torch.zeros(allowed.shape, dtype=model.dtype)
    mask.masked_fill_(~allowed, torch.finfo(mask.dtype).min)
    return mask[None, None].to(model.device)


def require_no_padding(mask: Any) -> None:
    """Raises where a batch is padded: the first tokens of a row are then none of its text."""
    if mask is None:
        return
    if mask.dim() != 2 or not bool(mask.bool().all()):
        raise TypeError("a model with a cache policy reads whole rows without padding or masks")


def kept_cache(cache: Any, policy: CachePolicy) -> Any:
    """The same cache with layers that follow the policy, empty or as they were."""
    if all(isinstance(layer, KeptLayer) for layer in cache.layers) and cache.layers:
        return cache
    if cache.get_seq_length() > 0:
        raise TypeError("the cache has kept tokens without the policy")
    cache.layers = [KeptLayer(policy) for _ in cache.layers]
    cache.layer_class_to_replicate = None
    return cache
