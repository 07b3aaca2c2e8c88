"""The lines that a report prints are tried where a written artifact is verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from test_kept_dtype import beyond_half, rounded
from tiny_model import act, tiny_copy, tiny_dir

from pare_backends.calls.verify import VerifyRequest, run
from pare_backends.checkpoint import load_dequantized
from pare_backends.checkpoint.plain_load import plain_facts
from pare_backends.checkpoint.soundness import logits_of, prompt_ids
from pare_backends.progress import silent_report

PROBE = torch.arange(3, 35)[None]


def facts(directory: Path, tokens: Any = PROBE) -> dict[str, Any]:
    """The printed lines beside pare's own loader."""
    from pare_backends.checkpoint import read
    from pare_backends.checkpoint.load import load_model

    return plain_facts(directory, tokens, logits_of(load_model(read(directory), directory), tokens))


def redeclared(directory: Path, dtype: str) -> Path:
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "dtype": dtype}))
    return directory


def test_verification_tries_them_when_asked(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 4, "group_size": 32})
    asked = VerifyRequest(str(tmp_path / "child"), str(tiny_dir()), plain_load=True)
    found = run(asked, silent_report())["plain_load"]
    assert found["problem"] is None and found["dtype"] == "float32"
    assert found["cosine"] > 0.999999 and 0 <= found["kl"] < 1e-9
    tokenizer = load_dequantized(tiny_dir())[1]
    assert found["tokens"] == prompt_ids(tokenizer).shape[1]
    assert found["loaded_by"].startswith("transformers 5")
    unasked = VerifyRequest(str(tmp_path / "child"), str(tiny_dir()))
    assert run(unasked, silent_report())["plain_load"] is None


@pytest.mark.parametrize("group", [-1, 32])
def test_rounded_inputs_are_the_same_to_the_bit(tmp_path: Path, group: int) -> None:
    act(tmp_path / "child", "int8", {"activation_group_size": group})
    found = facts(tmp_path / "child")
    assert found["problem"] is None
    assert found["cosine"] > 0.999999 and found["kl"] < 1e-6


def test_a_type_that_cannot_hold_the_model_is_told(tmp_path: Path) -> None:
    artifact = rounded(beyond_half(tmp_path), tmp_path / "artifact")
    assert facts(artifact)["problem"] is None
    found = facts(redeclared(artifact, "float16"))
    assert (found["dtype"], found["problem"]) == ("float16", "its logits are not finite")


def test_other_weights_and_missing_ones_are_told(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 8, "group_size": 32})
    own = load_dequantized(tmp_path / "child")[0]
    evaluated = logits_of(own, PROBE)
    path = tmp_path / "child" / "model.safetensors"
    tensors = load_file(path)
    scale = next(name for name in tensors if name.endswith("0.mlp.up_proj.weight_scale"))
    save_file({**tensors, scale: tensors[scale] * 3}, path, metadata={"format": "pt"})
    assert plain_facts(tmp_path / "child", PROBE, evaluated)["cosine"] < 0.99
    copy = tiny_copy(tmp_path / "gone")
    tensors = load_file(copy / "model.safetensors")
    del tensors["model.norm.weight"]
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    found = plain_facts(copy, PROBE, np.zeros_like(evaluated))
    assert found["problem"] == "it leaves model.norm.weight at what it was drawn as"


def test_what_does_not_load_is_told(tmp_path: Path) -> None:
    act(tmp_path / "child", "magnitude", {"sparsity": 0.5}, agent="pruning")
    evaluated = logits_of(load_dequantized(tmp_path / "child")[0], PROBE)
    found = plain_facts(tmp_path / "child", PROBE, evaluated)
    assert found["dtype"] is found["cosine"] is found["kl"] is None
    assert ": " in found["problem"]


def test_an_adapter_that_is_left_out_shows_in_the_logits(tmp_path: Path) -> None:
    """Its call says already that pare's own loader takes it."""
    act(tmp_path / "parent", "rtn", {"bits": 2, "group_size": 32})
    from dataclasses import replace

    from pare_backends.checkpoint import read
    from pare_backends.checkpoint.adapter import Adapter
    from pare_backends.models.artifact_notes import other_loaders
    from pare_backends.models.layout import layout_of

    name = "base_model.model.model.layers.0.mlp.up_proj"
    rows, columns = read(tmp_path / "parent").shape("model.layers.0.mlp.up_proj")
    drawn = np.random.default_rng(0)
    adapter = Adapter(
        {"peft_type": "LORA", "r": 4, "lora_alpha": 4},
        {
            f"{name}.lora_A.weight": drawn.normal(size=(4, columns)).astype(np.float16),
            f"{name}.lora_B.weight": drawn.normal(size=(rows, 4)).astype(np.float16),
        },
    )
    child = replace(read(tmp_path / "parent"), adapter=adapter)
    assert "adapter/" in other_loaders(child, layout_of(tmp_path / "parent"))[0]
    from pare_backends.checkpoint import write

    write(child, tmp_path / "child")
    assert facts(tmp_path / "child")["cosine"] < 0.99
