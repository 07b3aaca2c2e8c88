"""A codec of its own for each layer: the settings that cost least under a mean number of bits, by
what each layer loses in each of them alone. The knapsack is that of `mixed`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from pare_backends.checkpoint import Checkpoint
from pare_backends.codec.blocks import check_encodable, matrix_shape
from pare_backends.codec.composing import CodeScoring, open_codes
from pare_backends.codec.settings import settings_of
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.mixing.assignment import assignment_text
from pare_backends.quantization.mixing.candidates import decisions_of
from pare_backends.quantization.mixing.score import Score
from pare_backends.quantization.mixing.solve import best_mix


@declared_knobs
class Params:
    """Knobs, as plugins/codec/compose.ts declares them."""

    average_bits: float
    layer_codecs: str
    scored_by: str
    samples: int
    seqlen: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Encodes every linear layer in every setting, solves for the budget and takes the chosen."""
    layers = context.layout.linear
    check_encodable(checkpoint, context, layers)
    windows = context.calibration(params.samples, params.seqlen)
    weights = sum(math.prod(checkpoint.shape(layer)) for layer in layers)
    columns = {matrix_shape(checkpoint, context, layer)[1] for layer in layers}
    settings = settings_of(params.layer_codecs.split("-"), columns)
    model = context.load_linear(checkpoint)[0]
    kept = None if context.work_dir is None else context.work_dir / "scores.jsonl"
    with open_codes(context) as codes:
        scoring = CodeScoring(
            *(model, context.layout, windows, settings, [params.scored_by], context.seed),
            *(context.report, kept),
            codes=codes,
        )
        scores = scoring.run(layers)
        with context.report.span("solve"):
            chosen = chosen_settings(scores, layers, int(params.average_bits * weights / 8))
        tell(context, params, scores, chosen, weights)
        return checkpoint.with_stored(codes.taken(chosen))


def chosen_settings(
    scores: Sequence[Score], layers: Sequence[str], budget_bytes: int
) -> dict[str, str]:
    """The best composition: setting by layer, in the model's order.

    raises: CallFailure "invalid" where a layer was not scored, or the budget is below the smallest
    """
    decisions = decisions_of(scores, fused_alike=False)
    chosen = best_mix(decisions, budget_bytes)
    pairs = zip(decisions, chosen, strict=True)
    found = {decision.layers[0]: option.format for decision, option in pairs}
    missing = [layer for layer in layers if layer not in found]
    if missing:
        raise CallFailure(
            "invalid",
            f"Cannot compose codecs: {missing[0]} was given no text to score it",
            hint="Take more calibration windows, or score by fisher",
        )
    return {layer: found[layer] for layer in layers}


def tell(
    context: Context,
    params: Params,
    scores: Sequence[Score],
    chosen: Mapping[str, str],
    weights: int,
) -> None:
    """What was chosen, by layer, and what it is taken to cost; a figure of its setting's name tells
    each layer's codec."""
    taken = [score for score in scores if chosen[score.layer] == score.format]
    for score in taken:
        context.figure(score.format, score.weight_bits, "bits per weight", score.layer)
        context.figure(params.scored_by, score.value, score.unit, score.layer)
    bits = 8 * sum(score.size_bytes for score in taken) / weights
    counts = Counter(chosen.values())
    shares = ", ".join(f"{counts[name]} of {name}" for name in sorted(counts))
    context.notes.append(
        f"{len(chosen)} layers, {shares}: {bits:.3f} bits per weight of {params.average_bits:g}"
        f" allowed, composed by {params.scored_by}"
    )
    context.notes.append(f"codec by layer: {assignment_text(chosen, list(chosen))}")
