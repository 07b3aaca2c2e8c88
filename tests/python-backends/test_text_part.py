"""The language model inside of models that also see: the same logits, and a study of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t
from safetensors.torch import load_file, save_file
from test_conversion import artifact, made
from test_elsewhere import inspected, taken
from tiny_model import act

from pare_backends.calls.import_model import ImportModelRequest
from pare_backends.calls.import_model import run as import_model
from pare_backends.checkpoint import load_dequantized, read
from pare_backends.checkpoint.own_code import needs_code
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.progress import silent_report

TEXT: dict[str, Any] = {
    "vocab_size": 320, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2,
}  # fmt: skip
EYE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
    "image_size": 28, "patch_size": 14,
}  # fmt: skip
QWEN_EYE: dict[str, Any] = {
    "depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 64,
}  # fmt: skip
THREE = {"rope_type": "default", "rope_theta": 5e3, "mrope_section": [2, 3, 3]}


def named(kind: str, **more: Any) -> dict[str, Any]:
    return {**TEXT, "model_type": kind, **more}


MODELS: dict[str, tuple[str, Callable[[], Any]]] = {
    "gemma3": (
        "Gemma3ForCausalLM",
        lambda: t.Gemma3Config(
            text_config={**TEXT, "sliding_window": 8}, vision_config=EYE, mm_tokens_per_image=1
        ),
    ),
    "mistral3": (
        "MistralForCausalLM",
        lambda: t.Mistral3Config(
            text_config=named("mistral"), vision_config={**EYE, "model_type": "pixtral"},
            tie_word_embeddings=False,
        ),
    ),
    "ministral3": (
        "Ministral3ForCausalLM",
        lambda: t.Mistral3Config(
            text_config=named("ministral3"), vision_config={**EYE, "model_type": "pixtral"},
            tie_word_embeddings=True,
        ),
    ),
    "qwen2_5_vl": (
        "Qwen2ForCausalLM",
        lambda: t.Qwen2_5_VLConfig(
            text_config={**TEXT, "rope_parameters": THREE}, vision_config=QWEN_EYE,
            tie_word_embeddings=False,
        ),
    ),
    "qwen3_vl": (
        "Qwen3ForCausalLM",
        lambda: t.Qwen3VLConfig(
            text_config={**TEXT, "rope_parameters": {**THREE, "mrope_interleaved": True}},
            vision_config={**QWEN_EYE, "deepstack_visual_indexes": [0]}, tie_word_embeddings=True,
        ),
    ),
    "internvl": (
        "Qwen2ForCausalLM",
        lambda: t.InternVLConfig(text_config=named("qwen2"), vision_config=EYE),
    ),
    "smolvlm": (
        "LlamaForCausalLM",
        lambda: t.SmolVLMConfig(text_config=named("llama"), vision_config=EYE),
    ),
    "lfm2_vl": (
        "Lfm2ForCausalLM",
        lambda: t.Lfm2VlConfig(
            text_config=named("lfm2", layer_types=["conv", "full_attention"]),
            vision_config={**EYE, "model_type": "siglip2_vision_model"},
        ),
    ),
    "qwen3_5": (
        "Qwen3_5ForCausalLM",
        lambda: t.Qwen3_5Config(
            text_config={
                **TEXT, "layer_types": ["linear_attention", "full_attention"],
                "linear_num_key_heads": 2, "linear_num_value_heads": 2,
                "linear_key_head_dim": 16, "linear_value_head_dim": 16,
            },
            vision_config=QWEN_EYE,
        ),
    ),
}  # fmt: skip
"""Wrappers, and what is inside of each."""


def written(kind: str, directory: Path) -> Any:
    """A random model of the kind, and its folder with a tokenizer."""
    directory.mkdir()
    write_tokenizer(directory)
    torch.manual_seed(5)
    model = t.AutoModelForImageTextToText.from_config(MODELS[kind][1]()).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            middle = 1.0 if "norm" in name else 0.0
            parameter.normal_(middle, 0.1)
            parameter.copy_(parameter.half().float())
    model.save_pretrained(directory)
    return model


def imported(directory: Path, room: Path) -> dict[str, Any]:
    return import_model(ImportModelRequest(str(directory), str(room), False), silent_report())


@pytest.mark.parametrize("kind", MODELS)
def test_the_text_part_says_what_the_whole_says_of_a_text(kind: str, tmp_path: Path) -> None:
    whole = written(kind, tmp_path / "whole")
    facts = imported(tmp_path / "whole", tmp_path / "text")
    assert facts["architecture"] == MODELS[kind][0]
    assert facts["parameters"] < sum(one.numel() for one in whole.parameters())
    assert any("It also reads what is no text" in note for note in facts["notes"])
    own = t.AutoModelForCausalLM.from_pretrained(tmp_path / "text").eval()
    tokens = torch.randint(3, 320, (2, 24), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(own(tokens).logits, whole(input_ids=tokens).logits)


def test_the_card_comes_along_as_it_names_the_licence(tmp_path: Path) -> None:
    written("gemma3", tmp_path / "whole")
    (tmp_path / "whole" / "README.md").write_text("---\nlicense: gemma\n---\n")
    imported(tmp_path / "whole", tmp_path / "text")
    assert (tmp_path / "text" / "README.md").read_text() == "---\nlicense: gemma\n---\n"


def test_what_would_be_left_out_in_silence_is_refused(tmp_path: Path) -> None:
    written("gemma3", tmp_path / "whole")
    path = tmp_path / "whole" / "model.safetensors"
    (tmp_path / "whole" / "adapter_config.json").write_text("{}")
    with pytest.raises(CallFailure, match="an adapter lies beside its weights"):
        imported(tmp_path / "whole", tmp_path / "adapted")
    (tmp_path / "whole" / "adapter_config.json").unlink()
    tensors = load_file(path)
    odd = {name.replace("language_model", "thinker.inner"): one for name, one in tensors.items()}
    save_file(odd, path, metadata={"format": "pt"})
    with pytest.raises(CallFailure, match="no tensor of its files has a name that is known"):
        imported(tmp_path / "whole", tmp_path / "odd")
    short = {name: one for name, one in tensors.items() if "layers.1.mlp.up" not in name}
    save_file({**short, "empty": torch.zeros(0)}, path, metadata={"format": "pt"})
    with pytest.raises(CallFailure, match=r"hold no weight for .*up_proj"):
        imported(tmp_path / "whole", tmp_path / "short")


def test_every_layer_that_is_rounded_is_one_that_reads_text(tmp_path: Path) -> None:
    written("gemma3", tmp_path / "whole")
    facts = imported(tmp_path / "whole", tmp_path / "text")
    params = {"bits": 8, "group_size": 16, "symmetric": True, "samples": 4}
    act(tmp_path / "child", "gptq", params, parent=tmp_path / "text")
    model, _ = load_dequantized(tmp_path / "child")
    assert facts["linear_parameters"] == sum(
        module.weight.numel()
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and name != "lm_head"
    )


def test_a_stretched_rotation_stays_one(tmp_path: Path) -> None:
    """Qwen2.5-VL's config.json as it lies on the hub: flat, and stretched for long texts."""
    written("qwen2_5_vl", tmp_path / "whole")
    path = tmp_path / "whole" / "config.json"
    told = json.loads(path.read_text())
    text = {k: v for k, v in told.pop("text_config").items() if k != "rope_parameters"}
    yarn = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
    rope = {"rope_theta": 5e3, "rope_scaling": {**yarn, "mrope_section": [2, 3, 3]}}
    path.write_text(json.dumps({**text, **told, **rope}))
    imported(tmp_path / "whole", tmp_path / "text")
    own = json.loads((tmp_path / "text" / "config.json").read_text())
    assert own["model_type"] == "qwen2"
    assert own["rope_parameters"]["rope_type"] == "yarn"
    assert own["rope_parameters"]["factor"] == 4.0
    assert "mrope_section" not in own["rope_parameters"]
    path.write_text(
        json.dumps(
            {**text, **told, **rope, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}
        )
    )
    imported(tmp_path / "whole", tmp_path / "usual")
    own = json.loads((tmp_path / "usual" / "config.json").read_text())
    assert own["rope_parameters"] == {"rope_type": "default", "rope_theta": 5e3}


def test_code_that_such_a_model_brings_is_left_alone(tmp_path: Path) -> None:
    written("gemma3", tmp_path / "whole")
    path = tmp_path / "whole" / "config.json"
    named = {"AutoModelForCausalLM": "own.Gemma3ForConditionalGeneration"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "auto_map": named}))
    (tmp_path / "whole" / "own.py").write_text("raise SystemExit")
    assert imported(tmp_path / "whole", tmp_path / "text")["custom_code"] is False
    assert needs_code(json.loads(path.read_text())) is False
    assert needs_code({"model_type": "gemma3", "architectures": ["Other"], "auto_map": named})


def test_names_of_files_from_before_lead_to_the_same_part(tmp_path: Path) -> None:
    """Qwen2.5-VL as it lies on the hub: the text part's tensors are named as a model's own."""
    written("qwen2_5_vl", tmp_path / "whole")
    imported(tmp_path / "whole", tmp_path / "text")
    path = tmp_path / "whole" / "model.safetensors"
    tensors = {
        name.replace("model.language_model.", "model.").replace("model.visual.", "visual."): values
        for name, values in load_file(path).items()
    }
    assert any(name.startswith("visual.") for name in tensors)
    assert "model.layers.0.mlp.up_proj.weight" in tensors
    save_file(tensors, path, metadata={"format": "pt"})
    imported(tmp_path / "whole", tmp_path / "again")
    first, second = (load_file(tmp_path / one / "model.safetensors") for one in ("text", "again"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_head_that_is_stored_beside_an_equal_embedding_stays_tied(tmp_path: Path) -> None:
    written("gemma3", tmp_path / "whole")
    path = tmp_path / "whole" / "model.safetensors"
    tensors = load_file(path)
    embedding = next(values for name, values in tensors.items() if "embed_tokens" in name)
    save_file({**tensors, "lm_head.weight": embedding.clone()}, path, metadata={"format": "pt"})
    assert imported(tmp_path / "whole", tmp_path / "text")["tied_embeddings"]
    save_file({**tensors, "lm_head.weight": embedding + 1}, path, metadata={"format": "pt"})
    assert not imported(tmp_path / "whole", tmp_path / "untied")["tied_embeddings"]
    assert (
        json.loads((tmp_path / "untied" / "config.json").read_text())["tie_word_embeddings"]
        is False
    )


def packed_whole(directory: Path, room: Path) -> Path:
    """The tiny model in GPTQ's form, inside of a model that also sees; returns its 4-bit source."""
    source = artifact(room / "source", 4, 32, False)
    files = made("gptq", source, directory)
    text = json.loads((files / "config.json").read_text())
    config = t.SmolVLMConfig(
        text_config={k: v for k, v in text.items() if k != "quantization_config"},
        vision_config=EYE,
    )
    tensors = {
        name.replace("model.", "model.text_model.", 1): values
        for name, values in load_file(files / "model.safetensors").items()
    }
    with torch.device("meta"):
        eye = t.AutoModelForImageTextToText.from_config(config).model.vision_model.state_dict()
    seeing = {f"model.vision_model.{name}": torch.zeros(one.shape) for name, one in eye.items()}
    save_file({**tensors, **seeing}, files / "model.safetensors", metadata={"format": "pt"})
    said = {**config.to_dict(), "quantization_config": text["quantization_config"]}
    said["architectures"] = ["SmolVLMForConditionalGeneration"]
    (files / "config.json").write_text(json.dumps(said))
    return source


def test_a_quantized_whole_is_an_original_and_a_trial_of_its_text_part(tmp_path: Path) -> None:
    source = read(packed_whole(tmp_path / "whole", tmp_path))
    facts = imported(tmp_path / "whole", tmp_path / "text")
    assert facts["architecture"] == "LlamaForCausalLM"
    assert facts["dtype"] == "gptq"
    packed = load_file(tmp_path / "whole" / "model.safetensors")
    reads = [one for name, one in packed.items() if "vision_model" not in name]
    assert facts["original_bytes"] == sum(one.nbytes for one in reads)
    assert len(reads) < len(packed)
    decoded = read(tmp_path / "text")
    for layer in source.stored:
        np.testing.assert_allclose(
            decoded.weight(layer), source.weight(layer), rtol=2e-3, atol=1e-6
        )
    found = inspected(tmp_path / "whole")
    assert found["problem"] is None
    trial = taken(tmp_path / "whole", tmp_path / "taken")
    assert any("It also reads what is no text" in note for note in trial["notes"])
    child = read(tmp_path / "taken")
    for layer in source.stored:
        np.testing.assert_allclose(child.weight(layer), source.weight(layer), rtol=2e-3, atol=1e-6)


def test_a_whole_in_8_bit_floats_is_an_original(tmp_path: Path) -> None:
    """As Ministral 3 Instruct lies on the hub: a scale a matrix, and one of its inputs."""
    written("ministral3", tmp_path / "whole")
    imported(tmp_path / "whole", tmp_path / "floats")
    path = tmp_path / "whole" / "model.safetensors"
    tensors, config = load_file(path), json.loads((path.parent / "config.json").read_text())
    text = [name for name in tensors if "language_model" in name and "_proj.weight" in name]
    for name in text:
        scale = tensors[name].abs().max() / 448
        tensors[f"{name}_scale_inv"] = scale.bfloat16()
        tensors[name] = (tensors[name] / scale.bfloat16().float()).to(torch.float8_e4m3fn)
        tensors[name.replace(".weight", ".activation_scale")] = torch.tensor(0.1).bfloat16()
    save_file(tensors, path, metadata={"format": "pt"})
    words = {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None}
    (path.parent / "config.json").write_text(json.dumps({**config, "quantization_config": words}))
    facts = imported(tmp_path / "whole", tmp_path / "text")
    assert (facts["architecture"], facts["dtype"]) == ("Ministral3ForCausalLM", "fp8")
    assert not any("does not read" in note for note in facts["notes"]), facts["notes"]
    own, wanted = read(tmp_path / "text").floats, read(tmp_path / "floats").floats
    assert len(text) == 14
    assert set(own) == set(wanted)
    for name in wanted:
        np.testing.assert_allclose(own[name], wanted[name], rtol=0.07, atol=1e-3)
    found = inspected(tmp_path / "whole", tmp_path / "floats")
    assert found["problem"] is None
