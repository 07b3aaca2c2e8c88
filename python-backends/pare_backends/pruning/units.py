"""What of a decoder block goes together: MLP channels, KV heads with their query heads, or query
heads alone; each as the features of the block's linear layers that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.forms.floats import half
from pare_backends.models.blocks import Blocks

ROWS, COLUMNS = 0, 1


class Span(NamedTuple):
    """Features of a layer, `width` side by side for each unit, the first unit's from `start` on."""

    layer: str  # its name in the files
    axis: int  # ROWS, with the biases that they have, or COLUMNS, of the (out, in) matrix
    start: int
    width: int
    bounds: bool  # its norm is a factor of what the unit can add


@dataclass(frozen=True)
class Units:
    """The units of one kind in one block."""

    kind: str  # channels, kv_heads or query_heads
    name: str  # the module that they are parts of, such as model.layers.0.mlp
    count: int
    spans: tuple[Span, ...]
    strata: int = 1  # equal runs of units, of each of which as many are kept

    def by_unit(self, span: Span, features: np.ndarray) -> np.ndarray:
        """Sums of a span's features. features: (n,) of the whole axis; returns: (count,)"""
        own = features[span.start : span.start + self.count * span.width]
        sums: np.ndarray = own.reshape(self.count, span.width).sum(axis=1)
        return sums

    def features(self, span: Span, units: np.ndarray) -> np.ndarray:
        """Places on its axis of these units' features. units: (k,) int; returns: (k · width,)"""
        places: np.ndarray = span.start + units[:, None] * span.width + np.arange(span.width)
        return places.reshape(-1)


@dataclass(frozen=True)
class Widths:
    """What a block is wide."""

    channels: int
    heads: int
    kv_heads: int
    head_dim: int


class Mlp(NamedTuple):
    """Names of an MLP's layers: those whose rows are channels, and the one whose columns are."""

    inner: tuple[str, ...]
    outer: str
    fused: bool = False  # gate and up lie one above the other in one matrix


MLPS = (
    Mlp(("mlp.gate_proj", "mlp.up_proj"), "mlp.down_proj"),
    Mlp(("mlp.gate_up_proj",), "mlp.down_proj", fused=True),
    Mlp(("mlp.up_proj",), "mlp.down_proj"),
    Mlp(("mlp.dense_h_to_4h",), "mlp.dense_4h_to_h"),
    Mlp(("mlp.c_fc",), "mlp.c_proj"),
    Mlp(("mlp.fc_in",), "mlp.fc_out"),
    Mlp(("mlp.fc1",), "mlp.fc2"),
    Mlp(("fc1",), "fc2"),
)
SEPARATE = tuple(f"self_attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "o_proj"))
FUSED = ("self_attn.qkv_proj", "self_attn.o_proj")


def mlp_of(layers: set[str]) -> Mlp | None:
    """The MLP whose layers a block has, by their names within it."""
    return next((mlp for mlp in MLPS if {*mlp.inner, mlp.outer} <= layers), None)


def channel_units(prefix: str, mlp: Mlp, channels: int) -> Units:
    """A block's MLP channels: rows of gate and up, or of the one layer that there is, and columns
    of the layer that writes. prefix: such as model.layers.0."""
    inner = [Span(f"{prefix}{name}", ROWS, 0, 1, bounds=True) for name in mlp.inner]
    if mlp.fused:
        inner.append(inner[0]._replace(start=channels))
    outer = Span(f"{prefix}{mlp.outer}", COLUMNS, 0, 1, bounds=True)
    name = f"{prefix}{mlp.outer.rpartition('.')[0] or mlp.outer}"
    return Units("channels", name, channels, (*inner, outer))


def attention_spans(prefix: str, widths: Widths, fused: bool) -> tuple[Span, Span, Span, Span]:
    """Query rows, key rows, value rows and output columns of a KV head with its query heads."""
    keys = widths.head_dim
    queries = widths.heads // widths.kv_heads * keys
    starts = (0, 0, 0)
    if fused:
        first = widths.heads * widths.head_dim
        starts = (0, first, first + widths.kv_heads * widths.head_dim)
    names = (FUSED[0],) * 3 if fused else SEPARATE[:3]
    query, key, value = (
        Span(f"{prefix}{name}", ROWS, start, width, bounds)
        for name, start, width, bounds in zip(
            names, starts, (queries, keys, keys), (False, False, True), strict=True
        )
    )
    return query, key, value, Span(f"{prefix}{FUSED[1]}", COLUMNS, 0, queries, bounds=True)


def kv_units(prefix: str, widths: Widths, fused: bool) -> Units:
    """A block's KV heads, each with all its query heads."""
    spans = attention_spans(prefix, widths, fused)
    return Units("kv_heads", f"{prefix}self_attn", widths.kv_heads, spans)


def query_units(prefix: str, widths: Widths, fused: bool) -> Units:
    """A block's query heads; of each KV head's as many go, so that the others stay in groups."""
    query, _, _, output = attention_spans(prefix, widths, fused)
    own = tuple(span._replace(width=widths.head_dim) for span in (query, output))
    name = f"{prefix}self_attn"
    return Units("query_heads", name, widths.heads, own, strata=widths.kv_heads)


def own_layers(blocks: Blocks, linear: tuple[str, ...]) -> list[set[str]]:
    """Names of each block's linear layers within it."""
    found: list[set[str]] = [set() for _ in range(blocks.count)]
    for layer in linear:
        place = blocks.place(layer)
        if place is not None:
            found[place[0]].add(place[1])
    return found


def strongest(scores: np.ndarray, count: int, strata: int = 1) -> np.ndarray:
    """Places of the largest, `count` in all and as many of each stratum, in their order; of equals
    the earlier ones. scores: (n,)"""
    runs = scores.reshape(strata, -1)
    best = np.argsort(-runs, axis=1, kind="stable")[:, : count // strata]
    first = np.arange(strata)[:, None] * runs.shape[1]
    kept: np.ndarray = np.sort((best + first).reshape(-1))
    return kept


def gone_features(units: Units, kept: np.ndarray) -> dict[str, tuple[int, np.ndarray]]:
    """(axis, features that go) by layer. kept: (k,) places of the units that stay"""
    gone = np.setdiff1d(np.arange(units.count), kept)
    found: dict[str, tuple[int, np.ndarray]] = {}
    for span in units.spans:
        places = units.features(span, gone)
        before = found.get(span.layer, (span.axis, np.empty(0, dtype=np.int64)))[1]
        found[span.layer] = (span.axis, np.union1d(before, places))
    return found


def cut_shapes(
    shapes: Mapping[str, tuple[int, ...]],
    gone: Mapping[str, tuple[int, np.ndarray]],
    transposed: frozenset[str],
) -> dict[str, tuple[int, ...]]:
    """Shapes in the files of the tensors that lose these features, by tensor name."""
    found: dict[str, tuple[int, ...]] = {}
    for layer, (axis, places) in gone.items():
        weight, bias = f"{layer}.weight", f"{layer}.bias"
        sides = list(shapes[weight])
        sides[axis ^ (layer in transposed)] -= len(places)
        found[weight] = tuple(sides)
        if axis == ROWS and bias in shapes:
            found[bias] = (shapes[bias][0] - len(places),)
    return found


def cut_tensors(
    checkpoint: Checkpoint,
    gone: Mapping[str, tuple[int, np.ndarray]],
    transposed: frozenset[str],
) -> dict[str, np.ndarray]:
    """The tensors without these features, as the files hold them, in the type of writing."""
    made: dict[str, np.ndarray] = {}
    for layer, (axis, places) in gone.items():
        weight, bias = f"{layer}.weight", f"{layer}.bias"
        side = axis ^ (layer in transposed)
        made[weight] = half(np.delete(checkpoint.floats[weight], places, axis=side))
        if axis == ROWS and bias in checkpoint.floats:
            made[bias] = half(np.delete(checkpoint.floats[bias], places))
    return made
