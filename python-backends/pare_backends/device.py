"""Where torch computes: on the first GPU that the process sees, otherwise on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pare_backends.failures import CallFailure

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


def placed(model: Any) -> Any:
    """The model where torch computes.

    raises: CallFailure "bad_input" where a GPU has no room for it
    """
    import torch

    device = run_device()
    if device != "cpu":
        needed = sum(one.numel() * one.element_size() for one in model.parameters())
        free = int(torch.cuda.mem_get_info(device)[0])
        if needed > free:
            raise CallFailure(
                "bad_input",
                f"Cannot compute on {torch.cuda.get_device_name(device)}: the weights in float32"
                f" take {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB of its memory are free",
                hint="Free it, take a smaller model, or compute on the CPU: CUDA_VISIBLE_DEVICES=",
            )
    return model.to(device)


def on_device(model: Any, windows: torch.Tensor) -> tuple[Any, torch.Tensor]:
    """Both where torch computes."""
    return placed(model), windows.to(run_device())
