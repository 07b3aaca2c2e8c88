"""Factors beside models some of whose mixers are Mamba's, of which peft takes no out_proj."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from architecture_configs import OTHERWISE
from random_models import llama_like
from test_eora import eora
from test_qlora import act as train
from tiny_model import act
from transformers import AutoModelForCausalLM, FalconH1Config, NemotronHConfig

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer

ASKED: dict[str, Any] = {"steps": 20, "tokens": 32, "held_out": 2, "lr": 1e-3}
CONFIGS = {
    "falcon_h1": (FalconH1Config, "FalconH1ForCausalLM"),
    "nemotron_h": (NemotronHConfig, "NemotronHForCausalLM"),
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_attention_alone_is_trained(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    config, architecture = CONFIGS[kind]
    settings = {
        **llama_like(len(write_tokenizer(source))),
        **OTHERWISE[architecture],
        "head_dim": 16,
    }
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(config(**settings))
    model.half().float().save_pretrained(source)  # as artifacts keep what nothing changed
    with pytest.raises(CallFailure, match=f"peft takes no out_proj of {kind}") as refused:
        train(tmp_path / "all", "lora", source, **ASKED)
    assert "the attention alone" in str(refused.value.hint)
    act(tmp_path / "rounded", "rtn", {"bits": 4, "group_size": 32}, parent=source)
    with pytest.raises(CallFailure, match=f"peft takes no out_proj of {kind}"):
        eora(tmp_path / "corrected", tmp_path / "rounded", source, rank=4)
    train(tmp_path / "attention", "lora", source, **ASKED, targets="attention")
    before, after = read(source).floats, read(tmp_path / "attention").floats
    moved = {name.rsplit(".", 2)[1] for name in before if (before[name] != after[name]).any()}
    assert moved == {"q_proj", "k_proj", "v_proj", "o_proj"}
