"""Checkpoints that are not what they seem: each works, or is refused in one sentence at import."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import common, llama_like
from safetensors.torch import load_file, save_file
from tiny_model import act, tiny_dir
from transformers import AutoModelForCausalLM

from pare_backends.calls import verify
from pare_backends.calls.import_model import ImportModelRequest, run
from pare_backends.checkpoint import load_dequantized, read
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.progress import silent_report

Tensors = dict[str, torch.Tensor]
EMBEDDING = "model.embed_tokens.weight"
UP = "model.layers.1.mlp.up_proj.weight"
NORM = "model.layers.1.input_layernorm.weight"


def facts(directory: Path) -> dict[str, Any]:
    return run(ImportModelRequest(str(directory), str(directory / "none"), False), silent_report())


def refused(directory: Path) -> str:
    with pytest.raises(CallFailure) as said:
        facts(directory)
    assert said.value.kind == "bad_input" and said.value.hint is not None
    return said.value.message


def changed(out: Path, change: Callable[[Tensors], object], **config: Any) -> Path:
    """The tiny model with other tensors in its file."""
    shutil.copytree(tiny_dir(), out)
    tensors = load_file(out / "model.safetensors")
    change(tensors)
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    path = out / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return out


def saved(out: Path, config: Any) -> Path:
    """A random model of this configuration."""
    write_tokenizer(out)
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config).float()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter).mul_(0.1).half().float())
    model.save_pretrained(out)
    return out


def vocabulary() -> int:
    return len(json.loads((tiny_dir() / "tokenizer.json").read_text())["model"]["vocab"])


@pytest.mark.parametrize("kind", [torch.int8, torch.float8_e4m3fn])
def test_weights_that_are_no_floats_are_quantized_already(
    kind: torch.dtype, tmp_path: Path
) -> None:
    """config.json says nothing of it: as plain numbers they would be read, and be nonsense."""
    directory = changed(tmp_path / "m", lambda held: held.update({UP: (held[UP] * 9).to(kind)}))
    said = refused(directory)
    assert "as a baseline: it is quantized already" in said
    assert f"{UP} is stored as {'I8' if kind == torch.int8 else 'F8_E4M3'}" in said


def test_a_missing_norm_is_named(tmp_path: Path) -> None:
    assert f"nothing for {NORM} (1 " in refused(changed(tmp_path / "m", lambda t: t.pop(NORM)))


def test_a_base_model_without_its_head_says_what_to_do(tmp_path: Path) -> None:
    directory = changed(tmp_path / "m", lambda held: None, tie_word_embeddings=False)
    with pytest.raises(CallFailure, match="no weight for lm_head") as said:
        facts(directory)
    assert "tie_word_embeddings: true" in (said.value.hint or "")


def test_what_is_no_decoder_with_attention_is_refused(tmp_path: Path) -> None:
    from transformers import BertConfig, RwkvConfig

    size = vocabulary()
    encoder = saved(tmp_path / "bert", BertConfig(**common(size), intermediate_size=64))
    assert "bert is an encoder" in refused(encoder)
    state = RwkvConfig(vocab_size=size, hidden_size=32, num_hidden_layers=2)
    said = refused(saved(tmp_path / "rwkv", state))
    assert "rwkv has no attention" in said and "pare knows falcon_mamba, mamba, mamba2" in said


def test_heads_that_differ_by_layer_are_told_as_most_have_them(tmp_path: Path) -> None:
    from transformers import Gemma4TextConfig

    config = Gemma4TextConfig(
        **common(vocabulary()),
        intermediate_size=64,
        num_key_value_heads=2,
        head_dim=16,
        global_head_dim=32,
        hidden_size_per_layer_input=0,
        vocab_size_per_layer_input=vocabulary(),
    )
    said = facts(saved(tmp_path / "m", config))
    assert (said["head_dim"], said["kv_heads"]) == (16, 2)


def test_experts_of_an_unknown_class_are_not_left_in_floats_unsaid(tmp_path: Path) -> None:
    from transformers import JetMoeConfig

    config = JetMoeConfig(
        vocab_size=vocabulary(),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=1,
        num_key_value_heads=2,
        kv_channels=16,
        num_local_experts=4,
        num_experts_per_tok=2,
    )
    said = facts(saved(tmp_path / "m", config))["unpackable"]
    assert said is not None and "how its experts lie in the parameter" in said


def test_experts_in_one_matrix_are_told_and_a_router_is_no_linear_layer(tmp_path: Path) -> None:
    """DBRX's, whose config counts them in one of its own."""
    from transformers import DbrxConfig

    config = DbrxConfig(
        vocab_size=vocabulary(),
        d_model=64,
        n_heads=4,
        n_layers=1,
        max_seq_len=64,
        attn_config={"kv_n_heads": 2, "rope_theta": 1e4},
        ffn_config={"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
    )
    said = facts(saved(tmp_path / "m", config))
    assert "its experts lie behind each other in one matrix" in said["unpackable"]
    assert said["linear_parameters"] == 64 * (64 + 2 * 32) + 64 * 64


def test_a_tied_head_that_is_stored_too_follows_the_embedding(tmp_path: Path) -> None:
    """transformers ties the two only where they are equal."""

    def twice(tensors: Tensors) -> None:
        tensors["lm_head.weight"] = tensors[EMBEDDING].clone()

    params = {"bits": 3, "group_size": 32, "targets": "embedding"}
    plain, double = tmp_path / "plain", changed(tmp_path / "m", twice)
    results = [act(plain, "rtn", params), act(tmp_path / "out", "rtn", params, parent=double)]
    assert results[0]["size_bytes"] == results[1]["size_bytes"]
    ids = torch.arange(3, 33)[None]
    with torch.inference_mode():
        one, other = (load_dequantized(out)[0](ids).logits for out in (plain, tmp_path / "out"))
    torch.testing.assert_close(one, other)
    found = verify.run(verify.VerifyRequest(str(tmp_path / "out"), str(double)), silent_report())
    assert all(part["missing"] == 0 for part in found["parts"])


def test_a_tied_head_with_other_values_is_told(tmp_path: Path) -> None:
    def other(tensors: Tensors) -> None:
        tensors["lm_head.weight"] = tensors[EMBEDDING] + 1

    said = refused(changed(tmp_path / "m", other))
    assert f"lm_head.weight beside {EMBEDDING}, with other values" in said


def test_a_single_number_keeps_its_shape(tmp_path: Path) -> None:
    """Apertus' activations have some."""
    from transformers import ApertusConfig

    source = saved(tmp_path / "m", ApertusConfig(**llama_like(vocabulary())))
    act(tmp_path / "out", "rtn", {"group_size": 32}, parent=source)
    held = read(tmp_path / "out")
    single = [name for name in held.floats if name.endswith("act_fn.beta")]
    assert single and all(held.float_shape(name) == () for name in single)
    load_dequantized(tmp_path / "out")


def latent_attention() -> Any:
    """Its keys and values are made of inputs with a dimension for heads, and a side is 48."""
    from transformers import DeepseekV2Config

    return DeepseekV2Config(
        **{**llama_like(vocabulary()), "num_key_value_heads": 4, "num_hidden_layers": 1},
        q_lora_rank=32,
        kv_lora_rank=32,
        qk_rope_head_dim=16,
        qk_nope_head_dim=16,
        v_head_dim=16,
        first_k_dense_replace=1,
    )


def test_layers_with_inputs_of_four_dimensions_are_kept(tmp_path: Path) -> None:
    source = saved(tmp_path / "m", latent_attention())
    params = {"average_bits": 4.5, "group_size": 32, "samples": 2, "seqlen": 16}
    act(tmp_path / "out", "mixed", {**params, "rounded_by": "kept"}, parent=source)
    layer = "model.layers.0.self_attn.kv_b_proj"
    own, wanted = (read(one).weight(layer) for one in (tmp_path / "out", source))
    assert float((own * wanted).sum() / np.linalg.norm(own) / np.linalg.norm(wanted)) > 0.9


def test_what_auto_round_would_leave_alone_is_said_before_it_tunes(tmp_path: Path) -> None:
    source = saved(tmp_path / "m", latent_attention())
    with pytest.raises(CallFailure, match="kv_a_proj_with_mqa by auto-round: it is 48 by 64"):
        act(tmp_path / "out", "autoround", {"group_size": 32, "iters": 1}, parent=source)


def test_a_model_that_keeps_no_cache_speaks_all_the_same(tmp_path: Path) -> None:
    from transformers import OpenAIGPTConfig

    config = OpenAIGPTConfig(
        vocab_size=vocabulary(), n_embd=32, n_layer=1, n_head=2, n_positions=64
    )
    source = saved(tmp_path / "m", config)
    act(tmp_path / "out", "rtn", {"group_size": 32}, parent=source)
    found = verify.run(verify.VerifyRequest(str(tmp_path / "out"), str(source)), silent_report())
    assert found["not_generated"] is None and found["generated_text"]
