"""A model rebuilt of plain Linear modules that compute the same, for hooks and for libraries that
know no other kind of matrix."""

from __future__ import annotations

from typing import Any


def separate_experts(model: Any) -> None:
    """Puts a Linear module for each matrix of each expert in the place of a mixture's stacks, by
    llm-compressor's own rule: `<block>.experts.3.up_proj`."""
    from llmcompressor.modeling.moe.linearize import linearize_moe
    from loguru import logger

    # It warns of a way to load that would not give the dequantized weights.
    logger.disable("llmcompressor.modeling.moe")
    linearize_moe(model)


def plain_linears(model: Any) -> None:
    """Puts a Linear module in the place of each module that multiplies by a matrix: a Conv1D, whose
    weight is (in, out), and kinds of Linear with a forward pass of their own."""
    import torch
    from transformers.pytorch_utils import Conv1D

    for name, module in list(model.named_modules()):
        if isinstance(module, Conv1D):
            model.set_submodule(name, linear(module.weight.T, module.bias))
        elif isinstance(module, torch.nn.Linear) and type(module).__name__ == "FalconLinear":
            model.set_submodule(name, linear(module.weight, module.bias))


def linear(weight: Any, bias: Any | None) -> Any:
    """A Linear with these parameters. weight: (out, in)"""
    import torch

    made = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    made.weight = torch.nn.Parameter(weight.detach().contiguous())
    made.register_parameter("bias", bias)
    return made
