"""AutoRound's AutoScheme as a scorer: what a layer's format is taken to cost by its delta loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pare_backends.quantization.mixing.formats import Format

if TYPE_CHECKING:
    import torch

Losses = dict[str, dict[str, float]]
"""By the format's name, by layer."""


def delta_losses(
    model: Any,
    modules: Mapping[str, str],
    formats: Sequence[Format],
    windows: torch.Tensor,
    kept: Path | None = None,
    told: Callable[[int], None] = lambda done: None,
) -> Losses:
    """Σ |gradient · (weight - rounded weight)| of every layer in every format, by auto_round.

    The whole model computes in one format, rounded to nearest by auto_round's own rule; the
    gradient is of its cross-entropy on the text, and each window adds its sum. One forward and
    backward pass for each window and format, and no format's inputs are rounded: int8 is left out.
    Source: `get_score_for_scheme` of auto_round/auto_scheme/delta_loss.py.

    modules: by layer; windows: (windows, tokens) int64; kept: a file of the formats that a killed
    pass has ended; told: windows so far, of all formats
    """
    losses: Losses = read_losses(kept)
    for done, one in enumerate(formats):
        if any(layer not in losses.get(one.name, {}) for layer in modules):

            def tell(window: int, before: int = done * len(windows)) -> None:
                told(before + window)

            found = losses_in(model, list(modules.values()), one, windows, tell)
            losses[one.name] = {layer: found[name] for layer, name in modules.items()}
            write_losses(kept, losses)
        told((done + 1) * len(windows))
    return losses


def losses_in(
    model: Any,
    names: Sequence[str],
    format: Format,
    windows: torch.Tensor,
    told: Callable[[int], None],
) -> dict[str, float]:
    """The losses of one format, by the module's name."""
    from auto_round.auto_scheme import delta_loss
    from auto_round.auto_scheme.utils import apply_quant_scheme
    from auto_round.schemes import QuantizationScheme

    scheme = QuantizationScheme(format.bits, format.group_size, format.symmetric, act_bits=16)
    with given(delta_loss, windows), as_it_was(model):
        apply_quant_scheme(model, names, {}, asdict(scheme))
        scores = delta_loss.get_score_for_scheme(
            *(model, None, names, {}, ""),
            nsamples=len(windows),
            seqlen=windows.shape[1],
            pbar=Told(told),
            need_weight_grad=True,
            enable_torch_compile=False,
            low_gpu_mem_usage=False,
        )
    return {name: float(scores[name][1]) for name in names}


class Told:
    """What auto_round takes for a bar of tqdm."""

    def __init__(self, told: Callable[[int], None]) -> None:
        self.told, self.done = told, 0

    def update(self, more: int) -> None:
        self.done += more
        self.told(self.done)

    def write(self, line: str) -> None:
        """A line of its log, which says nothing new."""


@contextmanager
def given(delta_loss: Any, windows: torch.Tensor) -> Iterator[None]:
    """Within, auto_round scores on these windows: by itself it reads text by a data set's name."""
    import torch

    original = delta_loss.get_dataloader
    rows = [
        {"input_ids": row[None], "attention_mask": torch.ones_like(row[None])} for row in windows
    ]
    delta_loss.get_dataloader = lambda *_, **__: rows
    try:
        yield
    finally:
        delta_loss.get_dataloader = original


@contextmanager
def as_it_was(model: Any) -> Iterator[None]:
    """Afterwards each module is back in its place, without what auto_round has set on it, and what
    takes a gradient does so as before."""
    import torch

    wanted = {name: one.requires_grad for name, one in model.named_parameters()}
    places = {name: (module, set(vars(module))) for name, module in model.named_modules()}
    # No weight before the first layer takes a gradient, so its inputs have to.
    handle = model.get_input_embeddings().register_forward_hook(
        lambda module, given, found: found.requires_grad_(True)
    )
    try:
        with torch.enable_grad():
            yield
    finally:
        handle.remove()
        for name, (module, attributes) in places.items():
            if name and model.get_submodule(name) is not module:
                model.set_submodule(name, module)
            for own in set(vars(module)) - attributes:
                delattr(module, own)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(wanted[name])
            parameter.grad = None


def read_losses(path: Path | None) -> Losses:
    """What a killed pass has ended; nothing of a file that it did not write to its end."""
    try:
        losses: Losses = {} if path is None else json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return losses


def write_losses(path: Path | None, losses: Losses) -> None:
    if path is not None:
        new = path.with_suffix(".new")
        new.write_text(json.dumps(losses))
        new.replace(path)
