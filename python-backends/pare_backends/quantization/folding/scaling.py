"""Scales that are folded: the norms' new values, and what each layer's weight is multiplied by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.quantization.folding.folds import Fold, Folds

SMALLEST_SCALE = 1e-4
LARGEST_SCALE = 1e4


def usable_scales(scales: np.ndarray) -> np.ndarray:
    """Scales around 1, and 1 where there is none. scales: (n,); returns: (n,) float64"""
    found = np.where(np.isfinite(scales) & (scales > 0), scales, np.nan).astype(np.float64)
    if np.isnan(found).all():
        return np.ones_like(found)
    found /= np.sqrt(np.nanmax(found) * np.nanmin(found))
    return np.nan_to_num(np.clip(found, SMALLEST_SCALE, LARGEST_SCALE), nan=1.0)


@dataclass
class Scaling:
    """The scales folded so far. modules: by layer; model: as `Context.load_linear` gives it"""

    model: Any
    modules: Mapping[str, str]
    checkpoint: Checkpoint
    inputs: dict[str, np.ndarray] = field(default_factory=dict)  # by layer, (in,)
    outputs: dict[str, np.ndarray] = field(default_factory=dict)  # by layer, (out,)
    floats: dict[str, np.ndarray] = field(default_factory=dict)  # by name in files, as stored

    def can_fold(self, fold: Fold) -> bool:
        """Whether the files hold what the fold changes as floats of its own."""
        return None not in self.names(fold).values()

    def fold(self, fold: Fold, scales: np.ndarray) -> np.ndarray:
        """Folds the scales, and returns them as they are once a norm is stored: by
        these its readers' weights are multiplied, so that what is stored computes the same.

        scales: (in,) float64 of the readers' inputs
        """
        names = self.names(fold)
        if fold.norm_offset is None:
            self.outputs[fold.source] = scales
        else:
            scales = self.norm(names["weight"] or "", fold.norm_offset, scales)
        bias = names.get("bias")
        if bias is not None:
            values = np.asarray(self.checkpoint.floats[bias], np.float32) / scales
            self.floats[bias] = self.checkpoint.as_read_back(bias, values)
        for layer in fold.readers:
            self.inputs[layer] = scales
        return scales

    def norm(self, name: str, offset: float, scales: np.ndarray) -> np.ndarray:
        """Divides a norm's factors; returns by what. A factor of 0 stays."""
        weight = np.asarray(self.checkpoint.floats[name], np.float64)
        stored = self.checkpoint.as_read_back
        divided = stored(name, ((weight + offset) / scales - offset).astype(np.float32))
        left = divided.astype(np.float64) + offset
        kept = (left == 0) | (weight + offset == 0)
        self.floats[name] = np.where(kept, stored(name, weight.astype(np.float32)), divided)
        return np.where(kept, 1.0, (weight + offset) / np.where(kept, 1.0, left))

    def names(self, fold: Fold) -> dict[str, str | None]:
        """Tensors of the files that the fold changes, by the parameter: weight of a norm, bias of
        either. None: the files hold it in no float tensor."""
        module = self.model.get_submodule(self.modules.get(fold.source, fold.source))
        wanted = [] if fold.norm_offset is None else ["weight"]
        if getattr(module, "bias", None) is not None:
            wanted.append("bias")
        return {own: self.file_name(fold.source, own) for own in wanted}

    def file_name(self, source: str, own: str) -> str | None:
        """A parameter's tensor in the files, which may leave the model's prefix out, or add one."""
        full = f"{source}.{own}"
        for name in (full, *(n for n in self.checkpoint.floats if n.endswith(f".{full}"))):
            if name in self.checkpoint.floats:
                return name
        return next((n for n in self.checkpoint.floats if full.endswith(f".{n}")), None)

    def weight(self, layer: str) -> np.ndarray:
        """A layer's weight with its scales. returns: (out, in) float32"""
        module = self.model.get_submodule(self.modules[layer])
        weight: np.ndarray = module.weight.detach().double().cpu().numpy()
        if layer in self.inputs:
            weight = weight * self.inputs[layer][None, :]
        if layer in self.outputs:
            weight = weight / self.outputs[layer][:, None]
        return weight.astype(np.float32)


def unscaled_note(folds: Folds, done: Sequence[Fold]) -> str:
    """What was folded into what, and what nothing could be folded for."""
    kinds: dict[str, int] = {}
    for fold in done:
        kinds[fold.kind] = kinds.get(fold.kind, 0) + 1
    said = ", ".join(f"{kind} ({count} times)" for kind, count in kinds.items())
    left = sorted({layer.rsplit(".", 1)[-1] for layer in folds.unscaled})
    why = (
        ""
        if not left
        else f"; unscaled, as nothing before them can take their scales back: {', '.join(left)}"
        f" ({len(folds.unscaled)} layers)"
    )
    return f"Scales folded: {said or 'none'}{why}"
