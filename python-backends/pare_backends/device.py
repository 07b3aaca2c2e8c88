"""Where torch computes: on the first GPU that the process sees, otherwise on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def run_device() -> str:
    """The name that torch takes: `cuda:0` or `cpu`. CUDA_VISIBLE_DEVICES says which GPUs a process
    sees; where it is empty, the CPU computes."""
    import torch

    return "cuda:0" if torch.cuda.is_available() else "cpu"


def computes_on(device: torch.device, threads: int) -> str:
    """What the last bits of an answer depend on beside the model: the processor that computes."""
    import torch

    if device.type != "cuda":
        return f"{device.type}, {threads} threads"
    return f"{device.type}, {torch.cuda.get_device_name(device)}"


def on_device(model: Any, windows: torch.Tensor) -> tuple[Any, torch.Tensor]:
    """Both where torch computes."""
    device = run_device()
    return model.to(device), windows.to(device)
