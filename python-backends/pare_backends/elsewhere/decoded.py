"""A quantized directory as the original of a study: its weights multiplied out to floats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pare_backends.checkpoint.forms import CONFIG_KEYS, StoredTensor
from pare_backends.elsewhere.folder import open_folder, quantization
from pare_backends.elsewhere.text_part import said_config, text_config
from pare_backends.elsewhere.written import Converted, write_original
from pare_backends.models.checks import QUANTIZATION_KEYS, read_config
from pare_backends.progress import Report


def is_packed(directory: Path) -> bool:
    """Whether another library's quantizer wrote a directory."""
    return quantization(directory, read_config(directory))[0] is not None


def decode_folder(directory: Path, output: Path, report: Report) -> Converted:
    """Writes the checkpoint in float32.

    returns: what its weights were, and what a user must know
    """
    given = open_folder(directory)

    def tensors() -> Iterator[tuple[str, np.ndarray]]:
        for done, (name, held) in enumerate(given.tensors.items(), start=1):
            read = held.read()
            if isinstance(read, StoredTensor):
                yield f"{name}.weight", read.weight().astype(np.float32)
            else:
                yield name, read.astype(np.float32) if read.dtype.kind == "f" else read
            report.progress("decode the weights", done, len(given.tensors), "tensors")

    left_out = (*CONFIG_KEYS, *QUANTIZATION_KEYS, "torch_dtype")
    config = {k: v for k, v in read_config(directory).items() if k not in left_out}
    if text_config(directory) is not None:
        config = said_config(given.config, given.tensors, "float32")
    write_original(directory, output, tensors(), {**config, "dtype": "float32"})
    note = (
        f"Its weights are quantized already ({given.kind}) and were decoded to floats: what is"
        " compressed further is compared with those, and what the first quantizer cost is not told"
    )
    return given.kind, [note, *given.notes]
