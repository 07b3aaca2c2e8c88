"""A format of its own for each layer: the best mix under a mean number of bits, by what each layer
loses in each format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params, declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization import autoround, gptq
from pare_backends.quantization.layer_checks import check_layers, check_sides
from pare_backends.quantization.layers.kept import by_kept, kept_formats, open_store
from pare_backends.quantization.mixing.assignment import NONE, assigned
from pare_backends.quantization.mixing.candidates import decisions_of
from pare_backends.quantization.mixing.formats import Format, format_of
from pare_backends.quantization.mixing.score import Score
from pare_backends.quantization.mixing.scores import Scoring
from pare_backends.quantization.mixing.solve import best_mix


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/mixed.ts declares them."""

    average_bits: float
    layer_bits: str
    group_size: int
    symmetric: bool
    scored_by: str
    rounded_by: str
    assignment: str
    fused_alike: bool
    samples: int
    seqlen: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Scores the linear layers, solves for the budget and rounds each to the format it got; or
    rounds each to the format that it is assigned."""
    layers = context.layout.linear
    windows = context.calibration(params.samples, params.seqlen)
    weights = sum(math.prod(checkpoint.shape(layer)) for layer in layers)
    if params.rounded_by == "autoround":
        check_sides(checkpoint, layers, autoround.SIDES, "auto-round")
    if params.assignment != NONE:
        chosen = assigned(params.assignment, layers)
        for layer, one in chosen.items():
            check_layers(checkpoint, context.layout, [layer], one.group_size)
        loaded = None if params.rounded_by == "rtn" else context.load_linear(checkpoint)
        tensors = rounded(checkpoint, loaded, windows, chosen, params, context)
        tell_assigned(context, tensors, weights)
        return checkpoint.with_stored(tensors)
    check_layers(checkpoint, context.layout, layers, params.group_size)
    loaded = context.load_linear(checkpoint)
    scores = scored(loaded[0], windows, params, context)
    budget = int(params.average_bits * weights / 8)
    with context.report.span("solve"):
        chosen = chosen_formats(scores, budget, params.fused_alike)
    tell(context, params, scores, chosen, weights)
    return checkpoint.with_stored(rounded(checkpoint, loaded, windows, chosen, params, context))


def scored(model: Any, windows: Any, params: Params, context: Context) -> list[Score]:
    """Every layer in every format, as it would be stored."""
    layers = context.layout.linear
    formats = [
        Format(int(width), params.group_size, params.symmetric)
        for width in params.layer_bits.split("-")
    ]
    kept = None if context.work_dir is None else context.work_dir / "scores.jsonl"
    with ExitStack() as stack:
        if params.rounded_by == "kept":
            store = stack.enter_context(open_store(context, windows))
            formats = kept_formats(model, layers, formats, windows, store, context)
        scoring = Scoring(
            *(model, context.layout, windows, formats, [params.scored_by], context.seed),
            *(context.report, kept),
        )
        return scoring.run(layers)


def rounded(
    checkpoint: Checkpoint,
    loaded: tuple[Any, Any] | None,
    windows: Any,
    chosen: Mapping[str, Format],
    params: Params,
    context: Context,
) -> dict[str, GridTensor]:
    """Every layer in its format, by the method that rounds. loaded: model and tokenizer; None: the
    method needs neither"""
    if params.rounded_by == "rtn" or loaded is None:
        return by_rounding(checkpoint, chosen, context)
    if params.rounded_by == "gptq":
        return by_gptq(*loaded, windows, chosen, context)
    if params.rounded_by == "autoround":
        return by_autoround(*loaded, windows, chosen, context)
    with open_store(context, windows) as store:
        return by_kept(loaded[0], windows, chosen, store, context)


def tell_assigned(context: Context, tensors: Mapping[str, GridTensor], weights: int) -> None:
    """The formats of an assigned mix, which nothing has scored. SQL: layer_mix."""
    for layer, tensor in tensors.items():
        context.figure("stored_bits", tensor.bits, "bits", layer)
        bits = 8 * tensor.formula_bytes() / tensor.size
        context.figure("weight_bits", bits, "bits per weight", layer)
    bits = 8 * sum(tensor.formula_bytes() for tensor in tensors.values()) / weights
    context.notes.append(f"{len(tensors)} layers as assigned: {bits:.3f} bits per weight")


def chosen_formats(
    scores: Sequence[Score], budget_bytes: int, fused_alike: bool
) -> dict[str, Format]:
    """The best mix, by layer. fused_alike: layers that are given the same input share a format"""
    decisions = decisions_of(scores, fused_alike)
    chosen = best_mix(decisions, budget_bytes)
    return {
        layer: format_of(option.format)
        for decision, option in zip(decisions, chosen, strict=True)
        for layer in decision.layers
    }


def tell(
    context: Context,
    params: Params,
    scores: Sequence[Score],
    chosen: Mapping[str, Format],
    weights: int,
) -> None:
    """What was chosen, by layer, and what it is taken to cost. SQL: layer_mix."""
    taken = [score for score in scores if chosen[score.layer].name == score.format]
    if len(taken) != len(chosen):
        raise CallFailure("invalid", "Cannot mix formats: a layer was given no text to score it")
    for score in taken:
        context.figure("stored_bits", chosen[score.layer].bits, "bits", score.layer)
        context.figure("weight_bits", score.weight_bits, "bits per weight", score.layer)
        context.figure(params.scored_by, score.value, score.unit, score.layer)
    bits = 8 * sum(score.size_bytes for score in taken) / weights
    counts = Counter(format.bits for format in chosen.values())
    shares = ", ".join(f"{counts[width]} of {width} bits" for width in sorted(counts))
    context.notes.append(
        f"{len(chosen)} layers, {shares}: {bits:.3f} bits per weight of {params.average_bits:g}"
        f" allowed, mixed by {params.scored_by}"
    )


def by_rounding(
    checkpoint: Checkpoint, chosen: Mapping[str, Format], context: Context
) -> dict[str, GridTensor]:
    """Each layer rounded to nearest, as it was scored."""
    tensors = {}
    with context.report.span("quantize"):
        for done, (layer, format) in enumerate(chosen.items(), start=1):
            weights = context.matrix(checkpoint, layer)
            tensor = format.round(layer, weights, context.report.threads)
            tensors[layer] = context.in_place(layer, tensor)
            context.report.progress("round", done, len(chosen), "layers")
    return tensors


def by_gptq(
    model: Any, tokenizer: Any, windows: Any, chosen: Mapping[str, Format], context: Context
) -> dict[str, GridTensor]:
    """All layers in one pass of GPTQ, each in its own format and after the mix before it."""
    modules: dict[Format, list[str]] = {}
    for layer, format in chosen.items():
        modules.setdefault(format, []).append(context.layout.modules[layer])
    schemes = [
        gptq.scheme(names, format.bits, format.group_size, format.symmetric, clip=True)
        for format, names in modules.items()
    ]
    with context.report.span("quantize", library=True):
        gptq.run_oneshot(model, tokenizer, windows, schemes, build_params(gptq.Params, {}), context)
    with context.report.span("extract"):
        return {
            layer: gptq.read_layer(
                model, layer, format.bits, format.group_size, format.symmetric, context
            )
            for layer, format in chosen.items()
        }


def by_autoround(
    model: Any, tokenizer: Any, windows: Any, chosen: Mapping[str, Format], context: Context
) -> dict[str, GridTensor]:
    """All layers in one pass of AutoRound, block by block, each in its own format."""
    own = {
        layer: build_params(
            autoround.Params,
            {"bits": format.bits, "group_size": format.group_size, "symmetric": format.symmetric},
        )
        for layer, format in chosen.items()
    }
    grids = {
        context.layout.modules[layer]: {
            "bits": one.bits,
            "group_size": one.group_size,
            "sym": one.symmetric,
        }
        for layer, one in own.items()
    }
    with context.report.span("quantize", library=True):
        first = next(iter(own.values()))
        model = autoround.tune(model, tokenizer, windows.contiguous(), first, context, grids)
    with context.report.span("extract"):
        return {
            layer: autoround.read_layer(model, layer, one, context) for layer, one in own.items()
        }
