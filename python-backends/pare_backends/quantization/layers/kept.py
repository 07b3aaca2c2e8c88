"""Layers out of the store, made first where it lacks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.quantization.layers.make import DAMPENING, make_layers
from pare_backends.quantization.layers.store import LayerStore, source_of
from pare_backends.quantization.mixing.formats import Format


@dataclass(frozen=True)
class KeptFormat(Format):
    """A format whose layers are not rounded but taken out of the store."""

    store: LayerStore | None = None

    def round(self, layer: str, weights: np.ndarray, threads: int = 1) -> GridTensor:
        assert self.store is not None
        return kept_layer(self.store, layer, self)


def kept_layer(store: LayerStore, layer: str, one: Format) -> GridTensor:
    """A layer that was made. raises: CallFailure "crash" where it is gone"""
    found = store.find(layer, one)
    if found is None:
        raise CallFailure(
            "crash",
            f"Cannot take {layer} as {one.name}: it is not in {store.folder} any more",
            hint="Run it again: the layer is made anew",
        )
    return found[0]


@contextmanager
def open_store(context: Context, windows: Any) -> Iterator[LayerStore]:
    """Within, the store of the parent's layers on these windows: in the cache that outlives the
    action, without one in the action's own folder, without that in one that is gone afterwards."""
    source = source_of(context.parent_dir, windows, DAMPENING)
    folder = context.layer_cache or context.work_dir
    if folder is not None:
        yield LayerStore(folder, source)
        return
    with TemporaryDirectory(prefix="pare-layers-") as made:
        yield LayerStore(Path(made), source)


def kept_formats(
    model: Any,
    layers: Sequence[str],
    formats: Sequence[Format],
    windows: Any,
    store: LayerStore,
    context: Context,
) -> list[Format]:
    """The formats, of all layers made: what rounds by them takes the kept ones."""
    make_layers(model, {layer: formats for layer in layers}, windows, store, context)
    return [
        KeptFormat(one.bits, one.group_size, one.symmetric, one.activation_group_size, store)
        for one in formats
    ]


def by_kept(
    model: Any, windows: Any, chosen: Mapping[str, Format], store: LayerStore, context: Context
) -> dict[str, GridTensor]:
    """Each layer in its format, as it is kept."""
    wanted = {layer: [one] for layer, one in chosen.items()}
    make_layers(model, wanted, windows, store, context)
    with context.report.span("assemble"):
        return {
            layer: context.in_place(layer, kept_layer(store, layer, one))
            for layer, one in chosen.items()
        }
