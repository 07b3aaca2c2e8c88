"""Structured pruning in LLM-Pruner's manner (arXiv 2305.11627): whole MLP channels and whole
attention heads go, so that the child is a plain, narrower checkpoint.

A channel is a row of gate and up with its column of down (of an MLP without a gate, its row of the
first layer); a KV head goes with all its query heads and their columns of o_proj, or as many query
heads of each KV head go. Every layer keeps as many, so that one config.json says it all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.models.blocks import blocks_of
from pare_backends.models.facts import WIDTH_KEYS
from pare_backends.pruning.importance import Taylor, weight_scores
from pare_backends.pruning.plain_config import check_built, check_floats, config_object
from pare_backends.pruning.rounds import left_by_round
from pare_backends.pruning.units import (
    FUSED,
    SEPARATE,
    Units,
    Widths,
    channel_units,
    cut_shapes,
    cut_tensors,
    gone_features,
    kv_units,
    mlp_of,
    own_layers,
    query_units,
    strongest,
)

UNITS = ("kv_heads", "query_heads")


@declared_knobs
class Params:
    """Knobs, as plugins/pruning/channels.ts declares them."""

    mlp_ratio: float
    attention_ratio: float
    attention_unit: str
    importance: str
    samples: int
    rounds: int
    round_to: int


@dataclass(frozen=True)
class Plan:
    """What is cut: the widths before and after, and the units of every block."""

    before: Widths
    after: Widths
    config: Mapping[str, Any]
    units: tuple[Units, ...]

    def kept(self, units: Units) -> int:
        """How many of these units stay."""
        if units.kind == "channels":
            return self.after.channels
        return self.after.kv_heads if units.kind == "kv_heads" else self.after.heads


def kept_channels(channels: int, ratio: float, round_to: int) -> int:
    """Channels that are left: the nearest multiple of `round_to`, of two as near the wider one."""
    if ratio == 0:
        return channels
    steps = math.floor(channels * (1 - ratio) / round_to + 0.5)
    return min(channels, max(1, steps) * round_to)


def kept_groups(groups: int, ratio: float) -> int:
    """Heads that are left: the nearest number, of two as near the larger one."""
    return max(1, math.floor(groups * (1 - ratio) + 0.5))


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Cuts the channels and heads that matter least away, layer by layer."""
    plan = planned(checkpoint, params, context)
    windows = None if params.importance == "weight" else context.calibration(params.samples)
    if windows is None:
        scores = by_weight(checkpoint, plan, context)
        kept = [
            strongest(own, plan.kept(units), units.strata)
            for own, units in zip(scores, plan.units, strict=True)
        ]
    else:
        scores, kept = by_gradients(checkpoint, plan, params, windows, context)
    made: dict[str, np.ndarray] = {}
    with context.report.span("prune"):
        for done, (units, own) in enumerate(zip(plan.units, kept, strict=True), start=1):
            gone = gone_features(units, own)
            made |= cut_tensors(checkpoint, gone, context.layout.transposed)
            context.report.progress("prune", done, len(plan.units), "parts")
    tell(plan, scores, kept, context)
    return replace(checkpoint.with_floats(made), config=plan.config)


def by_weight(checkpoint: Checkpoint, plan: Plan, context: Context) -> list[np.ndarray]:
    """Scores of all units by the norms of their weights."""
    scores: list[np.ndarray] = []
    with context.report.span("weigh"):
        for done, units in enumerate(plan.units, start=1):
            scores.append(weight_scores(checkpoint, units, context))
            context.report.progress("weigh", done, len(plan.units), "parts")
    return scores


def by_gradients(
    checkpoint: Checkpoint, plan: Plan, params: Params, windows: Any, context: Context
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(scores of all units before the first cut, places of those that stay), the scores taken anew
    in each round without what the rounds before it cut."""
    model, _ = context.load(checkpoint)
    taylor = Taylor(model, context, plan.units, params.importance == "taylor_mixed")
    steps = [left_by_round(u.count, plan.kept(u), params.rounds, u.strata) for u in plan.units]
    kept = [np.arange(units.count) for units in plan.units]
    first: list[np.ndarray] = []
    with context.report.span("weigh", library=True):
        for number in range(params.rounds):
            label = "weigh" if params.rounds == 1 else f"weigh, round {number + 1}"
            scores = taylor.scores(plan.units, windows, label)
            first = first or scores
            for place, units in enumerate(plan.units):
                alive = np.full(units.count, -np.inf)
                alive[kept[place]] = scores[place][kept[place]]
                kept[place] = strongest(alive, steps[place][number], units.strata)
                if number < params.rounds - 1:
                    taylor.silence(units, np.setdiff1d(np.arange(units.count), kept[place]))
    return first, kept


def planned(checkpoint: Checkpoint, params: Params, context: Context) -> Plan:
    """What these knobs cut of this model.

    Raises, before any heavy work, where the model is built otherwise, where its weights are no
    plain floats, and where the knobs leave it as it is.
    """
    layout = context.layout
    if layout.experts or layout.problems:
        raise not_plain("its MLPs are a mixture's experts")
    check_floats(checkpoint, "channels")
    if params.importance == "weight" and params.rounds > 1:
        raise CallFailure(
            "invalid",
            f"Cannot cut in {params.rounds} rounds by the importance weight: the norms are the same"
            " in each, so that the rounds would cut what one does",
            hint="Take 1 round, or the importance taylor",
        )
    units, before = blocks_units(checkpoint, params, context)
    after = narrowed(before, params)
    if after == before:
        raise CallFailure(
            "invalid",
            f"Cannot prune channels: {before.channels} MLP channels, {before.kv_heads} KV heads and"
            f" {before.heads} query heads are left as they are by mlp_ratio {params.mlp_ratio},"
            f" attention_ratio {params.attention_ratio} and round_to {params.round_to}",
            hint="Raise a ratio, or round to fewer channels",
        )
    config = narrowed_config(checkpoint.config, before, after)
    plan = Plan(before, after, config, ())
    plan = replace(plan, units=tuple(one for one in units if plan.kept(one) < one.count))
    shapes = {name: checkpoint.float_shape(name) for name in checkpoint.floats}
    for one in plan.units:
        gone = gone_features(one, np.arange(plan.kept(one)))
        shapes |= cut_shapes(shapes, gone, layout.transposed)
    check_built(config, shapes)
    return plan


def blocks_units(
    checkpoint: Checkpoint, params: Params, context: Context
) -> tuple[list[Units], Widths]:
    """(units of every block, those of the attention where its ratio is not 0; the widths).

    Raises where the blocks have no MLP, or no attention, of a kind that is known.
    """
    layout = context.layout
    blocks = blocks_of(layout)
    if blocks is None:
        raise not_plain("its linear layers do not lie in one row of numbered blocks")
    rows = own_layers(blocks, layout.linear)
    mlp = mlp_of(rows[0])
    if mlp is None or any(mlp_of(row) != mlp for row in rows):
        raise not_plain(f"it has no such MLP in every block, but {', '.join(sorted(rows[0]))}")
    channels = side(checkpoint, f"{blocks.name(0)}.{mlp.outer}", context)
    widths = attention_widths(checkpoint, channels)
    fused = mlp.fused
    units: list[Units] = []
    for number, row in enumerate(rows):
        prefix = f"{blocks.name(number)}."
        units.append(channel_units(prefix, mlp, channels))
        if params.attention_ratio > 0:
            names = FUSED if fused else SEPARATE
            if row != {*names, *mlp.inner, mlp.outer} or len(mlp.inner) + fused != 2:
                raise not_plain(
                    "heads go from q, k, v and o beside gate, up and down alone, and its blocks"
                    f" have {', '.join(sorted(row))}",
                    hint="Leave attention_ratio at 0: MLP channels can be cut",
                )
            make = kv_units if params.attention_unit == "kv_heads" else query_units
            units.append(make(prefix, widths, fused))
    return units, widths


def side(checkpoint: Checkpoint, layer: str, context: Context) -> int:
    """Columns of a layer's (out, in) matrix."""
    return checkpoint.shape(layer)[0 if layer in context.layout.transposed else 1]


def attention_widths(checkpoint: Checkpoint, channels: int) -> Widths:
    """The widths that the configuration tells, beside the channels that the tensors have."""
    text = config_object(checkpoint.config).get_text_config()
    heads = int(text.num_attention_heads)
    kv_heads = int(getattr(text, "num_key_value_heads", None) or heads)
    head_dim = int(getattr(text, "head_dim", None) or text.hidden_size // heads)
    return Widths(channels, heads, kv_heads, head_dim)


def narrowed(before: Widths, params: Params) -> Widths:
    """The widths that are left: the nearest that the knobs allow, never none."""
    channels = kept_channels(before.channels, params.mlp_ratio, params.round_to)
    group = before.heads // before.kv_heads
    if params.attention_unit == "query_heads":
        heads = before.kv_heads * kept_groups(group, params.attention_ratio)
        return replace(before, channels=channels, heads=heads)
    kept = kept_groups(before.kv_heads, params.attention_ratio)
    return replace(before, channels=channels, heads=group * kept, kv_heads=kept)


def narrowed_config(config: Mapping[str, Any], before: Widths, after: Widths) -> dict[str, Any]:
    """config.json of the narrower model; with fewer heads `head_dim` is written out, as hidden_size
    / heads no longer gives it."""
    found = dict(config)
    if after.channels < before.channels:
        text = config_object(config).get_text_config()
        named = [
            key
            for key in WIDTH_KEYS
            if getattr(text, key, before.channels + 1) in (before.channels, None)
        ]
        if not named:
            raise not_plain(
                f"the configuration of {config['model_type']} names no width of the MLP: it is"
                " always a multiple of the hidden size"
            )
        found[named[0]] = after.channels
    if after.heads < before.heads:
        heads = {"num_attention_heads": after.heads, "num_key_value_heads": after.kv_heads}
        found |= {**heads, "head_dim": after.head_dim}
    return found


def not_plain(why: str, hint: str | None = None) -> CallFailure:
    """The refusal of a model that is built otherwise."""
    return CallFailure(
        "invalid",
        "Cannot prune channels: the model must be built of plain decoder layers (q, k, v and o"
        " beside gate, up and down, as in Llama, or an MLP of two layers, as in GPT-2), and"
        f" {why}",
        hint=hint,
    )


def tell(
    plan: Plan, scores: Sequence[np.ndarray], kept: Sequence[np.ndarray], context: Context
) -> None:
    """Figures and a note of what was cut."""
    for units, own, left in zip(plan.units, scores, kept, strict=True):
        context.figure(f"{units.kind}_cut", units.count - len(left), units.kind, units.name)
        total = float(own.sum())
        share = 1 - float(own[left].sum()) / total if total > 0 else 0.0
        context.figure(f"{units.kind}_importance_cut", share, "share", units.name)
        if units.kind != "channels":
            for head in sorted(set(range(units.count)) - set(left.tolist())):
                metric = f"cut_{units.kind.removesuffix('s')}"
                context.figure(metric, head, "number", f"{units.name}.{head}")
    before, after = plan.before, plan.after
    context.notes.append(
        f"every layer keeps {after.channels} of {before.channels} MLP channels and"
        f" {after.kv_heads} of {before.kv_heads} KV heads, with {after.heads} of {before.heads}"
        " query heads"
    )
