"""What a checkpoint holds of the tensors of a GGUF file: the way of `make.py` back.

A file that llama.cpp's own converter wrote may hold other numbers than pare's own would, such as
rows in another order: what is read here is what llama.cpp computes with, in the checkpoint's terms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pare_backends.checkpoint.forms import GgmlTensor
from pare_backends.runtimes.llama_cpp.gguf_blocks import in_columns, multiplied
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout


def _back(order: np.ndarray) -> np.ndarray:
    """The order that undoes one."""
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found


def floats_of(
    layout: GgufLayout, tensor: str, shape: tuple[int, ...], parts: Sequence[np.ndarray]
) -> np.ndarray:
    """A tensor of the checkpoint as float32, in its shape.

    parts: what stands under each of its names in the file; of a stack of experts this one's
    raises: ValueError where those do not have its shape
    """
    values = layout.joined(tensor, list(parts)).astype(np.float32)
    order, columns = layout.row_order(tensor, len(values)), layout.column_order(tensor)
    values = values if order is None else values[_back(order)]
    values = values if columns is None else values[:, _back(columns)]
    values = (values.T / layout.factor(tensor)).T.astype(np.float32)
    turned = layout.is_turned(tensor)
    own = (*shape[:-2], shape[-1], shape[-2]) if turned else shape
    values = layout.as_stored(tensor, values, own) - np.float32(layout.norm_shift(tensor))
    return np.ascontiguousarray(values.swapaxes(-1, -2) if turned else values)


def block_rows(
    layout: GgufLayout, tensor: str, kind: str, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """The rows of a tensor's blocks in the checkpoint's order, multiplied as the file has them,
    (rows, bytes of a row) uint8.

    kind: of all parts; parts: (rows, bytes of a row) uint8; of what holds all experts (experts,
    rows, bytes of a row)
    raises: CallFailure where a block holds columns that come apart
    """
    joined = layout.joined(tensor, list(parts))
    rows = np.ascontiguousarray(joined).reshape(-1, joined.shape[-1]).view(np.uint8)
    if (order := layout.row_order(tensor, len(rows))) is not None:
        rows = np.ascontiguousarray(rows[_back(order)])
    columns = layout.column_order(tensor)
    return in_columns(tensor, kind, rows, None if columns is None else _back(columns))


def blocks_of(
    layout: GgufLayout,
    tensor: str,
    kind: str,
    shape: tuple[int, ...],
    parts: Sequence[np.ndarray],
) -> GgmlTensor:
    """A tensor of the checkpoint, in its shape, as the file's own blocks. parts: as `block_rows`

    raises: CallFailure where a block holds columns that come apart, or no float16 holds a scale
    """
    rows, turned = block_rows(layout, tensor, kind, parts), layout.is_turned(tensor)
    rows = multiplied(tensor, kind, rows, 1 / layout.factor(tensor)).data
    columns, experts = shape[-2 if turned else -1], shape[0] if len(shape) == 3 else 0
    return GgmlTensor(rows, kind, columns, turned, experts)


def keeps_blocks(layout: GgufLayout, tensor: str, shape: tuple[int, ...]) -> bool:
    """Whether a tensor's blocks in the file are blocks of the checkpoint's."""
    return (
        len(shape) in (2, 3)
        and layout.holds_rows(tensor)
        and not layout.is_computed(tensor)
        and (len(shape) == 2 or (tensor.endswith(".weight") and not layout.is_turned(tensor)))
    )
