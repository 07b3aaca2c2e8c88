"""Experts that lie in one tensor of the checkpoint, quantized by llama.cpp as they lie."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from print_kquants import floats_of
from safetensors.numpy import load_file, save_file
from test_kquant import chunk, context_of, kept, params
from test_llama_cpp import interpreter
from transformers import AutoModelForCausalLM

from pare_backends.checkpoint import GgmlTensor, formula_bytes, read
from pare_backends.failures import CallFailure
from pare_backends.quantization import kquant
from pare_backends.quantization.kquant import input_squares
from pare_backends.quantization.libraries.llama_quantize import (
    float_file,
    importance_file,
    in_one_tensor,
)

INPUT, OUTPUT = (f"model.layers.1.block_sparse_moe.{one}_linear" for one in ("input", "output"))
EXPERTS = 4


def by_hand(windows: torch.Tensor) -> dict[tuple[str, int], np.ndarray]:
    """The mean square of each column that an expert of the last block is given, seen where
    transformers itself multiplies by a view of the stack."""
    source = floats_of("GraniteMoeForCausalLM")
    model = AutoModelForCausalLM.from_pretrained(str(source), dtype=torch.float32).eval()
    model.set_experts_implementation("eager")
    places = {}
    for name, parameter in model.named_parameters():
        if "layers.1." in name and parameter.dim() == 3:
            layer = INPUT if "gate_up" in name or "input" in name else OUTPUT
            places |= {parameter[one].data_ptr(): (layer, one) for one in range(EXPERTS)}
    rows: dict[tuple[str, int], list[torch.Tensor]] = defaultdict(list)
    product = torch.nn.functional.linear

    def seeing(given: torch.Tensor, weight: torch.Tensor, bias: Any = None) -> torch.Tensor:
        if weight.data_ptr() in places:
            rows[places[weight.data_ptr()]].append(given.reshape(-1, given.shape[-1]))
        return product(given, weight, bias)

    torch.nn.functional.linear = seeing
    try:
        with torch.no_grad():
            model(windows)
    finally:
        torch.nn.functional.linear = product
    return {place: torch.cat(own).square().mean(0).numpy() for place, own in rows.items()}


@pytest.mark.parametrize("kinds_by", ["mix", "fisher"])
def test_each_expert_is_quantized_by_its_own_inputs(kinds_by: str) -> None:
    source = read(floats_of("GraniteMoeForCausalLM"))
    context = context_of(floats_of("GraniteMoeForCausalLM"), interpreter())
    assert {INPUT, OUTPUT} < set(context.layout.stacks) and len(context.layout.stacks) == 4
    checkpoint = kquant.apply(source, params("Q4_0", kinds_by=kinds_by), context)
    seen = by_hand(context.calibration(4))
    for layer in (INPUT, OUTPUT):
        tensor = checkpoint.in_form(GgmlTensor)[layer]
        floats = source.weight(layer)
        assert tensor.shape == floats.shape == checkpoint.weight(layer).shape
        blocks = tensor.blocks.reshape(EXPERTS, -1, tensor.blocks.shape[1])
        for expert in range(EXPERTS):
            own = chunk(tensor.kind, floats[expert], seen[layer, expert])
            # Sums in another order put a few weights to the other side of a half.
            assert (own != blocks[expert]).mean() < 0.02
            other = chunk(tensor.kind, floats[expert], seen[layer, (expert + 1) % EXPERTS])
            assert tensor.kind == "Q8_0" or (other != blocks[expert]).mean() > 0.05
        assert kinds_by == "fisher" or tensor.kind == "Q4_0"
    again = read(kept(checkpoint, f"stacks-{kinds_by}"))
    assert formula_bytes(again) == formula_bytes(checkpoint)
    np.testing.assert_array_equal(again.weight(INPUT), checkpoint.weight(INPUT))


def test_a_stack_that_is_cut_short_is_refused() -> None:
    blocks = chunk("Q8_0", np.ones((8, 32), np.float32), None)
    tensor = GgmlTensor(blocks, "Q8_0", 32, experts=4)
    assert tensor.shape == (4, 2, 32) and len(tensor.parts()[".weight_shape"]) == 3
    assert tensor.formula_bytes() == sum(part.nbytes for part in tensor.parts().values())
    made = read(floats_of("GraniteMoeForCausalLM")).with_stored({INPUT: blocks_of(INPUT)})
    with pytest.raises(CallFailure, match=r"Cannot read .*input_linear: it has 768 rows of 960"):
        read(with_shape(kept(made, "short-stack"), INPUT, (5, 192, 64)))


def blocks_of(layer: str) -> GgmlTensor:
    """A layer's experts as blocks."""
    floats = read(floats_of("GraniteMoeForCausalLM")).weight(layer)
    rows = floats.reshape(-1, floats.shape[-1])
    return GgmlTensor(chunk("Q8_0", rows, None), "Q8_0", rows.shape[1], experts=EXPERTS)


def with_shape(directory: Path, layer: str, shape: tuple[int, ...]) -> Path:
    """The checkpoint where a layer's file says another shape."""
    [path] = directory.glob("*.safetensors")
    tensors = load_file(str(path))
    tensors[f"{layer}.weight_shape"] = np.array(shape, np.int64)
    save_file(tensors, str(path), metadata={"format": "pt"})
    return directory


def test_an_expert_that_saw_no_token_weighs_its_columns_as_the_others_do(tmp_path: Path) -> None:
    context = context_of(floats_of("Qwen2MoeForCausalLM"), interpreter())
    model, _ = context.load_linear(read(context.parent_dir))
    layers = context.layout.linear
    squares = input_squares(model, context.layout, layers, torch.tensor([[5]]), context.report)
    assert all(np.isfinite(one).all() for one in squares.values())
    unseen = [layer for layer in layers if layer not in squares]
    assert unseen and all(layer in context.layout.experts for layer in unseen)
    with float_file(context) as file:
        named = file.named(layers)
        arrays = np.load(importance_file(tmp_path, squares, named) or "")
    for tensor, of_tensor in in_one_tensor(named).items():
        usual = np.mean([squares[layer] for layer in of_tensor if layer in squares], axis=0)
        wanted = np.concatenate([squares.get(layer, usual) for layer in of_tensor])
        np.testing.assert_allclose(arrays[tensor], wanted, rtol=1e-6)
