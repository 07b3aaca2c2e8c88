"""compressed-tensors' files, as transformers and vLLM read them: the layout that pare's own
artifacts have, so nothing is packed anew. Mixed bits are groups of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.checkpoint.forms.grid_config import group_naming, quantization_config
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.files_format import (
    Decoded,
    FilesFormat,
    Grid,
    Opened,
    Source,
    decoded_grid,
    part,
)
from pare_backends.conversion.opening import open_by_transformers, open_plainly
from pare_backends.models.artifact_notes import other_loaders

HOLDS = "packed integers of linear layers"


class CompressedTensorsFiles(FilesFormat):
    """quant_method compressed-tensors."""

    NAME: ClassVar[str] = "compressed-tensors"
    OPENED_BY: ClassVar[str] = "transformers compressed-tensors"

    def refusal(self, source: Source) -> str | None:
        if not source.grids and not source.written_out:
            return f"no layer of it is packed, and it holds {HOLDS}"
        expert = next((layer for layer in source.grids if layer in source.layout.experts), None)
        if expert is not None:
            return f"{expert} is an expert's: its own folder is in this layout already"
        return next(iter(other_loaders(source.checkpoint, source.layout)), None)

    def parts(self, tensor: GridTensor, config: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return tensor.parts()

    def formula_bytes(self, tensor: GridTensor) -> int:
        return tensor.formula_bytes()

    def configuration(self, source: Source) -> dict[str, Any]:
        if not source.grids:
            return {}  # transformers fails on one without a group; floats alone need none
        schemes = {source.module(layer): held.scheme for layer, held in source.grids.items()}
        plain = [source.module(layer) for layer in source.plain]
        head = source.layout.head
        return {
            **quantization_config(schemes),
            "ignore": [*plain, *([] if head is None else [source.module(head)])],
        }

    def claimed(self, config: Mapping[str, Any], module: str) -> Grid:
        group = group_naming({"quantization_config": config}, module) or {}
        words = group.get("weights") or {}
        return Grid(
            int(words.get("num_bits") or 0),
            int(words.get("group_size") or -1),
            bool(words.get("symmetric", True)),
        )

    def found(
        self, stored: StoredTensors, layer: str, shape: tuple[int, int], config: Mapping[str, Any]
    ) -> Grid:
        columns = shape[1]
        groups = part(stored, layer, ".weight_scale").shape[1]
        symmetric = f"{layer}.weight_zero_point" not in stored
        size = -1 if groups == 1 else columns // groups
        if f"{layer}.weight_packed" not in stored:
            return Grid(8 * part(stored, layer, ".weight").dtype.itemsize, size, symmetric)
        words = part(stored, layer, ".weight_packed").shape[1]
        # A row ends at a whole word, so that the widest that fits is what it may hold.
        return Grid(words * 32 // columns, size, symmetric)

    def decoded(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        return decoded_grid(GridTensor.read(stored, layer, {"quantization_config": config}))

    def open(self, directory: Path, config: Mapping[str, Any]) -> Opened | None:
        from compressed_tensors.quantization import disable_quantization

        model = open_by_transformers(directory)
        groups = (config.get("config_groups") or {}).values()
        rounds = any(group.get("input_activations") for group in groups)
        return Opened(
            model,
            self.OPENED_BY,
            (lambda: model.apply(disable_quantization)) if rounds else None,
            lambda: open_plainly(directory),
        )
