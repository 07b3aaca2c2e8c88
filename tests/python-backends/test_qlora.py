"""QLoRA: NF4 as bitsandbytes has it, the layer that holds it, and what is trained beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_lora import PARAMS, logits
from tiny_model import action, calibration, tiny_dir

from pare_backends.calls import apply
from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.finetuning.nf4 import BLOCK, NF4, NF4Linear, code_book
from pare_backends.progress import silent_report

PUBLISHED = [
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
]
"""bitsandbytes' own table (csrc/kernels.cu, functional.py get_4bit_type)."""


def act(out: Path, method: str, parent: Path | None = None, **params: Any) -> dict[str, Any]:
    agent = {"magnitude": "pruning", "rtn": "quantization"}.get(method, "finetuning")
    request = action(out, agent, method, params, parent, training_path=calibration())
    return apply.run(request, silent_report())


def test_the_code_book_is_the_published_one() -> None:
    assert code_book().tolist() == pytest.approx(PUBLISHED, abs=2e-7)


def test_a_weight_becomes_the_nearest_value_of_its_block() -> None:
    weight = torch.randn(7, 50, generator=torch.Generator().manual_seed(2))  # no whole blocks
    held = NF4.of(weight)
    flat = torch.cat([weight.reshape(-1), torch.zeros(-weight.numel() % BLOCK)])
    blocks = flat.reshape(-1, BLOCK)
    scales = blocks.abs().amax(dim=1, keepdim=True)
    values = torch.tensor(PUBLISHED) * scales.unsqueeze(-1).squeeze(1)  # (blocks, 16)
    nearest = (blocks.unsqueeze(-1) - values.unsqueeze(1)).abs().argmin(dim=-1)
    expected = values.gather(1, nearest).reshape(-1)[: weight.numel()].reshape(7, 50)
    assert torch.allclose(held.weight(), expected, atol=1e-6)
    assert held.nbytes == len(blocks) * (BLOCK // 2 + 4)
    assert torch.equal(NF4.of(torch.zeros(2, 64)).weight(), torch.zeros(2, 64))


def test_the_layer_computes_and_derives_as_a_plain_one_of_its_values() -> None:
    plain = torch.nn.Linear(96, 40)
    layer = NF4Linear.over(plain)
    inputs = torch.randn(3, 5, 96, requires_grad=True)
    values = layer.held.weight()
    out = layer(inputs)
    expected = torch.nn.functional.linear(inputs, values, plain.bias)
    assert torch.allclose(out, expected, atol=1e-5)
    (gradient,) = torch.autograd.grad(out.square().sum(), inputs)
    (by_torch,) = torch.autograd.grad(expected.square().sum(), inputs)
    assert torch.allclose(gradient, by_torch, atol=1e-4)
    assert layer.weight.numel() == 0, "the float weight is given up"


def test_factors_beside_nf4_are_merged_into_the_floats(tmp_path: Path) -> None:
    done = act(tmp_path / "merged", "qlora", **PARAMS)
    act(tmp_path / "kept", "qlora", **{**PARAMS, "merge": False})
    parent = logits(load_dequantized(tiny_dir())[0])
    merged = logits(load_dequantized(tmp_path / "merged")[0])
    kept = logits(load_dequantized(tmp_path / "kept")[0])
    assert np.abs(merged - parent).max() > 0.1, "it has learnt nothing"
    assert np.abs(merged - kept).max() < 0.05  # files round the merged weights to float16
    figures = {f["metric"]: f["value"] for f in done["figures"]}
    assert figures["training_steps"] == PARAMS["steps"]
    assert figures["tokens_trained_on"] == PARAMS["steps"] * PARAMS["tokens"]
    weights = sum(np.prod(read(tiny_dir()).shape(n)) for n in linear())
    assert 0.5 <= figures["nf4_bytes"] / weights <= 0.6


def linear() -> tuple[str, ...]:
    from pare_backends.models.layout import layout_of

    return layout_of(tiny_dir()).linear


def test_the_factors_learn_beside_the_rounded_weights(tmp_path: Path) -> None:
    """The first loss is that of the model in NF4 on the first step's window."""
    from safetensors.numpy import load_file

    from pare_backends.training.order import numbers_of

    done = act(tmp_path / "model", "qlora", **PARAMS)
    first = {f["metric"]: f["value"] for f in done["figures"]}["first_loss"]
    (number,) = numbers_of(0, 1, 16, seed=1)
    window = torch.from_numpy(load_file(str(calibration()))["input_ids"].astype(np.int64))
    ids = window[number : number + 1, : PARAMS["tokens"]]
    model = load_dequantized(tiny_dir())[0]
    with torch.no_grad():
        exact = float(model(ids, labels=ids).loss)
        for layer in linear():
            module = model.get_submodule(layer)
            module.weight.copy_(NF4.of(module.weight).weight())
        rounded = float(model(ids, labels=ids).loss)
    assert first == pytest.approx(rounded, abs=1e-5)
    assert abs(first - exact) > 1e-3


def test_a_pruned_parent_is_sent_to_lora(tmp_path: Path) -> None:
    act(tmp_path / "pruned", "magnitude", sparsity=0.5)
    with pytest.raises(CallFailure, match="it is pruned") as refused:
        act(tmp_path / "tuned", "qlora", tmp_path / "pruned", **PARAMS)
    assert refused.value.kind == "invalid"
    assert refused.value.hint is not None
    assert "lora" in refused.value.hint
