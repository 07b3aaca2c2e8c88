"""Models that keep a state alone: Mamba, FalconMamba and Mamba 2, beside transformers itself."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from evaluation_fixtures import Events
from random_models import HIDDEN, ends
from test_architectures import facts, logits, plain
from test_qlora import act as train
from tiny_model import act
from transformers import AutoModelForCausalLM, FalconMambaConfig, Mamba2Config, MambaConfig
from whole_texts import assert_own_generations, assert_whole_texts

from pare_backends.calls import verify
from pare_backends.checkpoint import GridTensor, load_dequantized, read
from pare_backends.checkpoint.reading_on import ONE_BY_ONE, read_on
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.progress import silent_report
from pare_backends.runtimes.transformers.session import TransformersSession
from pare_backends.serving.reader import TorchReader

SHAPE: dict[str, Any] = {"hidden_size": HIDDEN, "num_hidden_layers": 2, "state_size": 16, **ends()}
HEADS = {"num_heads": 4, "head_dim": 32, "n_groups": 2, "chunk_size": 16}
MODELS: dict[str, Callable[[int], Any]] = {
    "mamba": lambda size: MambaConfig(vocab_size=size, **SHAPE),
    "mamba-biased": lambda size: MambaConfig(vocab_size=size, use_bias=True, **SHAPE),
    "falcon_mamba": lambda size: FalconMambaConfig(
        vocab_size=size, tie_word_embeddings=False, **SHAPE
    ),
    "mamba2": lambda size: Mamba2Config(vocab_size=size, **HEADS, **SHAPE),
    "mamba2-biased": lambda size: Mamba2Config(vocab_size=size, use_bias=True, **HEADS, **SHAPE),
}
UNBIASED = [name for name in MODELS if "biased" not in name]
STAYS = ("A_log", "mixer.D", "conv1d.weight", "conv1d.bias", "dt_bias", "dt_proj.weight")


@functools.cache
def written(name: str) -> Path:
    """A random model whose states go far back, with a tokenizer."""
    directory = Path(tempfile.mkdtemp(prefix=f"pare-{name}-"))
    config = MODELS[name](len(write_tokenizer(directory)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = AutoModelForCausalLM.from_config(config).float().eval()
        with torch.no_grad():
            for own, parameter in model.named_parameters():
                if own.endswith("A_log"):
                    parameter.normal_(-3.0, 0.5)
                elif "norm" not in own and not own.endswith(".D"):
                    parameter.normal_(0.0, 0.2)
                parameter.copy_(parameter.half().float())
    model.save_pretrained(directory)
    return directory


def language_model(name: str) -> PackedLM:
    return PackedLM(*load_dequantized(written(name)), 4, Events().report)


@pytest.mark.parametrize("name", MODELS)
def test_log_likelihoods_are_those_of_whole_texts(name: str) -> None:
    assert_whole_texts(language_model(name), plain(written(name)))


@pytest.mark.parametrize("name", MODELS)
def test_generations_are_transformers_own_of_each_prompt_alone(name: str) -> None:
    """Prompts of different lengths in one batch: where padding would change a state, none is."""
    assert_own_generations(language_model(name), plain(written(name)))


@pytest.mark.parametrize("name", MODELS)
def test_what_is_read_in_parts_is_read_as_a_whole(name: str) -> None:
    tokens = np.random.default_rng(2).integers(3, 60, 40)
    own = plain(written(name))
    with torch.no_grad():
        wanted = own(torch.from_numpy(tokens)[None]).logits[0]
        kept = None
        for start, end in ((0, 20), (20, 21), (21, 33), (33, 40)):
            said, kept = read_on(own, torch.from_numpy(tokens[start:end])[None], kept)
            assert torch.allclose(said[0], wanted[end - 1], atol=1e-5)
    reader = TorchReader(load_dequantized(written(name))[0])
    reader.begin(tokens[:30])
    assert np.allclose(reader.extend(tokens[30:]), wanted[-1].numpy(), atol=1e-5)
    session = TransformersSession(str(written(name)))
    assert session.prefill(tokens[:30]) == int(wanted[29].argmax())
    assert session.append(tokens[30:39]) == int(wanted[38].argmax())
    assert session.decode(int(tokens[39])) == int(wanted[39].argmax())
    size = session.cache_bytes()
    assert size > 0 and session.kept_tokens().most == 0
    session.prefill(tokens[:3])
    assert session.cache_bytes() == size, "a state has one size"


@pytest.mark.parametrize("name", [*UNBIASED, "jamba"])
def test_whose_scan_forgets_is_known(name: str) -> None:
    """Several tokens after others at once, as a model's own pass reads them."""
    import transformers as t

    config = {
        "jamba": lambda: t.JambaConfig(
            vocab_size=90, hidden_size=64, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, attn_layer_period=2,
            attn_layer_offset=1, num_experts=1,
        ),
    }.get(name, lambda: MODELS[name](90))()  # fmt: skip
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).float().eval()
    with torch.no_grad():
        for own, parameter in model.named_parameters():
            parameter.normal_(-3.0 if own.endswith("A_log") else 1.0 if "norm" in own else 0.0, 0.2)
        tokens = torch.arange(3, 43)[None]
        wanted = model(tokens, use_cache=False).logits[0, -1]
        key = "cache_params" if name in UNBIASED else "past_key_values"
        first = model(tokens[:, :20], use_cache=True)
        at_once = model(tokens[:, 20:], use_cache=True, **{key: first[key]}).logits[0, -1]
        _, kept = read_on(model, tokens[:, :20], None)
        said, _ = read_on(model, tokens[:, 20:], kept)
    assert torch.allclose(said[0], wanted, atol=1e-4)
    forgets = float((at_once - wanted).abs().max()) > 1e-3
    assert forgets == (config.model_type in ONE_BY_ONE)


@pytest.mark.parametrize("name", UNBIASED)
def test_facts_are_those_of_a_model_without_heads(name: str) -> None:
    found = facts(written(name))
    assert (found["heads"], found["kv_heads"], found["head_dim"]) == (0, 0, 0)
    assert found["intermediate_size"] == 2 * HIDDEN
    assert found["parameters"] == sum(p.numel() for p in plain(written(name)).parameters())
    assert "there is nothing to compress there" in found["whole_cache"]
    names = ["in_proj", "x_proj", "out_proj"] if name != "mamba2" else ["in_proj", "out_proj"]
    assert [one["name"] for one in found["block_matrices"]] == [f"mixer.{one}" for one in names]
    assert found["group_sizes"] == [16, 32, 64], "rows of dt_proj are no layer's"


GROUPED = {"bits": 4, "group_size": 32}
CALIBRATED = {**GROUPED, "samples": 4}


@pytest.mark.parametrize(
    ("name", "agent", "method", "params"),
    [
        ("mamba", "quantization", "rtn", GROUPED),
        ("mamba", "quantization", "gptq", CALIBRATED),
        ("mamba2", "quantization", "awq", CALIBRATED),
        ("mamba", "pruning", "wanda", {"samples": 8, "tokens": 64}),
        ("mamba2", "pruning", "depth", {"blocks": 1, "samples": 8}),
    ],
)
def test_methods_take_the_linear_layers_and_leave_the_state(
    name: str, agent: str, method: str, params: dict[str, Any], tmp_path: Path
) -> None:
    source, output = written(name), tmp_path / "out"
    act(output, method, params, source, agent)
    before, after = read(source), read(output)
    for tensor in (one for one in after.floats if one.endswith(STAYS)):
        if method != "depth":
            assert np.array_equal(after.floats[tensor], before.floats[tensor]), tensor
    if method in ("rtn", "gptq", "awq"):
        rounded = {one.split(".mixer.")[1] for one in after.in_form(GridTensor)}
        assert rounded == {"in_proj", "out_proj"} | (set() if name == "mamba2" else {"x_proj"})
    found = verify.run(verify.VerifyRequest(str(output), str(source)), silent_report())
    assert found["not_generated"] is None and found["generated_text"]
    said, wanted = (logits(load_dequantized(one)[0]) for one in (output, source))
    assert bool((said != wanted).any())


@pytest.mark.parametrize("name", UNBIASED)
def test_a_cache_is_not_cut_where_there_is_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="it has no attention and so no KV cache"):
        act(tmp_path / "out", "snapkv", {"budget": 64, "window": 8}, written(name), "kv_cache")


def test_weights_are_trained_and_no_factors_beside_them(tmp_path: Path) -> None:
    asked = {"steps": 20, "tokens": 32, "held_out": 2, "lr": 1e-3}
    trained = train(tmp_path / "full", "full", written("mamba"), **asked)
    assert any(note.startswith("Full fine-tuning took") for note in trained["notes"])
    before, after = read(written("mamba")), read(tmp_path / "full")
    for own in ("norm.weight", "mixer.in_proj.weight", "mixer.x_proj.weight", *STAYS):
        for name in (one for one in after.floats if one.endswith(own)):
            moved = (after.floats[name] != before.floats[name]).any()
            assert moved == (own not in STAYS), name
    with pytest.raises(CallFailure, match="peft takes no out_proj of mamba"):
        train(tmp_path / "lora", "lora", written("mamba"), steps=20, tokens=32, held_out=2)
