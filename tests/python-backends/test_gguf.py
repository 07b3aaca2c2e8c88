"""GGUF files of an artifact: its own integers, and a model that another reader computes alike."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader, GGUFWriter
from gguf.quants import dequantize
from runtime_fixtures import adapted, artifact, folder, four_bit_model, random_llama, rounded

from pare_backends.calls import prove_runtime
from pare_backends.checkpoint import read, write
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.gguf_architectures import ARCHITECTURES
from pare_backends.runtimes.llama_cpp.gguf_blocks import from_blocks, to_blocks
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout
from pare_backends.runtimes.llama_cpp.gguf_tokenizer import LLAMA3_WORDS, splitting_of, token_list
from pare_backends.runtimes.llama_cpp.make import write_gguf
from pare_backends.runtimes.stored_weights import StoredWeights

TOKENS = np.random.default_rng(0).integers(0, 320, 40)
CASES = [
    (8, -1, True, "Q8_0"),
    (8, 32, True, "Q8_0"),
    (4, 32, True, "Q4_0"),
    (4, -1, True, "Q4_0"),
    (4, 32, False, "Q4_1"),
    (3, 32, True, "Q4_0"),
    (3, -1, False, "Q4_1"),
    (2, 32, True, "Q4_0"),
    (2, 32, False, "Q4_1"),
]


def written(directory: Path, exact: bool = False) -> tuple[Path, dict[str, Any]]:
    """A GGUF directory of an artifact, and what stands in its file."""
    output = folder() / f"gguf-{directory.name}-{exact}"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    return output, asdict(write_gguf(directory, output, exact, silent_report()))


@pytest.mark.parametrize(
    ("precision", "half_a_step"), [("f32", 0), ("f16", 2**-11), ("bf16", 2**-8)]
)
def test_matrices_of_floats_lie_in_the_precision_that_is_asked_for(
    tmp_path: Path, precision: str, half_a_step: float
) -> None:
    source = random_llama(0)
    write_gguf(source, tmp_path, False, silent_report(), precision)
    described = json.loads((tmp_path / "gguf.json").read_text())
    assert described["inference_precision"] == precision
    tensors = {tensor.name: tensor for tensor in GGUFReader(tmp_path / "model.gguf").tensors}
    held, norm = tensors["blk.0.ffn_up.weight"], tensors["blk.0.ffn_norm.weight"]
    assert (held.tensor_type.name, norm.tensor_type.name) == (precision.upper(), "F32")
    own = StoredWeights(str(source)).floats("model.layers.0.mlp.up_proj.weight")
    off = np.abs(dequantize(held.data, held.tensor_type) - own)
    assert off.max() <= half_a_step * np.abs(own).max()
    assert (off.max() == 0) == (precision == "f32")


@pytest.mark.parametrize(("bits", "group", "symmetric", "kind"), CASES)
def test_file_holds_the_artifacts_own_integers_and_scales(
    bits: int, group: int, symmetric: bool, kind: str
) -> None:
    directory = artifact(bits, group, symmetric, None)
    output, said = written(directory)
    weights = StoredWeights(str(directory))
    layout = GgufLayout(weights.config)
    tensors = {tensor.name: tensor for tensor in GGUFReader(output / "model.gguf").tensors}
    seen = 0
    for name in weights.names():
        if not weights.is_packed(name):
            continue
        packed, tensor = weights.packed(name), tensors[layout.name(name)]
        assert tensor.tensor_type.name == kind
        ints, scales, offsets = from_blocks(kind, np.asarray(tensor.data))
        order = layout.row_order(name, packed.rows)
        order = np.arange(packed.rows) if order is None else order
        np.testing.assert_array_equal(ints, packed.integers()[order])
        repeats = scales.shape[1] // packed.groups
        own = np.repeat(packed.scales, repeats, axis=1)[order]
        np.testing.assert_array_equal(scales, own)  # float16 in the artifact already
        if packed.zero_points is not None:
            assert offsets is not None
            zeros = np.repeat(packed.zero_points, repeats, axis=1)[order].astype(np.float32)
            np.testing.assert_array_equal(offsets, (-zeros * own).astype(np.float16))
        seen += 1
    assert seen == said["formats"][kind] == 14
    assert said["formats"]["F16"] == 1  # the embedding
    assert said["scale_error"] <= (0 if symmetric else 2**-11)
    noted = [note for note in said["notes"] if f"{bits}-bit integers run as {kind}" in note]
    assert len(noted) == (bits in (2, 3))


def transformers_logits(output: Path) -> np.ndarray:
    """Logits by transformers' own reader of GGUF files."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        str(output), gguf_file="model.gguf", dtype=torch.float32
    )
    with torch.inference_mode():
        return np.asarray(model(torch.from_numpy(TOKENS)[None]).logits[0].numpy())


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("bits", "symmetric", "embedding"), [(4, True, 8), (4, False, None)])
def test_another_reader_computes_the_dequantized_models_logits(
    bits: int, symmetric: bool, embedding: int | None, exact: bool
) -> None:
    """Names, order of rows, tied head and architecture, as transformers understands them."""
    directory = artifact(bits, 32, symmetric, embedding)
    output, _ = written(directory, exact)
    plain, _, _ = prove_runtime.torch_logits(str(directory), TOKENS)
    assert plain.std() > 0.1
    # Where they are rounded to float16: offsets, and the embedding that stays in floats.
    limit = 1e-5 if exact else 2e-2
    assert np.abs(transformers_logits(output) - plain).max() <= limit


READ_BY_TRANSFORMERS = ["MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"]
OTHERS = [name for name in ARCHITECTURES if name != "LlamaForCausalLM"]


@pytest.mark.parametrize("architecture", READ_BY_TRANSFORMERS)
def test_another_reader_computes_other_architectures(architecture: str) -> None:
    """Biases of Qwen2, norms of Qwen3's heads, the order of rows of each, a head of its own."""
    directory = four_bit_model(architecture)
    output, _ = written(directory, exact=True)
    plain, _, _ = prove_runtime.torch_logits(str(directory), TOKENS)
    assert plain.std() > 0.1
    assert np.abs(transformers_logits(output) - plain).max() <= 1e-5


def test_description_says_what_a_token_reads_and_how_it_is_computed() -> None:
    for directory, group, precision in (
        (artifact(4, 32, True, 8), 32, "f32"),
        (artifact(4, 32, True, None), 32, "f16"),
        (random_llama(0), 0, "f16"),
    ):
        output, _ = written(directory)
        described = json.loads((output / "gguf.json").read_text())
        assert (described["activation_group"], described["inference_precision"]) == (
            group,
            precision,
        )
        tensors = GGUFReader(output / "model.gguf").tensors
        embedding = next(int(t.n_bytes) for t in tensors if t.name == "token_embd.weight")
        every = sum(int(t.n_bytes) for t in tensors)
        assert described["bytes_read_per_token"] == every + embedding // 320
        assert (output / "model.gguf").stat().st_size > every


def packed(group: int, bits: int, symmetric: bool, tmp_path: Path) -> Any:
    weight = np.random.default_rng(1).normal(size=(6, 96)).astype(np.float32)
    name = "model.layers.0.mlp.up_proj"
    tensor = rounded(weight, bits, group, symmetric)
    write(read(random_llama(0)).with_stored({name: tensor}), tmp_path)
    return StoredWeights(str(tmp_path)).packed(f"{name}.weight")


def test_blocks_refuse_what_they_cannot_hold(tmp_path: Path) -> None:
    for number, (group, bits, symmetric, why) in enumerate(
        ((48, 4, True, "32 weights share a scale there, 48"), (32, 8, False, "with a zero point"))
    ):
        with pytest.raises(CallFailure, match=why) as caught:
            to_blocks("up_proj", packed(group, bits, symmetric, tmp_path / str(number)))
        assert caught.value.kind == "invalid"


def test_blocks_refuse_a_scale_that_float16_would_lose(tmp_path: Path) -> None:
    weight = packed(32, 4, True, tmp_path)
    weight.scales[2, 1] = 1e-9
    with pytest.raises(CallFailure, match="cannot hold 1e-09"):
        to_blocks("up_proj", weight)


def config(**changes: Any) -> dict[str, Any]:
    return {**json.loads((random_llama(0) / "config.json").read_text()), **changes}


def test_the_plugins_name_the_architectures_that_are_laid_out() -> None:
    plugin = Path(__file__).parents[2] / "plugins" / "forms" / "ggml.ts"
    written = plugin.read_text().split("const WRITTEN = [")[1].split("]")[0]
    assert re.findall(r'"(\w+)"', written) == list(ARCHITECTURES)


def gemma(version: int, **changes: Any) -> dict[str, Any]:
    return {
        "architectures": [f"Gemma{version}ForCausalLM"], "hidden_act": "gelu_pytorch_tanh",
        "attn_logit_softcapping": 50.0 if version == 2 else None, "final_logit_softcapping": 30.0,
        "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 8, **changes,
    }  # fmt: skip


def mixture(family: str, **changes: Any) -> dict[str, Any]:
    return {"architectures": [f"{family}MoeForCausalLM"], "num_experts": 4, **changes}


def test_experts_of_a_layer_are_refused_where_they_lie_in_several_kinds_of_block(
    tmp_path: Path,
) -> None:
    four_bit_model("MixtralForCausalLM")
    checkpoint = read(folder() / "MixtralForCausalLM-floats")
    expert = "model.layers.1.block_sparse_moe.experts.2.w1"
    eight = rounded(checkpoint.floats[f"{expert}.weight"], 8, 32, True)
    write(checkpoint.with_stored({expert: eight}), tmp_path / "written")
    (tmp_path / "file").mkdir()
    with pytest.raises(CallFailure, match=r"experts\.2\.w1\.weight Q8_0, and llama\.cpp holds"):
        write_gguf(tmp_path / "written", tmp_path / "file", False, silent_report())


def test_layout_refuses_what_llama_cpp_computes_otherwise() -> None:
    for changes, why in (
        ({"architectures": ["OPTForCausalLM"]}, "OPTForCausalLM"),
        ({"hidden_act": "gelu"}, "gelu"),
        (
            {
                "architectures": ["GraniteForCausalLM"],
                "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4},
            },
            "yarn, not one of default, linear",
        ),
        (
            {"architectures": ["Qwen2ForCausalLM"], "rope_parameters": {"rope_type": "llama3"}},
            "llama3",
        ),
        (
            {"architectures": ["MistralForCausalLM"], "sliding_window": 16},
            "sliding_window is 16",
        ),
        (gemma(2, query_pre_attn_scalar=32), "query_pre_attn_scalar is 32, llama.cpp takes 16"),
        (gemma(2, attn_logit_softcapping=None), "no attn_logit_softcapping"),
        (gemma(2, layer_types=["full_attention"] * 2), "not every 2th of its layers"),
        (gemma(3, use_bidirectional_attention=True), "use_bidirectional_attention"),
        (gemma(3, sliding_window=None), "no sliding_window"),
        ({"architectures": ["Olmo2ForCausalLM"]}, "its head is its embedding"),
        (
            {"architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": [1, 0]},
            "no_rope_layers leave out others",
        ),
        (mixture("Qwen3"), "norm_topk_prob is false, llama.cpp makes"),
        (mixture("Qwen2", norm_topk_prob=True), "norm_topk_prob is true, llama.cpp does not make"),
        (mixture("Qwen2", mlp_only_layers=[1]), "some of its layers are no mixture"),
        ({"architectures": ["OlmoeForCausalLM"]}, "4 heads share 2 keys"),
        (
            {"architectures": ["GPT2LMHeadModel"], "activation_function": "relu"},
            "its activation_function is relu, llama.cpp takes gelu_pytorch_tanh",
        ),
        (
            {
                "architectures": ["GPT2LMHeadModel"],
                "activation_function": "gelu_new",
                "scale_attn_by_inverse_layer_idx": True,
            },
            "scale_attn_by_inverse_layer_idx is true, llama.cpp takes false",
        ),
        ({"architectures": ["StableLmForCausalLM"], "qk_layernorm": True}, "qk_layernorm is true"),
        (
            {
                "architectures": ["BloomForCausalLM"],
                "hidden_act": "gelu_new",
                "apply_residual_connection_post_layernorm": True,
            },
            "its residuals are of what a norm gives",
        ),
        (
            {"architectures": ["Phi3ForCausalLM"], "sliding_window": 16},
            "sliding_window is 16, llama.cpp's phi3 attends to every token",
        ),
    ):
        with pytest.raises(CallFailure, match=why):
            GgufLayout(config(**changes))
    longer = {"architectures": ["MistralForCausalLM"], "sliding_window": 4096}
    assert GgufLayout(config(**longer)).architecture == "llama"  # no text is so long
    unused = {"sliding_window": 9, "use_sliding_window": False}
    assert GgufLayout(config(architectures=["Qwen2ForCausalLM"], **unused)).architecture == "qwen2"
    with pytest.raises(CallFailure, match="no tensor model"):
        GgufLayout(config()).name("model.layers.0.extra.weight")


def test_a_gelu_by_the_error_function_is_written_with_a_note() -> None:
    pythia = {"architectures": ["GPTNeoXForCausalLM"], "hidden_act": "gelu", "rotary_pct": 0.25}
    assert "error function" in str(GgufLayout(config(**pythia)).notes)
    assert GgufLayout(config(**{**pythia, "hidden_act": "gelu_new"})).notes == []


def keys_of(layout: GgufLayout) -> dict[str, Any]:
    """The keys of a file, by their names."""
    writer = GGUFWriter(folder() / "keys.gguf", layout.architecture)
    layout.write_keys(writer)
    return {name: value.value for name, value in writer.kv_data[0].items()}


def test_configs_as_the_hub_has_them_are_read() -> None:
    """BLOOM's and GPT-2's own names of the usual keys, Pythia's of its positions, Gemma's gelu."""
    bloom = {
        "architectures": ["BloomForCausalLM"], "n_embed": 64, "n_layer": 3, "vocab_size": 320,
        "num_attention_heads": 4, "seq_length": 256,
    }  # fmt: skip
    layout = GgufLayout(bloom)
    assert (layout.config["hidden_size"], layout.layers, layout.heads) == (64, 3, 4)
    gpt2 = {
        "architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_layer": 3, "n_head": 4,
        "n_positions": 256, "n_inner": None, "vocab_size": 320, "activation_function": "gelu_new",
    }  # fmt: skip
    layout = GgufLayout(gpt2)
    assert (layout.head_dim, layout.layers, layout.notes) == (16, 3, [])
    names = ("h.2.attn.c_attn.weight", "transformer.h.2.attn.c_attn.weight")
    assert {layout.name(name) for name in names} == {"blk.2.attn_qkv.weight"}
    lfm2 = {
        "architectures": ["Lfm2ForCausalLM"], "hidden_size": 1024, "num_hidden_layers": 4,
        "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 320,
        "full_attn_idxs": [2], "block_ff_dim": 6656, "block_multiple_of": 256,
        "conv_L_cache": 3,
    }  # fmt: skip
    written = keys_of(GgufLayout(lfm2))
    assert written["lfm2.attention.head_count_kv"] == [0, 0, 8, 0]
    assert written["lfm2.feed_forward_length"] == 4608
    phi4 = {
        "architectures": ["Phi3ForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 320, "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75,
        "sliding_window": 262144,
        "rope_scaling": {"type": "longrope", "short_factor": [1] * 6, "long_factor": [2] * 6},
    }  # fmt: skip
    written = keys_of(GgufLayout(phi4))
    assert written["phi3.rope.dimension_count"] == 12
    assert abs(written["phi3.rope.scaling.attn_factor"] - 1.19024) < 1e-5
    with pytest.raises(CallFailure, match="its short_factor has 5 factors, not 6"):
        short = {"type": "longrope", "short_factor": [1] * 5, "long_factor": [2] * 6}
        GgufLayout({**phi4, "rope_scaling": short})
    old = config(architectures=["GPTNeoXForCausalLM"], hidden_act="gelu", rotary_emb_base=5000)
    del old["rope_parameters"]
    assert GgufLayout(old).rope.theta == 5000
    gemma1 = {"architectures": ["GemmaForCausalLM"], "hidden_act": "gelu"}
    assert "error function" in str(GgufLayout(config(**gemma1)).notes)
    tanh = {**gemma1, "hidden_activation": "gelu_pytorch_tanh"}
    assert GgufLayout(config(**tanh)).notes == []
    with pytest.raises(CallFailure, match=r"config\.json says no hidden_size and no vocab_size"):
        GgufLayout(
            {
                "architectures": ["LlamaForCausalLM"],
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
            }
        )


def test_rope_factors_are_those_of_transformers() -> None:
    import torch
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = {
        "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
    }  # fmt: skip
    given = config(rope_parameters=rope, head_dim=16)
    inverse, _ = ROPE_INIT_FUNCTIONS["llama3"](LlamaConfig(**given), torch.device("cpu"))
    factors = GgufLayout(given).rope.tensors()["rope_freqs.weight"]
    assert factors.min() == 1 and factors.max() == 8
    plain = 500_000.0 ** -(np.arange(0, 16, 2) / 16)
    np.testing.assert_allclose(plain / factors, inverse.numpy(), rtol=1e-5)
    assert GgufLayout(config()).rope.tensors() == {}


def byte_level(**changes: Any) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, **changes}


def test_splitting_is_named_where_llama_cpp_has_the_same() -> None:
    split = {"type": "Split", "pattern": {"Regex": LLAMA3_WORDS}}
    digits = {"type": "Digits", "individual_digits": True}
    for step, name in (
        (byte_level(), "gpt-2"),
        ({"type": "Sequence", "pretokenizers": [digits, byte_level()]}, "smollm"),
        ({"type": "Sequence", "pretokenizers": [split, byte_level(use_regex=False)]}, "llama-bpe"),
        ({"type": "Sequence", "pretokenizers": [split, byte_level()]}, None),
        (byte_level(add_prefix_space=True), None),
        ({"type": "WhitespaceSplit"}, None),
        (None, None),
    ):
        assert splitting_of({"model": {"type": "BPE"}, "pre_tokenizer": step}) == name
    assert splitting_of({"model": {"type": "WordLevel"}, "pre_tokenizer": byte_level()}) is None


def test_token_list_names_every_id() -> None:
    document = {
        "model": {"vocab": {"a": 0, "b": 2}},
        "added_tokens": [{"id": 3, "content": "<s>", "special": True}],
    }
    tokens, kinds = token_list(document, 5)
    assert tokens == ["a", "[PAD1]", "b", "<s>", "[PAD4]"]
    assert [kind.name for kind in kinds] == ["NORMAL", "UNUSED", "NORMAL", "CONTROL", "UNUSED"]


@pytest.mark.parametrize("packed", [False, True])
def test_an_adapter_is_added_to_the_weights_that_it_lies_beside(
    tmp_path: Path, packed: bool
) -> None:
    parent = artifact(4, 32, True, None) if packed else random_llama(3)
    directory = adapted(parent, tmp_path / "model")
    output, _ = written(directory, exact=True)
    name = "model.layers.1.mlp.down_proj.weight"
    weights = StoredWeights(str(directory))
    tensors = {tensor.name: tensor for tensor in GGUFReader(output / "model.gguf").tensors}
    stored = np.asarray(tensors[GgufLayout(weights.config).name(name)].data)
    added, plain = weights.added(name), weights.floats(name).astype(np.float32)
    assert added is not None and np.abs(added).max() > 0.01
    np.testing.assert_array_equal(stored, plain + added)
