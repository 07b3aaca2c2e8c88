"""GPTQ's column loop on llama.cpp's blocks: where each kind's integers lie, by gguf-py's decoder,
and that the quantizer's scales stay while the outputs come nearer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from print_kquants import floats_of
from test_kquant import context_of, model_dir, params
from test_llama_cpp import interpreter
from tiny_model import calibration, tiny_dir

from pare_backends.checkpoint import Checkpoint, GgmlTensor, read
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization import kquant
from pare_backends.quantization.layers.block_codes import (
    BITS,
    WRITERS,
    grid_of,
    has_codes,
    with_codes,
)
from pare_backends.quantization.layers.block_columns import (
    round_columns,
    rounded_head,
    shrunk_moments,
)
from pare_backends.quantization.layers.columns import Moments, moments_of

HALVES = {
    **{"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,)},
    **{"IQ4_NL": (0,), "IQ4_XS": (0,), "Q2_K": (80, 82), "Q3_K": (108,)},
    **{"Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)},
}
"""Bytes of a block at which a scale in 16 bits begins."""


def random_blocks(kind: str) -> GgmlTensor:
    """Any bytes but the scales, which are to be numbers."""
    rng = np.random.default_rng(3)
    _, weights, octets = BLOCK_KINDS[kind]
    blocks = rng.integers(0, 256, (12, octets), dtype=np.uint8)
    for at in HALVES[kind]:
        scales = rng.uniform(0.01, 0.02, (12, 1)).astype(np.float16)
        blocks[:, at : at + 2] = scales.view(np.uint8)
    return GgmlTensor(blocks, kind, weights)


@pytest.mark.parametrize("kind", WRITERS)
def test_the_integers_lie_where_the_decoder_reads_them(kind: str) -> None:
    tensor = random_blocks(kind)
    codes = np.random.default_rng(4).integers(0, 2 ** BITS[kind], tensor.matrix_shape)
    changed = with_codes(tensor, codes.astype(np.uint8))
    grid = grid_of(tensor)
    steps = codes if grid.table is None else grid.table[codes]
    np.testing.assert_allclose(changed.dequantize(), grid.least + grid.step * steps, atol=1e-5)
    again = with_codes(changed, np.zeros(tensor.matrix_shape, np.uint8))
    none = with_codes(tensor, np.zeros(tensor.matrix_shape, np.uint8))
    np.testing.assert_array_equal(again.blocks, none.blocks)  # all else stays


def test_kinds_whose_weights_share_a_code_are_none_of_them() -> None:
    assert set(BLOCK_KINDS) - set(WRITERS) == {
        *("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"),
        *("TQ1_0", "TQ2_0", "MXFP4"),
    }
    assert not has_codes("IQ3_S")


def test_columns_make_up_for_the_errors_of_those_before() -> None:
    """By the error of the outputs, on inputs that go together; with any number of threads."""
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((600, 128)).astype(np.float32)
    weight[7] = 0.0  # whose blocks have no scale
    inputs = rng.standard_normal((2000, 16)) @ rng.standard_normal((16, 128))
    inputs = torch.from_numpy(inputs + 0.1 * rng.standard_normal((2000, 128))).float()
    hessian = inputs.T @ inputs
    plain = GgmlTensor(quantize(weight, GGMLQuantizationType.Q4_0), "Q4_0", 128)
    moments = moments_of(hessian, 0.01, "layer")
    better = round_columns(torch.from_numpy(weight), plain, moments, 1)
    again = round_columns(torch.from_numpy(weight), plain, moments, 3)
    np.testing.assert_array_equal(better.blocks, again.blocks)

    def error(tensor: GgmlTensor) -> float:
        return float(((inputs @ torch.from_numpy(tensor.dequantize() - weight).T) ** 2).sum())

    assert error(better) < 0.3 * error(plain)
    assert np.all(better.dequantize()[7] == 0)


def test_moments_of_few_inputs_are_shrunk_so_that_others_lose_less() -> None:
    rng = np.random.default_rng(6)
    weight = rng.standard_normal((64, 128)).astype(np.float32)
    mixed = 10 * np.eye(128) + rng.standard_normal((128, 128))  # little goes together
    seen, others = (
        torch.from_numpy(rng.standard_normal((n, 128)) @ mixed).float() for n in (80, 4000)
    )
    plain = GgmlTensor(quantize(weight, GGMLQuantizationType.Q4_0), "Q4_0", 128)
    sums = seen.T @ seen

    def error(moments: Moments) -> float:
        made = round_columns(torch.from_numpy(weight), plain, moments)
        return float(((others @ torch.from_numpy(made.dequantize() - weight).T) ** 2).sum())

    assert error(shrunk_moments(sums, "layer")) < 0.9 * error(moments_of(sums, 0.01, "layer"))


@pytest.mark.parametrize(
    "architecture", ["GPT2LMHeadModel", "GPTNeoXForCausalLM", "Qwen2MoeForCausalLM"]
)
def test_turned_layers_and_experts_are_rounded_too(architecture: str) -> None:
    """Each as near to its own as a step of its blocks; what no token reached stays."""
    directory = floats_of(architecture)
    context = context_of(directory, interpreter())
    source = read(directory)
    plain = kquant.apply(source, params("Q4_0"), context)
    own = kquant.apply(source, params("Q4_0", rounded_by="gptq"), context)
    changed = 0
    for layer in context.layout.linear:
        before, after = plain.in_form(GgmlTensor)[layer], own.in_form(GgmlTensor)[layer]
        assert after.shape == source.weight(layer).shape
        changed += int(np.any(before.blocks != after.blocks))
        apart = np.abs(after.dequantize() - before.dequantize())
        assert (apart <= 4 * np.abs(grid_of(before).step) + 1e-6).mean() > 0.99
    assert changed > len(context.layout.linear) // 2
    assert any("GPTQ chose the integers of" in note for note in context.notes)


def kl(checkpoint: Checkpoint, directory: Path, context: Context) -> float:
    """From the source, on the calibration windows, nats a token."""
    windows = context.calibration(4)
    with torch.no_grad():
        own = [
            torch.log_softmax(context.load_linear(one)[0](input_ids=windows).logits.float(), -1)
            for one in (read(directory), checkpoint)
        ]
    return float((own[0].exp() * (own[0] - own[1])).sum(-1).mean())


@pytest.mark.parametrize("kinds_by", ["mix", "fisher"])
def test_by_gptq_the_scales_are_the_librarys_and_the_outputs_nearer(kinds_by: str) -> None:
    """On the tiny model, which is trained, at the same bytes."""
    context = Context(
        tiny_dir(), layout_of(tiny_dir()), silent_report(2), 0, calibration(),
        tool_python=interpreter(),
    )  # fmt: skip
    source = read(tiny_dir())
    plain = kquant.apply(source, params("Q3_K_S", kinds_by=kinds_by), context)
    better = kquant.apply(source, params("Q3_K_S", kinds_by=kinds_by, rounded_by="gptq"), context)
    before, after = plain.in_form(GgmlTensor), better.in_form(GgmlTensor)
    assert set(before) == set(after)
    for layer in context.layout.linear:
        assert before[layer].kind == after[layer].kind
        none = np.zeros(before[layer].matrix_shape, np.uint8)
        np.testing.assert_array_equal(
            with_codes(before[layer], none).blocks, with_codes(after[layer], none).blocks
        )
    assert any(np.any(before[one].blocks != after[one].blocks) for one in context.layout.linear)
    assert kl(better, tiny_dir(), context) < 0.8 * kl(plain, tiny_dir(), context)


def test_kinds_by_codebook_stay_as_the_library_made_them() -> None:
    directory = model_dir()
    context = context_of(directory, interpreter())
    plain = kquant.apply(read(directory), params("IQ3_XXS"), context).in_form(GgmlTensor)
    own = kquant.apply(read(directory), params("IQ3_XXS", rounded_by="gptq"), context)
    for layer, tensor in own.in_form(GgmlTensor).items():
        if not has_codes(tensor.kind):
            np.testing.assert_array_equal(tensor.blocks, plain[layer].blocks)


@pytest.mark.parametrize("tied", [True, False])
def test_a_head_of_few_bits_is_rounded_last_by_what_it_is_given(tied: bool) -> None:
    """The embedding where it is the head; one beside a head, and 8 bits, stay as they were made."""
    directory = model_dir(tied)
    context = context_of(directory, interpreter())
    outer = {"embedding_blocks": "IQ4_NL", "head_blocks": "IQ4_NL"}
    plain = kquant.apply(read(directory), params("Q8_0", **outer), context)
    own = kquant.apply(read(directory), params("Q8_0", **outer, rounded_by="gptq"), context)
    before, after = plain.in_form(GgmlTensor), own.in_form(GgmlTensor)
    embedding, head = context.layout.embedding, context.layout.head or context.layout.embedding
    assert after[head].kind == "IQ4_NL"
    none = np.zeros(after[head].matrix_shape, np.uint8)
    np.testing.assert_array_equal(
        with_codes(before[head], none).blocks, with_codes(after[head], none).blocks
    )
    assert np.any(before[head].blocks != after[head].blocks)
    assert tied or np.all(before[embedding].blocks == after[embedding].blocks)
    whole = kquant.apply(read(directory), params("Q8_0", rounded_by="gptq"), context)
    library = kquant.apply(read(directory), params("Q8_0"), context)
    np.testing.assert_array_equal(
        whole.in_form(GgmlTensor)[head].blocks, library.in_form(GgmlTensor)[head].blocks
    )


def test_a_feature_that_no_head_is_given_stays_in_what_is_looked_up() -> None:
    """An embedding that is the head: without lookups the column would weigh nothing, and go."""
    directory = model_dir()
    context = context_of(directory, interpreter())
    plain = kquant.apply(
        read(directory), params("Q8_0", embedding_blocks="IQ4_NL"), context
    ).in_form(GgmlTensor)
    model, _ = context.load_linear(read(directory))
    model.model.norm.weight.data[3] = 0.0
    own = rounded_head(plain, model, context.calibration(4), context)[context.layout.embedding]
    weight = model.get_input_embeddings().weight[:, 3].numpy(force=True)
    apart = np.abs(own.dequantize()[:, 3] - weight)
    assert np.abs(weight).mean() > 5 * apart.mean()


def test_a_shared_head_by_gptq_costs_less_than_by_the_library() -> None:
    context = Context(
        tiny_dir(), layout_of(tiny_dir()), silent_report(2), 0, calibration(),
        tool_python=interpreter(),
    )  # fmt: skip
    costs = {
        by: kl(
            kquant.apply(
                read(tiny_dir()), params("Q8_0", embedding_blocks="Q4_0", rounded_by=by), context
            ),
            tiny_dir(),
            context,
        )
        for by in ("library", "gptq")
    }
    assert costs["gptq"] < 0.9 * costs["library"], costs
