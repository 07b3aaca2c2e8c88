"""Structured pruning by weight norm: whole MLP channels and whole attention groups go, so that the
child is a plain, narrower checkpoint. No calibration data.

A channel is a row of gate and up with its column of down; a group is a KV head with all its query
heads, and their columns of o_proj. Every layer keeps as many, so that one config.json says it all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.forms.floats import half
from pare_backends.failures import StageFailure
from pare_backends.knobs import choice, real
from pare_backends.methods.context import Context

MLP = ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
ATTENTION = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
INPUTS = ("mlp.down_proj", "self_attn.o_proj")
"""Layers whose columns go; of the others, rows and biases."""


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/pruning/channels.ts."""

    mlp_ratio: float = real(0.25, minimum=0.0, maximum=0.5, unit="share of the MLP channels")
    attention_ratio: float = real(0.0, minimum=0.0, maximum=0.5, unit="share of the KV heads")
    round_to: int = choice(32, choices=(8, 16, 32, 64), unit="channels")


@dataclass(frozen=True)
class Widths:
    """What a block of a plain decoder is wide."""

    layers: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int

    def narrowed(self, params: Params) -> Widths:
        """The widths that are left: the nearest that the knobs allow, never none."""
        kept = kept_groups(self.kv_heads, params.attention_ratio)
        return replace(
            self,
            intermediate=kept_channels(self.intermediate, params.mlp_ratio, params.round_to),
            heads=self.heads // self.kv_heads * kept,
            kv_heads=kept,
        )


def kept_channels(channels: int, ratio: float, round_to: int) -> int:
    """Channels that are left: the nearest multiple of `round_to`, of two as near the wider one."""
    if ratio == 0:
        return channels
    steps = math.floor(channels * (1 - ratio) / round_to + 0.5)
    return min(channels, max(1, steps) * round_to)


def kept_groups(groups: int, ratio: float) -> int:
    """Attention groups that are left: the nearest number, of two as near the larger one."""
    return max(1, math.floor(groups * (1 - ratio) + 0.5))


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Cuts the channels and groups of least norm away, layer by layer."""
    before, prefixes = plain_blocks(checkpoint, context)
    after = before.narrowed(params)
    if after == before:
        raise StageFailure(
            "invalid",
            f"Cannot prune channels: {before.intermediate} MLP channels and {before.kv_heads} KV"
            f" heads are left as they are by mlp_ratio {params.mlp_ratio}, attention_ratio"
            f" {params.attention_ratio} and round_to {params.round_to}",
            hint="Raise a ratio, or round to fewer channels",
        )
    config = narrowed_config(checkpoint.config, after)
    check_architecture(checkpoint, config, before, after, prefixes)
    made: dict[str, np.ndarray] = {}
    with context.report.span("prune"):
        for done, prefix in enumerate(prefixes, start=1):
            if after.intermediate < before.intermediate:
                kept = strongest(channel_norms(checkpoint, prefix), after.intermediate)
                made |= cut_layers(checkpoint, prefix, MLP, {name: kept for name in MLP})
            if after.kv_heads < before.kv_heads:
                groups = strongest(group_norms(checkpoint, prefix, before), after.kv_heads)
                made |= cut_layers(checkpoint, prefix, ATTENTION, head_rows(groups, before))
            context.report.progress("prune", done, len(prefixes), "layers")
    context.notes.append(
        f"every layer keeps {after.intermediate} of {before.intermediate} MLP channels and"
        f" {after.kv_heads} of {before.kv_heads} KV heads, with {after.heads} query heads"
    )
    return replace(checkpoint.with_floats(made), config=config)


def plain_blocks(checkpoint: Checkpoint, context: Context) -> tuple[Widths, list[str]]:
    """(widths, prefixes of the blocks such as model.layers.0.) of a plain decoder's linear layers.

    Raises, before any work, where the model is built otherwise or its layers are no plain floats.
    """
    config, linear = checkpoint.config, context.layout.linear
    prefixes = sorted(
        {name.removesuffix(MLP[2]) for name in linear if name.endswith(f".{MLP[2]}")},
        key=lambda prefix: [int(word) for word in prefix.split(".") if word.isdigit()],
    )
    expected = {f"{prefix}{name}" for prefix in prefixes for name in (*MLP, *ATTENTION)}
    odd = sorted(expected ^ set(linear)) or sorted(context.layout.transposed)
    if odd or not prefixes:
        raise not_plain(
            f"it has the linear layer {odd[0]}"
            if odd and odd[0] in linear
            else f"it has no {odd[0] if odd else MLP[2]}"
        )
    held = [name for name in linear if name in checkpoint.stored]
    if held:
        raise StageFailure(
            "invalid",
            f"Cannot prune channels of {held[0]}: it is {checkpoint.stored[held[0]].STATE} already"
            " in the parent, and channels are cut from plain floats",
            hint="Prune channels first",
        )
    rows = checkpoint.shape(f"{prefixes[0]}{ATTENTION[0]}")[0]
    heads = int(config.get("num_attention_heads") or 0)
    kv_heads = int(config.get("num_key_value_heads") or heads)
    if heads == 0 or rows % heads or heads % kv_heads:
        raise not_plain(f"its {rows} query features are no {heads} heads in {kv_heads} groups")
    intermediate = checkpoint.shape(f"{prefixes[0]}{MLP[0]}")[0]
    return Widths(len(prefixes), intermediate, heads, kv_heads, rows // heads), prefixes


def not_plain(why: str) -> StageFailure:
    """The refusal of a model that is built otherwise."""
    return StageFailure(
        "invalid",
        "Cannot prune channels: the model must be built of plain decoder layers (q, k, v and o"
        f" beside gate, up and down, as in Llama), and {why}",
    )


def narrowed_config(config: Mapping[str, Any], after: Widths) -> dict[str, Any]:
    """config.json of the narrower model; `head_dim` is written out, as hidden_size / heads no
    longer gives it."""
    return {
        **config,
        "intermediate_size": after.intermediate,
        "num_attention_heads": after.heads,
        "num_key_value_heads": after.kv_heads,
        "head_dim": after.head_dim,
    }


def check_architecture(
    checkpoint: Checkpoint,
    config: Mapping[str, Any],
    before: Widths,
    after: Widths,
    prefixes: list[str],
) -> None:
    """Raises where transformers would build the narrower config with other shapes than the cut
    tensors have: where something else in a block depends on its widths too."""
    shapes = {name: checkpoint.float_shape(name) for name in checkpoint.floats}
    for prefix in prefixes:
        shapes |= cut_shapes(shapes, prefix, before, after)
    for name, shape in built_shapes(config).items():
        if name in shapes and shapes[name] != shape:
            raise not_plain(
                f"{name} would need the shape {list(shape)} in the narrower one, where cutting"
                f" leaves {list(shapes[name])}"
            )


def built_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters that transformers builds of a configuration, without weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    kind = str(config["model_type"])
    own = {key: value for key, value in config.items() if key != "model_type"}
    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **own))
    except Exception as error:
        # transformers' checks raise a dozen types.
        raise not_plain(f"transformers builds no narrower {kind} ({error})") from error
    return {name: tuple(values.shape) for name, values in model.named_parameters()}


def cut_shapes(
    shapes: Mapping[str, tuple[int, ...]], prefix: str, before: Widths, after: Widths
) -> dict[str, tuple[int, ...]]:
    """Shapes of a block's tensors after the cut."""
    query, keys = after.heads * after.head_dim, after.kv_heads * after.head_dim
    channels = after.intermediate
    widths = dict(zip((*MLP, *ATTENTION), (*[channels] * 3, query, keys, keys, query), strict=True))
    found: dict[str, tuple[int, ...]] = {}
    for name, width in widths.items():
        weight, bias = f"{prefix}{name}.weight", f"{prefix}{name}.bias"
        rows, columns = shapes[weight]
        found[weight] = (rows, width) if name in INPUTS else (width, columns)
        if bias in shapes and name not in INPUTS:
            found[bias] = (width,)
    return found


def strongest(norms: np.ndarray, count: int) -> np.ndarray:
    """Places of the `count` largest, in their order; of equals the earlier ones. norms: (n,)"""
    return np.sort(np.argsort(-norms, kind="stable")[:count])


def channel_norms(checkpoint: Checkpoint, prefix: str) -> np.ndarray:
    """What each channel can add at most: the product of the norms of its row of gate, its row of
    up and its column of down. returns: (intermediate,) float64"""
    gate, up, down = (squares(checkpoint, f"{prefix}{name}") for name in MLP)
    return np.sqrt(gate.sum(axis=1) * up.sum(axis=1) * down.sum(axis=0))


def group_norms(checkpoint: Checkpoint, prefix: str, widths: Widths) -> np.ndarray:
    """What each group can add at most: the norm of its value head times that of its columns of
    o_proj. returns: (kv_heads,) float64"""
    value = squares(checkpoint, f"{prefix}{ATTENTION[2]}").sum(axis=1)
    output = squares(checkpoint, f"{prefix}{ATTENTION[3]}").sum(axis=0)
    groups = widths.kv_heads
    return np.sqrt(value.reshape(groups, -1).sum(axis=1) * output.reshape(groups, -1).sum(axis=1))


def squares(checkpoint: Checkpoint, layer: str) -> np.ndarray:
    """Squares of a layer's weights. returns: (out, in) float64"""
    return np.square(checkpoint.weight(layer), dtype=np.float64)


def head_rows(groups: np.ndarray, widths: Widths) -> dict[str, np.ndarray]:
    """Features of q, k, v and o that belong to these groups. groups: (kept,) int"""

    def features(width: int) -> np.ndarray:
        return (groups[:, None] * width + np.arange(width)).reshape(-1)

    keys = features(widths.head_dim)
    queries = features(widths.heads // widths.kv_heads * widths.head_dim)
    return dict(zip(ATTENTION, (queries, keys, keys, queries), strict=True))


def cut_layers(
    checkpoint: Checkpoint, prefix: str, names: tuple[str, ...], kept: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """A block's tensors with these features left, in the type that they are written in."""
    made: dict[str, np.ndarray] = {}
    for name in names:
        weight, bias = f"{prefix}{name}.weight", f"{prefix}{name}.bias"
        axis = 1 if name in INPUTS else 0
        made[weight] = half(np.take(checkpoint.floats[weight], kept[name], axis=axis))
        if axis == 0 and bias in checkpoint.floats:
            made[bias] = half(np.take(checkpoint.floats[bias], kept[name], axis=0))
    return made
