"""What a method is given beside the checkpoint and its knobs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.failures import CallFailure
from pare_backends.methods.figures import Figure
from pare_backends.models.layout import Layout
from pare_backends.progress import Report

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Context:
    """The parent's directory and layers, the seed, and who is told what happens."""

    parent_dir: Path
    layout: Layout
    report: Report
    seed: int
    calibration_path: Path | None
    training_path: Path | None = None
    work_dir: Path | None = None
    """The action's own folder, which outlives a killed process: what a long action writes here, it
    finds again when it is begun anew with the same inputs. None: there is none."""
    original_dir: Path | None = None
    """The study's uncompressed model, of a method that asks for it (`needs.teacher`)."""
    original_cache: Path | None = None
    """A folder for what that model answers, kept for every action that learns from it: the method
    names its files by their content, and writes each whole or not at all."""
    reference_dir: Path | None = None
    """The model as it was before the actions that rounded or pruned the parent: the original, or
    what the chain had trained or cut by then (`needs.reference`)."""
    layer_cache: Path | None = None
    """A folder of rounded layers, kept for every action on any model (`needs.keeps_layers`): files
    are named by all that they depend on, and written whole or not at all. None: there is none."""
    tool_python: str | None = None
    """Interpreter of the environment of the program that the method runs beside (`needs.tool`)."""
    given_path: Path | None = None
    """A checkpoint made elsewhere, of a method that takes one (`needs.given`); None: it is gone."""
    student_dir: Path | None = None
    """The smaller model that the user named, where it may take the original's place; None: there is
    none, or an action has changed the original already."""
    notes: list[str] = field(default_factory=list)  # what a method has to say of its artifact
    figures: list[Figure] = field(default_factory=list)
    """The same in numbers; `figure` adds one. SQL: the view artifact_figures."""

    def figure(self, metric: str, value: float, unit: str = "1", layer: str | None = None) -> None:
        """Tells a number of the artifact: of one layer, or of the whole model.

        metric: the method's own name of small letters, digits and "_", always in one unit
        layer: the module's name, as in `layout.linear`
        All are checked when the method is done (`figures.checked`): one that is not finite, or is
        told twice, is the method's error.
        """
        self.figures.append(Figure(metric, layer, float(value), unit))

    def calibration(self, samples: int, tokens: int | None = None) -> torch.Tensor:
        """The first `samples` calibration windows, of each the first `tokens`; None: all of them.

        returns: (windows, tokens) int64
        raises: CallFailure "invalid" where there are fewer: what is recorded is what was used
        """
        return windows_of(self.calibration_path, "calibrate", samples, tokens)

    def training(self, tokens: int) -> torch.Tensor:
        """Every training window, in the order drawn, of each the first `tokens`.

        returns: (windows, tokens) int64
        raises: CallFailure "invalid" where the windows are shorter
        """
        return windows_of(self.training_path, "train", None, tokens)

    def matrix(self, checkpoint: Checkpoint, layer: str) -> np.ndarray:
        """A layer's weight matrix, however the model holds it. returns: (out, in) float32"""
        weight = checkpoint.weight(layer)
        return np.ascontiguousarray(weight.T) if layer in self.layout.transposed else weight

    def in_place(self, layer: str, tensor: GridTensor) -> GridTensor:
        """The tensor as the layer's own: it says where the model holds the weight transposed."""
        return replace(tensor, transposed=layer in self.layout.transposed)

    def load(self, checkpoint: Checkpoint) -> tuple[Any, Any]:
        """(model in float32 where torch computes, tokenizer) of the parent."""
        from pare_backends.device import placed

        model, tokenizer = self._load(checkpoint)
        return placed(model), tokenizer

    def _load(self, checkpoint: Checkpoint) -> tuple[Any, Any]:
        from pare_backends.checkpoint.load import load_model, load_tokenizer

        with self.report.span("load", library=True):
            model = load_model(checkpoint, self.parent_dir)
            return model, load_tokenizer(self.parent_dir)

    def load_linear(self, checkpoint: Checkpoint) -> tuple[Any, Any]:
        """(model in float32 on the CPU, tokenizer), rebuilt of plain Linear modules by the names
        that the layout gives them: for a library that moves its blocks itself, or `on_device`."""
        from pare_backends.checkpoint.linear_modules import plain_linears, separate_experts

        model, tokenizer = self._load(checkpoint)
        with self.report.span("load", library=True):
            plain_linears(model)
            if self.layout.experts or self.layout.stacks:
                separate_experts(model)
        return model, tokenizer


def windows_of(
    path: Path | None, attempt: str, samples: int | None, tokens: int | None
) -> torch.Tensor:
    """The first windows of a file that call `prepare_data` wrote; None: all, in whole."""
    import torch
    from safetensors.numpy import load_file

    if path is None:
        raise CallFailure(
            "bad_input", f"Cannot {attempt}: no windows of text were given with the action"
        )
    windows = load_file(str(path))["input_ids"]
    count, length = windows.shape
    if (samples or 1) > count or (tokens or 0) > length:
        few = "windows" if samples is None else f"{samples} windows"
        wanted = few + ("" if tokens is None else f" of {tokens} tokens")
        raise CallFailure(
            "invalid",
            f"Cannot {attempt} on {wanted}: the study has {count} windows of {length} tokens",
            hint="Ask for no more than there are, or name more in a strategy of a new study",
        )
    return torch.from_numpy(windows[:samples, :tokens].astype(np.int64))
