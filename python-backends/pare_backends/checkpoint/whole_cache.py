"""Why the cache of some models cannot be kept in part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pare_backends.checkpoint.reading_on import STATE_ALONE

LATENT = (
    "its heads share a compressed latent (MLA), of which transformers keeps what is unpacked: "
    "bytes counted of that would be those of no cache that serves it"
)
NO_KEYS = "it has no attention and so no KV cache: there is nothing to compress there"
SHARED_KEYS = (
    "its last layers read the keys and values of layers before them: what one layer lets go of, "
    "others would still ask for"
)
NO_LAYER = "no layer has full attention, each keeps a window or a state of its own"


def with_layer_types(config: Any) -> dict[str, Any]:
    """A configuration of transformers as a dictionary that tells what each layer keeps. Where it
    names no kinds, as Mistral's, a window is every layer's, as transformers' cache has it."""
    told: dict[str, Any] = config.to_dict()
    text = told.get("text_config") or told
    if text.get("layer_types") is None and text.get("sliding_window") is not None:
        count = int(config.get_text_config().num_hidden_layers)
        text["layer_types"] = ["sliding_attention"] * count
    return told


def full_layers(config: Mapping[str, Any]) -> tuple[list[int], int]:
    """Layers with full attention, and how many layers say what they keep (0: none has to)."""
    text = config.get("text_config") or config
    kinds = text.get("layer_types") or []
    whole = {"full_attention"}
    if (text.get("sliding_window") or 0) >= (text.get("max_position_embeddings") or 1):
        whole.add("sliding_attention")
    return [number for number, kind in enumerate(kinds) if kind in whole], len(kinds)


def why_whole(config: Mapping[str, Any]) -> str | None:
    """Why no layer's keys and values can be kept in part, by a config.json; None: some can."""
    text = config.get("text_config") or config
    if text.get("kv_lora_rank"):
        return LATENT
    if text.get("model_type") in STATE_ALONE:
        return NO_KEYS
    if text.get("num_kv_shared_layers"):
        return SHARED_KEYS
    full, said = full_layers(config)
    return NO_LAYER if said and not full else None
