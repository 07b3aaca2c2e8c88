"""A codec of its own for each layer: the settings that cost least under a mean number of bits, by
what each layer loses in each of them alone. The knapsack is that of `mixed`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pare_backends.checkpoint import Checkpoint
from pare_backends.codec.blocks import check_encodable, matrix_shape
from pare_backends.codec.composing import CodeScoring, open_codes
from pare_backends.codec.settings import settings_of
from pare_backends.failures import CallFailure
from pare_backends.knobs import choice, integer, real
from pare_backends.methods.context import Context
from pare_backends.quantization.mixing.assignment import assignment_text
from pare_backends.quantization.mixing.candidates import decisions_of
from pare_backends.quantization.mixing.score import Score
from pare_backends.quantization.mixing.solve import best_mix

CODECS = (
    "seedlm-vptq-hyper_compression",
    "seedlm-hyper_compression",
    "seedlm-vptq",
    "vptq-hyper_compression",
)


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/codec/compose.ts."""

    average_bits: float = real(4.0, minimum=2.0, maximum=6.5, unit="bits per weight")
    layer_codecs: str = choice(CODECS[0], choices=CODECS, unit="codecs that a layer may have")
    scored_by: str = choice(
        "fisher", choices=("kl", "fisher", "reconstruction"), unit="scorer of a layer"
    )
    samples: int = integer(8, minimum=1, maximum=512, unit="calibration windows")
    seqlen: int = integer(256, minimum=16, maximum=4096, unit="tokens of a window")


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
