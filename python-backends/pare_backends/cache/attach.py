"""Makes a model follow a cache policy: with a mask where places decide, in its attention where what
was read does.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from transformers.cache_utils import (
    DynamicCache,
    DynamicSlidingWindowLayer,
)

from pare_backends.cache.attention import NAME, UNDER_WAY, Pass
from pare_backends.cache.codes import Coder
from pare_backends.cache.kept import PlacedLayer, keeps_all, kept_cache, kept_layers, masks
from pare_backends.cache.linear import LinearAttentionLayer
from pare_backends.cache.policy import (
    ATTRIBUTE,
    ByPlace,
    CachePolicy,
    Seen,
    When,
    policy_of,
    shares_prompts,
)
from pare_backends.cache.rotation import rotation_of
from pare_backends.checkpoint.whole_cache import LATENT, SHARED_KEYS
from pare_backends.failures import CallFailure

ROTATION = "pare_rotation"
"""Of a model that goes by the interface: how it turns queries and keys."""
OWN = (DynamicSlidingWindowLayer, LinearAttentionLayer)
"""Layers that go on with a window or a state of their own beside those that are cut."""
LEFT_BY_ROUNDING = 1e-3
"""Of what a token that is seen changes: a mixture sums in another order for other neighbours."""


GATHERED: ContextVar[list[CachePolicy] | None] = ContextVar("pare_gathered_policies", default=None)


class KeepsAll:
    """A policy that lets go of nothing: what a model computes under it must be what it computes."""

    when: When = "after_prompt"
    coder: Coder | None = None

    def keep(self, seen: Seen) -> torch.Tensor:
        return torch.ones(seen.keys.shape[:-1], dtype=torch.bool, device=seen.keys.device)

    def words(self) -> str:
        return "all tokens"


def attach_policy(model: Any, policy: CachePolicy) -> Any:
    """The model, whose every pass follows the policy from now on.

    Under a policy that decides at each token a text may be read in any parts. Under any other the
    first pass on an empty cache is the prompt: the policy decides at its end, and what follows is
    read from what was kept.

    raises: CallFailure "invalid" where no layer of the model keeps keys and values of all tokens,
    or one keeps what pare does not know, or does not follow a mask, or computes its attention in a
    way of its own
    """
    gathered = GATHERED.get()
    if gathered is not None:
        gathered.append(policy)
        return model
    if policy_of(model) is not None:
        raise TypeError("the model has a policy already")
    why = obstacle(model, policy)
    if why is not None:
        raise CallFailure(
            "invalid",
            f"Cannot keep a part of the cache of {type(model).__name__}: {why}",
            hint="Choose a model whose every layer has full attention and takes a mask",
        )
    rotation, by_mask = getattr(model, ROTATION, None), masks(policy, model.config)
    taken = tuple(inspect.signature(model.forward).parameters)
    passes: list[Any] = []

    def before(
        module: Any, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = dict(zip(taken, arguments, strict=False)) | named
        followed: CachePolicy = getattr(
            model, ATTRIBUTE
        )  # `running_with` puts another in its place
        if by_mask and isinstance(followed, ByPlace):
            return (), _masked(followed, model, bound)
        bound = _chosen(followed, model, bound)
        passes.append(UNDER_WAY.set(Pass(followed, bound["past_key_values"], rotation)))
        return (), bound

    def after(*_: Any) -> None:
        if passes:  # a refused pass has not begun
            UNDER_WAY.reset(passes.pop())

    model.register_forward_pre_hook(before, with_kwargs=True)
    model.register_forward_hook(after, always_call=True)
    setattr(model, ATTRIBUTE, policy)
    return model


@contextmanager
def running_with(model: Any, policy: CachePolicy) -> Iterator[None]:
    """The model follows another policy meanwhile, both of them by what was read."""
    own = policy_of(model)
    if not shares_prompts(own) or not shares_prompts(policy):
        raise TypeError("a policy takes another's place where both decide after the prompt")
    setattr(model, ATTRIBUTE, policy)
    try:
        yield
    finally:
        setattr(model, ATTRIBUTE, own)


@contextmanager
def gathered_policies() -> Iterator[list[CachePolicy]]:
    """Policies that would be attached meanwhile, in their order; none is."""
    found: list[CachePolicy] = []
    token = GATHERED.set(found)
    try:
        yield found
    finally:
        GATHERED.reset(token)


def obstacle(model: Any, policy: CachePolicy) -> str | None:
    """Why a policy cannot work on a model; None: it can, and its attention is set for it."""
    by_place = masks(policy, model.config)
    needed = {"attention_mask", "past_key_values", "position_ids"}
    needed |= set() if by_place else {"logits_to_keep"}
    lacking = needed - set(inspect.signature(model.forward).parameters)
    if lacking:
        return f"its forward pass takes no {min(lacking)}"
    if getattr(model.config.get_text_config(), "kv_lora_rank", None):
        return LATENT
    if getattr(model.config.get_text_config(), "num_kv_shared_layers", None):
        return SHARED_KEYS
    layers = DynamicCache(config=model.config).layers
    full = [layer for layer in layers if keeps_all(layer, model.config)]
    odd = sorted({type(one).__name__ for one in layers if one not in full and type(one) not in OWN})
    if odd or not full:
        return f"its cache holds {odd[0] if odd else 'no layer with full attention'}"
    if model.config._attn_implementation not in ("sdpa", "eager"):
        model.set_attn_implementation("sdpa")
    if by_place:
        return None if follows_masks(model) else "its attention does not follow a mask of ours"
    own = model.config._attn_implementation
    if goes_by_interface(model):
        return None
    model.set_attn_implementation(own)
    return "its attention does not go by transformers' AttentionInterface as others' does"


@torch.no_grad()
def goes_by_interface(model: Any) -> bool:
    """Sets our attention and tries it on four tokens: every layer must come by it, and what a model
    says in two passes under a policy that keeps all must be what it says by itself in one."""
    tokens = torch.tensor([[0, 1, 0, 1]], device=model.device)
    own = model(tokens, use_cache=False).logits[0, 2:]
    model.set_attn_implementation(NAME)
    policy = KeepsAll()
    cache = kept_cache(DynamicCache(config=model.config), policy, model.config)
    expected = {
        number
        for number, layer in enumerate(cache.layers)
        if not isinstance(layer, LinearAttentionLayer)
    }
    found: list[torch.Tensor] = []
    first: list[torch.Tensor] = []
    try:
        for start in (0, 2):
            named = {
                "input_ids": tokens[:, start : start + 2],
                "past_key_values": cache,
                "logits_to_keep": 2 if start else 1,
            }
            with _under_way(Pass(policy, cache, first=first)) as one:
                found.append(model(**_chosen(policy, model, named)).logits[0])
            if one.reached != expected:
                return False
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return False
    rotation = rotation_of(model)
    if rotation.known and rotation.turns:
        # The same tokens at other places: before they were turned, their queries were the same.
        kinds = list(getattr(model.config.get_text_config(), "layer_types", None) or [])[:1]
        before, again = (
            rotation.undone(queries, torch.arange(start, start + 2), *kinds)
            for start, queries in zip((0, 2), first, strict=True)
        )
        rotation.known = bool(torch.allclose(before, again, rtol=LEFT_BY_ROUNDING, atol=1e-4))
    setattr(model, ROTATION, rotation)
    spread = float(own.max() - own.min())
    return float((found[1] - own).abs().max()) < LEFT_BY_ROUNDING * spread


@contextmanager
def _under_way(one: Pass) -> Iterator[Pass]:
    token = UNDER_WAY.set(one)
    try:
        yield one
    finally:
        UNDER_WAY.reset(token)


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


def _masked(policy: ByPlace, model: Any, named: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments with the policy's cache and mask in place of its own."""
    tokens, cache = _call(model, named, policy)
    count = tokens.shape[1]
    if cache is None:
        keys = torch.arange(count)
    else:
        layer: PlacedLayer = cache.layers[0]
        keys = layer.next_places(count)
    queries = torch.arange(int(keys[-1]) + 1 - count, int(keys[-1]) + 1)
    named["attention_mask"] = additive_mask(policy.sees(queries, keys), model)
    return _placed(named, queries, tokens)


def _chosen(policy: CachePolicy, model: Any, named: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments with the policy's cache in place of its own, its places told; a call whose
    logits would say nothing of the policy is refused."""
    tokens, cache = _call(model, named, policy)
    count, chooses = tokens.shape[1], policy.when != "each_token"
    begun = cache is not None and kept_layers(cache)[0].begun
    if chooses and not begun and count > 1 and not _last_alone(named.get("logits_to_keep")):
        raise TypeError(
            "a model whose policy chooses by what was read gives the logits of a prompt's last "
            "token alone (logits_to_keep=1): those of the others know nothing of the policy; read "
            "what is to be scored in a later pass, on the cache"
        )
    if begun and count > 1 and policy.when == "each_step":
        raise TypeError(
            f"a policy that chooses at each step reads a token a pass after the prompt, not {count}"
        )
    start = 0 if cache is None else kept_layers(cache)[0].read
    named["attention_mask"] = None
    return _placed(named, torch.arange(start, start + count), tokens)


def _last_alone(logits_to_keep: Any) -> bool:
    return isinstance(logits_to_keep, int) and logits_to_keep == 1


def _call(model: Any, named: dict[str, Any], policy: CachePolicy) -> tuple[torch.Tensor, Any]:
    """The tokens of a call, or what stands for them, and the cache that it is given or makes."""
    tokens = named["input_ids"] if named.get("input_ids") is not None else named["inputs_embeds"]
    require_no_padding(named.get("attention_mask"))
    cache, uses = named.get("past_key_values"), named.get("use_cache")
    within = policy.when == "each_token" and not masks(policy, model.config)
    if cache is None and (within or (model.config.use_cache if uses is None else uses)):
        cache = DynamicCache(config=model.config)
    if cache is not None:
        cache = kept_cache(cache, policy, model.config)
    named["past_key_values"] = cache
    return tokens, cache


def _placed(named: dict[str, Any], places: torch.Tensor, tokens: torch.Tensor) -> dict[str, Any]:
    """With the tokens' places in the text, where the caller does not tell them."""
    if named.get("position_ids") is None:
        named["position_ids"] = places[None].to(tokens.device)
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
