"""What every format tells of itself: which layers it can hold, and how they lie in its files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure
from pare_backends.models.layout import Layout

OUTSIDE = {
    "embedding": "the embedding",
    "head": "the output head",
    "expert": "an expert's, which transformers holds in one stack",
}
"""Packed matrices by their roles that are none of a block's linear layers."""


@dataclass(frozen=True)
class Source:
    """What is converted: a written artifact."""

    directory: Path
    config: Mapping[str, Any]  # config.json, whole
    checkpoint: Checkpoint
    layout: Layout
    written_out: frozenset[str] = frozenset()
    """Pruned layers whose zeros no other library's files leave out: floats of `checkpoint`."""

    @property
    def grids(self) -> dict[str, GridTensor]:
        """The packed layers."""
        return self.checkpoint.in_form(GridTensor)

    @property
    def plain(self) -> list[str]:
        """Linear layers that stay floats."""
        return [layer for layer in self.layout.linear if layer not in self.checkpoint.stored]

    def module(self, layer: str) -> str:
        """The model's own name of a layer, which files may leave a prefix out of."""
        return self.layout.modules.get(layer, layer)


@dataclass(frozen=True, order=True)
class Grid:
    """What a configuration says of a packed layer."""

    bits: int
    group_size: int  # -1 = the whole row
    symmetric: bool


@dataclass(frozen=True)
class Decoded:
    """A packed layer as files hold it: (ints − zeros) · scales by groups of columns."""

    ints: np.ndarray  # (o, i), from 0 on
    zeros: np.ndarray  # (o, g), from 0 on
    scales: np.ndarray  # (o, g) float32

    def weights(self) -> np.ndarray:
        """returns: (o, i) float32"""
        rows, columns = self.ints.shape
        grouped = self.ints.reshape(rows, self.scales.shape[1], -1).astype(np.float32)
        grouped = (grouped - self.zeros[:, :, None].astype(np.float32)) * self.scales[:, :, None]
        return grouped.reshape(rows, columns)


def decoded_grid(tensor: GridTensor) -> Decoded:
    """The same of a layer of pare's own."""
    middle = 1 << (tensor.bits - 1)
    zeros = tensor.zero_points
    zeros = np.zeros(tensor.scales.shape, np.int32) if zeros is None else zeros.astype(np.int32)
    # Files hold float16 where it has the scales to its own precision.
    scales = tensor.scales.astype(tensor.scale_dtype).astype(np.float32)
    return Decoded(tensor.ints.astype(np.int32) + middle, zeros + middle, scales)


@dataclass(frozen=True)
class Opened:
    """Files that a library has loaded."""

    model: Any
    by: str  # the libraries, as a command line of pip names them
    unrounded: Callable[[], Any] | None = None
    """Gives the model with its inputs as they are, which are rounded else; None: none are rounded.
    It may be the same object, which `model` is no more from then on."""
    plain: Callable[[], Any] | None = None
    """Loads them in the type that config.json says, as a user does; None: it says none."""


class FilesFormat(ABC):
    """One format of files."""

    NAME: ClassVar[str]
    OPENED_BY: ClassVar[str]  # what loads it, as a command line of pip names it
    FUSED: ClassVar[bool] = True
    """Whether a runtime that fuses layers, such as vLLM, reads it: those must share a format."""

    @abstractmethod
    def refusal(self, source: Source) -> str | None:
        """Why the format cannot hold the artifact, as the end of a sentence; None: it can."""

    @abstractmethod
    def parts(self, tensor: GridTensor, config: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """A packed layer as it lies in the files, by the ending of the name.

        config: what `configuration` gave
        """

    @abstractmethod
    def formula_bytes(self, tensor: GridTensor) -> int:
        """Bytes of these parts, by the format's formula."""

    @abstractmethod
    def configuration(self, source: Source) -> dict[str, Any]:
        """`quantization_config` of config.json."""

    @abstractmethod
    def claimed(self, config: Mapping[str, Any], module: str) -> Grid:
        """What a written `quantization_config` says of a layer."""

    @abstractmethod
    def found(
        self, stored: StoredTensors, layer: str, shape: tuple[int, int], config: Mapping[str, Any]
    ) -> Grid:
        """What a layer's parts say; raises `CallFailure` where one is gone.

        shape: (out, in)
        """

    @abstractmethod
    def decoded(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        """What a written layer's parts stand for, as its library reads them.

        grid: what the configuration claims of the layer
        """

    def unpacked(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        """`decoded`, in whatever order the columns of its groups stand."""
        return self.decoded(stored, layer, grid, config)

    def further_files(self, source: Source) -> dict[str, Any]:
        """JSON documents that the library's own tools look for, by their names."""
        return {}

    def open(self, directory: Path, config: Mapping[str, Any]) -> Opened | None:
        """The model as a library loads it; None: none that is installed here does."""
        return None


def grid_of(tensor: GridTensor) -> Grid:
    """What a configuration says of it, a group that is the whole row being -1."""
    return Grid(tensor.bits, tensor.group_size, tensor.symmetric)


def common_grid(tensors: Mapping[str, GridTensor]) -> Grid | None:
    """The one grid that all layers lie on; None where they differ.

    A layer as wide as the others' group has one group a row, which reads as -1: it lies on their
    grid all the same.
    """
    sizes = {tensor.group_size for tensor in tensors.values()} - {-1}
    if len(sizes) > 1:
        return None
    size = next(iter(sizes), -1)
    grids = {
        Grid(tensor.bits, size, tensor.symmetric)
        if tensor.group_size == -1 and tensor.ints.shape[1] == size
        else grid_of(tensor)
        for tensor in tensors.values()
    }
    return grids.pop() if len(grids) == 1 else None


def usual_grid(tensors: Mapping[str, GridTensor]) -> Grid:
    """The grid that most layers lie on, which a configuration names; the first of equals."""
    grids = [grid_of(tensor) for tensor in tensors.values()]
    return max(sorted(set(grids)), key=grids.count)


def lies_on(grid: Grid, tensor: GridTensor) -> bool:
    """Whether a layer is told right by a configuration that says `grid`."""
    own = grid_of(tensor)
    return own == grid or (
        own == Grid(grid.bits, -1, grid.symmetric) and tensor.ints.shape[1] == grid.group_size
    )


def beside_refusal(source: Source, packed: Collection[str], holds: str) -> str | None:
    """Why what lies beside the packed layers keeps an artifact from being held; None: nothing does.

    packed: the layers in a form that is held; holds: what is, such as "integers of 4 bits"
    """
    checkpoint = source.checkpoint
    if checkpoint.adapter is not None:
        return "an adapter lies beside its weights: merge it (merge: true) and convert that trial"
    for layer, tensor in checkpoint.stored.items():
        if layer not in packed:
            return f"{layer} is stored as {tensor.FORM}, and it holds {holds}"
    return None


def form_refusal(source: Source, packed: Collection[str], holds: str) -> str | None:
    """The same of files that hold no artifact without a packed layer."""
    why = beside_refusal(source, packed, holds)
    if why is not None or packed:
        return why
    if not source.written_out:
        return f"no layer of it is packed, and it holds {holds}"
    return (
        f"its pruned layers would be written as floats, zeros and all, and it holds {holds}: take"
        " compressed-tensors, gguf or openvino, which hold floats, or round the pruned layers first"
    )


def linear_refusal(source: Source, packed: Collection[str], holds: str) -> str | None:
    """The same of files that hold packed linear layers alone."""
    why = form_refusal(source, packed, holds)
    if why is not None:
        return why
    for layer in packed:
        role = source.layout.role(f"{layer}.weight")
        if role in OUTSIDE:
            return f"{layer} is {OUTSIDE[role]}, and it holds {holds}"
        if layer in source.layout.own_forward:
            return f"{layer} is of a class that reads its weight by itself, and it replaces layers"
    return None


def weights_refusal(source: Source, holds: str) -> str | None:
    """The same of packed linear layers with float16 scales."""
    why = linear_refusal(source, source.grids, holds)
    if why is not None:
        return why
    for layer, tensor in source.grids.items():
        if tensor.activation_bits is not None:
            return f"the inputs of {layer} are rounded as the model runs, and it holds {holds}"
        if tensor.scale_dtype is not np.float16:
            return f"{layer} has scales that float16 would lose, and it holds float16 alone"
    return None


def width_refusal(layer: str, tensor: GridTensor, rows: int, columns: int) -> str | None:
    """Why a layer's sides cannot be packed into whole words of so many rows and columns."""
    sides = zip(("rows", "columns"), tensor.ints.shape, (rows, columns), strict=True)
    return next(
        (
            f"{layer} has {size} {side}, and its words take {word} at a time"
            for side, size, word in sides
            if size % word != 0
        ),
        None,
    )


def part(stored: StoredTensors, layer: str, ending: str) -> np.ndarray:
    """A layer's part; raises where the files do not hold it."""
    name = f"{layer}{ending}"
    if name not in stored:
        raise CallFailure("bad_input", f"{layer} has no {ending.removeprefix('.')} in the files")
    return stored[name]
