"""Converted files as their own libraries load them, in float32 on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pare_backends.conversion.files_format import Opened


def open_plainly(directory: Path, **options: Any) -> Any:
    """The model as transformers loads it by what its config.json says, in the type that it says."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        str(directory), local_files_only=True, **options
    ).eval()


def open_by_transformers(directory: Path, **options: Any) -> Any:
    """The same in float32."""
    import torch

    model = open_plainly(directory, dtype=torch.float32, **options)
    for parameter in model.parameters():
        # transformers leaves some floats in the files' own type, such as GPT-NeoX's head.
        if parameter.is_floating_point():
            parameter.data = parameter.data.to(torch.float32)
    return model


def open_by_auto_round(directory: Path) -> Opened:
    """The model as transformers loads it with auto-round's kernel for the CPU."""
    from transformers import AutoRoundConfig

    def opened(by: Callable[..., Any]) -> Any:
        return by(directory, quantization_config=AutoRoundConfig(backend="torch"))

    model = opened(open_by_transformers)
    return Opened(model, "transformers auto-round", plain=lambda: opened(open_plainly))
