"""Diagonal of the Fisher information: how much each weight matters to what the model says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def fisher_diagonal(
    model: Any,
    modules: Mapping[str, str],
    windows: torch.Tensor,
    seed: int,
    told: Callable[[int], None] = lambda done: None,
) -> dict[str, torch.Tensor]:
    """Mean squared gradient of the log-likelihood a token, for every weight of these layers.

    The words are drawn from the model itself, by the seed: their gradients are uncorrelated from
    token to token, so that the square of a window's gradient is the sum of its tokens' squares in
    expectation (Martens, arXiv 1412.1193, sections 5 and 9). One backward pass a window. Memory: a
    float32 copy of the layers, and one layer's gradient at a time.

    modules: by layer; windows: (windows, tokens) int64; returns: by layer, the weight's shape
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    weights = {layer: model.get_submodule(module).weight for layer, module in modules.items()}
    sums = {layer: torch.zeros_like(weight) for layer, weight in weights.items()}
    wanted = [parameter.requires_grad for parameter in model.parameters()]
    model.requires_grad_(False)
    handles = []

    def adds(layer: str) -> Callable[[Any], None]:
        def add(parameter: Any) -> None:
            sums[layer].addcmul_(parameter.grad, parameter.grad)
            parameter.grad = None

        return add

    for layer, weight in weights.items():
        weight.requires_grad_(True)
        handles.append(weight.register_post_accumulate_grad_hook(adds(layer)))
    try:
        with torch.enable_grad():
            for done, window in enumerate(windows, start=1):
                logits = model(input_ids=window[None], use_cache=False).logits[0].float()
                # Drawn on the CPU: what is drawn of a seed is another thing on each device.
                shares = logits.detach().softmax(-1).cpu()
                words = torch.multinomial(shares, 1, generator=generator).to(logits.device)
                torch.nn.functional.cross_entropy(logits, words[:, 0], reduction="sum").backward()
                told(done)
    finally:
        for handle in handles:
            handle.remove()
        for parameter, grad in zip(model.parameters(), wanted, strict=True):
            parameter.requires_grad_(grad)
    return {layer: total / windows.numel() for layer, total in sums.items()}
