"""Depth pruning: whole decoder blocks go, and those after them take their numbers, so that the
child is a plain, shallower checkpoint.

A block matters by its influence, 1 - cos(what comes in, what goes out) over the tokens of some
calibration windows (ShortGPT, arXiv 2403.03853), or by the loss on them without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.models.blocks import Blocks, are_alike, blocks_of
from pare_backends.pruning.block_scores import influences, losses_without, skipped
from pare_backends.pruning.plain_config import check_built, check_floats, config_object
from pare_backends.pruning.rounds import left_by_round

if TYPE_CHECKING:
    import torch

FIGURES = {
    "block_influence": ("block_influence", "1"),
    "perplexity": ("loss_rise", "nats per token"),
}
"""The figure that a block is weighed by, with its unit, by the knob's value."""
BY_NUMBER = ("scale_attn_by_inverse_layer_idx",)
"""What makes a block compute by its own number: renumbered, it would be another."""


@declared_knobs
class Params:
    """Knobs, as plugins/pruning/depth.ts declares them."""

    blocks: int
    importance: str
    samples: int
    rounds: int
    keep_first: int
    keep_last: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint without the blocks that matter least."""
    blocks = equal_blocks(checkpoint, context)
    check(params, blocks)
    anywhere = range(params.keep_first, blocks.count - params.keep_last)[: params.blocks]
    # Which blocks go changes no shape: whether they can, is known before any work.
    check_built(
        shallower_config(checkpoint.config, blocks, kept_of(blocks, anywhere)),
        {
            name: checkpoint.float_shape(old)
            for name, old in renamed(checkpoint, blocks, kept_of(blocks, anywhere)).items()
        },
    )
    windows = context.calibration(params.samples)
    gone, scores = weakest(checkpoint, params, blocks, windows, context)
    kept = kept_of(blocks, gone)
    for number, score in sorted(scores.items()):
        metric, unit = FIGURES[params.importance]
        context.figure(metric, score, unit, blocks.name(number))
    for number in sorted(gone):
        context.figure("cut_block", number, "number", blocks.name(number))
    context.figure("blocks_cut", len(gone), "blocks")
    context.notes.append(
        f"blocks {', '.join(str(number) for number in sorted(gone))} of {blocks.count} (from 0) are"
        f" cut: the least by {params.importance.replace('_', ' ')}"
    )
    with context.report.span("prune"):
        floats = {
            name: checkpoint.floats[old] for name, old in renamed(checkpoint, blocks, kept).items()
        }
    return replace(
        checkpoint, config=shallower_config(checkpoint.config, blocks, kept), floats=floats
    )


def check(params: Params, blocks: Blocks) -> None:
    """Raises where these knobs cannot be had on a model of so many blocks."""
    free = blocks.count - params.keep_first - params.keep_last
    if params.blocks >= blocks.count or params.blocks > free:
        kept = f" with {params.keep_first} first and {params.keep_last} last ones left alone"
        raise CallFailure(
            "invalid",
            f"Cannot cut {params.blocks} of {blocks.count} blocks"
            f"{kept if params.keep_first + params.keep_last else ''}: at most"
            f" {max(0, min(free, blocks.count - 1))} can go",
            hint="Cut fewer blocks",
        )
    if params.rounds > params.blocks:
        raise CallFailure(
            "invalid",
            f"Cannot cut {params.blocks} blocks in {params.rounds} rounds: each cuts one at least",
            hint="Take as many rounds as blocks, or fewer",
        )


def equal_blocks(checkpoint: Checkpoint, context: Context) -> Blocks:
    """The model's blocks. Raises, before any work, where one cannot take another's place."""
    check_floats(checkpoint, "blocks")
    blocks = blocks_of(context.layout)
    shapes = {name: checkpoint.float_shape(name) for name in checkpoint.floats}
    if blocks is None or not are_alike(blocks, shapes):
        raise CallFailure(
            "invalid",
            "Cannot cut blocks: the model must be one row of decoder blocks with the same layers,"
            f" and those of {checkpoint.config['model_type']} "
            + ("lie in no such row" if blocks is None else "are of different shapes"),
        )
    text = config_object(checkpoint.config).get_text_config()
    numbered = next((key for key in BY_NUMBER if getattr(text, key, False)), None)
    if numbered is not None:
        raise CallFailure(
            "invalid",
            f"Cannot cut blocks: by {numbered} in config.json a block computes by its own number,"
            " which it would lose",
        )
    return blocks


def kept_of(blocks: Blocks, gone: Sequence[int]) -> list[int]:
    """Numbers of the blocks that stay."""
    return [number for number in range(blocks.count) if number not in set(gone)]


def renamed(checkpoint: Checkpoint, blocks: Blocks, kept: Sequence[int]) -> dict[str, str]:
    """The tensors that stay, by their new names: a block takes its place among those kept."""
    places = {number: place for place, number in enumerate(kept)}
    found: dict[str, str] = {}
    for name in checkpoint.floats:
        place = blocks.place(name)
        if place is None:
            found[name] = name
        elif place[0] in places:
            found[f"{blocks.name(places[place[0]])}.{place[1]}"] = name
    return found


def shallower_config(
    config: Mapping[str, Any], blocks: Blocks, kept: Sequence[int]
) -> dict[str, Any]:
    """config.json of the shallower model; what it says of each layer, or what follows for each from
    a pattern, is written out for those that stay."""
    made = config_object(config)
    if made.get_text_config() is not made:
        raise CallFailure(
            "invalid",
            f"Cannot cut blocks of {config['model_type']}: its layers are counted in a part of its"
            " configuration, beside another model's",
        )
    count = made.attribute_map.get("num_hidden_layers", "num_hidden_layers")
    found = {**config, count: len(kept)}
    for key, values in made.to_dict().items():
        if "layer" in key and isinstance(values, list | tuple) and len(values) == blocks.count:
            found[key] = [values[number] for number in kept]
    return found


def weakest(
    checkpoint: Checkpoint, params: Params, blocks: Blocks, windows: torch.Tensor, context: Context
) -> tuple[list[int], dict[int, float]]:
    """(the blocks that go, the score of every block when it was last weighed): in rounds, each
    without what those before it cut."""
    import torch

    model, _ = context.load(checkpoint)
    model.config.use_cache = False
    windows = windows.to(model.device)
    rows = [model.get_submodule(f"{blocks.module}.{n}") for n in range(blocks.count)]
    score = influences if params.importance == "block_influence" else losses_without
    gone: list[int] = []
    scores: dict[int, float] = {}
    free = range(params.keep_first, blocks.count - params.keep_last)
    steps = left_by_round(blocks.count, blocks.count - params.blocks, params.rounds)
    with context.report.span("weigh", library=True), torch.inference_mode():
        for number, left in enumerate(spread(steps, blocks.count), start=1):
            label = "weigh" if params.rounds == 1 else f"weigh, round {number}"
            with skipped(rows, gone):
                own = score(model, rows, kept_of(blocks, gone), windows, tell(context, label))
            scores |= own
            open_to = sorted(set(own) & set(free), key=lambda one: (own[one], one))
            gone += open_to[: blocks.count - len(gone) - left]
    return gone, scores


def spread(steps: Sequence[int], count: int) -> list[int]:
    """The same numbers of blocks left, each round cutting one at least."""
    found: list[int] = []
    for place, left in enumerate(steps):
        before = found[-1] if found else count
        most = before - 1
        least = steps[-1] + len(steps) - 1 - place
        found.append(max(least, min(most, left)))
    return found


def tell(context: Context, label: str) -> Callable[[int, int], None]:
    """Reports so many of so many forward passes."""

    def report(done: int, total: int) -> None:
        context.report.progress(label, done, total, "windows")

    return report
