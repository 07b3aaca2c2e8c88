"""Converted files as their own libraries load them, in float32 on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pare_backends.conversion.files_format import Opened


def open_by_transformers(directory: Path, **options: Any) -> Any:
    """The model as transformers loads it by what its config.json says."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        str(directory), dtype=torch.float32, local_files_only=True, **options
    )
    for parameter in model.parameters():
        # transformers leaves some floats in the files' own type, such as GPT-NeoX's head.
        if parameter.is_floating_point():
            parameter.data = parameter.data.to(torch.float32)
    return model.eval()


def open_by_auto_round(directory: Path) -> Opened:
    """The model as transformers loads it with auto-round's kernel for the CPU."""
    from transformers import AutoRoundConfig

    told = AutoRoundConfig(backend="torch")
    model = open_by_transformers(directory, quantization_config=told)
    return Opened(model, "transformers auto-round")
